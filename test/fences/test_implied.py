"""What is left out because others imply it: the order of all else stays, in every run; and what has to stay does."""

from collections.abc import Mapping

import pytest
from xdsl.dialects.builtin import ModuleOp

from fences.corpus import CASES
from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.check.runs.steps import Did
from pto_buf.dialect.pto import BarrierOp, SetFlagDynOp, SetFlagOp
from pto_buf.dialect.ptobuf import EventOp, SetOp
from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe
from pto_buf.lowering.fenced import IMPLIED
from pto_buf.lowering.insert_fences import InsertFencesPass
from pto_buf.lowering.plan_memory import PlanMemoryPass
from pto_buf.lowering.reduce_fences import ReduceFencesPass
from pto_buf.lowering.verify_slots import VerifySlotsPass
from pto_buf.universe import make_context
from support.closure import closures
from support.random_kernels import RandomKernel
from support.slot_builder import PASSES, HasModule, lowered
from support.slot_text import SlotText
from support.trials import kernel_of

UNREDUCED = tuple(one for one in PASSES if one is not ReduceFencesPass)
RUNS = ({"n": 0, "m": 2}, {"n": 1, "m": 0}, {"n": 2, "m": 1}, {"n": 5, "m": 3})


def left_out(kernel: HasModule) -> list[str]:
    """For each set that others imply, the name of its event."""
    module, _ = lowered(kernel, (PlanMemoryPass, InsertFencesPass))
    marked = [op for op in module.walk() if isinstance(op, SetOp) and IMPLIED in op.attributes]
    return [op.event.owner.event_name.data for op in marked if isinstance(op.event.owner, EventOp)]


def keeps_its_order(kernel: HasModule) -> bool:
    """Whether reduction leaves the order of all ops in some runs as it was. None can be told if ids are too few."""
    after, _ = lowered(kernel)
    assert check(kernel_of(after)).status is Status.PROVEN
    try:
        before, _ = lowered(kernel, UNREDUCED)
    except DiagnosticError as error:
        assert [one.kind for one in error.diagnostics] == ["event-ids"]
        return True
    runs = [{"k": 3, "c": 1, "rows": numbers["n"], **numbers} for numbers in RUNS]
    return all(_ops(before, numbers) == _ops(after, numbers) for numbers in runs)


def _ops(module: ModuleOp, numbers: Mapping[str, int]) -> set[tuple[int, int]]:
    """The pairs of ops that are ordered, each op by its number among those executed."""
    found = closures(kernel_of(module), numbers)
    ops = [number for number, step in enumerate(found.steps) if isinstance(step, Did)]
    place = {number: index for index, number in enumerate(ops)}
    return {(place[pair.first], place[pair.second]) for pair in found.held}


@pytest.mark.parametrize("name", ["B10", "B31", "B46", "B50", "B53", "B59"])
def test_known_kernels_keep_their_order(name: str):
    assert left_out(CASES[name].make()) or name == "B10"
    assert keeps_its_order(CASES[name].make())


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(6))
def test_random_kernels_keep_their_order(seed: int):
    try:
        VerifySlotsPass().apply(make_context(), RandomKernel(seed).module())
    except DiagnosticError:
        return
    assert keeps_its_order(RandomKernel(seed))


def test_a_pair_in_the_middle_goes_alone():
    """B59: an accumulator's second product waits for its first store through the slot that lies between them."""
    assert sorted(left_out(CASES["B59"].make())) == [
        "A.free.M.MTE1",
        "B.ready.MTE1.M",
        "C.free.FIX.M",
        "L.free.MTE1.FIX",
        "L.free.MTE1.FIX",
    ]


def test_what_a_short_run_does_not_need_may_be_needed():
    """B14: only from the fourth trip on is a slot loaded again behind its store; no other pair says so."""
    assert left_out(CASES["B14"].make()) == []


def two_loads(between: str | None = None, guarded: bool = False) -> SlotText:
    """Two tiles are loaded and added; between the loads, perhaps under a condition, V may wait for another one."""
    kernel = SlotText("n m", A=2, B=2, Z=1, Y=1)
    kernel.fill("Y")
    with kernel.loop("i", 0, "n"):
        kernel.load("A[i % 2]", "g", row="i")
        if between is not None:
            kernel.vector("Y", "Y", between)
        if guarded:
            with kernel.when("i < m"):
                kernel.load("B[i % 2]", "h", row="i")
                kernel.vector("Y", "Y", "B[i % 2]")
        else:
            kernel.load("B[i % 2]", "h", row="i")
            kernel.vector("Y", "Y", "B[i % 2]")
        kernel.vector("Y", "Y", "A[i % 2]")
    kernel.store("Y", "z")
    return kernel


def test_the_later_load_tells_of_the_earlier_one():
    """And a slot of A that is free tells that the one of B is, which V has read before."""
    assert dict.fromkeys(left_out(two_loads())) == dict.fromkeys(["B.free.V.MTE2", "A.ready.MTE2.V"])


def test_a_load_that_may_not_run_tells_nothing():
    assert "A.ready.MTE2.V" not in left_out(two_loads(guarded=True))
    assert keeps_its_order(two_loads(guarded=True))


def test_what_stands_before_the_later_load_needs_its_own():
    assert "A.ready.MTE2.V" not in left_out(two_loads(between="A[i % 2]"))


def inner_trips(trips: str) -> SlotText:
    """An outer tile is loaded; the inner loop loads further ones, if it runs, and V reads them first."""
    kernel = SlotText("n m", A=1, B=2, Y=1)
    kernel.fill("Y")
    with kernel.loop("o", 0, "n"):
        kernel.load("A", "g", row="o")
        with kernel.loop("i", 0, trips):
            kernel.load("B[i % 2]", "h", row="i")
            kernel.vector("Y", "Y", "B[i % 2]")
        kernel.vector("Y", "Y", "A")
    kernel.store("Y", "z")
    return kernel


@pytest.mark.parametrize(("trips", "found"), [("m", []), ("2", ["A.ready.MTE2.V"]), ("0", [])])
def test_a_loop_tells_only_if_it_surely_runs(trips: str, found: list[str]):
    assert left_out(inner_trips(trips)) == found
    assert keeps_its_order(inner_trips(trips))


def barriers(kernel: HasModule) -> int:
    module, _ = lowered(kernel)
    return sum(isinstance(op, BarrierOp) and op.pipe.data is not Pipe.ALL for op in module.walk())


def sums(slots: int) -> SlotText:
    """Products are added up, their left operand in `slots` slots."""
    kernel = SlotText(X=(1, "mat"), A=(slots, "left"), B=(1, "right"), C=(1, "acc"))
    kernel.load("X")
    kernel.extract("B", "X")
    kernel.extract("A[0]", "X")
    kernel.matmul("C", "A[0]", "B")
    with kernel.loop("i", 0, "n"):
        kernel.extract(f"A[i % {slots}]", "X")
        kernel.matmul("C", f"A[i % {slots}]", "B", acc=True)
    kernel.store("C")
    return kernel


@pytest.mark.parametrize(("slots", "left"), [(1, 0), (2, 1)])
def test_a_slot_that_comes_back_says_that_the_pipe_is_done(slots: int, left: int):
    """With one slot each product waits for an operand that is moved only behind the product before."""
    assert barriers(sums(slots)) == left
    assert keeps_its_order(sums(slots))


def once_each(slots: int, trips: int) -> SlotText:
    """Loaded and stored, slot after slot."""
    kernel = SlotText(P=slots)
    with kernel.loop("i", 0, trips):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.store(f"P[i % {slots}]", row="i")
    return kernel


@pytest.mark.parametrize("trips", [2, 3])
def test_a_set_on_a_constant_lane_stays(trips: int):
    """No slot of two is filled twice in two trips; but the assembler would add fences if each lane were computed."""
    module, _ = lowered(once_each(2, trips))
    assert any(isinstance(op, SetFlagOp) for op in module.walk())
    assert any(isinstance(op, SetFlagDynOp) for op in module.walk())
    assert check(kernel_of(module)).status is Status.PROVEN
