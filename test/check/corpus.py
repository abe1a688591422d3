"""Right and wrong forms of reported failures, as `pto`. Names are those of the collection they are retold in."""

from collections.abc import Mapping
from dataclasses import dataclass

from check.kernels import Kernel


@dataclass(frozen=True)
class Case:
    """`faults` are what is wrong with it, over all runs; nothing for a right form."""

    text: str
    faults: frozenset[str] = frozenset()


def _prefetch(slots: int) -> Kernel:
    kernel = Kernel()
    kernel.slots("P", slots)
    kernel.slots("Y")
    return kernel


def _prefetch_right(slots: int) -> str:
    """B01: the slot ahead is filled while this one is read; the first is filled before the loop."""
    kernel = _prefetch(slots)
    kernel.load("P[0]")
    kernel.set("MTE2>V", 0)
    for lane in range(1, slots):
        kernel.set("V>MTE2", lane)
    with kernel.loop("i", 0, "n"):
        kernel.wait("V>MTE2", f"(i + 1) % {slots}")
        kernel.load(f"P[(i + 1) % {slots}]")
        kernel.set("MTE2>V", f"(i + 1) % {slots}")
        kernel.wait("MTE2>V", f"i % {slots}")
        kernel.barrier("V")
        kernel.vector("Y", f"P[i % {slots}]")
        kernel.set("V>MTE2", f"i % {slots}")
    kernel.wait("MTE2>V", f"n % {slots}")
    for lane in range(1, slots):
        kernel.wait("V>MTE2", f"(n + {lane}) % {slots}")
    kernel.barrier()
    return kernel.text()


def _prefetch_all_free(slots: int) -> str:
    """B01 as it was: every slot primed and drained in both directions, as if each began and ended free."""
    kernel = _prefetch(slots)
    kernel.load("P[0]")
    kernel.prime("MTE2>V", slots)
    kernel.prime("V>MTE2", slots)
    with kernel.loop("i", 0, "n"):
        kernel.wait("V>MTE2", f"(i + 1) % {slots}")
        kernel.load(f"P[(i + 1) % {slots}]")
        kernel.set("MTE2>V", f"(i + 1) % {slots}")
        kernel.wait("MTE2>V", f"i % {slots}")
        kernel.barrier("V")
        kernel.vector("Y", f"P[i % {slots}]")
        kernel.set("V>MTE2", f"i % {slots}")
    kernel.drain("MTE2>V", slots)
    kernel.drain("V>MTE2", slots)
    kernel.barrier()
    return kernel.text()


def _back_edge(prime: bool = True, drain: bool = True) -> str:
    """B02: a ring of one slot each for the operand and the product."""
    kernel = Kernel(kind="cube")
    kernel.slots("X", space="mat")
    kernel.slots("A", space="left")
    kernel.slots("B", space="right")
    kernel.slots("C", space="acc")
    kernel.load("X")
    kernel.fence("MTE2>MTE1")
    kernel.extract("B", "X")
    if prime:
        kernel.set("M>MTE1")
    with kernel.loop("i", 0, "n"):
        kernel.wait("M>MTE1")
        kernel.extract("A", "X")
        kernel.fence("MTE1>M")
        kernel.barrier("M")
        kernel.matmul("C", "A", "B")
        kernel.set("M>MTE1")
    if drain:
        kernel.wait("M>MTE1")
    kernel.barrier()
    return kernel.text()


def _guarded(fences_inside: bool) -> str:
    """B11: a load and a use under one data-dependent condition; the flags under it too, or half of them outside."""
    kernel = Kernel()
    kernel.slots("X")
    kernel.slots("Y")
    kernel.set("V>MTE2")
    with kernel.loop("i", 0, "n"):
        kernel.let("c", "unknown(i)")
        with kernel.when("c"):
            kernel.wait("V>MTE2")
            kernel.load("X")
            kernel.set("MTE2>V")
            if fences_inside:
                kernel.wait("MTE2>V")
                kernel.barrier("V")
                kernel.vector("Y", "X")
            else:
                kernel.barrier("V")
                kernel.vector("Y", "X")
                kernel.set("V>MTE2")
        if fences_inside:
            with kernel.when("c"):
                kernel.set("V>MTE2")
        else:
            kernel.wait("MTE2>V")
    kernel.wait("V>MTE2")
    kernel.barrier()
    return kernel.text()


def _three_chains(slots: int, computed: bool = True) -> str:
    """B23: filled two trips ahead, updated twice in place, stored; three chains of flags are enough."""
    kernel = Kernel()
    kernel.slots("P", slots)
    kernel.prime("MTE3>MTE2", slots)
    for ahead in range(2):
        with kernel.when(f"{ahead} < n"):
            kernel.wait("MTE3>MTE2", ahead)
            kernel.load(f"P[{ahead}]")
            kernel.set("MTE2>V", ahead)
    with kernel.loop("i", 0, "n"):
        with kernel.when("i + 2 < n"):
            kernel.wait("MTE3>MTE2", f"(i + 2) % {slots}")
            kernel.load(f"P[(i + 2) % {slots}]")
            kernel.set("MTE2>V", f"(i + 2) % {slots}")
        slot, lane = f"P[i % {slots}]", f"i % {slots}"
        kernel.wait("MTE2>V", lane)
        kernel.vector(slot, slot)
        kernel.barrier("V")
        kernel.vector(slot, slot)
        if computed:
            kernel.fence("V>MTE3", lane)
        kernel.store(slot, row="i * 16")
        kernel.set("MTE3>MTE2", lane)
    kernel.drain("MTE3>MTE2", slots)
    kernel.barrier()
    return kernel.text()


def _few_slots_reached(lane_is_slot: bool) -> str:
    """B28: four slots declared, an inner loop reaches two; ids must follow the slots, not the depth."""
    kernel = Kernel("m")
    kernel.slots("P", 4)
    kernel.slots("Y")
    lanes = 2 if lane_is_slot else 4
    kernel.prime("V>MTE2", lanes)
    with kernel.loop("o", 0, "m"), kernel.loop("i", 0, 2):
        lane = "i" if lane_is_slot else "(o * 2 + i) % 4"
        kernel.wait("V>MTE2", lane)
        kernel.load("P[i]")
        kernel.fence("MTE2>V", lane)
        kernel.barrier("V")
        kernel.vector("Y", "P[i]")
        kernel.set("V>MTE2", lane)
    kernel.drain("V>MTE2", lanes)
    kernel.barrier()
    return kernel.text()


def _ring(slots: int, ready: str | None = None, free: str | None = None, drain: bool = True, n: str = "n") -> str:
    """Load and use of slot i % slots. `ready` and `free` are the lanes, by default the slot."""
    kernel = Kernel()
    kernel.slots("P", slots)
    kernel.slots("Y")
    slot = f"i % {slots}"
    kernel.prime("V>MTE2", slots)
    with kernel.loop("i", 0, n):
        kernel.wait("V>MTE2", free or slot)
        kernel.load(f"P[{slot}]")
        kernel.set("MTE2>V", ready or slot)
        kernel.wait("MTE2>V", ready or slot)
        kernel.barrier("V")
        kernel.vector("Y", f"P[{slot}]")
        kernel.set("V>MTE2", free or slot)
    if drain:
        kernel.drain("V>MTE2", slots)
    kernel.barrier()
    return kernel.text()


def _two_pools(own_guard: bool) -> str:
    """B31: a pool of two and a pool of one; the pair of the first orders distance 2, the second needs distance 1."""
    kernel = Kernel()
    kernel.slots("A", 2)
    kernel.slots("B")
    kernel.slots("Y")
    kernel.prime("V>MTE2", 2)
    if own_guard:
        kernel.set("V>MTE2", 2)
    with kernel.loop("i", 0, "n"):
        kernel.wait("V>MTE2", "i % 2")
        kernel.load("A[i % 2]")
        if own_guard:
            kernel.wait("V>MTE2", 2)
        kernel.load("B")
        kernel.fence("MTE2>V", "i % 2")
        kernel.barrier("V")
        kernel.vector("Y", "A[i % 2]", "B")
        kernel.set("V>MTE2", "i % 2")
        if own_guard:
            kernel.set("V>MTE2", 2)
    kernel.drain("V>MTE2", 3 if own_guard else 2)
    kernel.barrier()
    return kernel.text()


def _phased(lane: str) -> str:
    """B32: the result pool runs at another phase than the operand pool; its lane is its own slot."""
    kernel = Kernel()
    kernel.slots("A", 2)
    kernel.slots("B", 2)
    kernel.load("A[0]")
    kernel.load("A[1]")
    kernel.fence("MTE2>V")
    kernel.prime("MTE3>V", 2)
    with kernel.loop("i", 0, "n"):
        kernel.wait("MTE3>V", lane)
        kernel.vector("B[i % 2]", "A[(i + 1) % 2]")
        kernel.fence("V>MTE3", "i % 2")
        kernel.store("B[i % 2]", row="i * 16")
        kernel.set("MTE3>V", "i % 2")
    kernel.drain("MTE3>V", 2)
    kernel.barrier()
    return kernel.text()


def _selector(wait: str, set: str) -> str:
    """B34: load and store of two slots; the lane that was computed has to be used, at both ends."""
    kernel = Kernel()
    kernel.slots("P", 2)
    kernel.prime("MTE3>MTE2", 2)
    with kernel.loop("i", 0, "n"):
        kernel.wait("MTE3>MTE2", wait)
        kernel.load("P[i % 2]")
        kernel.fence("MTE2>MTE3", "i % 2")
        kernel.store("P[i % 2]", row="i * 16")
        kernel.set("MTE3>MTE2", set)
    kernel.drain("MTE3>MTE2", 2)
    kernel.barrier()
    return kernel.text()


def _owner(lane: str) -> str:
    """B38: an inner loop of three trips rotates two slots; the lane must not count the outer loop's trips too."""
    kernel = Kernel("m")
    kernel.slots("P", 2)
    kernel.slots("Y")
    kernel.prime("V>MTE2", 2)
    with kernel.loop("o", 0, "m"), kernel.loop("i", 0, 3):
        kernel.wait("V>MTE2", lane)
        kernel.load("P[i % 2]")
        kernel.fence("MTE2>V", lane)
        kernel.barrier("V")
        kernel.vector("Y", "P[i % 2]")
        kernel.set("V>MTE2", lane)
    kernel.drain("V>MTE2", 2)
    kernel.barrier()
    return kernel.text()


def _wrap(read: str) -> str:
    """B44: the read lags one trip behind the load; unsigned, (i - 1) % 3 at i = 0 is 0, which is being filled."""
    kernel = Kernel()
    kernel.slots("P", 3)
    kernel.slots("Y")
    kernel.load("P[2]")
    kernel.set("MTE2>V", 2)
    kernel.set("V>MTE2", 0)
    kernel.set("V>MTE2", 1)
    with kernel.loop("i", 0, "n"):
        kernel.wait("V>MTE2", "i % 3")
        kernel.load("P[i % 3]")
        kernel.set("MTE2>V", "i % 3")
        kernel.wait("MTE2>V", "(i + 2) % 3")
        kernel.barrier("V")
        kernel.vector("Y", f"P[{read}]")
        kernel.set("V>MTE2", "(i + 2) % 3")
    kernel.wait("MTE2>V", "(n + 2) % 3")
    kernel.wait("V>MTE2", "n % 3")
    kernel.wait("V>MTE2", "(n + 1) % 3")
    kernel.barrier()
    return kernel.text()


def _use_then_fill(wait_before_refill: bool) -> str:
    """B46: each trip first uses what the trip before left, then fills the one buffer again."""
    kernel = Kernel()
    kernel.slots("S")
    kernel.slots("Y")
    kernel.load("S")
    kernel.set("MTE2>V")
    with kernel.loop("i", 0, "n"):
        kernel.wait("MTE2>V")
        kernel.barrier("V")
        kernel.vector("Y", "S")
        if wait_before_refill:
            kernel.fence("V>MTE2")
        kernel.load("S")
        kernel.set("MTE2>V")
    kernel.wait("MTE2>V")
    kernel.barrier()
    return kernel.text()


def _two_ahead(slots: int) -> str:
    """B49: filled two trips ahead of the read; two slots are one too few."""
    kernel = Kernel()
    kernel.slots("P", slots)
    kernel.slots("Y")
    for lane in range(2):
        kernel.load(f"P[{lane}]")
        kernel.set("MTE2>V", lane)
    for lane in range(2, slots):
        kernel.set("V>MTE2", lane)
    with kernel.loop("i", 0, "n"):
        if slots > 2:
            kernel.wait("V>MTE2", f"(i + 2) % {slots}")
        kernel.load(f"P[(i + 2) % {slots}]")
        kernel.wait("MTE2>V", f"i % {slots}")
        kernel.set("MTE2>V", f"(i + 2) % {slots}")
        kernel.barrier("V")
        kernel.vector("Y", f"P[i % {slots}]")
        if slots > 2:
            kernel.set("V>MTE2", f"i % {slots}")
    kernel.wait("MTE2>V", f"n % {slots}")
    kernel.wait("MTE2>V", f"(n + 1) % {slots}")
    for lane in range(2, slots):
        kernel.wait("V>MTE2", f"(n + {lane}) % {slots}")
    kernel.barrier()
    return kernel.text()


def _re_entered(fenced: bool) -> str:
    """B52: a prefetching loop inside another; the first fill of a round meets the last read of the round before."""
    kernel = Kernel("m n")
    kernel.slots("P", 2)
    kernel.slots("Y")
    kernel.set("V>MTE2", 0)
    kernel.set("V>MTE2", 1)
    with kernel.loop("o", 0, "m"):
        if fenced:
            kernel.wait("V>MTE2", 0)
        kernel.load("P[0]")
        kernel.set("MTE2>V", 0)
        with kernel.loop("i", 0, "n"):
            kernel.wait("V>MTE2", "(i + 1) % 2")
            kernel.load("P[(i + 1) % 2]")
            kernel.set("MTE2>V", "(i + 1) % 2")
            kernel.wait("MTE2>V", "i % 2")
            kernel.barrier("V")
            kernel.vector("Y", "P[i % 2]")
            kernel.set("V>MTE2", "i % 2")
        kernel.wait("MTE2>V", "n % 2")
        if fenced:
            kernel.set("V>MTE2", "n % 2")
    kernel.drain("V>MTE2", 2)
    kernel.barrier()
    return kernel.text()


def _two_products(credit: bool = True, ready: bool = True) -> str:
    """B100: two products in turn, one drained while the other is computed."""
    kernel = Kernel(kind="cube")
    kernel.slots("X", space="mat")
    kernel.slots("A", space="left")
    kernel.slots("B", space="right")
    kernel.slots("C", 2, space="acc")
    kernel.load("X")
    kernel.fence("MTE2>MTE1")
    kernel.extract("A", "X")
    kernel.extract("B", "X")
    kernel.fence("MTE1>M")
    if credit:
        kernel.prime("FIX>M", 2)
    with kernel.loop("t", 0, "n"):
        if credit:
            kernel.wait("FIX>M", "t % 2")
        kernel.matmul("C[t % 2]", "A", "B")
        if ready:
            kernel.fence("M>FIX", "t % 2")
        kernel.store("C[t % 2]", row="t * 16")
        if credit:
            kernel.set("FIX>M", "t % 2")
    if credit:
        kernel.drain("FIX>M", 2)
    kernel.barrier()
    return kernel.text()


def _case(text: str, faults: str = "") -> Case:
    return Case(text, frozenset(faults.split()))


CASES: Mapping[str, Case] = {
    **{f"B01-right-{n}": _case(_prefetch_right(n)) for n in (2, 3, 5)},
    "B01-wrong": _case(_prefetch_all_free(2), "overflow race deadlock same-pipe-hazard"),
    "B02-right": _case(_back_edge()),
    "B02-no-prime": _case(_back_edge(prime=False), "deadlock"),
    "B02-no-drain": _case(_back_edge(drain=False), "leftover"),
    "B11-right": _case(_guarded(True)),
    "B11-wrong": _case(_guarded(False), "deadlock overflow race same-pipe-hazard"),
    **{f"B23-right-{n}": _case(_three_chains(n)) for n in (3, 4, 8)},
    "B23-wrong": _case(_three_chains(3, computed=False), "overflow race"),
    "B28-right": _case(_few_slots_reached(True)),
    "B28-wrong": _case(_few_slots_reached(False), "race same-pipe-hazard"),
    "B29-right": _case(_ring(2)),
    "B29-wrong": _case(_ring(2, ready="0 * i"), "overflow"),
    "B31-right": _case(_two_pools(True)),
    "B31-wrong": _case(_two_pools(False), "race same-pipe-hazard"),
    "B32-right": _case(_phased("i % 2")),
    "B32-wrong": _case(_phased("(i + 1) % 2"), "deadlock overflow"),
    "B34-right": _case(_selector("i % 2", "i % 2")),
    "B34-serial": _case(_selector("0 * i", "0 * i")),
    "B34-one-end": _case(_selector("0 * i", "i % 2"), "deadlock overflow"),
    "B38-right": _case(_owner("i % 2")),
    "B38-wrong": _case(_owner("(3 * o + i) % 2"), "race same-pipe-hazard"),
    "B44-right": _case(_wrap("(i + 2) % 3")),
    "B44-wrong": _case(_wrap("(i - 1) % 3"), "race"),
    "B46-right": _case(_use_then_fill(True)),
    "B46-wrong": _case(_use_then_fill(False), "overflow race same-pipe-hazard"),
    "B49-right": _case(_two_ahead(3)),
    "B49-wrong": _case(_two_ahead(2), "overflow race same-pipe-hazard"),
    "B52-right": _case(_re_entered(True)),
    "B52-wrong": _case(_re_entered(False), "deadlock overflow race same-pipe-hazard"),
    "B100-right": _case(_two_products()),
    "B100-no-credit": _case(_two_products(credit=False), "overflow race same-pipe-hazard"),
    "B100-no-ready": _case(_two_products(ready=False), "overflow race same-pipe-hazard"),
}
