"""The native trace, decoded again with the package's own classes."""

import importlib
import sys
from typing import Any

import pytest

from pto_buf.errors import UsageError
from pto_buf.machine.exec import kernel_named
from pto_buf.sim.perfetto import perfetto_trace
from pto_buf.sim.profile import Profile, profile
from pto_buf.sim.simulate import Launch
from support.pto_text import parse
from support.streams import stream


def profiled(trips: int, blocks: int = 1) -> Profile:
    return profile(Launch(kernel_named(parse(stream(2)), None), {}, {"n": trips}, blocks))


def decoded(one: Profile) -> tuple[Any, list[Any]]:
    protos = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace: Any = protos.Trace()
    trace.ParseFromString(perfetto_trace(one))
    return protos.TrackEvent, list(trace.packet)


def test_slices_open_and_close_in_order_on_the_track_of_their_pipe() -> None:
    event, packets = decoded(profiled(3))
    names = {p.track_descriptor.uuid: p.track_descriptor.name for p in packets if p.HasField("track_descriptor")}
    open_slices: dict[int, int] = {}
    last: dict[int, int] = {}
    ops: list[tuple[str, str]] = []
    for packet in packets:
        if not packet.HasField("track_event") or packet.track_event.type == event.TYPE_COUNTER:
            continue
        track = packet.track_event.track_uuid
        assert last.get(track, 0) <= packet.timestamp
        last[track] = packet.timestamp
        change = 1 if packet.track_event.type == event.TYPE_SLICE_BEGIN else -1
        open_slices[track] = open_slices.get(track, 0) + change
        assert open_slices[track] in (0, 1)
        if change == 1:
            ops.append((names[track], packet.track_event.name))
    assert set(open_slices.values()) == {0}
    assert {pipe: [op for p, op in ops if p == pipe] for pipe in ("MTE2", "V", "MTE3")} == {
        "MTE2": ["load"] * 3,
        "V": ["add"] * 3,
        "MTE3": ["store"] * 3,
    }


def test_every_arrow_leaves_one_slice_and_ends_in_another() -> None:
    _, packets = decoded(profiled(4, blocks=2))
    leaving = [flow for packet in packets for flow in packet.track_event.flow_ids]
    ending = [flow for packet in packets for flow in packet.track_event.terminating_flow_ids]
    assert leaving
    assert sorted(leaving) == sorted(ending)
    assert len(set(leaving)) == len(leaving)


def test_counters_never_fall_below_zero_and_slices_say_where_they_come_from() -> None:
    event, packets = decoded(profiled(3))
    levels = [p.track_event.counter_value for p in packets if p.track_event.type == event.TYPE_COUNTER]
    assert levels
    assert min(levels) == 0
    begins = [p.track_event for p in packets if p.track_event.type == event.TYPE_SLICE_BEGIN]
    notes = {note.name: note.string_value or note.int_value for note in begins[0].debug_annotations}
    assert notes["op"] == "pto.tload"
    assert str(notes["source"]).startswith("test.pto:")


def test_each_block_is_a_process() -> None:
    _, packets = decoded(profiled(1, blocks=3))
    found = [p.track_descriptor.process.process_name for p in packets if p.track_descriptor.HasField("process")]
    assert found == ["k block 0", "k block 1", "k block 2"]


def test_without_the_package_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "perfetto.trace_builder.proto_builder", None)
    monkeypatch.setitem(sys.modules, "perfetto.protos.perfetto.trace.perfetto_trace_pb2", None)
    with pytest.raises(UsageError, match="not installed") as caught:
        perfetto_trace(profiled(1))
    assert caught.value.help == "pip install perfetto, or write a .json trace"
