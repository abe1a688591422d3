"""The machine: what a kernel's scalar unit issues, given numbers."""

import pytest

from pto_buf.errors import DiagnosticError, Place, UsageError
from pto_buf.hw import Pipe, Space
from pto_buf.machine.exec import execute, kernel_named
from pto_buf.machine.steps import Barrier, CoreId, Exec, GlobalRegion, Region, SetFlag, Step, TileRef, WaitFlag
from support.pto_text import kernel, parse

X = "!pto.tile_buf<vec, 32x64xf32>"
WINDOW = "!pto.partition_tensor_view<32x64xf32>"


def steps(text: str, limit: int = 10_000, **scalars: int | float) -> list[Step]:
    return list(execute(kernel_named(parse(text), None), scalars, limit=limit))


def lanes(body: str, arguments: str = "", **scalars: int) -> list[int]:
    """The ids that a body sets, in order."""
    found = steps(kernel(body, arguments), limit=10_000, **scalars)
    return [step.id for step in found if isinstance(step, SetFlag)]


def show(value: str) -> str:
    return f"pto.set_flag_dyn[<PIPE_V>, <PIPE_MTE3>, {value}]"


LOOP = f"""
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c3 = arith.constant 3 : index
scf.for %i = %c0 to %n step %c1 {{
  %s = arith.remui %i, %c3 : index
  {show("%s")}
}}
"""


@pytest.mark.parametrize(("trips", "expected"), [(0, []), (1, [0]), (2, [0, 1]), (5, [0, 1, 2, 0, 1]), (-4, [])])
def test_a_loop_runs_for_its_trips(trips: int, expected: list[int]) -> None:
    assert lanes(LOOP, "%n: index", n=trips) == expected


def test_trips_and_places_name_the_loop_and_the_op() -> None:
    found = steps(kernel(LOOP, "%n: index"), n=2)
    assert [step.place for step in found] == [Place("test.pto", 8, 3)] * 2
    loop = Place("test.pto", 6, 1)
    assert [step.trips for step in found] == [((loop, 0),), ((loop, 1),)]
    assert len({step.site for step in found}) == 1


def test_loops_nest_and_a_trip_number_starts_anew() -> None:
    body = f"""
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
scf.for %i = %c0 to %c2 step %c1 {{
  scf.for %j = %i to %c2 step %c1 {{
    {show("%j")}
  }}
}}
"""
    found = steps(kernel(body))
    assert [[trip for _, trip in step.trips] for step in found] == [[0, 0], [0, 1], [1, 0]]
    assert lanes(body) == [0, 1, 1]


def test_carried_values_are_swapped_at_once() -> None:
    body = f"""
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c4 = arith.constant 4 : index
%a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%p = %c0, %q = %c4) -> (index, index) {{
  scf.yield %q, %p : index, index
}}
{show("%a")}
{show("%b")}
"""
    assert lanes(body, "%n: index", n=0) == [0, 4]
    assert lanes(body, "%n: index", n=3) == [4, 0]
    assert lanes(body, "%n: index", n=4) == [0, 4]


def test_a_branch_takes_one_arm_and_yields_its_values() -> None:
    body = f"""
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%c = arith.cmpi slt, %n, %c1 : index
%v = scf.if %c -> (index) {{
  {show("%c1")}
  scf.yield %c1 : index
}} else {{
  scf.yield %c2 : index
}}
{show("%v")}
scf.if %c {{
  {show("%c2")}
}}
"""
    assert lanes(body, "%n: index", n=0) == [1, 1, 2]
    assert lanes(body, "%n: index", n=1) == [2]


def test_a_while_loop_tests_before_each_trip() -> None:
    body = f"""
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%last = scf.while (%i = %c0) : (index) -> index {{
  %go = arith.cmpi slt, %i, %n : index
  scf.condition(%go) %i : index
}} do {{
^bb0(%j: index):
  {show("%j")}
  %k = arith.addi %j, %c1 : index
  scf.yield %k : index
}}
{show("%last")}
"""
    assert lanes(body, "%n: index", n=0) == [0]
    assert lanes(body, "%n: index", n=3) == [0, 1, 2, 3]


def test_a_tile_chosen_by_a_branch_is_resolved() -> None:
    body = f"""
%a0 = arith.constant 0 : i64
%a1 = arith.constant 8192 : i64
%x = pto.alloc_tile addr = %a0 : {X}
%y = pto.alloc_tile addr = %a1 : {X}
%c0 = arith.constant 0 : index
%c = arith.cmpi eq, %n, %c0 : index
%t = scf.if %c -> ({X}) {{
  scf.yield %x : {X}
}} else {{
  scf.yield %y : {X}
}}
%u = arith.select %c, %y, %x : {X}
pto.tadd ins(%t, %t : {X}, {X}) outs(%u : {X})
"""
    (step,) = steps(kernel(body, "%n: index"), n=1)
    assert isinstance(step, Exec)
    assert step.pipes == (Pipe.V,)
    assert step.reads == (Region(Space.VEC, 8192, 16384),) * 2
    assert step.writes == (Region(Space.VEC, 0, 8192),)


def test_windows_of_global_memory_are_affine() -> None:
    body = f"""
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c32 = arith.constant 32 : index
%c64 = arith.constant 64 : index
%c256 = arith.constant 256 : index
%row = arith.muli %n, %c32 : index
%v = pto.make_tensor_view %p, shape = [%c256, %c256], strides = [%c256, %c1] : !pto.tensor_view<?x?xf32>
%w = pto.partition_view %v, offsets = [%row, %c64], sizes = [%c32, %c64] : !pto.tensor_view<?x?xf32> -> {WINDOW}
%a = arith.constant 64 : i64
%x = pto.alloc_tile addr = %a : {X}
pto.tload ins(%w : {WINDOW}) outs(%x : {X})
"""
    (step,) = steps(kernel(body, "%p: !pto.ptr<f32>, %n: index"), n=2)
    assert isinstance(step, Exec)
    assert step.global_reads == (GlobalRegion(0, 64 * 256 + 64, (32, 64), (256, 1), "f32"),)
    assert step.global_reads[0].bounds == (64 * 256 + 64, 64 * 256 + 64 + 31 * 256 + 64)
    assert step.global_writes == ()
    assert step.reads == ()
    assert step.writes == (Region(Space.VEC, 64, 64 + 8192),)


def test_valid_extents_come_from_numbers_and_must_fit() -> None:
    tile = "!pto.tile_buf<vec, 32x64xf32, valid=?x64>"
    body = f"""
%a = arith.constant 0 : i64
%x = pto.alloc_tile addr = %a valid_row = %n : {tile}
pto.tadd ins(%x, %x : {tile}, {tile}) outs(%x : {tile})
"""
    (step,) = steps(kernel(body, "%n: index"), n=0)
    assert isinstance(step, Exec)
    ref = step.operands["dst"]
    assert isinstance(ref, TileRef)
    assert (ref.v_rows, ref.v_cols) == (0, 64)
    with pytest.raises(DiagnosticError, match=r"test.pto:4:1: error: 33 valid rows of a tile with 32"):
        steps(kernel(body, "%n: index"), n=33)


def test_flags_waits_and_barriers_come_in_order() -> None:
    body = """
pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID3>]
pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID3>]
pto.barrier #pto.pipe<PIPE_ALL>
"""
    place = (Place("test.pto", line, 1) for line in (3, 4, 5))
    assert steps(kernel(body)) == [
        SetFlag(1, Pipe.MTE2, Pipe.V, 3, next(place), ()),
        WaitFlag(2, Pipe.MTE2, Pipe.V, 3, next(place), ()),
        Barrier(3, Pipe.ALL, next(place), ()),
    ]


@pytest.mark.parametrize("lane", [-1, 8])
def test_a_lane_outside_the_ids_is_an_error_at_the_flag(lane: int) -> None:
    with pytest.raises(DiagnosticError, match=rf"test.pto:3:1: error: event id {lane} is outside 0 to 7"):
        lanes(show("%n"), "%n: index", n=lane)


def test_the_limit_ends_a_run_with_incomplete() -> None:
    with pytest.raises(DiagnosticError, match=r"test.pto:6:1: error: incomplete: stopped after 100 instr") as caught:
        steps(kernel(LOOP, "%n: index"), limit=100, n=1 << 40)
    assert caught.value.diagnostics[0].kind == "incomplete"


def test_an_unknown_op_is_named_at_its_place() -> None:
    with pytest.raises(DiagnosticError, match=r"test.pto:3:1: error: 'scf.index_switch' cannot be executed"):
        steps(kernel("scf.index_switch %n\ncase 0 {\nscf.yield\n}\ndefault {\nscf.yield\n}", "%n: index"), n=0)


def test_a_division_by_zero_is_an_error_at_its_place() -> None:
    with pytest.raises(DiagnosticError, match=r"test.pto:3:1: error: divides by zero"):
        lanes("%q = arith.divui %n, %n : index", "%n: index", n=0)


@pytest.mark.parametrize("step", [0, -1])
def test_a_step_below_one_is_an_error(step: int) -> None:
    body = """
%c0 = arith.constant 0 : index
scf.for %i = %c0 to %c0 step %n {
}
"""
    with pytest.raises(DiagnosticError, match=rf"test.pto:4:1: error: the loop's step is {step}"):
        lanes(body, "%n: index", n=step)


def test_a_tile_without_address_is_an_error_with_the_lever() -> None:
    with pytest.raises(DiagnosticError, match=r"test.pto:3:1: error: the tile has no address") as caught:
        steps(kernel(f"%x = pto.alloc_tile : {X}"))
    assert "ptobuf-plan-memory" in (caught.value.diagnostics[0].help or "")


def test_arguments_go_by_name_or_position() -> None:
    text = kernel(LOOP, "%p: !pto.ptr<f32>, %n: index")
    function = kernel_named(parse(text), "k")
    assert len(list(execute(function, {1: 2}))) == len(list(execute(function, {"n": 2}))) == 2
    with pytest.raises(UsageError, match="argument 'n' needs a number"):
        execute(function, {})
    with pytest.raises(UsageError, match="no argument 'm'"):
        execute(function, {"n": 1, "m": 2})
    with pytest.raises(UsageError, match=r"argument 'n' is index, found 1\.5"):
        execute(function, {"n": 1.5})


def test_every_kernel_of_a_module_can_be_named() -> None:
    one = "func.func @{} () attributes {{pto.entry}} {{ return }}\n"
    module = parse("module {\n" + one.format("a") + one.format("b") + "}\n")
    assert list(execute(kernel_named(module, "b"), {}, core=CoreId())) == []
    with pytest.raises(UsageError, match=r"2 kernels \(a, b\)"):
        kernel_named(module, None)
    with pytest.raises(UsageError, match="no kernel 'c'"):
        kernel_named(module, "c")


def test_straight_line_code_is_linear() -> None:
    """A long text is built and run without recursion."""
    body = "\n".join(["pto.barrier #pto.pipe<PIPE_V>"] * 3000)
    assert len(steps(kernel(body))) == 3000


def test_waits_are_told_from_sets() -> None:
    (step,) = steps(kernel("pto.wait_flag_dyn[<PIPE_MTE2>, <PIPE_V>, %n]", "%n: index"), n=7)
    assert isinstance(step, WaitFlag)
    assert (step.src, step.dst, step.id) == (Pipe.MTE2, Pipe.V, 7)
