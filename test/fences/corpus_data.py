"""Kernels retold from reported failures: pipes, accumulators, shared bytes, and what need not wait."""

from fences.corpus_parts import summed
from support.slot_text import SlotText

# --- 6. pipes ---


def product_to_l1() -> SlotText:
    """B59: an accumulator moves to L1 on FIX, and on to L0 on MTE1."""
    kernel = SlotText(X=(1, "mat"), L=(1, "mat"), A=(1, "left"), B=(1, "right"), C=(1, "acc"))
    kernel.load("X")
    kernel.extract("B", "X")
    with kernel.loop("i", 0, "n"):
        kernel.extract("A", "X")
        kernel.matmul("C", "A", "B")
        kernel.move("L", "C")
        kernel.extract("A", "L")
        kernel.matmul("C", "A", "B")
        kernel.store("C", row="i")
    return kernel


def same_pipe(arch: str = "a3") -> SlotText:
    """B64: two dependent vector ops."""
    kernel = SlotText(A=1, B=1, arch=arch)
    kernel.fill("A")
    kernel.vector("B", "A")
    kernel.store("B")
    return kernel


# --- 7. accumulators ---


def first_or_further() -> SlotText:
    """B67, B68: the first step starts the sum, the others add to it."""
    kernel = SlotText(X=(1, "mat"), A=(2, "left"), B=(1, "right"), C=(1, "acc"))
    kernel.load("X")
    kernel.extract("B", "X")
    with kernel.loop("k", 0, 5):
        kernel.extract("A[k % 2]", "X")
        with kernel.when("k == 0"):
            kernel.matmul("C", "A[k % 2]", "B")
        with kernel.otherwise():
            kernel.matmul("C", "A[k % 2]", "B", acc=True)
    kernel.store("C")
    return kernel


def sums_per_tile() -> SlotText:
    """B67, B71: the same, for each tile anew, the tiles' sums in turn."""
    kernel = SlotText(X=(1, "mat"), A=(2, "left"), B=(1, "right"), C=(2, "acc"))
    kernel.load("X")
    kernel.extract("B", "X")
    with kernel.loop("t", 0, "n"):
        with kernel.loop("k", 0, 3):
            kernel.extract("A[k % 2]", "X")
            with kernel.when("k == 0"):
                kernel.matmul("C[t % 2]", "A[k % 2]", "B")
            with kernel.otherwise():
                kernel.matmul("C[t % 2]", "A[k % 2]", "B", acc=True)
        kernel.store("C[t % 2]", row="t")
    return kernel


def summed_in_place() -> SlotText:
    """B70: a sum that each trip reads and writes."""
    kernel = SlotText(C=1, P=2)
    kernel.fill("C")
    with kernel.loop("k", 0, "n"):
        kernel.load("P[k % 2]", row="k")
        kernel.vector("C", "C", "P[k % 2]")
    kernel.store("C")
    return kernel


# --- 8. aliases ---


def overlaid(apart: bool) -> SlotText:
    """B73: two tiles that have half of their bytes in common, or none."""
    kernel = SlotText(A=1, B=1, addresses={"A": 1024, "B": 8192 if apart else 3072}, share={"B": "A"})
    kernel.load("A")
    kernel.store("A", "y")
    kernel.fill("B")
    kernel.store("B", "z")
    return kernel


def sets_that_share(space: str, address: int) -> SlotText:
    """B43, B83, B86: the slots of one set lie on those of an earlier one, in place, or across their borders."""
    kernel = SlotText(P=2, Q=(2, space), addresses={"P": 0, "Q": address}, share={"Q": "P"})
    with kernel.loop("i", 0, "n"):
        kernel.load("P[i % 2]", row="i")
        kernel.store("P[i % 2]", row="i")
    with kernel.loop("j", 0, "n"):
        kernel.fill("Q[j % 2]")
        kernel.vector("Q[j % 2]", "Q[j % 2]")
    return kernel


def loaded_before_the_loop() -> SlotText:
    """B76: one tile stays, another one is filled in each trip."""
    kernel = SlotText(K=1, S=1)
    kernel.load("K")
    with kernel.loop("i", 0, "n"):
        kernel.store("K", "y", row="i")
        kernel.load("S", row="i")
        kernel.store("S", "z", row="i")
    return kernel


# --- 11. correct but serial ---


def constant_slots() -> SlotText:
    """B97: two slots, each named by a constant."""
    kernel = SlotText(P=2)
    kernel.load("P[0]", "g")
    kernel.load("P[1]", "h")
    kernel.store("P[0]", "y")
    kernel.store("P[1]", "y", row=1)
    kernel.load("P[1]", "h", row=1)
    kernel.store("P[1]", "y", row=2)
    return kernel


def gemm(steps: str = "k") -> SlotText:
    """B103: two slots at each level."""
    kernel = SlotText("n k", X=(2, "mat"), Y=(2, "mat"), A=(2, "left"), B=(2, "right"), C=(2, "acc"))
    with kernel.loop("t", 0, "n"):
        kernel.load("X[0]", "g", row="t")
        kernel.load("Y[0]", "h", row="t")
        kernel.extract("A[0]", "X[0]")
        kernel.extract("B[0]", "Y[0]")
        kernel.matmul("C[t & 1]", "A[0]", "B[0]")
        with kernel.loop("i", 1, steps):
            kernel.load("X[i & 1]", "g", row="i")
            kernel.load("Y[i & 1]", "h", row="i")
            kernel.extract("A[i & 1]", "X[i & 1]")
            kernel.extract("B[i & 1]", "Y[i & 1]")
            kernel.matmul("C[t & 1]", "A[i & 1]", "B[i & 1]", acc=True)
        kernel.store("C[t & 1]", row="t")
    return kernel


def two_at_once() -> SlotText:
    """B104: two slots taken together, released in the other order."""
    kernel = SlotText(P=2, Y=1)
    with summed(kernel), kernel.loop("i", 0, "n"):
        kernel.load("P[0]", "g", row="i")
        kernel.load("P[1]", "h", row="i")
        kernel.vector("Y", "Y", "P[0]")
        kernel.vector("Y", "Y", "P[1]")
        kernel.release("P[1]")
        kernel.release("P[0]")
    return kernel
