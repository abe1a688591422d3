"""What a view consists of: lines, tables, swimlanes. As plain text here; `pto_buf.report.terminal` draws the same."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from pto_buf.report.table import Table, plain


@dataclass(frozen=True)
class Lanes:
    """Swimlanes: the name and the marks of each, over a scale from cycle `start` to `end`; `legend` says the marks."""

    start: int
    end: int
    rows: tuple[tuple[str, str], ...]
    legend: str = ""


Part: TypeAlias = str | Table | Lanes


def scale(lanes: Lanes) -> str:
    """The first and last cycle, as far apart as the lanes are wide."""
    width = max((len(marks) for _, marks in lanes.rows), default=0)
    return f"{lanes.start}{lanes.end:>{max(1, width - len(str(lanes.start)))}}"


def plain_text(parts: Iterable[Part]) -> str:
    """The parts below one another, with an empty line around what is more than a line."""
    text, before = "", ""
    for part in parts:
        gap = "\n" if before and not (isinstance(before, str) and isinstance(part, str)) else ""
        text, before = text + gap + _plain(part), part
    return text


def _plain(part: Part) -> str:
    match part:
        case str():
            return f"{part}\n"
        case Table():
            return plain(part)
        case Lanes():
            rows = "".join(f"{name:<4}  {marks}\n" for name, marks in part.rows)
            return f"{'':<4}  {scale(part)}\n{rows}{f'{part.legend}{chr(10)}' if part.legend else ''}"
