"""The Chrome trace: valid by the Trace Event Format, and the run that it shows."""

import json
from typing import Any

import pytest

from pto_buf.machine.exec import kernel_named
from pto_buf.sim.profile import profile
from pto_buf.sim.simulate import Launch
from pto_buf.sim.trace import chrome_trace
from support.pto_text import parse
from support.streams import stream

Event = dict[str, Any]
REQUIRED = {"X": {"name", "cat", "ts", "dur"}, "s": {"id", "ts", "name"}, "f": {"id", "ts", "name", "bp"}}


def events(trips: int, blocks: int = 1) -> list[Event]:
    launch = Launch(kernel_named(parse(stream(3)), None), {}, {"n": trips}, blocks)
    return json.loads(chrome_trace(profile(launch)))["traceEvents"]


def check(found: list[Event]) -> None:
    for event in found:
        assert {"ph", "pid", "tid"} <= set(event)
        assert REQUIRED.get(event["ph"], {"name"}) <= set(event)
    slices: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in found:
        if event["ph"] == "X":
            lane = slices.setdefault((event["pid"], event["tid"]), [])
            assert event["dur"] >= 0
            assert not lane or lane[-1][1] <= event["ts"] + 1e-6
            lane.append((event["ts"], event["ts"] + event["dur"]))
    flows: dict[str, list[Event]] = {}
    for event in found:
        if event["ph"] in "sf":
            flows.setdefault(event["id"], []).append(event)
    for pair in flows.values():
        assert [event["ph"] for event in pair] == ["s", "f"]
        assert pair[0]["ts"] <= pair[1]["ts"] + 1e-6
    counters: dict[tuple[int, str], float] = {}
    for event in found:
        if event["ph"] == "C":
            key = event["pid"], event["name"]
            assert event["args"]["value"] >= 0
            assert counters.get(key, -1.0) < event["ts"]
            counters[key] = event["ts"]


@pytest.mark.parametrize("trips", [0, 1, 2, 7])
def test_a_trace_is_valid(trips: int) -> None:
    check(events(trips, blocks=2))


def test_arrows_begin_and_end_within_slices() -> None:
    found = events(5)
    lanes: dict[int, list[tuple[float, float]]] = {}
    for event in found:
        if event["ph"] == "X":
            lanes.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    ends = [event for event in found if event["ph"] in "sf"]
    assert len(ends) == 2 * (5 + 5 + 2 + 2)  # ready and computed for each trip, hand-backs where a slot is used again
    for event in ends:
        assert any(start <= event["ts"] <= end for start, end in lanes[event["tid"]])


def test_a_slice_names_its_op_source_trip_and_stall() -> None:
    loads = [event for event in events(2) if event["ph"] == "X" and event["name"] == "add"]
    assert loads[0]["args"]["op"] == "pto.tadd"
    assert loads[0]["args"]["source"].startswith("test.pto:")
    assert [event["args"]["trips"] for event in loads] == ["0", "1"]
    assert "data from MTE2" in loads[0]["args"]["waited"]


def test_lanes_stand_in_the_order_of_the_flow_of_data() -> None:
    names = [e["args"]["name"] for e in events(1) if e["ph"] == "M" and e["name"] == "thread_name"]
    assert names == ["MTE2", "V", "MTE3"]


def test_counters_show_slots_in_use_and_flags_that_are_set() -> None:
    found = [event for event in events(6) if event["ph"] == "C"]
    used = [event["args"]["value"] for event in found if event["name"] == "UB bytes in use"]
    assert max(used) >= 2 * 4096
    assert used[-1] == 0
    flags = [event["args"]["value"] for event in found if event["name"] == "flags set"]
    assert max(flags) >= 6  # three lanes, primed in two directions
    assert flags[-1] == 0


def test_a_long_trace_is_valid() -> None:
    found = events(6000)
    assert len(found) > 100_000
    check(found)
