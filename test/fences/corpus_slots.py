"""Kernels retold from reported failures: which slot and which lane, and what comes across trips."""

from fences.corpus_parts import product, summed
from support.slot_text import SlotText

# --- 4. slot key, lane binding, rotation index ---


def two_pools() -> SlotText:
    """B31: an op reads a set of two and a set of one; the second has to be guarded at distance 1."""
    kernel = SlotText(A=2, B=1, Y=1)
    with summed(kernel), kernel.loop("i", 0, "n"):
        kernel.load("A[i % 2]", row="i")
        kernel.load("B", row="i")
        kernel.vector("A[i % 2]", "A[i % 2]", "B")
        kernel.vector("Y", "Y", "A[i % 2]")
    return kernel


def other_phase() -> SlotText:
    """B32: the result's slot runs at another phase than the operand's."""
    kernel = SlotText(A=2, B=2)
    kernel.load("A[0]")
    kernel.load("A[1]")
    with kernel.loop("i", 0, "n"):
        kernel.vector("B[i % 2]", "A[(i + 1) % 2]")
        kernel.store("B[i % 2]", row="i")
    return kernel


def permuted_arms() -> SlotText:
    """B35: even trips take slot 1, odd ones slot 0."""
    kernel = SlotText(P=2, Y=1)
    with summed(kernel), kernel.loop("i", 0, "n"):
        kernel.let("s", "select(i % 2 == 0, 1, 0)")
        kernel.load("P[s]", row="i")
        kernel.vector("Y", "Y", "P[s]")
    return kernel


def data_dependent_slot() -> SlotText:
    """B35: which of the two slots is taken depends on data."""
    kernel = SlotText(P=2, Y=1)
    with summed(kernel), kernel.loop("i", 0, "n"):
        kernel.let("s", "select(unknown(i), 1, 0)")
        kernel.load("P[s]", row="i")
        kernel.vector("Y", "Y", "P[s]")
    return kernel


def inner_counter() -> SlotText:
    """B38: three inner trips turn two slots."""
    kernel = SlotText("m", P=2, Y=1)
    with summed(kernel), kernel.loop("o", 0, "m"), kernel.loop("i", 0, 3):
        kernel.load("P[i % 2]", row="i")
        kernel.vector("Y", "Y", "P[i % 2]")
    return kernel


def any_inner_counter(inner: int) -> SlotText:
    """B41: the inner loop's trips are no multiple of the slots."""
    kernel = SlotText("m", X=(1, "mat"), P=(2, "mat"), A=(1, "left"), B=(1, "right"), C=(1, "acc"))
    with product(kernel), kernel.loop("t", 0, "m"), kernel.loop("k", 0, inner):
        kernel.load("P[k % 2]", row="k")
        kernel.extract("A", "P[k % 2]")
        kernel.matmul("C", "A", "B", acc=True)
    return kernel


def lagging() -> SlotText:
    """B44: the read lags one trip behind the load."""
    kernel = SlotText(P=3, Y=1)
    with summed(kernel):
        kernel.load("P[2]")
        with kernel.loop("i", 0, "n"):
            kernel.load("P[i % 3]", row="i")
            kernel.vector("Y", "Y", "P[(i + 2) % 3]")
    return kernel


# --- 5. across trips ---


def use_then_refill() -> SlotText:
    """B46: each trip reads what the trip before left, then fills the one slot again."""
    kernel = SlotText(S=1, Y=1)
    with summed(kernel):
        kernel.load("S")
        with kernel.loop("i", 0, "n"):
            kernel.vector("Y", "Y", "S")
            kernel.load("S", row="i + 1")
    return kernel


def turned_by_the_counter() -> SlotText:
    """B46: the same in two trips over two slots; each reads the slot of its number, of which there is no third."""
    kernel = SlotText(P=2, Y=1)
    with summed(kernel):
        kernel.load("P[0]")
        with kernel.loop("i", 0, 2):
            kernel.vector("Y", "Y", "P[i]")
            kernel.load("P[(i + 1) % 2]", row="i + 1")
    return kernel


def filled_by_halves() -> SlotText:
    """B58, B101: two products fill the halves of a slot in L1; each half is read on its own, the first one early."""
    kernel = SlotText(
        X=(1, "mat"), A=(1, "left"), H=(2, "left"), B=(1, "right"), C=(2, "acc"), D=(1, "acc"), P=(2, "tall")
    )
    kernel.load("X")
    kernel.extract("A", "X")
    kernel.extract("B", "X")
    with kernel.loop("i", 0, "n"):
        for half in range(2):
            kernel.matmul(f"C[{half}]", "A", "B")
            kernel.insert("P[i % 2]", f"C[{half}]", row=16 * half)
        for half in range(2):
            kernel.extract(f"H[{half}]", "P[i % 2]", row=16 * half)
            kernel.matmul("D", f"H[{half}]", "B", acc=half > 0)
        kernel.store("D", row="i")
    return kernel


def two_levels() -> SlotText:
    """B47: two slots in L1, one in L0."""
    kernel = SlotText(L=(2, "mat"), A=(1, "left"), B=(1, "right"), C=(1, "acc"))
    kernel.load("L[0]")
    kernel.extract("B", "L[0]")
    kernel.extract("A", "L[0]")
    kernel.matmul("C", "A", "B")
    with kernel.loop("k", 1, "n"):
        kernel.load("L[k % 2]", row="k")
        kernel.extract("A", "L[k % 2]")
        kernel.matmul("C", "A", "B", acc=True)
    kernel.store("C")
    return kernel


def least_rotated() -> SlotText:
    """B50: one operand has two slots, the other has one."""
    kernel = SlotText(X=(1, "mat"), A=(2, "left"), B=(1, "right"), C=(1, "acc"))
    kernel.load("X")
    kernel.extract("A[0]", "X")
    kernel.extract("B", "X")
    kernel.matmul("C", "A[0]", "B")
    with kernel.loop("k", 1, "n"):
        kernel.extract("A[k % 2]", "X")
        kernel.extract("B", "X")
        kernel.matmul("C", "A[k % 2]", "B", acc=True)
    kernel.store("C")
    return kernel


def re_entered() -> SlotText:
    """B52: a prefetching loop in another loop."""
    kernel = SlotText("m n", P=2, Y=1)
    with summed(kernel), kernel.loop("o", 0, "m"):
        kernel.load("P[0]", row="o")
        with kernel.loop("i", 0, "n"):
            kernel.load("P[(i + 1) % 2]", row="i")
            kernel.vector("Y", "Y", "P[i % 2]")
    return kernel


def two_operands() -> SlotText:
    """B53: two operands, both filled a trip ahead."""
    kernel = SlotText(A=2, B=2, Z=2)
    kernel.load("A[0]")
    kernel.load("B[0]", "h")
    with kernel.loop("i", 0, "n"):
        kernel.load("A[(i + 1) % 2]", row="i + 1")
        kernel.load("B[(i + 1) % 2]", "h", row="i + 1")
        kernel.vector("Z[i % 2]", "A[i % 2]", "B[i % 2]")
        kernel.store("Z[i % 2]", row="i")
    return kernel


def counted_by_a_while(condition: str) -> SlotText:
    """B40: the condition's region fills a slot, the body reads it; the last fill is read by nobody."""
    kernel = SlotText(P=2, Y=1)

    def fill() -> None:
        kernel.load("P[k % 2]", row="k")

    with summed(kernel), kernel.repeat("k", condition, fill):
        kernel.vector("Y", "Y", "P[k % 2]")
    return kernel


def wrapping_index() -> SlotText:
    """B44: (i - 1) % 3 of an unsigned number is slot 0 at i = 0, as is i % 3, and not slot 2."""
    kernel = SlotText(P=3, Y=1)
    with summed(kernel), kernel.loop("i", 0, "n"):
        kernel.load("P[i % 3]", row="i")
        kernel.vector("Y", "Y", "P[(i - 1) % 3]")
    return kernel


# --- refused ---


def filled_under_another_condition() -> SlotText:
    """B17: nothing says that the slot was filled when it is read."""
    kernel = SlotText(P=3, Y=1)
    with summed(kernel), kernel.loop("i", 0, "n"):
        with kernel.when("unknown(i)"):
            kernel.load("P[i % 3]", row="i")
        with kernel.when("unknown(i + 1)"):
            kernel.vector("Y", "Y", "P[i % 3]")
    return kernel


def too_few_slots() -> SlotText:
    """B49: two trips ahead in two slots, before the slot is read."""
    kernel = SlotText(P=2, Y=1)
    with summed(kernel):
        kernel.load("P[0]")
        kernel.load("P[1]", row=1)
        with kernel.loop("i", 0, "n"):
            kernel.load("P[(i + 2) % 2]", row="i + 2")
            kernel.vector("Y", "Y", "P[i % 2]")
    return kernel


def no_step_at_all() -> SlotText:
    """B67: with no trip there is no product to store."""
    kernel = SlotText(X=(1, "mat"), A=(1, "left"), B=(1, "right"), C=(1, "acc"))
    kernel.load("X")
    kernel.extract("A", "X")
    kernel.extract("B", "X")
    with kernel.loop("k", 0, "n"):
        with kernel.when("k == 0"):
            kernel.matmul("C", "A", "B")
        with kernel.otherwise():
            kernel.matmul("C", "A", "B", acc=True)
    kernel.store("C")
    return kernel


def released_in_the_loop() -> SlotText:
    """B77: filled before the loop, released in each of its trips."""
    kernel = SlotText(K=1, Y=1)
    with summed(kernel):
        kernel.load("K")
        with kernel.loop("i", 0, "n"):
            kernel.vector("Y", "Y", "K")
            kernel.release("K")
    return kernel


def unfit_in_place() -> SlotText:
    """B80: the op reads its operand again after it has begun to write."""
    kernel = SlotText(P=1)
    kernel.load("P")
    kernel.call("recip", "P", "P")
    kernel.store("P")
    return kernel
