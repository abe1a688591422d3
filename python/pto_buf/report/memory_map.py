"""The memory map: where each slot lies, and in which part of the program its bytes are needed. As text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase

from pto_buf.hw import Space, Target
from pto_buf.report.allocation import PYPTO_NAMES, Resident, size_text

_WIDEST_PANEL = 60
"""Lanes that stand side by side; more go into a panel of their own."""

_WIDEST_WORDS = 38


@dataclass(frozen=True)
class Step:
    """An op, or the head of a loop or branch, in program order. `depth` counts what is around it."""

    words: str
    depth: int
    place: str = ""


@dataclass(frozen=True)
class Touch:
    """A step's access of a slot; `slot` is None where the index changes while the program runs."""

    step: int
    slot: int | None
    reads: bool
    writes: bool


@dataclass(frozen=True)
class Tenancy:
    """A slot set in its place: steps `first` to `last`, both included, need what it holds."""

    resident: Resident
    first: int
    last: int
    touches: tuple[Touch, ...]
    shares_with: tuple[str, ...] = ()
    """Names of the sets that it has bytes from or leaves bytes to."""


@dataclass(frozen=True)
class MemoryMap:
    """The map of one kernel."""

    kernel: str
    target: Target
    steps: tuple[Step, ...]
    tenancies: tuple[Tenancy, ...]
    notes: tuple[str, ...] = field(default=())
    """What the plan costs, in words."""

    def spaces(self) -> Iterator[tuple[Space, list[Tenancy]]]:
        """The spaces in use, each with its sets by address."""
        for space in Space:
            here = [tenancy for tenancy in self.tenancies if tenancy.resident.space is space]
            if here:
                yield space, sorted(here, key=lambda one: (one.resident.address, one.first, one.resident.name))


def cells(tenancy: Tenancy, steps: int) -> list[list[str]]:
    """For each step the mark of each slot of a set.

    W written, R read, X both; in small letters where it is one of the slots in turn; | needed; . kept, but not needed.
    """
    resident = tenancy.resident
    idle = " " if resident.owned else "."
    marks = [
        ["|" if tenancy.first <= step <= tenancy.last else idle for _ in range(resident.count)] for step in range(steps)
    ]
    for touch in tenancy.touches:
        mark = "X" if touch.reads and touch.writes else "W" if touch.writes else "R"
        lanes = range(resident.count) if touch.slot is None else (touch.slot,)
        for lane in lanes:
            shown = mark if touch.slot is not None or resident.count == 1 else mark.lower()
            before = marks[touch.step][lane]
            marks[touch.step][lane] = shown if before.lower() in "|. " or before == shown else _both(before, shown)
    return marks


def _both(one: str, other: str) -> str:
    return "X" if "X" in (one, other) or one.isupper() or other.isupper() else "x"


def memory_map_text(found: MemoryMap) -> str:
    """One table for each space: program order down, one column for each slot, sets by address."""
    parts = [f"memory map of {found.kernel} for {found.target.name}"]
    for space, tenancies in found.spaces():
        used, limit = max(one.resident.end for one in tenancies), found.target.capacity[space]
        parts += ["", f"{PYPTO_NAMES[space]} ({space.buffer})  {size_text(used)} of {size_text(limit)}"]
        for panel in _panels(tenancies):
            parts += _panel(panel, found.steps)
    if found.notes:
        parts += ["", *found.notes]
    parts += ["", "W written  R read  X both  (w r x: one of the slots in turn)  | needed  . kept, but not needed"]
    return "\n".join(parts) + "\n"


def _panels(tenancies: Sequence[Tenancy]) -> Iterator[Sequence[Tenancy]]:
    panel: list[Tenancy] = []
    width = 0
    for tenancy in tenancies:
        if panel and (len(panel) == len(ascii_uppercase) or width + tenancy.resident.count > _WIDEST_PANEL):
            yield panel
            panel, width = [], 0
        panel.append(tenancy)
        width += tenancy.resident.count
    yield panel


def _panel(tenancies: Sequence[Tenancy], steps: Sequence[Step]) -> Iterator[str]:
    letters = dict(zip(ascii_uppercase, tenancies, strict=False))
    for letter, tenancy in letters.items():
        yield f"  {letter}  {_legend(tenancy)}"
    words = [("  " * step.depth + step.words)[:_WIDEST_WORDS] for step in steps]
    width = max((len(text) for text in words), default=0)
    yield " " * (width + 4) + " ".join(letter * one.resident.count for letter, one in letters.items())
    yield " " * (width + 4) + " ".join("".join(f"{n:x}" for n in range(one.resident.count)) for one in tenancies)
    tables = [cells(tenancy, len(steps)) for tenancy in tenancies]
    for number, text in enumerate(words):
        yield f"  {text:<{width}}  {' '.join(''.join(table[number]) for table in tables)}".rstrip()


def _legend(tenancy: Tenancy) -> str:
    one = tenancy.resident
    shared = f", has bytes of {', '.join(tenancy.shares_with)}" if tenancy.shares_with else ""
    kind = "compiler's tile" if one.owned else "slots"
    return (
        f"[{one.address}, {one.end})  {one.count} x {size_text(one.footprint)}  "
        f"{one.name} [{one.rows}, {one.cols}] {one.dtype} ({kind}{shared})"
    )
