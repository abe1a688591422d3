"""Flags primed and drained, under conditions, and one for each slot: B01 to B34, as far as they are about flags."""

from collections.abc import Mapping

from check.corpus.case import Case, case
from check.kernels import Kernel


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
        kernel.turn(f"(i + 1) % {slots}", f"i % {slots}")
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
        kernel.turn(f"(i + 1) % {slots}", f"i % {slots}")
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


CASES: Mapping[str, Case] = {
    **{f"B01-right-{n}": case(_prefetch_right(n)) for n in (2, 3, 5)},
    "B01-wrong": case(_prefetch_all_free(2), "overflow race deadlock same-pipe-hazard"),
    "B02-right": case(_back_edge()),
    "B02-no-prime": case(_back_edge(prime=False), "deadlock"),
    "B02-no-drain": case(_back_edge(drain=False), "leftover"),
    "B11-right": case(_guarded(True)),
    "B11-wrong": case(_guarded(False), "deadlock overflow race same-pipe-hazard"),
    "B28-right": case(_few_slots_reached(True)),
    "B28-wrong": case(_few_slots_reached(False), "race same-pipe-hazard"),
    "B29-right": case(_ring(2)),
    "B29-wrong": case(_ring(2, ready="0 * i"), "overflow"),
    "B31-right": case(_two_pools(True)),
    "B31-wrong": case(_two_pools(False), "race same-pipe-hazard"),
    "B34-right": case(_selector("i % 2", "i % 2")),
    "B34-serial": case(_selector("0 * i", "0 * i")),
    "B34-one-end": case(_selector("0 * i", "i % 2"), "deadlock overflow"),
}
