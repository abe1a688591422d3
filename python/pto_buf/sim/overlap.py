"""How long pipes work at the same time, and on which slots. No IR."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pto_buf.hw import Pipe
from pto_buf.sim.naming import Names
from pto_buf.sim.timeline import LANES, Timeline

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class SlotOverlap:
    """For `cycles` cycles `reader` read one slot of a set while `writer` wrote another, of `busy` that it read any."""

    group: str
    reader: Pipe
    writer: Pipe
    cycles: int
    busy: int


def together(timeline: Timeline, one: Pipe, other: Pipe) -> int:
    """Cycles for which both pipes are busy."""
    return _length(_shared(_spans(timeline, one), _spans(timeline, other)))


def _spans(timeline: Timeline, pipe: Pipe) -> list[Span]:
    return [(one.start, one.end) for one in timeline.slices if one.pipe is pipe]


def _shared(first: Sequence[Span], second: Sequence[Span]) -> Iterator[Span]:
    """What spans of both have in common; those of each follow one another."""
    position = 0
    for start, end in first:
        while position < len(second) and second[position][1] <= start:
            position += 1
        number = position
        while number < len(second) and second[number][0] < end:
            yield max(start, second[number][0]), min(end, second[number][1])
            number += 1


def _length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)


def slot_overlaps(timeline: Timeline, names: Names) -> Iterator[SlotOverlap]:
    """For each set of several slots that pipes hand to one another: what its second slot makes possible."""
    reads: dict[tuple[str, Pipe], dict[int, list[Span]]] = {}
    writes: dict[tuple[str, Pipe], dict[int, list[Span]]] = {}
    for one in timeline.slices:
        for regions, found in ((one.step.reads, reads), (one.step.writes, writes)):
            for slot in dict.fromkeys(names.of(region) for region in regions):
                if slot.count > 1:
                    by_slot = found.setdefault((slot.group, one.pipe), {})
                    by_slot.setdefault(slot.number, []).append((one.start, one.end))
    for (group, reader), read in reads.items():
        busy = _length(_merged(read.values()))
        for writer in LANES:
            written = writes.get((group, writer))
            if written is None or writer is reader:
                continue
            overlaps = _merged(
                _shared(spans, _merged(others for number, others in written.items() if number != slot))
                for slot, spans in read.items()
            )
            yield SlotOverlap(group, reader, writer, _length(overlaps), busy)


def _merged(parts: Iterable[Iterable[Span]]) -> list[Span]:
    """All spans by time, each once: an op may touch several slots."""
    return sorted({span for spans in parts for span in spans})
