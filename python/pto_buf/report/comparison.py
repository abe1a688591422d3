"""Two timed kernels side by side: what a second slot, or another order, buys."""

from collections.abc import Iterator
from itertools import pairwise

from pto_buf.report.table import Table
from pto_buf.sim.naming import Names
from pto_buf.sim.overlap import slot_overlaps, together
from pto_buf.sim.profile import Profile
from pto_buf.sim.timeline import LANES, Cause


def comparison(
    one: Profile, other: Profile, names: tuple[str, str] = ("A", "B"), slots: tuple[Names, Names] | None = None
) -> Table:
    """Cycles, bounds, busy and stalled cycles of the slowest core of each, and how long neighbours work together.

    With the names of the slots also how long one slot of a set is read while another is written.
    """
    rows = [*_rows(one, other), *(_slots(one, other, slots) if slots is not None else ())]
    return Table(("", *names, "change"), tuple((label, *_numbers(a, b)) for label, a, b in rows))


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


def _slots(one: Profile, other: Profile, names: tuple[Names, Names]) -> Iterator[tuple[str, int, int]]:
    found = [
        {f"{o.group}: {o.reader} reads one, {o.writer} writes another": o.cycles for o in slot_overlaps(p.slowest, n)}
        for p, n in zip((one, other), names, strict=True)
    ]
    for label in dict.fromkeys((*found[0], *found[1])):
        yield label, found[0].get(label, 0), found[1].get(label, 0)
