"""Kernels for several cores: sections, signals, memory that two cores see; and locks on a5."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe
from pto_buf.machine.exec import execute, kernel_named
from pto_buf.report.timing import headline
from pto_buf.run import run_pto
from pto_buf.sim.orders import ADVERSARIES, Order, Policy, order_named
from pto_buf.sim.profile import profile
from pto_buf.sim.simulate import Launch, Run, simulate
from support.pto_text import kernel, parse

EVERY_ORDER = (Order(Policy.EARLY), *ADVERSARIES, *(Order(Policy.RANDOM, seed=seed) for seed in range(6)))

MAT = "!pto.tile_buf<mat, 32x32xf16, blayout=col_major, slayout=row_major>"
RIGHT = "!pto.tile_buf<right, 32x32xf16, slayout=col_major>"
ACC = "!pto.tile_buf<acc, 32x32xf32, blayout=col_major, slayout=row_major, fractal=1024>"
WHOLE16, WHOLE32, HALF = (f"!pto.partition_tensor_view<{shape}>" for shape in ("32x32xf16", "32x32xf32", "16x32xf32"))


def left(arch: str) -> str:
    return f"!pto.tile_buf<left, 32x32xf16, blayout={'col' if arch == 'a5' else 'row'}_major, slayout=row_major>"


def fence(src: str, dst: str) -> str:
    return "".join(f"pto.{kind}_flag[<PIPE_{src}>, <PIPE_{dst}>, <EVENT_ID0>]\n" for kind in ("set", "wait"))


def view(name: str, dtype: str, rows: int = 32, start: str = "%c0") -> str:
    whole, part = f"!pto.tensor_view<?x?x{dtype}>", f"!pto.partition_tensor_view<{rows}x32x{dtype}>"
    return (
        f"%v{name} = pto.make_tensor_view %{name}, shape = [%c32, %c32], strides = [%c32, %c1] : {whole}\n"
        f"%g{name} = pto.partition_view %v{name}, offsets = [{start}, %c0], sizes = [%c{rows}, %c32] "
        f": {whole} -> {part}\n"
    )


CONSTANTS = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 16, 32))


def product(arch: str) -> str:
    """The cube core's part up to the product in L0C."""
    return f"""
{view("a", "f16")}{view("b", "f16")}
%z = arith.constant 0 : i64
%f = arith.constant 4096 : i64
%ta = pto.alloc_tile addr = %z : {MAT}
%tb = pto.alloc_tile addr = %f : {MAT}
%tl = pto.alloc_tile addr = %z : {left(arch)}
%tr = pto.alloc_tile addr = %z : {RIGHT}
%tc = pto.alloc_tile addr = %z : {ACC}
pto.tload ins(%ga : {WHOLE16}) outs(%ta : {MAT})
pto.tload ins(%gb : {WHOLE16}) outs(%tb : {MAT})
{fence("MTE2", "MTE1")}
pto.tmov ins(%ta : {MAT}) outs(%tl : {left(arch)})
pto.tmov ins(%tb : {MAT}) outs(%tr : {RIGHT})
{fence("MTE1", "M")}
pto.tmatmul ins(%tl, %tr : {left(arch)}, {RIGHT}) outs(%tc : {ACC})
{fence("M", "FIX")}
"""


def mixed(cube: str, vector: str, arch: str) -> str:
    return (
        f'module attributes {{pto.target_arch = "{arch}"}} {{\nfunc.func @k(%a: !pto.ptr<f16>, %b: !pto.ptr<f16>, '
        f"%w: !pto.ptr<f32>, %c: !pto.ptr<f32>) attributes {{pto.entry}} {{\n{CONSTANTS}\n"
        f"pto.section.cube {{\n{cube}}}\npto.section.vector {{\n{vector}}}\nreturn\n}}\n}}\n"
    )


VEC = "!pto.tile_buf<vec, 16x32xf32>"


SIGNAL, WAIT = "pto.sync.set <PIPE_FIX>, 3", "pto.sync.wait <PIPE_MTE2>, 3"


def through_memory(arch: str, signal: str = SIGNAL, wait: str = WAIT) -> str:
    """`c = 2 (a @ b)`: the product through `w`, each of two vector cores doubles half of its rows."""
    cube = f"""{product(arch)}{view("w", "f32")}
pto.tstore ins(%tc : {ACC}) outs(%gw : {WHOLE32})
{signal}
"""
    vector = f"""
%s = pto.get_subblock_idx
%si = arith.index_cast %s : i64 to index
%row = arith.muli %si, %c16 : index
{view("w", "f32", 16, "%row")}{view("c", "f32", 16, "%row")}
%z = arith.constant 0 : i64
%x = pto.alloc_tile addr = %z : {VEC}
{wait}
pto.tload ins(%gw : {HALF}) outs(%x : {VEC})
{fence("MTE2", "V")}
pto.tadd ins(%x, %x : {VEC}, {VEC}) outs(%x : {VEC})
{fence("V", "MTE3")}
pto.tstore ins(%x : {VEC}) outs(%gc : {HALF})
"""
    return mixed(cube, vector, arch)


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((32, 32)).astype(np.float16) for _ in range(2))
    nan = np.full((32, 32), np.nan, np.float32)
    return {"a": a, "b": b, "w": nan, "c": nan.copy()}


def run(text: str, given: Mapping[str, Any], order: Order, subblocks: int | None = None) -> Run:
    return simulate(Launch(kernel_named(parse(text), None), given, {}, subblocks=subblocks), order)


def expected(given: Mapping[str, Any], factor: float) -> Any:
    return factor * (given["a"].astype(np.float32) @ given["b"].astype(np.float32))


@pytest.mark.parametrize("order", EVERY_ORDER, ids=str)
@pytest.mark.parametrize("arch", ["a3", "a5"])
def test_a_product_reaches_both_vector_cores_in_every_order(arch: str, order: Order) -> None:
    given = arrays()
    found = run(through_memory(arch), given, order).checked()
    assert np.allclose(found.arrays["c"], expected(given, 2), atol=1e-4)


@pytest.mark.parametrize("arch", ["a3", "a5"])
def test_without_the_signal_the_vector_cores_read_too_early(arch: str) -> None:
    given = arrays()
    runs = [run(through_memory(arch, signal="", wait=""), given, order) for order in ADVERSARIES]
    assert any(np.isnan(found.arrays["c"]).any() for found in runs)


def test_a_signal_that_never_comes_is_a_deadlock_at_its_wait() -> None:
    for order in ("early", "late", "random:1"):
        (fault,) = run(through_memory("a3", signal=""), arrays(), order_named(order)).faults
        assert fault.kind == "deadlock"
        assert fault.message == "deadlock: S waits for signal 3, and never goes on"
        (fault,) = run(through_memory("a5", signal=""), arrays(), order_named(order)).faults
        assert fault.message == "deadlock: MTE2 waits for signal 3, and never goes on"


def test_a_signal_that_nobody_waits_for_is_left_over() -> None:
    faults = run(through_memory("a3", wait=""), arrays(), order_named("early")).faults
    assert {fault.message for fault in faults} == {"signal 3 is still set when the kernel ends"}


def back_pressure(arch: str, sets: str) -> str:
    """The cube core stores only when the vector cores have told it to."""
    text = through_memory(arch)
    text = text.replace("pto.tstore ins(%tc", "pto.sync.wait <PIPE_FIX>, 1\npto.tstore ins(%tc")
    return text.replace("%s = pto.get_subblock_idx", f"%s = pto.get_subblock_idx\n{sets}")


def test_the_cube_core_waits_for_both_vector_cores_on_a2a3_and_for_the_first_on_a5() -> None:
    given = arrays()
    every = "pto.sync.set <PIPE_MTE3>, 1"
    first = f"""%h = arith.index_cast %s : i64 to index
%one = arith.cmpi eq, %h, %c0 : index
scf.if %one {{
{every}
}}"""
    for order in EVERY_ORDER:
        found = run(back_pressure("a3", every), given, order).checked()
        assert np.allclose(found.arrays["c"], expected(given, 2), atol=1e-4)
        assert run(back_pressure("a3", first), given, order).faults[0].kind == "deadlock"
        run(back_pressure("a5", first), given, order).checked()
        assert [fault.kind for fault in run(back_pressure("a5", every), given, order).faults] == ["leftover"]


def test_a_sixteenth_pending_signal_hangs_the_core() -> None:
    found = run(through_memory("a3", signal=f"{SIGNAL}\n" * 16, wait=""), arrays(), EVERY_ORDER[0])
    assert "signal 3 is set while 15 are pending" in found.faults[0].message


@pytest.mark.parametrize("order", EVERY_ORDER, ids=str)
def test_on_a5_the_accumulator_goes_straight_into_the_vector_cores_memory(order: Order) -> None:
    tile = "!pto.tile_buf<vec, 32x32xf32>"
    cube = f"""{product("a5")}
%ub = pto.alloc_tile addr = %z : {tile}
pto.tmov ins(%tc : {ACC}) outs(%ub : {tile})
pto.sync.set <PIPE_FIX>, 0
"""
    vector = f"""{view("c", "f32")}
%z = arith.constant 0 : i64
%x = pto.alloc_tile addr = %z : {tile}
pto.sync.wait <PIPE_V>, 0
pto.tadd ins(%x, %x : {tile}, {tile}) outs(%x : {tile})
{fence("V", "MTE3")}
pto.tstore ins(%x : {tile}) outs(%gc : {WHOLE32})
"""
    given = arrays()
    found = run(mixed(cube, vector, "a5"), given, order).checked()
    assert np.allclose(found.arrays["c"], expected(given, 2), atol=1e-4)
    assert found.displaced == ()


def test_signals_between_blocks_are_refused_at_the_op() -> None:
    text = through_memory("a3", signal="pto.sync.set <PIPE_FIX>, 3 {ffts_mode = 0 : i32}")
    with pytest.raises(DiagnosticError, match=r"error: signals of ffts_mode 0 go to other blocks"):
        run(text, arrays(), EVERY_ORDER[0])


def test_a_kernel_with_sections_needs_a_core() -> None:
    function = kernel_named(parse(through_memory("a3")), None)
    with pytest.raises(DiagnosticError, match=r"test.pto:2:1: error: the kernel has sections for two kinds of core"):
        execute(function, {})


# --- locks ---


def locked(missing: str = "") -> str:
    """`y = x + x` in `%n` trips over one slot each, ordered by two locks instead of flags."""
    take, give = (f"pto.{kind}_buf [#pto.pipe_event_type<CLASS>, ID]" for kind in ("get", "rls"))

    def lock(kind: str, name: str, number: int) -> str:
        line = kind.replace("CLASS", name).replace("ID", str(number))
        return "" if missing == f"{name} {number}" else line

    body = f"""
{CONSTANTS}
%rows = arith.muli %n, %c16 : index
%vx = pto.make_tensor_view %x, shape = [%rows, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
%vy = pto.make_tensor_view %y, shape = [%rows, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
%z = arith.constant 0 : i64
%f = arith.constant 2048 : i64
%s = pto.alloc_tile addr = %z : {VEC}
%t = pto.alloc_tile addr = %f : {VEC}
scf.for %i = %c0 to %n step %c1 {{
  %row = arith.muli %i, %c16 : index
  %gx = pto.partition_view %vx, offsets = [%row, %c0], sizes = [%c16, %c32] : !pto.tensor_view<?x?xf32> -> {HALF}
  %gy = pto.partition_view %vy, offsets = [%row, %c0], sizes = [%c16, %c32] : !pto.tensor_view<?x?xf32> -> {HALF}
  {lock(take, "TLOAD", 0)}
  pto.tload ins(%gx : {HALF}) outs(%s : {VEC})
  {lock(give, "TLOAD", 0)}
  {lock(take, "TVEC", 0)}
  {lock(take, "TVEC", 1)}
  pto.tadd ins(%s, %s : {VEC}, {VEC}) outs(%t : {VEC})
  {lock(give, "TVEC", 0)}
  {lock(give, "TVEC", 1)}
  {lock(take, "TSTORE_VEC", 1)}
  pto.tstore ins(%t : {VEC}) outs(%gy : {HALF})
  {lock(give, "TSTORE_VEC", 1)}
}}
pto.barrier #pto.pipe<PIPE_ALL>
"""
    return kernel(body, "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index", arch="a5")


def doubled(text: str, trips: int, order: Order) -> bool:
    x = np.random.default_rng(8).standard_normal((max(trips, 1) * 16, 32)).astype(np.float32)
    start = Launch(kernel_named(parse(text), None), {"x": x, "y": np.zeros_like(x)}, {"n": trips})
    found = simulate(start, order).checked()
    return np.array_equal(found.arrays["y"][: trips * 16], 2 * x[: trips * 16])


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_locks_order_pipes_in_every_order(trips: int) -> None:
    for order in EVERY_ORDER:
        assert doubled(locked(), trips, order)


@pytest.mark.parametrize("missing", ["TLOAD 0", "TVEC 0", "TVEC 1", "TSTORE_VEC 1"])
def test_without_one_holder_of_a_lock_some_order_is_wrong(missing: str) -> None:
    assert not all(doubled(locked(missing), 3, order) for order in ADVERSARIES)
    assert doubled(locked(missing), 3, Order(Policy.EARLY))


def test_a_lock_that_is_not_given_back_is_a_deadlock() -> None:
    text = locked().replace("pto.rls_buf [#pto.pipe_event_type<TVEC>, 0]", "")
    x = np.zeros((32, 32), np.float32)
    for order in ("early", "late", "random:2"):
        start = Launch(kernel_named(parse(text), None), {"x": x, "y": x}, {"n": 2})
        (fault,) = simulate(start, order_named(order)).faults
        assert fault.message in (f"deadlock: {pipe} waits for lock 0, and never goes on" for pipe in ("V", "MTE2"))


# --- the scalar unit ---


def test_the_scalar_unit_reads_and_writes_memory() -> None:
    """A trip count from memory, one element of a tile, and a result that the scalar unit stores."""
    body = f"""
{CONSTANTS}
%n = pto.load_scalar %count[%c1] : !pto.ptr<i32> -> i32
%m = arith.index_cast %n : i32 to index
%z = arith.constant 0 : i64
%t = pto.alloc_tile addr = %z : {VEC}
%v = pto.make_tensor_view %x, shape = [%c16, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
%g = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c32] : !pto.tensor_view<?x?xf32> -> {HALF}
%rows = pto.get_tensor_view_dim %v, %c0 : !pto.tensor_view<?x?xf32> -> index
pto.tload ins(%g : {HALF}) outs(%t : {VEC})
{fence("MTE2", "S")}
scf.for %i = %c0 to %m step %c1 {{
  %e = pto.tgetval ins(%t, %i : {VEC}, index) outs : f32
  %d = arith.addf %e, %e : f32
  %at = arith.addi %i, %rows : index
  pto.store_scalar %d, %y[%at] : !pto.ptr<f32>, f32
}}
"""
    text = kernel(body, "%count: !pto.ptr<i32>, %x: !pto.ptr<f32>, %y: !pto.ptr<f32>")
    x = np.random.default_rng(1).standard_normal((16, 32)).astype(np.float32)
    given = {"count": np.array([9, 3], np.int32), "x": x, "y": np.zeros(32, np.float32)}
    for order in EVERY_ORDER:
        found = run(text, given, order).checked().arrays["y"]
        assert np.array_equal(found[16:19], 2 * x[0, :3])
        assert np.count_nonzero(found) == 3


def test_ids_from_a_table_and_flags_named_by_classes() -> None:
    body = """
%c0 = arith.constant 0 : index
%c5 = arith.constant 5 : index
%t = pto.declare_eventid_array -> !pto.eventid_array<2>
pto.eventid_array_set %t[%c0], %c5 : !pto.eventid_array<2>
%id = pto.eventid_array_get %t[%c0] : !pto.eventid_array<2>
pto.set_flag_dyn[<PIPE_MTE2>, <PIPE_V>, %id]
pto.wait_event[#pto.pipe_event_type<TLOAD>, #pto.pipe_event_type<TVEC>, #pto.event<EVENT_ID5>]
pto.barrier_sync[<TVEC>]
"""
    assert not run(kernel(body), {}, EVERY_ORDER[0]).faults


def test_the_base_of_the_signals_needs_no_array() -> None:
    text = (
        through_memory("a3")
        .replace("@k(", "@k(%ffts: !pto.ptr<i64>, ")
        .replace("pto.section.cube", "pto.set_ffts %ffts : !pto.ptr<i64>\npto.section.cube", 1)
    )
    given = arrays()
    for extra in ({}, {"ffts": np.zeros(256, np.int64)}):
        found = run_pto(text, {**given, **extra})
        assert np.allclose(found.arrays["c"], expected(given, 2), atol=1e-4)
        assert "ffts" not in found.arrays


# --- times ---


@pytest.mark.parametrize("arch", ["a3", "a5"])
def test_the_vector_cores_start_when_the_product_is_stored(arch: str) -> None:
    found = profile(Launch(kernel_named(parse(through_memory(arch)), None), {}, {}))
    assert [one.core for one in found.timelines] == ["block 0 cube", "block 0 vector 0", "block 0 vector 1"]
    cube, *vectors = found.timelines
    stored = next(one.end for one in cube.slices if one.pipe is Pipe.FIX)
    for vector in vectors:
        loaded = next(one for one in vector.slices if one.pipe is Pipe.MTE2)
        assert loaded.start >= stored
        signal = next(one for one in vector.arrows if one.label == "signal 3")
        assert (signal.at, signal.source) == (stored, None)
    assert "3 cores" in headline(found)


def test_a_signal_that_never_comes_is_an_error_when_timing_too() -> None:
    with pytest.raises(DiagnosticError, match=r"error: deadlock: this waits for signal 3 and never goes on"):
        profile(Launch(kernel_named(parse(through_memory("a3", signal="")), None), {}, {}))


def test_locks_are_timed_as_the_flags_that_they_stand_for() -> None:
    (timeline,) = profile(Launch(kernel_named(parse(locked()), None), {}, {"n": 3})).timelines
    loads, adds, stores = (
        [one for one in timeline.slices if one.pipe is pipe] for pipe in (Pipe.MTE2, Pipe.V, Pipe.MTE3)
    )
    for number in range(3):
        assert loads[number].end <= adds[number].start <= adds[number].end <= stores[number].start
    for number in range(2):
        assert adds[number].end <= loads[number + 1].start  # one slot
        assert stores[number].end <= adds[number + 1].start
