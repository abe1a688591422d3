"""The stretch of program order in which a slot set holds something that is needed.

A set's life runs from its first to its last access, and over every loop through which it is carried: a loop that
holds a read, but not the write whose content is read, needs that content until its last trip has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.errors import Place
from pto_buf.memory.tenant import Life


@dataclass(frozen=True)
class Loop:
    """A loop in program order: the position before its first op and behind its last, and the loop around it."""

    start: int
    end: int
    outer: int | None
    """Position of the enclosing loop in the list of loops."""
    first: Place | None = None
    last: Place | None = None


@dataclass(frozen=True)
class Touch:
    """An access of a set at a position of program order, within the innermost loop `loop`."""

    at: int
    loop: int | None
    reads: bool
    since: int | None = None
    """The innermost loop around the write whose content is read; only with `known`."""
    known: bool = False
    """Whether a write that comes before in every run is known to have left what is read here."""
    place: Place | None = None


def life_of(touches: Sequence[Touch], loops: Sequence[Loop], born: int = 0) -> Life:
    """The life of the set with these accesses; a set that is never accessed lives at `born` only."""
    if not touches:
        return Life(born, born)
    spans = [(touch.at, touch.at, touch.place, touch.place) for touch in touches]
    carried: dict[int, None] = {}
    if any(touch.reads and not touch.known for touch in touches):
        # Any write, in any trip, may have left what is read: the set lives through every loop that it appears in.
        for touch in touches:
            carried.update(dict.fromkeys(_up_to(touch.loop, None, loops)))
    else:
        for touch in touches:
            if touch.reads:
                carried.update(dict.fromkeys(_up_to(touch.loop, touch.since, loops)))
    spans += [(loops[loop].start, loops[loop].end, loops[loop].first, loops[loop].last) for loop in carried]
    first = min(spans, key=lambda span: span[0])
    last = max(spans, key=lambda span: span[1])
    return Life(first[0], last[1], first[2], last[3])


def _up_to(loop: int | None, outside: int | None, loops: Sequence[Loop]) -> list[int]:
    """The loops around `loop`, itself included, that are not around `outside`."""
    around: set[int] = set()
    while outside is not None:
        around.add(outside)
        outside = loops[outside].outer
    found: list[int] = []
    while loop is not None and loop not in around:
        found.append(loop)
        loop = loops[loop].outer
    return found
