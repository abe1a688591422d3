"""A timed run as a native Perfetto trace, written with the package `perfetto`."""

import importlib
from collections.abc import Iterator
from typing import Any

from pto_buf.errors import UsageError
from pto_buf.sim.counters import counters_of
from pto_buf.sim.naming import Names
from pto_buf.sim.profile import Profile
from pto_buf.sim.timeline import LANES, Timeline
from pto_buf.sim.trace import about

_SEQUENCE = 1


def perfetto_trace(profile: Profile, names: Names | None = None) -> bytes:
    """The trace as bytes: one process for each core, one track for each pipe and counter, times in nanoseconds.

    It shows what `chrome_trace` does. Raises UsageError where `perfetto` is not installed.
    """
    try:
        protos = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        builder: Any = importlib.import_module("perfetto.trace_builder.proto_builder").TraceProtoBuilder()
    except ImportError:
        message = "a native trace is written with the package 'perfetto', which is not installed"
        raise UsageError(message, "pip install perfetto, or write a .json trace") from None
    first = 1
    for number, timeline in enumerate(profile.timelines):
        core = _Core(builder, protos.TrackEvent, profile, timeline, names, number, first)
        core.write()
        first = core.next
    return builder.serialize()


class _Core:
    """`first` is the id of its first track; `next` is free behind it."""

    def __init__(
        self,
        builder: Any,
        event: Any,
        profile: Profile,
        timeline: Timeline,
        names: Names | None,
        number: int,
        first: int,
    ):
        self._builder = builder
        self._event = event
        self._profile = profile
        self._timeline = timeline
        self._names = names
        self._number = number
        self._first = first
        self._counters = list(counters_of(timeline, names))
        self.next = first + 1 + len(LANES) + len(self._counters)

    def write(self) -> None:
        process = self._describe(self._first)
        process.process.pid = self._number + 1
        process.process.process_name = f"{self._profile.kernel} {self._timeline.core}"
        for lane, pipe in enumerate(LANES):
            if pipe in self._timeline.busy:
                track = self._describe(self._lane(lane))
                track.parent_uuid, track.name, track.sibling_order_rank = self._first, str(pipe), lane
        self._slices()
        for number, counter in enumerate(self._counters):
            uuid = self._first + 1 + len(LANES) + number
            track = self._describe(uuid)
            track.parent_uuid, track.name = self._first, counter.name
            track.counter.SetInParent()
            for at, level in counter.points:
                event = self._at(at, self._event.TYPE_COUNTER, uuid)
                event.counter_value = level

    def _lane(self, lane: int) -> int:
        return self._first + 1 + lane

    def _describe(self, uuid: int) -> Any:
        packet = self._builder.add_packet()
        packet.track_descriptor.uuid = uuid
        return packet.track_descriptor

    def _at(self, cycles: int, kind: Any, uuid: int) -> Any:
        packet = self._builder.add_packet()
        packet.timestamp = round(self._profile.costs.microseconds(cycles) * 1000)
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.track_event.type = kind
        packet.track_event.track_uuid = uuid
        return packet.track_event

    def _slices(self) -> None:
        leaving: dict[int, list[int]] = {}
        arriving: dict[int, list[int]] = {}
        for source, target, flow in self._flows():
            leaving.setdefault(source, []).append(flow)
            arriving.setdefault(target, []).append(flow)
        stalls = {id(stall.step): stall for stall in self._timeline.stalls}
        for number, one in enumerate(self._timeline.slices):
            track = self._lane(LANES.index(one.pipe))
            event = self._at(one.start, self._event.TYPE_SLICE_BEGIN, track)
            event.name = one.step.row.dsl
            event.flow_ids.extend(leaving.get(number, ()))
            event.terminating_flow_ids.extend(arriving.get(number, ()))
            for name, value in about(one, stalls.get(id(one.step)), self._names).items():
                note = event.debug_annotations.add()
                note.name = name
                if isinstance(value, int):
                    note.int_value = value
                else:
                    note.string_value = value
            self._at(one.end, self._event.TYPE_SLICE_END, track)

    def _flows(self) -> Iterator[tuple[int, int, int]]:
        """Source and target slice and a number of its own for each arrow that has both ends."""
        for number, arrow in enumerate(self._timeline.arrows):
            if arrow.source is not None and arrow.target is not None:
                yield arrow.source, arrow.target, (self._number << 32) + number + 1
