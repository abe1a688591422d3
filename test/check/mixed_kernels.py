"""Random kernels with a cube and a vector section that hand places of global memory to each other."""

import random
from contextlib import AbstractContextManager, ExitStack, nullcontext

from check.kernels import Kernel


class _Mixed:
    """The giver stores to a place and signals; the taker hears, loads, and signals that the place is free again."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.a5 = rng.random() < 0.3
        self.kernel = Kernel("n m", arch="a5" if self.a5 else "a3", kind=None, arrays="g h w")
        self.places = rng.randint(1, 3)
        self.own_ids = rng.random() < 0.4
        """A signal for each place, or one for all of them."""
        self.shared = rng.random() < 0.3
        """The program never asks which vector core it runs on, so there is one."""
        self.bound = rng.choice(["n", "n", "n + 1", "3", "min(n, 2)"])
        self.outer = rng.choice(["", "", "", "m", "2"])
        self.condition = rng.choice(["", "", "i % 2 == 0", "i < m", "i + 1 < n", "m == 1"])
        self.credit = rng.choice(["ahead", "ahead", "asked"])
        self.to_cube = rng.random() < 0.3

    def place(self) -> str:
        return f"i % {self.places}"

    def id(self, base: int) -> str | int:
        return f"{self.place()} + {base}" if self.own_ids else base

    def turns(self) -> AbstractContextManager[object]:
        """The loops and the condition, alike in both sections."""
        stack = ExitStack()
        if self.outer:
            stack.enter_context(self.kernel.loop("o", 0, self.outer))
        stack.enter_context(self.kernel.loop("i", 0, self.bound))
        stack.enter_context(self.kernel.when(self.condition) if self.condition else nullcontext())
        return stack

    def every(self, base: int) -> list[int]:
        return [base + place if self.own_ids else base for place in range(self.places)]

    def cube(self) -> None:
        kernel = self.kernel
        with kernel.section("cube"):
            kernel.slots("X", space="mat")
            kernel.slots("A", space="left")
            kernel.slots("B", space="right")
            kernel.slots("C", space="acc")
            if self.to_cube:
                self.taker("MTE2", "MTE1", self.fetch, lambda: (kernel.extract("A", "X"), None)[1])
            else:
                kernel.load("X")
                kernel.fence("MTE2>MTE1")
                kernel.extract("A", "X")
                kernel.extract("B", "X")
                kernel.fence("MTE1>M")
                self.giver("M", "FIX", lambda: kernel.matmul("C", "A", "B"), self.give)
            kernel.barrier()

    def vector(self) -> None:
        kernel = self.kernel
        with kernel.section("vector", asks=not self.shared):
            if self.shared:
                kernel.let("sub", "0")
            kernel.slots("P")
            if self.to_cube:
                self.giver("MTE2", "MTE3", lambda: kernel.load("P"), self.give_back)
            else:
                self.taker("MTE2", "MTE3", self.take, lambda: kernel.store("P", "h", row="sub * 16"))
            kernel.barrier()

    def fetch(self) -> None:
        self.kernel.load("X", "w", row=f"({self.place()}) * 64")

    def take(self) -> None:
        self.kernel.load("P", "w", row=f"({self.place()}) * 16")

    def give(self) -> None:
        self.kernel.store("C", "w", row=f"({self.place()}) * 16")

    def give_back(self) -> None:
        self.kernel.barrier("MTE3")
        self.kernel.store("P", "w", row=f"({self.place()}) * 64 + sub * 16")

    def giver(self, makes: str, stores: str, make, store) -> None:
        kernel = self.kernel
        kernel.set(f"{stores}>{makes}")
        with self.turns():
            kernel.wait(f"{stores}>{makes}")
            make()
            kernel.fence(f"{makes}>{stores}")
            if self.credit == "asked":
                kernel.signal(stores, self.id(8))
            kernel.hear(stores, self.id(4))
            store()
            kernel.signal(stores, self.id(0))
            kernel.set(f"{stores}>{makes}")
        kernel.wait(f"{stores}>{makes}")
        if self.credit == "ahead":
            for id in self.every(4):
                kernel.hear(stores, id)

    def taker(self, loads: str, uses: str, load, use) -> None:
        kernel = self.kernel
        if self.credit == "ahead":
            for id in self.every(4):
                kernel.signal(loads, id)
        kernel.set(f"{uses}>{loads}")
        with self.turns():
            kernel.wait(f"{uses}>{loads}")
            if self.credit == "asked":
                kernel.hear(loads, self.id(8))
                kernel.signal(loads, self.id(4))
            kernel.hear(loads, self.id(0))
            load()
            if self.credit == "ahead":
                kernel.signal(loads, self.id(4))
            kernel.fence(f"{loads}>{uses}")
            kernel.barrier(uses)
            use()
            kernel.set(f"{uses}>{loads}")
        kernel.wait(f"{uses}>{loads}")


def mixed_kernel(rng: random.Random) -> str:
    """A kernel that is right more often than not."""
    made = _Mixed(rng)
    if rng.random() < 0.5:
        made.cube()
        made.vector()
    else:
        made.vector()
        made.cube()
    return made.kernel.text()
