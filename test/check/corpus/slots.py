"""Slots filled ahead, handed on, re-entered and drained: what is ordered with what."""

from collections.abc import Mapping

from check.corpus.case import Case, case
from check.kernels import Kernel


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
        kernel.turn("i % 3", "(i + 2) % 3", read=read)
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
            kernel.turn("(i + 1) % 2", "i % 2")
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


CASES: Mapping[str, Case] = {
    **{f"B23-right-{n}": case(_three_chains(n)) for n in (3, 4, 8)},
    "B23-wrong": case(_three_chains(3, computed=False), "overflow race"),
    "B32-right": case(_phased("i % 2")),
    "B32-wrong": case(_phased("(i + 1) % 2"), "deadlock overflow"),
    "B38-right": case(_owner("i % 2")),
    "B38-wrong": case(_owner("(3 * o + i) % 2"), "race same-pipe-hazard"),
    "B44-right": case(_wrap("(i + 2) % 3")),
    "B44-wrong": case(_wrap("(i - 1) % 3"), "race"),
    "B46-right": case(_use_then_fill(True)),
    "B46-wrong": case(_use_then_fill(False), "overflow race same-pipe-hazard"),
    "B49-right": case(_two_ahead(3)),
    "B49-wrong": case(_two_ahead(2), "overflow race same-pipe-hazard"),
    "B52-right": case(_re_entered(True)),
    "B52-wrong": case(_re_entered(False), "deadlock overflow race same-pipe-hazard"),
    "B100-right": case(_two_products()),
    "B100-no-credit": case(_two_products(credit=False), "overflow race same-pipe-hazard"),
    "B100-no-ready": case(_two_products(ready=False), "overflow race same-pipe-hazard"),
}
