"""Scheduling changes order and nothing else: the same trips, on the same slots, with the same data."""

import pytest
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr

from pto_buf.errors import UsageError
from pto_buf.lowering.schedule import SchedulePass
from pto_buf.universe import make_context
from pto_buf.verification import verify_module
from support.scheduling import STAGE, check_same, pipe, same, scheduled, stages, words
from support.vec_text import kernel
from support.walk import walk

pytestmark = pytest.mark.campaign


@pytest.mark.parametrize("stage", [2, 3])
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("lower", [0, 1, 3])
def test_the_domain_is_kept(lower: int, step: int, stage: int):
    """For every number of trips from 0 to 2 N + 1, with constant and with run-time bounds."""
    assert stages(pipe("%m", "%n", f"%c{step}", stage, stage)) == []
    ends = [lower + trips * step - cut for trips in range(2 * stage + 2) for cut in range(step)]
    same(pipe("%m", "%n", f"%c{step}", stage, stage), *({"m": lower, "n": end} for end in ends))
    same(pipe(f"%c{lower}", "%n", f"%c{step}", stage, stage), *({"n": end} for end in ends))
    constant = kernel(f"%end = arith.constant 99 : index\n{pipe(f'%c{lower}', '%end', f'%c{step}', stage, stage)}")
    for end in ends:
        source = constant.clone()
        for op in source.walk():
            if isinstance(op, ConstantOp) and op.result.name_hint == "end":
                op.properties["value"] = IntegerAttr.from_index_int_value(end)
        module = source.clone()
        SchedulePass().apply(make_context(), module)
        verify_module(module)
        check_same(source, module, {})


def test_the_domain_is_kept_with_more_trips_together():
    test_the_domain_is_kept(1, 2, 5)


def test_a_step_that_is_not_known():
    text = pipe("%c0", "%n", "%m")
    assert "trips stay one after another" in stages(text)[0]
    same(text, *({"n": n, "m": m} for n in range(7) for m in (1, 2, 3)))
    # the step does not matter to a chain of one slot
    chain = "set sum 1\nset ring 2\nx = load ring[%c0]\nscf.for %i = %c2 to %n step %m {\n"
    text = f"{chain}y = add sum[%c0] sum[%c0] x\n}} {STAGE}\nstore sum[%c0]"
    assert stages(text) == []
    same(text, *({"n": n, "m": m} for n in range(12) for m in (1, 2, 3)))


def test_a_loop_that_ends_before_it_starts():
    same(pipe("%m", "%n"), {"m": 5, "n": 0}, {"m": 5, "n": 4}, {"m": 5, "n": 6})


def test_the_order_of_two_trips():
    text = pipe(stage=2)
    assert words(text, n=2) == "load load exp exp store store release release"
    assert words(text, n=3) == "load load exp exp store store release release load exp store release"
    assert words(text, n=1) == "load exp store release"
    assert words(text, n=0) == ""


def test_nothing_changes_unless_it_is_asked_for():
    text = pipe().replace(" {ptobuf.stage = 2 : i64}", "")
    module, warnings = scheduled(text)
    assert str(module) == str(kernel(text))
    assert warnings == []


def test_a_stage_of_one_is_forgotten():
    assert words(pipe(stage=1), n=2) == "load exp store release load exp store release"


def test_the_option_overrides_innermost_loops():
    plain = pipe(slots=3).replace(" {ptobuf.stage = 2 : i64}", "")
    assert words(plain, interleave=3, n=3) == "load load load exp exp exp store store store release release release"
    assert words(pipe(), interleave=1, n=2) == "load exp store release load exp store release"
    with pytest.raises(UsageError, match="interleave=0 is not a number of trips"):
        SchedulePass(interleave=0).apply(make_context(), kernel(plain))


def test_a_loop_of_fewer_trips_runs_them_all_together():
    text = pipe("%c0", "%c3", "%c1", stage=4, slots=4)
    assert words(text) == "load load load exp exp exp store store store release release release"
    assert scheduled(text)[1] == []
    assert words(pipe("%c0", "%c1", "%c1")) == "load exp store release"


# --- loops in loops -------------------------------------------------------------------------------------------------

NESTED = """
set wide 2
set thin 2
scf.for %i = %c0 to %n step %c1 {
%p = arith.remui %i, %c2 : index
x = load wide[%p] @%i
scf.for %j = %c0 to %m step %c1 {
%q = arith.remui %j, %c2 : index
y = exp thin[%q] x
store y @%j
} INNER
release x
} OUTER
"""


def nested(outer: str, inner: str) -> str:
    return NESTED.replace("OUTER", outer).replace("INNER", inner)


@pytest.mark.parametrize(("outer", "inner"), [(STAGE, STAGE), (STAGE, ""), ("", STAGE)])
def test_nested_loops(outer: str, inner: str):
    same(nested(outer, inner), *({"n": n, "m": m} for n in range(6) for m in range(6)))


def test_an_inner_loop_is_one_step():
    once = "exp store"
    assert words(nested(STAGE, ""), n=2, m=2) == f"load load {once} {once} {once} {once} release release"
    twice = "exp exp store store"
    assert words(nested(STAGE, STAGE), n=2, m=2) == f"load load {twice} {twice} release release"
    # the trip that is left over stays behind its own loop
    whole = f"{twice} {once}"
    assert words(nested(STAGE, STAGE), n=2, m=3) == f"load load {whole} {whole} release release"
    assert words(nested("", STAGE), n=1, m=3) == f"load {whole} release"


def test_the_option_leaves_outer_loops_to_their_stage():
    text = nested(STAGE, "")
    module, _ = scheduled(text, 2)
    run = walk(module, {"n": 2, "m": 2})
    assert [done.op for done in run.done][:4] == ["ptobuf.load_into"] * 2 + ["ptobuf.exp_into"] * 2


def test_three_deep():
    text = f"""
set a 2
set b 2
set c 2
scf.for %h = %c0 to %n step %c1 {{
%o = arith.remui %h, %c2 : index
w = load c[%o] @%h
scf.for %i = %c0 to %n step %c1 {{
%p = arith.remui %i, %c2 : index
x = load a[%p] @%i
scf.for %j = %c0 to %m step %c1 {{
%q = arith.remui %j, %c2 : index
y = add b[%q] x w
store y @%j
}} {STAGE}
}} {STAGE}
}} {STAGE}
"""
    same(text, *({"n": n, "m": m} for n in range(4) for m in range(4)))


# --- carried values -------------------------------------------------------------------------------------------------


def test_carried_numbers_go_from_trip_to_trip():
    text = """
set ring 3
%end = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0) -> (index) {
x = load ring[%k] @%i
store x @%i
%next = arith.addi %k, %c1 : index
%wrapped = arith.remui %next, %c3 : index
scf.yield %wrapped : index
} {ptobuf.stage = 2 : i64}
y = load ring[%end]
store y
"""
    same(text, *({"n": n} for n in range(8)))
    assert words(text, n=2) == "load load store store load store"


def test_what_an_inner_loop_leaves_differs_from_trip_to_trip():
    text = """
set ring 2
scf.for %i = %c0 to %n step %c1 {
%end = scf.for %j = %c0 to %n step %c1 iter_args(%k = %c0) -> (index) {
%sum = arith.addi %k, %m : index
%odd = arith.muli %sum, %sum : index
%wrapped = arith.remui %odd, %c2 : index
scf.yield %wrapped : index
}
%both = arith.addi %end, %i : index
%s = arith.remui %both, %c2 : index
x = load ring[%s] @%i
store x @%i
} {ptobuf.stage = 2 : i64}
"""
    assert "slot set 'ring'" in stages(text)[0]


def test_carried_numbers_that_change_places():
    text = """
set ring 2
%a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0, %l = %c1) -> (index, index) {
x = load ring[%k] @%i
store x @%i
scf.yield %l, %k : index, index
} {ptobuf.stage = 2 : i64}
y = load ring[%a]
store y
"""
    same(text, *({"n": n} for n in range(6)))
    assert words(text, n=2).startswith("load load store store")


def test_a_carried_tile_keeps_its_chain():
    tile = "!pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>"
    text = f"""
set ring 2
set sum 1 owned
s = load sum[%c0]
%r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %s) -> ({tile}) {{
%k = arith.remui %i, %c2 : index
x = load ring[%k] @%i
y = add sum[%c0] sum[%c0] x
scf.yield %y : {tile}
}} {STAGE}
store sum[%c0]
"""
    same(text, *({"n": n} for n in range(6)))
    assert words(text, n=2) == "load load load add add store"


def test_a_step_that_needs_what_the_trip_before_makes_later_stays():
    tile = "!pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>"
    text = f"""
set sum 1 owned
set ring 2
s = load sum[%c0]
%r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %s) -> ({tile}) {{
%k = arith.remui %i, %c2 : index
%v = pto.partition_view %whole_dst, offsets = [%i, %c0], sizes = [%c64, %c128] : \
!pto.tensor_view<256x256xf32> -> !pto.partition_tensor_view<64x128xf32>
ptobuf.store ins(%t : {tile}) outs(%v : !pto.partition_tensor_view<64x128xf32>)
y = load sum[%c0] @%i
scf.yield %y : {tile}
}} {STAGE}
"""
    same(text, *({"n": n} for n in range(6)))
    assert "'store' needs what the trip before makes after it" in stages(text)[0]
