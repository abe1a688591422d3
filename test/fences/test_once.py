"""Fences of a loop that surely runs stand at the accesses, in its first or last trip; else around the loop."""

import pytest
from xdsl.dialects.scf import ForOp, IfOp

from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.dialect.ptobuf import SetOp, WaitOp
from support.closure import closures
from support.slot_builder import FENCING, lowered
from support.slot_text import SlotText
from support.trials import kernel_of, wrong_runs


def products(trips: str, depth: int = 1, start: int = 0, step: int = 1) -> SlotText:
    """Two operands of a product, loaded once and taken to L0 piece by piece, the left one first."""
    kernel = SlotText(P=(2, "mat"), Q=(2, "mat"), A=(2, "left"), B=(2, "right"), C=(2, "acc"))
    with kernel.loop("o", 0, "n"):
        kernel.load("P[o % 2]", row="o")
        kernel.load("Q[o % 2]", "h", row="o")
        kernel.extract("A[0]", "P[o % 2]")
        kernel.extract("B[0]", "Q[o % 2]")
        kernel.matmul("C[o % 2]", "A[0]", "B[0]")
        outer = [kernel.loop(f"k{level}", 0, 2) for level in range(depth - 1)]
        for loop in outer:
            loop.__enter__()
        with kernel.loop("i", start, trips, step):
            kernel.extract("A[i % 2]", "P[o % 2]")
            kernel.extract("B[i % 2]", "Q[o % 2]")
            kernel.matmul("C[o % 2]", "A[i % 2]", "B[i % 2]", acc=True)
        for loop in reversed(outer):
            loop.__exit__(None, None, None)
        kernel.store("C[o % 2]", row="o")
    return kernel


def in_branches(kernel: SlotText) -> int:
    """Sets and waits under the condition that a loop inside is in its first or last trip."""
    module, _ = lowered(kernel, FENCING)
    return sum(
        isinstance(op, SetOp | WaitOp)
        for branch in module.walk()
        if isinstance(branch, IfOp) and isinstance(branch.parent_op(), ForOp)
        for op in branch.walk()
    )


@pytest.mark.parametrize(
    ("kernel", "moved"),
    [
        (products("3"), 1),
        (products("1"), 1),
        (products("3", depth=2), 1),
        (products("9", start=1, step=3), 1),
        (products("0"), 0),
        (products("n"), 0),
    ],
    ids=["three trips", "one trip", "two loops", "from one in threes", "no trip", "unknown"],
)
def test_the_last_trip_hands_on(kernel: SlotText, moved: int):
    """The left operand's slot is free behind the last extract from it, before the last one from the other slot."""
    assert in_branches(kernel) == moved
    module, warnings = lowered(kernel)
    assert warnings == []
    assert check(kernel_of(module)).status is Status.PROVEN
    for n in (0, 1, 2, 5):
        assert wrong_runs(module, {"n": n}) == []
        found = closures(kernel_of(module), {"n": n})
        assert found.needed <= found.held
        assert not moved or found.words(found.held - found.needed) == []


def test_the_first_trip_takes_over():
    """The loop reads the first tile at once; only its second op needs the other one."""
    kernel = SlotText(X=2, Y=2, U=1, W=1)
    with kernel.loop("o", 0, "n"):
        kernel.load("X[o % 2]", row="o")
        kernel.load("Y[o % 2]", "h", row="o")
        kernel.fill("U")
        kernel.fill("W")
        with kernel.loop("i", 0, 4):
            kernel.vector("U", "U", "X[o % 2]")
            kernel.vector("W", "W", "Y[o % 2]")
        kernel.store("U", "y", row="o")
        kernel.store("W", "z", row="o")
    assert in_branches(kernel) >= 2
    module, _ = lowered(kernel)
    assert check(kernel_of(module)).status is Status.PROVEN
    for n in (0, 1, 2, 5):
        assert wrong_runs(module, {"n": n}) == []
        found = closures(kernel_of(module), {"n": n})
        assert found.words(found.needed - found.held) == []
        assert found.words(found.held - found.needed) == []


def crowded(slots: int) -> SlotText:
    """As above, the right operand first where the left one is loaded first; then `slots` tiles in flight."""
    kernel = SlotText(P=(2, "mat"), Q=(2, "mat"), R=(slots, "mat"), A=(2, "left"), B=(2, "right"), C=(2, "acc"))
    with kernel.loop("o", 0, "n"):
        kernel.load("P[o % 2]", row="o")
        kernel.load("Q[o % 2]", "h", row="o")
        kernel.extract("B[0]", "Q[o % 2]")
        kernel.extract("A[0]", "P[o % 2]")
        kernel.matmul("C[o % 2]", "A[0]", "B[0]")
        with kernel.loop("i", 0, 3):
            kernel.extract("A[i % 2]", "P[o % 2]")
            kernel.extract("B[i % 2]", "Q[o % 2]")
            kernel.matmul("C[o % 2]", "A[i % 2]", "B[i % 2]", acc=True)
        kernel.store("C[o % 2]", row="o")
    with kernel.loop("r", 0, "n"):
        kernel.load(f"R[r % {slots}]", row="r")
        kernel.extract("A[0]", f"R[r % {slots}]")
        kernel.extract("B[0]", f"R[r % {slots}]")
        kernel.matmul("C[0]", "A[0]", "B[0]")
        kernel.store("C[0]", row="r")
    return kernel


def test_a_fence_that_stays_outside_for_want_of_ids_is_reported():
    """Two slots that become free behind the loop share a set there; inside of it each needs ids of its own."""
    assert in_branches(crowded(4)) == 1
    assert lowered(crowded(4))[1] == []
    module, warnings = lowered(crowded(6))
    assert in_branches(crowded(6)) == 0
    assert [warning.message for warning in warnings] == [
        "overlap is lost: P: 1 fence stays outside of loops, since MTE1 to MTE2 has too few event ids; what stands in "
        "a loop before the first access waits with it, what waits for the last one waits for the loop"
    ]
    assert check(kernel_of(module)).status is Status.PROVEN
