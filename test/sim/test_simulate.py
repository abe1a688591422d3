"""Values of whole kernels: right in every order with their fences, wrong or faulty without one of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pto_buf.errors import DiagnosticError, UsageError
from pto_buf.hw import Pipe
from pto_buf.machine.exec import kernel_named
from pto_buf.sim.orders import ADVERSARIES, Order, Policy, late, order_named
from pto_buf.sim.simulate import Launch, Run, simulate
from support.pto_text import kernel, parse
from support.slot_builder import lowered
from support.slot_text import SlotText
from support.streams import COLS, COMPUTED, CONSUMED, FENCES, LOADED, ROWS, STORED, Fence, stream
from support.trials import wrong_runs

EVERY_ORDER = (Order(Policy.EARLY), *ADVERSARIES, *(Order(Policy.RANDOM, seed=seed) for seed in range(4)))
TILE = "!pto.tile_buf<vec, 16x64xf32>"
WINDOW = "!pto.partition_tensor_view<16x64xf32>"


def launch(text: str, arrays: Mapping[str, Any], **scalars: int) -> Launch:
    return Launch(kernel_named(parse(text), None), arrays, scalars)


def stream_launch(text: str, trips: int) -> Launch:
    x = np.random.default_rng(1).standard_normal((max(trips, 1) * ROWS, COLS)).astype(np.float32)
    return launch(text, {"x": x, "z": np.zeros_like(x)}, n=trips)


def right(run: Run, start: Launch, trips: int) -> bool:
    expected = start.arrays["x"][: trips * ROWS] * 2
    return not run.faults and np.array_equal(run.arrays["z"][: trips * ROWS], expected)


@pytest.mark.parametrize("order", EVERY_ORDER, ids=str)
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_a_fenced_stream_is_right_in_every_order(slots: int, order: Order) -> None:
    for trips in (0, 1, 2, 3, 6, 7):
        start = stream_launch(stream(slots), trips)
        run = simulate(start, order)
        assert right(run, start, trips)
        assert run.displaced == ()


@pytest.mark.parametrize("missing", FENCES, ids=lambda fence: f"{fence.src}-{fence.dst}")
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_a_stream_without_one_fence_is_wrong_in_some_order(slots: int, missing: Fence) -> None:
    trips = slots + 1  # the first trip that uses a slot again
    start = stream_launch(stream(slots, [missing]), trips)
    runs = [simulate(start, order) for order in ADVERSARIES]
    assert not all(right(run, start, trips) for run in runs)
    assert right(simulate(start, Order(Policy.EARLY)), start, trips)


@pytest.mark.parametrize("missing", [CONSUMED, STORED], ids=lambda fence: f"{fence.src}-{fence.dst}")
def test_a_slot_that_is_not_used_again_needs_no_hand_back(missing: Fence) -> None:
    start = stream_launch(stream(3, [missing]), 3)
    assert all(right(simulate(start, order), start, 3) for order in EVERY_ORDER)


def test_a_missing_raw_fence_reads_nan_and_is_named() -> None:
    start = stream_launch(stream(2, [LOADED]), 1)
    run = simulate(start, order_named("late"))
    assert np.isnan(run.arrays["z"][:ROWS]).all()
    found = str(run.displaced[0])
    assert found.startswith("pto.tadd at test.pto:31:3 (trip 0) read from UB [0, 4096) what nothing wrote")
    assert "not what pto.tload at test.pto:28:3 (trip 0) writes" in found


def test_a_missing_war_fence_reads_the_next_value_and_is_named() -> None:
    start = stream_launch(stream(2, [STORED]), 3)
    run = simulate(start, late(Pipe.V))
    assert np.array_equal(run.arrays["z"][:ROWS], start.arrays["x"][2 * ROWS :] * 2)
    assert "read from UB [8192, 12288) what pto.tadd at test.pto" in str(run.displaced[0])
    assert "(trip 2) wrote, not what pto.tadd" in str(run.displaced[0])


def test_random_orders_are_the_same_for_the_same_seed() -> None:
    start = stream_launch(stream(2, [LOADED, COMPUTED]), 5)
    runs = [simulate(start, order_named("random:3")) for _ in range(2)]
    assert np.array_equal(runs[0].arrays["z"], runs[1].arrays["z"], equal_nan=True)
    assert runs[0].displaced == runs[1].displaced != ()


CHAIN = f"""
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c16 = arith.constant 16 : index
%c64 = arith.constant 64 : index
%a0 = arith.constant 0 : i64
%a1 = arith.constant 4096 : i64
%a2 = arith.constant 8192 : i64
%vx = pto.make_tensor_view %x, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
%gx = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> {WINDOW}
%s = pto.alloc_tile addr = %a0 : {TILE}
%t = pto.alloc_tile addr = %a1 : {TILE}
%u = pto.alloc_tile addr = %a2 : {TILE}
pto.tload ins(%gx : {WINDOW}) outs(%s : {TILE})
pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
pto.tadd ins(%s, %s : {TILE}, {TILE}) outs(%t : {TILE})
BETWEEN
pto.tadd ins(%t, %s : {TILE}, {TILE}) outs(%u : {TILE})
pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
pto.tstore ins(%u : {TILE}) outs(%gx : {WINDOW})
"""


@pytest.mark.parametrize(
    ("between", "arch", "holds"),
    [
        ("pto.barrier #pto.pipe<PIPE_V>", "a3", True),
        ("pto.barrier #pto.pipe<PIPE_ALL>", "a3", True),
        ("", "a3", False),
        ("", "a5", True),
        ("pto.barrier #pto.pipe<PIPE_MTE2>", "a3", False),
        ("pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID1>]", "a3", False),
    ],
)
def test_dependent_vector_ops_need_a_barrier_where_the_target_says_so(between: str, arch: str, holds: bool) -> None:
    x = np.arange(1024, dtype=np.float32).reshape(16, 64)
    start = launch(kernel(CHAIN.replace("BETWEEN", between), "%x: !pto.ptr<f32>", arch=arch), {"x": x})
    assert np.array_equal(simulate(start, order_named("late")).arrays["x"], 3 * x) is holds
    assert np.array_equal(simulate(start, order_named("early")).arrays["x"], 3 * x)


def fault_of(body: str, order: str = "late") -> tuple[str, str, list[str]]:
    (fault,) = simulate(launch(kernel(body), {}), order_named(order)).faults
    return str(fault.place), fault.message, [f"{note.place}: {note.message}" for note in fault.notes]


@pytest.mark.parametrize("order", ["early", "late", "late:MTE3", "random:1"])
def test_a_wait_that_nothing_sets_is_a_deadlock_at_the_wait(order: str) -> None:
    place, message, _ = fault_of("pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID2>]", order)
    assert place == "test.pto:3:1"
    assert message == "deadlock: MTE3 waits for flag V -> MTE3 id 2, and never goes on"


@pytest.mark.parametrize("order", ["early", "late", "late:MTE2", "random:1"])
def test_pipes_that_wait_for_each_other_are_a_deadlock(order: str) -> None:
    body = """
pto.wait_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]
pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
pto.set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]
"""
    _, message, _ = fault_of(body, order)
    assert message.startswith("deadlock: ")


def test_a_scalar_wait_before_its_set_is_a_deadlock() -> None:
    body = """
pto.wait_flag[<PIPE_V>, <PIPE_S>, <EVENT_ID0>]
pto.set_flag[<PIPE_V>, <PIPE_S>, <EVENT_ID0>]
"""
    for order in ("early", "late", "random:2"):
        place, message, _ = fault_of(body, order)
        assert (place, message.split(",")[0]) == ("test.pto:3:1", "deadlock: S waits for flag V -> S id 0")


def test_a_deadlock_names_who_is_held_behind_it() -> None:
    body = """
pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID1>]
pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
"""
    place, message, notes = fault_of(body, "late:MTE3")
    assert place == "test.pto:3:1"
    assert message == "deadlock: V waits for flag MTE2 -> V id 1, and never goes on"
    assert notes == ["test.pto:5:1: MTE3 is held here: waits for flag V -> MTE3 id 0"]


def test_a_second_set_of_a_pending_flag_is_a_fault_at_the_second() -> None:
    body = """
pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
"""
    for order in ("early", "late:V"):
        place, message, notes = fault_of(body, order)
        assert place == "test.pto:4:1"
        assert message == "flag V -> MTE3 id 0 is set a second time while it is pending"
        assert notes == ["test.pto:3:1: it was set here"]


def test_a_flag_left_at_the_end_is_a_fault_at_its_set() -> None:
    for order in ("early", "late", "random:0"):
        place, message, _ = fault_of("pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID5>]", order)
        assert place == "test.pto:3:1"
        assert message == "flag V -> MTE3 id 5 is still set when the kernel ends"


def test_a_barrier_on_the_scalar_unit_is_a_fault() -> None:
    assert fault_of("pto.barrier #pto.pipe<PIPE_S>")[1].startswith("a barrier on the scalar unit")


def test_a_scalar_wait_holds_what_is_issued_behind_it() -> None:
    body = f"""
{CHAIN.replace("BETWEEN", "pto.barrier #pto.pipe<PIPE_V>").strip()}
pto.set_flag[<PIPE_MTE3>, <PIPE_S>, <EVENT_ID0>]
pto.wait_flag[<PIPE_MTE3>, <PIPE_S>, <EVENT_ID0>]
pto.tload ins(%gx : {WINDOW}) outs(%s : {TILE})
"""
    x = np.ones((16, 64), np.float32)
    for order in EVERY_ORDER:
        run = simulate(launch(kernel(body, "%x: !pto.ptr<f32>"), {"x": x}), order)
        assert np.array_equal(run.arrays["x"], 3 * x)


def test_an_access_outside_the_array_is_a_fault_at_the_op() -> None:
    run = simulate(stream_launch(stream(2), 2), order_named("early"))
    assert not run.faults
    short = np.zeros((ROWS + 1, COLS), np.float32)
    run = simulate(
        launch(stream(2), {"x": short, "z": np.zeros((2 * ROWS, COLS), np.float32)}, n=2), order_named("early")
    )
    assert run.faults[0].message == "pto.tload touches elements [1024, 2048) of 'x', which has 1088 elements"
    with pytest.raises(DiagnosticError, match=r"test.pto:28:3: error: pto.tload touches elements"):
        run.checked()


def test_a_tile_outside_its_space_is_a_fault_at_the_op() -> None:
    tall = "!pto.tile_buf<vec, 32x64xf32>"
    body = f"""
%a = arith.constant 192512 : i64
%t = pto.alloc_tile addr = %a : {tall}
pto.tadd ins(%t, %t : {tall}, {tall}) outs(%t : {tall})
"""
    place, message, _ = fault_of(body)
    assert (place, message) == (
        "test.pto:5:1",
        "pto.tadd touches bytes [192512, 200704) of UB, which has 196608 bytes",
    )


def test_arguments_must_be_there_and_of_their_type() -> None:
    x = np.zeros((16, 64), np.float32)
    text = stream(2)
    with pytest.raises(UsageError, match="'z' needs an array"):
        simulate(launch(text, {"x": x}, n=0), order_named("early"))
    with pytest.raises(UsageError, match="'x' holds f32, found an array of float64"):
        simulate(launch(text, {"x": x.astype(float), "z": x}, n=0), order_named("early"))
    with pytest.raises(UsageError, match="no pointer argument 'y'"):
        simulate(launch(text, {"x": x, "y": x, "z": x}, n=0), order_named("early"))


def test_given_arrays_are_not_changed() -> None:
    start = stream_launch(stream(2), 2)
    simulate(start, order_named("late"))
    assert not start.arrays["z"].any()


@pytest.mark.parametrize("text", ["", "soon", "late:S", "late:ALL", "random", "random:x", "early:1"])
def test_an_unknown_order_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="there is no order"):
        order_named(text)


def test_scratch_holds_nothing_afterwards() -> None:
    column = "!pto.tile_buf<vec, 16x1xf32, blayout=col_major>"
    body = f"""
%a0 = arith.constant 0 : i64
%a1 = arith.constant 4096 : i64
%a2 = arith.constant 8192 : i64
%one = arith.constant 1.0 : f32
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c16 = arith.constant 16 : index
%c64 = arith.constant 64 : index
%v = pto.make_tensor_view %x, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
%w = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> {WINDOW}
%s = pto.alloc_tile addr = %a0 : {TILE}
%tmp = pto.alloc_tile addr = %a1 : {TILE}
%r = pto.alloc_tile addr = %a2 : {column}
pto.texpands ins(%one : f32) outs(%s : {TILE})
pto.texpands ins(%one : f32) outs(%tmp : {TILE})
pto.barrier #pto.pipe<PIPE_V>
pto.trowsum ins(%s, %tmp : {TILE}, {TILE}) outs(%r : {column})
pto.barrier #pto.pipe<PIPE_ALL>
pto.tstore ins(%tmp : {TILE}) outs(%w : {WINDOW})
"""
    run = simulate(
        launch(kernel(body, "%x: !pto.ptr<f32>"), {"x": np.zeros((16, 64), np.float32)}), order_named("late")
    )
    assert np.isnan(run.arrays["x"]).all()


def test_a_flag_that_an_op_uses_inside_must_not_be_pending_around_it() -> None:
    """On a2a3 the library's row maximum raises V -> S id 0 and waits for it."""
    column = "!pto.tile_buf<vec, 16x1xf32, blayout=col_major>"
    body = f"""
%a0 = arith.constant 0 : i64
%a1 = arith.constant 4096 : i64
%a2 = arith.constant 8192 : i64
%s = pto.alloc_tile addr = %a0 : {TILE}
%tmp = pto.alloc_tile addr = %a1 : {TILE}
%r = pto.alloc_tile addr = %a2 : {column}
pto.set_flag[<PIPE_V>, <PIPE_S>, <EVENT_ID0>]
pto.trowmax ins(%s, %tmp : {TILE}, {TILE}) outs(%r : {column})
pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
pto.barrier #pto.pipe<PIPE_ALL>
pto.wait_flag[<PIPE_V>, <PIPE_S>, <EVENT_ID0>]
"""
    place, message, notes = fault_of(body)
    assert (place, message) == ("test.pto:10:1", "pto.trowmax uses flag V -> S id 0 inside, which is pending")
    assert notes == ["test.pto:9:1: it was set here"]


def test_windows_of_one_tile_are_filled_by_ops_that_overlap() -> None:
    """On a2a3 V orders nothing by itself: what an op does not fill of a tile it must not write back either."""
    halves = SlotText(P=1, H=(2, "half"))
    halves.load("P")
    halves.fill("H[0]")
    halves.fill("H[1]")
    for half, row in (("H[0]", "0"), ("H[1]", "8")):
        halves.call("insert", "P", half, (halves.number(row), "index"), (halves.number("0"), "index"))
    halves.store("P")
    assert wrong_runs(lowered(halves)[0], {"n": 1}, [late(Pipe.V)]) == []
