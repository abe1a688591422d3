"""The Chrome trace: valid by the Trace Event Format, and the run that it shows."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pto_buf.machine.exec import kernel_named
from pto_buf.sim.naming import names_of
from pto_buf.sim.profile import profile
from pto_buf.sim.simulate import Launch
from pto_buf.sim.trace import chrome_trace
from support.pto_text import parse
from support.streams import stream

Event = dict[str, Any]

NUMBER = (int, float)
COMMON: dict[str, Any] = {"ph": str, "name": str, "pid": int, "tid": int}
KEYS: dict[str, dict[str, Any]] = {
    "M": {"args": dict},
    "X": {"cat": str, "ts": NUMBER, "dur": NUMBER, "args": dict},
    "s": {"cat": str, "id": str, "ts": NUMBER},
    "f": {"cat": str, "id": str, "ts": NUMBER, "bp": str},
    "C": {"ts": NUMBER, "args": dict},
}
"""What the Trace Event Format wants of each kind of event, and nothing else is in it."""


def events(trips: int, blocks: int = 1, slots: int = 3) -> list[Event]:
    found = profile(Launch(kernel_named(parse(stream(slots)), None), {}, {"n": trips}, blocks))
    names = names_of((), (one for timeline in found.timelines for one in timeline.slices))
    return json.loads(chrome_trace(found, names))["traceEvents"]


def check(found: list[Event]) -> None:
    """The schema, and that what the events say together makes sense."""
    for event in found:
        wanted = {**COMMON, **KEYS[event["ph"]]}
        assert set(event) == set(wanted), event
        assert all(isinstance(event[key], type) for key, type in wanted.items()), event
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
    lanes_in_order(found)
    flows_in_pairs(found)
    counters_not_negative(found)
    named = {(event["pid"], event["tid"]) for event in found if event["name"] == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in found if event["ph"] in "Xsf"} <= named
    processes = [event["pid"] for event in found if event["name"] == "process_name"]
    assert sorted(set(processes)) == sorted(processes)


def lanes_in_order(found: list[Event]) -> None:
    ends: dict[tuple[int, int], float] = {}
    for event in found:
        if event["ph"] == "X":
            lane = event["pid"], event["tid"]
            assert ends.get(lane, 0.0) <= event["ts"] + 1e-6
            ends[lane] = event["ts"] + event["dur"]


def flows_in_pairs(found: list[Event]) -> None:
    flows: dict[str, list[Event]] = {}
    for event in found:
        if event["ph"] in "sf":
            flows.setdefault(event["id"], []).append(event)
    for pair in flows.values():
        assert [event["ph"] for event in pair] == ["s", "f"]
        assert pair[0]["ts"] <= pair[1]["ts"] + 1e-6
        assert all(pair[0][key] == pair[1][key] for key in ("name", "cat", "pid"))


def counters_not_negative(found: list[Event]) -> None:
    last: dict[tuple[int, str], float] = {}
    for event in found:
        if event["ph"] == "C":
            key = event["pid"], event["name"]
            assert list(event["args"]) == ["value"]
            assert event["args"]["value"] >= 0
            assert last.get(key, -1.0) < event["ts"]
            last[key] = event["ts"]


FAULTS: dict[str, Callable[[list[Event]], object]] = {
    "a key is missing": lambda found: next(e for e in found if e["ph"] == "X").pop("ts"),
    "a key is too many": lambda found: found[0].update(color="red"),
    "a flow has no end": lambda found: found.remove(next(e for e in found if e["ph"] == "f")),
    "a counter is negative": lambda found: next(e for e in found if e["ph"] == "C")["args"].update(value=-1),
    "a lane runs back": lambda found: found.append({**next(e for e in found if e["ph"] == "X"), "ts": 0}),
    "a lane has no name": lambda found: found.remove(next(e for e in found if e["name"] == "thread_name")),
    "a time is text": lambda found: next(e for e in found if e["ph"] == "C").update(ts="0"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_check_finds_what_is_wrong(fault: str) -> None:
    found = events(4)
    check(found)
    FAULTS[fault](found)
    with pytest.raises(AssertionError):
        check(found)


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
    levels: dict[str, list[float]] = {}
    for event in events(6):
        if event["ph"] == "C":
            levels.setdefault(event["name"], []).append(event["args"]["value"])
    assert {name: max(values) for name, values in levels.items()} == {
        "flags V -> MTE2 set": 3,  # primed: one for each slot
        "flags MTE3 -> V set": 3,
        "flags MTE2 -> V set": 0,  # waited for already
        "flags V -> MTE3 set": 0,
        "UB tiles of 4096 bytes: slots in use": 4,
        "UB bytes in use": 4 * 4096,
    }
    assert all(values[-1] == 0 for values in levels.values())


def test_a_long_trace_is_valid() -> None:
    found = events(4600)
    assert len(found) > 100_000
    check(found)
