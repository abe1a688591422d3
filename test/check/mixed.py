"""Kernels whose cube core makes products that the vector cores take further, through global memory."""

from check.kernels import Kernel


def handed_over(
    *,
    ready: bool = True,
    credit: bool = True,
    slots: int = 1,
    ahead: int = 0,
    bound: str = "n",
    hear_before_load: bool = True,
    hear_behind_barrier: bool = False,
) -> str:
    """One product each trip, in `slots` places of a workspace in turn; the vector cores take one half each.

    `ready`: the cube says when a product is stored. `credit`: the vector cores say when it is read, and the cube waits
    for that before it stores to that place again, `ahead` signals having been sent before. The last of these are heard
    before the cube's last barrier, or behind it.
    """
    kernel = Kernel(kind=None, arrays="g h w")
    with kernel.section("cube"):
        kernel.slots("X", space="mat")
        kernel.slots("A", space="left")
        kernel.slots("B", space="right")
        kernel.slots("C", space="acc")
        kernel.load("X")
        kernel.fence("MTE2>MTE1")
        kernel.extract("A", "X")
        kernel.extract("B", "X")
        kernel.fence("MTE1>M")
        kernel.set("FIX>M")
        with kernel.loop("i", 0, bound):
            kernel.wait("FIX>M")
            kernel.matmul("C", "A", "B")
            kernel.fence("M>FIX")
            if credit:
                kernel.hear("FIX", 4)
            kernel.store("C", "w", row=f"(i % {slots}) * 32")
            if ready:
                kernel.signal("FIX", 3)
            kernel.set("FIX>M")
        kernel.wait("FIX>M")
        if hear_behind_barrier:
            kernel.barrier()
        if credit:
            for _ in range(slots):
                kernel.hear("FIX", 4)
        if not hear_behind_barrier:
            kernel.barrier()
    with kernel.section("vector"):
        kernel.slots("P")
        if credit:
            for _ in range(slots + ahead):
                kernel.signal("MTE2", 4)
        kernel.set("MTE3>MTE2")
        with kernel.loop("i", 0, "n"):
            kernel.wait("MTE3>MTE2")
            if ready and hear_before_load:
                kernel.hear("MTE2", 3)
            kernel.load("P", "w", row=f"(i % {slots}) * 32")
            if ready and not hear_before_load:
                kernel.hear("MTE2", 3)
            if credit:
                kernel.signal("MTE2", 4)
            kernel.fence("MTE2>MTE3")
            kernel.barrier("MTE3")
            kernel.store("P", "h", row="i * 32 + sub * 16")
            kernel.set("MTE3>MTE2")
        kernel.wait("MTE3>MTE2")
        kernel.barrier()
    return kernel.text()
