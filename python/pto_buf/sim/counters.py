"""What goes up and down during a timed run: flags that are set, bytes in use. No IR."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from pto_buf.machine.steps import Exec, GiveLock, Region, SetFlag, SyncSet
from pto_buf.sim.naming import Names
from pto_buf.sim.timeline import Arrow, Slice, Timeline

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Counter:
    """`points` are cycles with the level from then on, each cycle once, in their order."""

    name: str
    points: tuple[tuple[int, int], ...]


def counters_of(timeline: Timeline, names: Names | None = None) -> Iterator[Counter]:
    """What is pending and what is in use.

    For each pair of pipes the flags that are set; with names, for each set the slots that hold something still to be
    read; for each on-chip buffer the bytes that do.
    """
    for label, arrows in _grouped((_pair(arrow), arrow) for arrow in timeline.arrows):
        changes = [(arrow.at, 1) for arrow in arrows] + [(arrow.taken, -1) for arrow in arrows]
        yield _counter(f"{label} set", changes)
    lives = _lives(timeline.slices)
    if names is not None:
        slots = ((names.of(region), (start, end)) for region, start, end in lives)
        by_group = _grouped((slot.group, span) for slot, spans in _grouped(slots) for span in _merged(spans))
        for group, spans in by_group:
            changes = [(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans]
            yield _counter(f"{group}: slots in use", changes)
    for space, own in _grouped((region.space, (region, start, end)) for region, start, end in lives):
        sizes = [(region.end - region.start, start, end) for region, start, end in own]
        changes = [(start, size) for size, start, _ in sizes] + [(end, -size) for size, _, end in sizes]
        yield _counter(f"{space.buffer} bytes in use", changes)


def _pair(arrow: Arrow) -> str:
    match arrow.set:
        case SetFlag():
            return f"flags {arrow.set.src} -> {arrow.set.dst}"
        case SyncSet():
            return "signals"
        case GiveLock():
            return "locks"


def _grouped(pairs: Iterable[tuple[_Key, _Value]]) -> list[tuple[_Key, list[_Value]]]:
    """The values of each key, in the order in which keys come first."""
    found: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return list(found.items())


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The time that any of the spans covers: a slot that is written in parts is in use once."""
    last: tuple[int, int] | None = None
    for start, end in sorted(spans):
        if last is not None and start < last[1]:
            last = last[0], max(last[1], end)
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last


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
