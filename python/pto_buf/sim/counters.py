"""What goes up and down during a timed run: flags that are set, bytes in use. No IR."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pto_buf.machine.steps import Exec, Region
from pto_buf.sim.timeline import Slice, Timeline


@dataclass(frozen=True)
class Counter:
    """`points` are cycles with the level from then on, each cycle once, in their order."""

    name: str
    points: tuple[tuple[int, int], ...]


def counters_of(timeline: Timeline) -> Iterator[Counter]:
    """The flags that are set, and for each on-chip buffer the bytes that hold something still to be read."""
    changes = [(arrow.at, 1) for arrow in timeline.arrows] + [(arrow.taken, -1) for arrow in timeline.arrows]
    yield _counter("flags set", changes)
    lives = _lives(timeline.slices)
    for space in dict.fromkeys(region.space for region, _, _ in lives):
        own = [(region.end - region.start, start, end) for region, start, end in lives if region.space is space]
        changes = [(start, size) for size, start, _ in own] + [(end, -size) for size, _, end in own]
        yield _counter(f"{space.buffer} bytes in use", changes)


def _counter(name: str, changes: Iterable[tuple[int, int]]) -> Counter:
    moments: dict[int, int] = {}
    for at, change in sorted(changes):
        moments[at] = moments.get(at, 0) + change
    level = 0
    points: list[tuple[int, int]] = []
    for at, change in moments.items():
        level += change
        points.append((at, level))
    return Counter(name, tuple(points))


def _lives(slices: Iterable[Slice]) -> list[tuple[Region, int, int]]:
    """For each write of a run of bytes that is read before the next: from its start to the end of the last read."""
    open_writes: dict[Region, tuple[int, int]] = {}
    lives: list[tuple[Region, int, int]] = []
    for one in sorted(slices, key=lambda one: one.start):
        step: Exec = one.step
        for region in step.reads:
            if (found := _covering(open_writes, region)) is not None:
                start, end = open_writes[found]
                open_writes[found] = start, max(end, one.end)
        for region in step.writes:
            if region in step.reads:
                continue
            if (ended := open_writes.pop(region, None)) is not None and ended[1] > ended[0]:
                lives.append((region, *ended))
            open_writes[region] = one.start, one.start
    lives += [(region, start, end) for region, (start, end) in open_writes.items() if end > start]
    return lives


def _covering(writes: dict[Region, tuple[int, int]], region: Region) -> Region | None:
    """The written run of bytes that the read one lies in."""
    if region in writes:
        return region
    return next(
        (one for one in writes if one.space is region.space and one.start <= region.start and region.end <= one.end),
        None,
    )
