"""Kernels retold from reported failures: tokens, trips that do not run, and event ids."""

from fences.corpus_parts import product, summed
from support.slot_text import SlotText

# --- 1. prime, drain and exit parity ---


def prefetch(slots: int, lower: str = "0") -> SlotText:
    """B01, B37: slot (i + 1) % N is filled while slot i % N is read; the first is filled before the loop."""
    kernel = SlotText("n" if lower.isdigit() else f"n {lower}", P=slots, Y=1)
    with summed(kernel):
        kernel.load(f"P[{lower} % {slots}]")
        with kernel.loop("i", lower, "n"):
            kernel.load(f"P[(i + 1) % {slots}]", row="i + 1")
            kernel.vector("Y", "Y", f"P[i % {slots}]")
    return kernel


def back_edge() -> SlotText:
    """B02: one operand, one product."""
    kernel = SlotText(X=(1, "mat"), A=(1, "left"), B=(1, "right"), C=(1, "acc"))
    kernel.load("X")
    kernel.extract("B", "X")
    with kernel.loop("i", 0, "n"):
        kernel.extract("A", "X")
        kernel.matmul("C", "A", "B")
        kernel.store("C", row="i")
    return kernel


def products(accumulate: bool, arch: str = "a3") -> SlotText:
    """B04, B100: each product in the slot that the one before does not use, drained while the next is computed."""
    kernel = SlotText(X=(1, "mat"), A=(1, "left"), B=(1, "right"), C=(2, "acc"), arch=arch)
    kernel.load("X")
    kernel.extract("A", "X")
    kernel.extract("B", "X")
    with kernel.loop("t", 0, "n"):
        kernel.matmul("C[t % 2]", "A", "B")
        if accumulate:
            kernel.matmul("C[t % 2]", "A", "B", acc=True)
        kernel.store("C[t % 2]", row="t")
    return kernel


def maybe_no_rows() -> SlotText:
    """B07: the whole loop is under a condition."""
    kernel = SlotText("rows", P=2, Y=1)
    with summed(kernel), kernel.when("rows > 0"), kernel.loop("r", 0, "rows"):
        kernel.load("P[r % 2]", row="r")
        kernel.vector("Y", "Y", "P[r % 2]")
    return kernel


def no_work_twice() -> SlotText:
    """B08: an inner loop that does not run for some tiles, several of them in a row."""
    kernel = SlotText("n k", P=2, Y=1)
    with kernel.loop("t", 0, "n"):
        kernel.fill("Y")
        with kernel.when("unknown(t)"), kernel.loop("j", 0, "k"):
            kernel.load("P[j % 2]", row="j")
            kernel.vector("Y", "Y", "P[j % 2]")
        kernel.store("Y", row="t")
    return kernel


# --- 2. zero trips and branches ---


def around_a_loop() -> SlotText:
    """B10: the reads of a loop against the loads in it, before it and behind it."""
    kernel = SlotText(X=(1, "mat"), P=(2, "mat"), A=(1, "left"), B=(1, "right"), C=(1, "acc"))
    with product(kernel):
        kernel.load("P[0]")
        with kernel.loop("k", 0, "n"):
            kernel.extract("A", "P[k % 2]")
            kernel.matmul("C", "A", "B", acc=True)
            kernel.load("P[(k + 1) % 2]", row="k + 1")
        kernel.load("P[0]", "h")
        kernel.extract("A", "P[0]")
        kernel.matmul("C", "A", "B", acc=True)
    return kernel


def guarded() -> SlotText:
    """B11: fill and use under a condition that nothing is known of."""
    kernel = SlotText(X=1, Y=1)
    with summed(kernel), kernel.loop("i", 0, "n"), kernel.when("unknown(i)"):
        kernel.load("X", row="i")
        kernel.vector("Y", "Y", "X")
    return kernel


def either_arm() -> SlotText:
    """B13: both arms fill; one wait is enough."""
    kernel = SlotText("c", P=1, Y=1)
    with kernel.when("c > 0"):
        kernel.load("P", "g")
    with kernel.otherwise():
        kernel.load("P", "h")
    kernel.vector("Y", "P")
    return kernel


def arms_of_one_outcome() -> SlotText:
    """B13: two branches of one condition, each arm of the second reads what its own of the first has loaded."""
    kernel = SlotText("m", P=4, Y=1)
    with summed(kernel):
        with kernel.when("m > 1"):
            kernel.load("P[m % 4]", "g")
        with kernel.otherwise():
            kernel.load("P[m % 4]", "h")
        with kernel.when("m > 1"):
            kernel.vector("Y", "Y", "P[m % 4]")
        with kernel.otherwise():
            kernel.vector("Y", "Y", "P[m % 4]")
    return kernel


def ping_or_pong() -> SlotText:
    """B14: each arm has a buffer of its own."""
    kernel = SlotText(A=1, B=1)
    with kernel.loop("i", 0, "n"):
        with kernel.when("i % 2 == 0"):
            kernel.load("A", row="i")
            kernel.vector("A", "A")
            kernel.store("A", row="i")
        with kernel.otherwise():
            kernel.load("B", row="i")
            kernel.vector("B", "B")
            kernel.store("B", row="i")
    return kernel


def guarded_loop() -> SlotText:
    """B16: the guard is outside of the loop."""
    kernel = SlotText("n c", X=1, Y=1)
    with summed(kernel), kernel.when("c > 0"), kernel.loop("i", 0, "n"):
        kernel.load("X", row="i")
        kernel.vector("Y", "Y", "X")
    return kernel


def one_predicate_twice() -> SlotText:
    """B17: fill and use stand in two branches of one condition."""
    kernel = SlotText("n m", P=3, Y=1)
    with summed(kernel), kernel.loop("i", 0, "n"):
        kernel.let("c", "i < m")
        with kernel.when("c"):
            kernel.load("P[i % 3]", row="i")
        with kernel.when("c"):
            kernel.vector("Y", "Y", "P[i % 3]")
    return kernel


# --- 3. event ids ---


def long_and_short() -> SlotText:
    """B19: a fence from MTE3 that stays open while a loop has others from MTE3."""
    kernel = SlotText(U=1, W=1)
    kernel.fill("U")
    kernel.store("U", "y")
    with kernel.loop("i", 0, "n"):
        kernel.load("W", row="i")
        kernel.store("W", "z", row="i")
    kernel.fill("U")
    kernel.store("U", "y", row=1)
    return kernel


def accumulated() -> SlotText:
    """B20, B98: operands in turn, one sum."""
    kernel = SlotText(L=(1, "mat"), A=(2, "left"), B=(1, "right"), C=(1, "acc"))
    kernel.load("L")
    kernel.extract("B", "L")
    kernel.extract("A[0]", "L")
    kernel.matmul("C", "A[0]", "B")
    with kernel.loop("k", 1, "n"):
        kernel.extract("A[k % 2]", "L")
        kernel.matmul("C", "A[k % 2]", "B", acc=True)
    kernel.store("C")
    return kernel


def in_place_chain(slots: int, ahead: int) -> SlotText:
    """B23: loaded some trips ahead, twice updated in place, stored."""
    kernel = SlotText(P=slots)
    for trip in range(ahead):
        kernel.load(f"P[{trip}]", row=trip)
    with kernel.loop("i", 0, "n"):
        kernel.load(f"P[(i + {ahead}) % {slots}]", row=f"i + {ahead}")
        kernel.vector(f"P[i % {slots}]", f"P[i % {slots}]")
        kernel.vector(f"P[i % {slots}]", f"P[i % {slots}]")
        kernel.store(f"P[i % {slots}]", row="i")
    return kernel


def through(slots: int) -> SlotText:
    """B25, B34, B94: loaded and stored, in turn."""
    kernel = SlotText(P=slots)
    with kernel.loop("i", 0, "n"):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.store(f"P[i % {slots}]", row="i")
    return kernel


def seven_pools() -> SlotText:
    """B26: seven sets of one slot, two of which nothing uses."""
    kernel = SlotText(Y=1, P0=1, P1=1, P2=1, P3=1, P4=1, P5=1, P6=1)
    with summed(kernel), kernel.loop("i", 0, "n"):
        for number in (0, 1, 3, 4, 6):
            kernel.load(f"P{number}", row="i")
            kernel.vector("Y", "Y", f"P{number}")
    return kernel


def fewer_than_declared() -> SlotText:
    """B28: four slots, of which the inner loop reaches two."""
    kernel = SlotText("m", P=4, Y=1)
    with summed(kernel), kernel.loop("o", 0, "m"), kernel.loop("i", 0, 2):
        kernel.load("P[i]", row="i")
        kernel.vector("Y", "Y", "P[i]")
    return kernel


def stream(slots: int) -> SlotText:
    """B29, B92: loaded and read, in turn."""
    kernel = SlotText(P=slots, Y=1)
    with summed(kernel), kernel.loop("i", 0, "n"):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.vector("Y", "Y", f"P[i % {slots}]")
    return kernel
