"""The order in which the scalar unit issues a kernel's tile ops, with the loops around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Issue:
    """One tile op: its class in capitals, its pipes, the slots that it writes (or reads, for a store)."""

    name: str
    pipes: tuple[str, ...]
    slot: str


@dataclass(frozen=True)
class Nest:
    """A loop or a branch, by the words that open it."""

    words: str
    body: tuple["Line", ...]


Line: TypeAlias = Issue | Nest


def order_text(lines: Sequence[Line], indent: int = 1) -> str:
    """One line for each op, nests indented."""
    out: list[str] = []
    for line in lines:
        space = "  " * indent
        if isinstance(line, Nest):
            out.append(f"{space}{line.words}")
            if line.body:
                out.append(order_text(line.body, indent + 1))
        else:
            out.append(f"{space}{line.name.upper():<12} {'/'.join(line.pipes):<5} {line.slot}")
    return "\n".join(out)
