"""Two timed kernels side by side: what a second slot, or another order, buys."""

from collections.abc import Iterator
from itertools import pairwise

from pto_buf.hw import Pipe
from pto_buf.sim.profile import Profile
from pto_buf.sim.timeline import LANES, Cause, Timeline


def together(timeline: Timeline, one: Pipe, other: Pipe) -> int:
    """Cycles for which both pipes are busy."""
    first = [(s.start, s.end) for s in timeline.slices if s.pipe is one]
    second = [(s.start, s.end) for s in timeline.slices if s.pipe is other]
    total = position = 0
    for start, end in first:
        while position < len(second) and second[position][1] <= start:
            position += 1
        number = position
        while number < len(second) and second[number][0] < end:
            total += min(end, second[number][1]) - max(start, second[number][0])
            number += 1
    return total


def comparison(one: Profile, other: Profile, names: tuple[str, str] = ("A", "B")) -> str:
    """Cycles, bounds, busy and stalled cycles of the slowest block of each, and how long neighbours work together."""
    rows = [("", *names, "change"), *((label, *_numbers(a, b)) for label, a, b in _rows(one, other))]
    wide = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = (
        "  ".join([row[0].ljust(wide[0]), *(cell.rjust(width) for cell, width in zip(row[1:], wide[1:], strict=True))])
        for row in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _numbers(one: int, other: int) -> tuple[str, str, str]:
    return str(one), str(other), f"{100 * (other - one) / one:+.1f} %" if one else "-" if not other else "new"


def _rows(one: Profile, other: Profile) -> Iterator[tuple[str, int, int]]:
    first, second = one.slowest, other.slowest
    yield "cycles", one.cycles, other.cycles
    yield "bound", first.bound, second.bound
    used = [pipe for pipe in LANES if pipe in first.busy or pipe in second.busy]
    for pipe in used:
        yield f"{pipe} busy", first.busy.get(pipe, 0), second.busy.get(pipe, 0)
        for cause in Cause:
            stalled = first.stalled().get((pipe, cause), 0), second.stalled().get((pipe, cause), 0)
            if any(stalled):
                yield f"{pipe} waits: {cause}", *stalled
    for pipe, next_pipe in pairwise(used):
        yield f"{pipe} and {next_pipe} busy", together(first, pipe, next_pipe), together(second, pipe, next_pipe)
