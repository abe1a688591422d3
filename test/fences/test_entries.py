"""What entries of the collection ask for beyond being right and parallel: counts, ids, places and refusals."""

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise

import pytest
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp

from fences.corpus import CASES
from fences.corpus_data import gemm, same_pipe
from fences.corpus_parts import product
from fences.corpus_tokens import either_arm, products
from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.check.reading.build import build as read
from pto_buf.check.runs.concrete import Choice, steps_of
from pto_buf.check.runs.steps import Bytes, Did, Set, Step, Wait
from pto_buf.compiler import compile_file
from pto_buf.dialect.pto import BarrierOp
from pto_buf.dialect.ptobuf import EventOp
from pto_buf.dialect.tiles import AllocTileOp
from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe, Space
from pto_buf.lowering.allocate_events import AllocateEventsPass
from pto_buf.lowering.convert_to_pto import ConvertToPtoPass
from pto_buf.slots.build import build
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from support.flags import used_ids
from support.slot_builder import FENCING, lowered
from support.slot_text import SlotText
from support.trials import kernel_of

pytestmark = pytest.mark.campaign

PICKS = """\
import pypto.language as pl


@pl.jit.incore
def picks(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    for i in pl.range(n):
        t = pl.load(x, [i * 16, 0], [16, 64])
        mask = pl.cmps(t, 0.0, cmp_type=4)
        u = pl.sels(mask, t, pl.create_tile([16, 64], pl.FP32), 2.0)
        pl.store(pl.sels(mask, u, pl.create_tile([16, 64], pl.FP32), 3.0), [i * 16, 0], y)
"""


def _steps(kernel: FuncOp, **numbers: int) -> list[Step]:
    program = read(kernel)
    return list(steps_of(program, Choice({var.key: numbers.get(var.name, 0) for _, var in program.arguments})))


def _bytes(kernel: FuncOp, space: Space, name: str, **numbers: int) -> list[tuple[int, int]]:
    """The first byte and the one behind the last of what each op of this name writes in a space, in order."""
    return [
        (access.where.runs[0][0], access.where.runs[-1][1])
        for step in _steps(kernel, **numbers)
        if isinstance(step, Did) and step.site.name == name
        for access in step.accesses
        if access.writes and isinstance(access.where, Bytes) and access.where.space is space
    ]


@cache
def _picks(target: str) -> FuncOp:
    return kernel_of(compile_file("picks.py", target=target, source=PICKS).module)


@pytest.mark.parametrize("c", [0, 1])
def test_b13_one_wait_for_what_either_arm_loads(c: int):
    steps = _steps(kernel_of(lowered(either_arm())[0]), c=c)
    assert sum(isinstance(step, Wait) and (step.src, step.dst) == (Pipe.MTE2, Pipe.V) for step in steps) == 1


def test_b19_a_long_fence_and_short_ones_from_one_pipe_have_ids_apart():
    ids = used_ids(kernel_of(lowered(CASES["B19"].make())[0]))
    assert not ids[Pipe.MTE3, Pipe.V] & ids[Pipe.MTE3, Pipe.MTE2]


def test_b20_no_verdict_hangs_on_the_numbers_of_ids():
    """The events of each pair of pipes take their ids in the other order."""
    module, _ = lowered(CASES["B20"].make(), (*FENCING, AllocateEventsPass))
    events = [op for op in module.walk() if isinstance(op, EventOp)]
    taken: dict[tuple[Pipe, Pipe], int] = {}
    before: list[object] = []
    after: list[object] = []
    for event in reversed(events):
        spec = event.event.type.data
        first = taken.setdefault((spec.src, spec.dst), 0)
        taken[spec.src, spec.dst] = first + spec.lanes
        before.append(event.ids)
        event.properties["ids"] = DenseArrayBase.from_list(i64, list(range(first, first + spec.lanes)))
        after.append(event.ids)
    assert before != after
    ConvertToPtoPass().apply(make_context(), module)
    verdict = check(kernel_of(module))
    assert (verdict.status, verdict.findings) == (Status.PROVEN, ())


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_b22_ids_that_a_library_op_uses_are_not_ours(target: str):
    ids = {(step.src, step.dst, step.lane) for step in _steps(_picks(target), n=2) if isinstance(step, Set)}
    inside = {(Pipe.V, Pipe.S, 0), (Pipe.S, Pipe.V, 0)}
    assert not ids & inside
    assert any(pair[:2] == (Pipe.V, Pipe.S) for pair in ids) == (target == "a2a3")


def test_b55_a_barrier_of_the_users_stays_before_what_follows_it():
    kernel = SlotText(P=2)
    with kernel.loop("i", 0, "n"):
        kernel.emit("pto.barrier #pto.pipe<PIPE_MTE2>")
        kernel.load("P[i % 2]", row="i")
        kernel.store("P[i % 2]", row="i")
    loop = next(op for op in lowered(kernel)[0].walk() if isinstance(op, ForOp))
    names = [op.name for op in loop.body.block.ops if op.name in ("pto.barrier", "pto.tload", "pto.tstore")]
    assert names == ["pto.barrier", "pto.tload", "pto.tstore"]


def test_b61_scratch_that_the_scalar_unit_writes_is_its_own_and_waited_for():
    """On a2a3 the scalar unit writes the number; the vector unit may still read the scratch."""
    steps = _steps(_picks("a2a3"), n=1)
    picks = [step for step in steps if isinstance(step, Did) and step.site.name == "tsels"]
    for pick in picks:
        assert set(pick.pipes) == {Pipe.V, Pipe.S}
        written = [access.where.runs for access in pick.accesses if access.writes and isinstance(access.where, Bytes)]
        read_ = [access.where.runs for access in pick.accesses if not access.writes and isinstance(access.where, Bytes)]
        assert not {run for runs in written for run in runs} & {run for runs in read_ for run in runs}
    first, second = (steps.index(pick) for pick in picks)
    assert any(isinstance(step, Wait) and step.dst is Pipe.S for step in steps[first:second])


def test_b62_an_op_that_does_not_say_what_it_does_is_refused():
    kernel = SlotText(S=1, Y=1)
    value, type = kernel.slot("S")
    kernel.emit(f'"my.clear"({value}) : ({type}) -> ()')
    kernel.vector("Y", "S")
    with pytest.raises(DiagnosticError) as caught:
        build(kernel_of(parse_text(make_context(allow_unregistered=True), kernel.text(), "k.mlir")))
    assert "my.clear" in caught.value.diagnostics[0].message


@pytest.mark.parametrize(("arch", "barriers"), [("a3", 1), ("a5", 0)])
@pytest.mark.parametrize(("make", "pipe"), [(same_pipe, Pipe.V), (partial(products, True), Pipe.M)])
def test_b64_a_pipe_gets_a_barrier_where_the_target_does_not_order_it(
    make: Callable[[str], SlotText], pipe: Pipe, arch: str, barriers: int
):
    module, _ = lowered(make(arch))
    assert sum(isinstance(op, BarrierOp) and op.pipe.data is pipe for op in module.walk()) == barriers
    assert check(kernel_of(module)).status is Status.PROVEN


@pytest.mark.parametrize(("name", "sums"), [("B67", 1), ("B71", 2), ("B98", 1)])
def test_b68_no_sum_gets_a_second_place(name: str, sums: int):
    """B67, B68, B71: as many places in L0C as the author has named."""
    kernel = kernel_of(lowered(CASES["B20" if name == "B98" else name].make())[0])
    assert len({*_bytes(kernel, Space.ACC, "tmatmul", n=4), *_bytes(kernel, Space.ACC, "tmatmul.acc", n=4)}) == sums


def test_b79_each_window_has_its_own_offset():
    kernel = SlotText(A=1, H=(2, "half"))
    kernel.load("A")
    for part in range(2):
        kernel.fill(f"H[{part}]")
        kernel.insert("A", f"H[{part}]", row=8 * part)
    kernel.store("A")
    found = _bytes(kernel_of(lowered(kernel)[0]), Space.VEC, "tinsert")
    assert [start for start, _ in found] == [0, 8 * 64 * 4]


def test_b82_a_load_writes_its_own_slot_and_no_other():
    kernel = SlotText(X=(2, "mat"), A=(1, "left"), B=(1, "right"), C=(1, "acc"), P=(2, "mat"))
    with product(kernel):
        kernel.load("P[0]")
        with kernel.loop("i", 0, "n"):
            kernel.load("P[(i + 1) % 2]", row="i + 1")
            kernel.extract("A", "P[i % 2]")
            kernel.matmul("C", "A", "B", acc=True)
    size = 16 * 16 * 2
    (base, _), *written = _bytes(kernel_of(lowered(kernel)[0]), Space.MAT, "tload", n=3)
    places = {(start, end) for start, end in written}
    assert len(places) == 2
    assert all(end - start == size and start % size == 0 for start, end in places)
    assert base not in {start for start, _ in places}


def test_b88_sets_of_one_size_have_bytes_of_their_own():
    """B83, B88: eight slots, eight places; there are no slots in global memory."""
    kernel = SlotText(P=4, Q=4)
    for number in range(4):
        kernel.load(f"P[{number}]", row=number)
        kernel.load(f"Q[{number}]", "h", row=number)
    for number in range(4):
        kernel.store(f"P[{number}]", "y", row=number)
        kernel.store(f"Q[{number}]", "z", row=number)
    found = sorted(_bytes(kernel_of(lowered(kernel)[0]), Space.VEC, "tload"))
    assert len(found) == 8
    assert all(before[1] <= behind[0] for before, behind in pairwise(found))


def test_b89_a_slot_has_the_shape_of_one_tile_and_stands_behind_those_before_it():
    kernel = SlotText(X=(1, "mat"), A=(1, "left"), B=(1, "right"), C=(2, "acc"))
    kernel.load("X")
    kernel.extract("A", "X")
    kernel.extract("B", "X")
    kernel.matmul("C[1]", "A", "B")
    kernel.store("C[1]")
    module, _ = lowered(kernel)
    tiles = [op.results[0].type for op in module.walk() if isinstance(op, AllocTileOp)]
    assert all("16x16x" in str(tile) for tile in tiles)
    assert _bytes(kernel_of(module), Space.ACC, "tmatmul") == [(16 * 16 * 4, 2 * 16 * 16 * 4)]


def test_b103_slots_that_turn_by_masks_cost_no_division():
    outer = next(op for op in lowered(gemm())[0].walk() if isinstance(op, ForOp))
    inside = [op.name for op in outer.body.walk()]
    assert not [name for name in inside if "rem" in name or "div" in name]
    scalar = sum(name.startswith("arith.") for name in inside)
    tile_ops = sum(name.startswith("pto.t") for name in inside)
    assert scalar <= 4 * tile_ops
