"""Kernels retold from reported failures, by the names of the collection: each has to come out right, and parallel."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from support.slot_text import SlotText


@dataclass(frozen=True)
class Case:
    """`grid`: values of the integer arguments to run it for, where a proof for every value is out of reach."""

    make: Callable[[], SlotText]
    lost: bool = False
    """Whether overlap has to be given up, with a warning."""
    grid: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


@contextmanager
def _sum(kernel: SlotText, name: str = "Y") -> Iterator[None]:
    """A sum in UB that what stands inside adds to."""
    kernel.fill(name)
    yield
    kernel.store(name, "z")


@contextmanager
def _product(kernel: SlotText) -> Iterator[None]:
    """A product in L0C of what is in L0A and L0B; what stands inside adds to it."""
    kernel.load("X")
    kernel.extract("A[0]", "X")
    kernel.extract("B[0]", "X")
    kernel.matmul("C", "A[0]", "B[0]")
    yield
    kernel.store("C", "z")


# --- 1. prime, drain and exit parity ---


def prefetch(slots: int, lower: str = "0") -> SlotText:
    """B01, B37: slot (i + 1) % N is filled while slot i % N is read; the first is filled before the loop."""
    kernel = SlotText("n" if lower.isdigit() else f"n {lower}", P=slots, Y=1)
    with _sum(kernel):
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


def products(accumulate: bool) -> SlotText:
    """B04, B100: each product in the slot that the one before does not use, drained while the next is computed."""
    kernel = SlotText(X=(1, "mat"), A=(1, "left"), B=(1, "right"), C=(2, "acc"))
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
    with _sum(kernel), kernel.when("rows > 0"), kernel.loop("r", 0, "rows"):
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
    with _product(kernel):
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
    with _sum(kernel), kernel.loop("i", 0, "n"), kernel.when("unknown(i)"):
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
    with _sum(kernel), kernel.when("c > 0"), kernel.loop("i", 0, "n"):
        kernel.load("X", row="i")
        kernel.vector("Y", "Y", "X")
    return kernel


def one_predicate_twice() -> SlotText:
    """B17: fill and use stand in two branches of one condition."""
    kernel = SlotText("n m", P=3, Y=1)
    with _sum(kernel), kernel.loop("i", 0, "n"):
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
    with _sum(kernel), kernel.loop("i", 0, "n"):
        for number in (0, 1, 3, 4, 6):
            kernel.load(f"P{number}", row="i")
            kernel.vector("Y", "Y", f"P{number}")
    return kernel


def fewer_than_declared() -> SlotText:
    """B28: four slots, of which the inner loop reaches two."""
    kernel = SlotText("m", P=4, Y=1)
    with _sum(kernel), kernel.loop("o", 0, "m"), kernel.loop("i", 0, 2):
        kernel.load("P[i]", row="i")
        kernel.vector("Y", "Y", "P[i]")
    return kernel


def stream(slots: int) -> SlotText:
    """B29, B92: loaded and read, in turn."""
    kernel = SlotText(P=slots, Y=1)
    with _sum(kernel), kernel.loop("i", 0, "n"):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.vector("Y", "Y", f"P[i % {slots}]")
    return kernel


# --- 4. slot key, lane binding, rotation index ---


def two_pools() -> SlotText:
    """B31: an op reads a set of two and a set of one; the second has to be guarded at distance 1."""
    kernel = SlotText(A=2, B=1, Y=1)
    with _sum(kernel), kernel.loop("i", 0, "n"):
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
    with _sum(kernel), kernel.loop("i", 0, "n"):
        kernel.let("s", "select(i % 2 == 0, 1, 0)")
        kernel.load("P[s]", row="i")
        kernel.vector("Y", "Y", "P[s]")
    return kernel


def data_dependent_slot() -> SlotText:
    """B35: which of the two slots is taken depends on data."""
    kernel = SlotText(P=2, Y=1)
    with _sum(kernel), kernel.loop("i", 0, "n"):
        kernel.let("s", "select(unknown(i), 1, 0)")
        kernel.load("P[s]", row="i")
        kernel.vector("Y", "Y", "P[s]")
    return kernel


def inner_counter() -> SlotText:
    """B38: three inner trips turn two slots."""
    kernel = SlotText("m", P=2, Y=1)
    with _sum(kernel), kernel.loop("o", 0, "m"), kernel.loop("i", 0, 3):
        kernel.load("P[i % 2]", row="i")
        kernel.vector("Y", "Y", "P[i % 2]")
    return kernel


def any_inner_counter(inner: int) -> SlotText:
    """B41: the inner loop's trips are no multiple of the slots."""
    kernel = SlotText("m", X=(1, "mat"), P=(2, "mat"), A=(1, "left"), B=(1, "right"), C=(1, "acc"))
    with _product(kernel), kernel.loop("t", 0, "m"), kernel.loop("k", 0, inner):
        kernel.load("P[k % 2]", row="k")
        kernel.extract("A", "P[k % 2]")
        kernel.matmul("C", "A", "B", acc=True)
    return kernel


def lagging() -> SlotText:
    """B44: the read lags one trip behind the load."""
    kernel = SlotText(P=3, Y=1)
    with _sum(kernel):
        kernel.load("P[2]")
        with kernel.loop("i", 0, "n"):
            kernel.load("P[i % 3]", row="i")
            kernel.vector("Y", "Y", "P[(i + 2) % 3]")
    return kernel


# --- 5. across trips ---


def use_then_refill() -> SlotText:
    """B46: each trip reads what the trip before left, then fills the one slot again."""
    kernel = SlotText(S=1, Y=1)
    with _sum(kernel):
        kernel.load("S")
        with kernel.loop("i", 0, "n"):
            kernel.vector("Y", "Y", "S")
            kernel.load("S", row="i + 1")
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
    with _sum(kernel), kernel.loop("o", 0, "m"):
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
    with _sum(kernel), kernel.loop("i", 0, "n"):
        kernel.load("P[0]", "g", row="i")
        kernel.load("P[1]", "h", row="i")
        kernel.vector("Y", "Y", "P[0]")
        kernel.vector("Y", "Y", "P[1]")
        kernel.release("P[1]")
        kernel.release("P[0]")
    return kernel


CASES: Mapping[str, Case] = {
    **{f"B01-{n}": Case(lambda n=n: prefetch(n)) for n in (2, 3, 5)},
    "B02": Case(back_edge),
    "B04": Case(lambda: products(accumulate=True)),
    "B07": Case(maybe_no_rows),
    "B08": Case(no_work_twice),
    "B10": Case(around_a_loop),
    "B11": Case(guarded),
    "B13": Case(either_arm),
    "B14": Case(ping_or_pong),
    "B16": Case(guarded_loop),
    "B17": Case(one_predicate_twice),
    "B19": Case(long_and_short),
    "B20": Case(accumulated),
    "B23": Case(lambda: in_place_chain(3, 2)),
    "B23-8": Case(lambda: in_place_chain(8, 7)),
    "B25-8": Case(lambda: through(8)),
    "B25-9": Case(lambda: through(9), lost=True),
    "B25-16": Case(lambda: through(16), lost=True),
    "B26": Case(seven_pools),
    "B28": Case(fewer_than_declared),
    "B29": Case(lambda: stream(2)),
    "B31": Case(two_pools),
    "B32": Case(other_phase),
    "B34": Case(lambda: through(2)),
    "B35-permuted": Case(permuted_arms),
    "B35-data": Case(data_dependent_slot),
    "B37-from-1": Case(lambda: prefetch(2, "1")),
    "B37-from-m": Case(lambda: prefetch(2, "m")),
    "B38": Case(inner_counter),
    **{f"B41-{inner}": Case(lambda inner=inner: any_inner_counter(inner)) for inner in (1, 2, 3, 5)},
    "B44": Case(lagging),
    "B46": Case(use_then_refill),
    "B47": Case(two_levels),
    "B50": Case(least_rotated),
    "B52": Case(re_entered),
    "B53": Case(two_operands),
    "B59": Case(product_to_l1),
    "B64": Case(same_pipe),
    "B64-a5": Case(lambda: same_pipe("a5")),
    "B67": Case(first_or_further),
    "B71": Case(sums_per_tile),
    "B70": Case(summed_in_place),
    "B73-overlaid": Case(lambda: overlaid(apart=False)),
    "B73-apart": Case(lambda: overlaid(apart=True)),
    "B76": Case(loaded_before_the_loop),
    "B97": Case(constant_slots),
    "B100": Case(lambda: products(accumulate=False)),
    "B103": Case(gemm),
    "B104": Case(two_at_once),
}
