"""Unrolling by the slot count: constant slots and lanes, the same work in the same order, and proven right."""

from collections.abc import Iterator

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp

from fences.corpus import CASES
from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.check.reading.build import build
from pto_buf.check.runs.concrete import Choice, steps_of
from pto_buf.check.runs.steps import Did, Fence, Set, Step, Wait
from pto_buf.compiler import compile_module
from pto_buf.dialect.tile_op import constant_of
from pto_buf.errors import UsageError
from pto_buf.lowering.allocate_events import AllocateEventsPass
from pto_buf.lowering.convert_to_pto import ConvertToPtoPass
from pto_buf.lowering.make_portable import MakePortablePass
from pto_buf.lowering.pipeline import PipelineOptions, pipeline
from pto_buf.lowering.unroll_lanes import UnrollLanesPass
from pto_buf.passes import available_passes, parse_passes, run_passes
from pto_buf.universe import make_context
from pto_buf.walking import ops_of
from support.kernel_text import ir
from support.slot_builder import FENCING, HasModule, count, lowered
from support.slot_text import SlotText
from support.trials import kernel_of

pytestmark = pytest.mark.campaign

DYNAMIC = ("pto.set_flag_dyn", "pto.wait_flag_dyn")


def unrolled(kernel: HasModule, lanes: str) -> ModuleOp:
    module, _ = lowered(kernel, (*FENCING, AllocateEventsPass))
    UnrollLanesPass(lanes=lanes).apply(make_context(), module)
    for made in (ConvertToPtoPass, MakePortablePass):
        made().apply(make_context(), module)
    module.verify()
    return module


def stream(slots: int, upper: str | int = "n", lower: int = 0, step: int = 1) -> SlotText:
    kernel = SlotText(P=slots, Y=1)
    kernel.fill("Y")
    with kernel.loop("i", lower, upper, step):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.vector("Y", "Y", f"P[i % {slots}]")
    kernel.store("Y", "z")
    return kernel


def guarded(slots: int, ahead: int) -> SlotText:
    """Trip i loads for trip i + ahead, if there is one."""
    kernel = SlotText(P=slots, Y=1)
    kernel.fill("Y")
    for trip in range(ahead):
        kernel.load(f"P[{trip}]", row=trip)
    with kernel.loop("i", 0, "n"):
        with kernel.when(f"i + {ahead} < n"):
            kernel.load(f"P[(i + {ahead}) % {slots}]", row=f"i + {ahead}")
        kernel.vector("Y", "Y", f"P[i % {slots}]")
    kernel.store("Y", "z")
    return kernel


def _run(kernel: FuncOp, **numbers: int) -> list[object]:
    """What each pipe gets, in order, and where: everything but the places in the text."""
    program = build(kernel)
    values = {var.key: numbers.get(var.name, 0) for _, var in program.arguments}
    return [_what(step) for step in steps_of(program, Choice(values))]


def _what(step: Step) -> object:
    match step:
        case Did():
            return step.site.name, step.pipes, step.accesses
        case Set() | Wait():
            return type(step).__name__, step.src, step.dst, step.lane
        case Fence():
            return step.pipe
        case _:
            return type(step).__name__


def _loops(module: ModuleOp) -> Iterator[ForOp]:
    return (op for op in module.walk() if isinstance(op, ForOp))


@pytest.mark.parametrize(
    "name", ["B01-3", "B08", "B10", "B14", "B17", "B23", "B25-9", "B35-permuted", "B44", "B52", "B71"]
)
def test_same_work_in_the_same_order_and_proven(name: str):
    plain = kernel_of(unrolled(CASES[name].make(), "dynamic"))
    module = unrolled(CASES[name].make(), "unroll")
    for n in (0, 1, 2, 3, 7):
        assert _run(kernel_of(module), n=n, m=2, k=3) == _run(plain, n=n, m=2, k=3)
    verdict = check(kernel_of(module))
    assert (verdict.status, verdict.reason, verdict.findings) == (Status.PROVEN, "", ())


@pytest.mark.parametrize(("slots", "ahead"), [(3, 1), (5, 2)])
def test_a_guard_by_the_bound_is_followed_into_what_is_left_over(slots: int, ahead: int):
    module = unrolled(guarded(slots, ahead), "unroll")
    verdict = check(kernel_of(module))
    assert (verdict.status, verdict.reason, verdict.findings) == (Status.PROVEN, "", ())
    for n in (0, 1, slots, slots + 1, 2 * slots + 1):
        assert _run(kernel_of(module), n=n) == _run(kernel_of(unrolled(guarded(slots, ahead), "dynamic")), n=n)


def test_auto_takes_the_way_that_can_be_proven():
    """Tiles change in global memory in each of some rounds; masks are cheap, but hide which round's tile is where."""
    kernel = SlotText("n m", P=4)
    with kernel.loop("o", 0, "m"), kernel.loop("i", 0, "n"):
        kernel.load("P[i % 4]", "y", row="i")
        kernel.vector("P[i % 4]", "P[i % 4]")
        kernel.store("P[i % 4]", "y", row="i")
    compiled = compile_module(kernel.module(), PipelineOptions(gm_raw="flag"))
    assert check(kernel_of(compiled.module), global_raw=True).status is Status.PROVEN


@pytest.mark.parametrize(("slots", "trips"), [(2, 0), (2, 1), (3, 2), (3, 7), (5, 16), (8, 16), (8, 17)])
def test_trips_that_are_known_have_no_computed_lane(slots: int, trips: int):
    module, plain = unrolled(stream(slots, trips), "unroll"), unrolled(stream(slots, trips), "dynamic")
    assert count(module, *DYNAMIC) == 0 or trips < 2
    assert _run(kernel_of(module)) == _run(kernel_of(plain))


@pytest.mark.parametrize(("lower", "step", "slots"), [(1, 1, 3), (0, 2, 3), (2, 3, 2), (0, 2, 4), (5, 4, 3)])
def test_starts_and_steps(lower: int, step: int, slots: int):
    for upper in (5, 17):
        module = unrolled(stream(slots, upper, lower, step), "unroll")
        assert _run(kernel_of(module)) == _run(kernel_of(unrolled(stream(slots, upper, lower, step), "dynamic")))
        assert len(range(lower, upper, step)) < 2 or count(module, *DYNAMIC) == 0


def test_the_loop_over_groups_computes_nothing_and_the_rest_does():
    module = unrolled(stream(3), "unroll")
    groups, rest = _loops(module)
    inside = [[op.name for op in loop.walk()] for loop in (groups, rest)]
    assert not {*DYNAMIC, "arith.remui"} & set(inside[0])
    assert inside[0].count("pto.tload") == 3
    assert {*DYNAMIC, "arith.remui"} <= set(inside[1])


@pytest.mark.parametrize(
    ("slots", "loops"),
    [(2, 1), (4, 1), (8, 1), (3, 2), (5, 2), (11, 1)],
    ids=["mask", "mask", "mask", "division", "division", "too much code"],
)
def test_auto_unrolls_where_each_trip_would_divide_and_the_code_stays_small(slots: int, loops: int):
    assert len(list(_loops(unrolled(stream(slots), "auto")))) == loops


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (stream(9), "computed in the outer loop's trips only"),
        (CASES["B35-data"].make(), "data"),
        (CASES["B37-from-m"].make(), "an unknown start"),
        (CASES["B38"].make(), ""),
    ],
)
def test_what_does_not_come_back_is_computed(kernel: SlotText, why: str):
    module = unrolled(kernel, "unroll")
    assert check(kernel_of(module)).status is Status.PROVEN


def test_a_carried_number_goes_through_every_copy():
    def make() -> SlotText:
        kernel = SlotText(P=3, Y=1)
        kernel.fill("Y")
        with kernel.carrying("i", 0, 7, "0", s="(s + 2) % 3"):
            kernel.load("P[s]", row="i")
            kernel.vector("Y", "Y", "P[s]")
        kernel.store("Y", "z")
        return kernel

    module = unrolled(make(), "unroll")
    assert _run(kernel_of(module)) == _run(kernel_of(unrolled(make(), "dynamic")))


PREFETCH = """
@pl.jit.incore
def k(x: pl.Tensor[[512, 64], pl.FP32], y: pl.Out[pl.Tensor[[512, 64], pl.FP32]]):
    ring = pl.create_tile_buffers(5, [16, 64], pl.FP32, pl.Mem.Vec)
    for i in pl.range(3):
        pl.tile.load_into(ring[i], x, [i * 16, 0], [16, 64])
    for i in pl.range(32):
        if i + 3 < 32:
            pl.tile.load_into(ring[(i + 3) % 5], x, [(i + 3) * 16, 0], [16, 64])
        pl.store(ring[i % 5], [i * 16, 0], y)
"""


def test_a_copy_whose_trip_is_known_names_no_window_that_is_not_there():
    """The trips left over are 30 and 31: their loads would start at rows 528 and 544 of 512."""
    module = ir(PREFETCH)
    run_passes(make_context(), module, parse_passes(pipeline(PipelineOptions(lanes="unroll")), available_passes()))
    (kernel,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    assert not any(isinstance(op, IfOp) for op in kernel.body.block.ops)


def test_no_other_way_out():
    module, _ = lowered(stream(2), FENCING)
    with pytest.raises(UsageError, match="lanes=static is no way out"):
        UnrollLanesPass(lanes="static").apply(make_context(), module)


_RINGS = """
@pl.jit.incore
def k(
    a: pl.Tensor[[4096, 64], pl.FP16], b: pl.Tensor[[64, 64], pl.FP16], w: pl.InOut[pl.Tensor[[4096, 64], pl.FP32]],
    c: pl.InOut[pl.Tensor[[4096, 64], pl.FP32]], flags: pl.Tensor[[4096], pl.INT32], n: pl.Scalar[pl.INDEX],
):
    ma = pl.create_tile_buffers(3, [16, 64], pl.FP16, pl.Mem.Mat)
    la = pl.create_tile_buffers(3, [16, 64], pl.FP16, pl.Mem.Left)
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    v = pl.create_tile_buffers(TAKEN, [16, 64], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        if pl.read(flags, [i]) == 1:
            pl.tile.load_into(ma[i % 3], a, [i * 16, 0], [16, 64])
            pl.tile.move_into(la[i % 3], ma[i % 3])
            w = pl.store(pl.matmul(la[i % 3], right), [(i % 4) * 16, 0], w)
            pl.tile.load_into(v[i % TAKEN], w, [(i % 4) * 16, 0], [16, 64])
            c = pl.store(v[i % TAKEN], [i * 16, 0], c)
    return w, c
"""


@pytest.mark.parametrize(("taken", "steps"), [(3, [3, 1] * 3), (5, [1] * 3)])
def test_both_cores_of_a_mixed_kernel_unroll_a_loop_alike(taken: int, steps: list[int]):
    """The loop stands in the text three times: the second vector core only signals."""
    module = ir(_RINGS.replace("TAKEN", str(taken)))
    for one in parse_passes(pipeline(PipelineOptions(check=False)), available_passes()):
        one.apply(make_context(), module)
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    assert [constant_of(loop.step) for loop in ops_of(function, ForOp)] == steps
