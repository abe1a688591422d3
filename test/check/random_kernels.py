"""Random small kernels: right by construction, then perhaps with one fence changed."""

import random

from check.kernels import Kernel

_CONDITIONS = ("", "", "", "unknown({i})", "{i} % 2 == 0", "{i} + 1 < n", "{i} == 0", "{i} % 3 != 1")


class _Maker:
    def __init__(self, rng: random.Random, wild: bool = False):
        self.rng = rng
        self.wild = wild
        """Loads and stores of one global array at any place, whatever comes of it."""
        self.kernel = Kernel("n m")
        self.lanes: dict[str, int] = {}
        self.pools = 0
        self.counters = 0
        self.kernel.slots("Y")

    def take(self, pair: str, count: int) -> int:
        """The first of `count` ids of a pair that are free."""
        first = self.lanes.get(pair, 0)
        self.lanes[pair] = first + count
        return first

    def slot(self, counter: str, count: int) -> str:
        terms = [f"{counter} % {count}", f"({counter} + 1) % {count}", f"({counter} // 2) % {count}"]
        terms += [f"({counter} * 2) % {count}", f"({counter} + n) % {count}", f"{count - 1} - {counter} % {count}"]
        if count in (2, 4):
            terms.append(f"({counter} & {count - 1})")
        terms.append(f"({counter} & 2) // 2" if count > 1 else f"{counter} % 1")
        return self.rng.choice(terms)

    def make(self) -> str:
        for _ in range(self.rng.randint(1, 2)):
            self.rng.choice([self.rings, self.rings, self.prefetch, self.nested])()
        self.kernel.barrier()
        return self.kernel.text()

    def bounds(self) -> tuple[str, str, int]:
        lower = self.rng.choice(["0", "0", "0", "1", "m"])
        upper = self.rng.choice(["n", "n", "n", "3", "4", "n + 1", "min(n, 3)", "m"])
        return lower, upper, self.rng.choice([1, 1, 1, 2, 3])

    @staticmethod
    def counter_of(slot: str) -> str:
        """The loop counter that a slot's term is made of."""
        return next(word for word in slot.replace("(", " ").replace(")", " ").split() if word.startswith("i"))

    def counter(self) -> str:
        self.counters += 1
        return f"i{self.counters}"

    def rings(self) -> None:
        """One or two pools, each filled and used in a loop, perhaps under a condition."""
        rings = [_Ring(self) for _ in range(self.rng.randint(1, 2))]
        for ring in rings:
            ring.prime()
        counter = self.counter()
        with self.kernel.loop(counter, *self.bounds()):
            self.bodies(rings, counter)
        for ring in rings:
            ring.drain()

    def bodies(self, rings: "list[_Ring]", counter: str) -> None:
        slots = [self.slot(counter, ring.count) for ring in rings]
        condition = self.rng.choice(_CONDITIONS).format(i=counter)
        if condition:
            with self.kernel.when(condition):
                self.parts(rings, slots)
        else:
            self.parts(rings, slots)

    def parts(self, rings: "list[_Ring]", slots: list[str]) -> None:
        if self.rng.random() < 0.5:
            for ring, slot in zip(rings, slots, strict=True):
                ring.fill(slot)
            for ring, slot in zip(rings, slots, strict=True):
                ring.use(slot)
        else:
            for ring, slot in zip(rings, slots, strict=True):
                ring.fill(slot)
                ring.use(slot)

    def nested(self) -> None:
        """A ring in an inner loop, primed outside of both or once for each outer trip."""
        ring, outer, inner = _Ring(self), self.counter(), self.counter()
        inside = self.rng.random() < 0.5
        if not inside:
            ring.prime()
        with self.kernel.loop(outer, 0, self.rng.choice(["m", "2", "n"])):
            if inside:
                ring.prime()
            with self.kernel.loop(inner, 0, self.rng.choice(["n", "3", "2", outer])):
                self.bodies([ring], self.rng.choice([inner, inner, outer]))
            if inside:
                ring.drain()
                ring.hand_back()
        if not inside:
            ring.drain()

    def prefetch(self) -> None:
        """The slot ahead is filled while this one is read."""
        count = self.rng.randint(2, 4)
        kernel, name, counter = self.kernel, self.pool(count), self.counter()
        free, ready = self.take("V>MTE2", count), self.take("MTE2>V", count)
        kernel.load(f"{name}[0]")
        kernel.set("MTE2>V", ready)
        for lane in range(1, count):
            kernel.set("V>MTE2", free + lane)
        with kernel.loop(counter, 0, "n"):
            ahead, here = f"({counter} + 1) % {count}", f"{counter} % {count}"
            kernel.wait("V>MTE2", f"{ahead} + {free}")
            kernel.load(f"{name}[{ahead}]")
            kernel.set("MTE2>V", f"{ahead} + {ready}")
            kernel.wait("MTE2>V", f"{here} + {ready}")
            kernel.barrier("V")
            kernel.vector("Y", f"{name}[{here}]")
            kernel.set("V>MTE2", f"{here} + {free}")
        kernel.wait("MTE2>V", f"n % {count} + {ready}")
        for lane in range(1, count):
            kernel.wait("V>MTE2", f"(n + {lane}) % {count} + {free}")
        kernel.fence("V>MTE2", 7)

    def pool(self, count: int) -> str:
        self.pools += 1
        self.kernel.slots(f"P{self.pools}", count)
        return f"P{self.pools}"


class _Ring:
    """A pool that is loaded and then read by V, or loaded, updated by V and stored."""

    def __init__(self, maker: _Maker):
        self.kernel = maker.kernel
        self.count = maker.rng.randint(1, 3)
        self.name = maker.pool(self.count)
        self.stored = maker.rng.random() < 0.4
        self.ready = maker.take("MTE2>V", self.count)
        self.last = "MTE3>MTE2" if self.stored else "V>MTE2"
        self.free = maker.take(self.last, self.count)
        self.done = maker.take("V>MTE3", self.count) if self.stored else 0
        self.maker = maker

    def prime(self) -> None:
        for lane in range(self.count):
            self.kernel.set(self.last, self.free + lane)

    def drain(self) -> None:
        for lane in range(self.count):
            self.kernel.wait(self.last, self.free + lane)

    def hand_back(self) -> None:
        """Lets the pipe that primes know that the flags are cleared."""
        self.kernel.fence("MTE2>MTE3" if self.stored else "MTE2>V", 7)

    def fill(self, slot: str) -> None:
        self.kernel.wait(self.last, f"{slot} + {self.free}")
        self.kernel.load(f"{self.name}[{slot}]", *self.place("g", slot))
        self.kernel.set("MTE2>V", f"{slot} + {self.ready}")

    def place(self, array: str, slot: str) -> tuple[str, str]:
        """The array and the row that a load or store goes to."""
        rng = self.maker.rng
        if not self.maker.wild:
            return array, "0"
        counter = self.maker.counter_of(slot)
        rows = ["0", "16", f"{counter} * 16", f"({counter} + 1) * 16", f"{counter} * 8", f"max({counter}, 1) * 16 - 16"]
        return rng.choice(["g", "h"]), rng.choice([*rows, f"({counter} % 2) * 16", f"({counter} + n) * 16"])

    def use(self, slot: str) -> None:
        tile = f"{self.name}[{slot}]"
        self.kernel.wait("MTE2>V", f"{slot} + {self.ready}")
        if not self.stored:
            self.kernel.barrier("V")
            self.kernel.vector("Y", tile)
            self.kernel.set("V>MTE2", f"{slot} + {self.free}")
            return
        self.kernel.vector(tile, tile)
        self.kernel.fence("V>MTE3", f"{slot} + {self.done}")
        if not self.maker.wild or self.maker.rng.random() < 0.5:
            self.kernel.barrier("MTE3")
        self.kernel.store(tile, *self.place("h", slot))
        self.kernel.set("MTE3>MTE2", f"{slot} + {self.free}")


def right_kernel(rng: random.Random) -> str:
    while True:
        maker = _Maker(rng)
        text = maker.make()
        if max(maker.lanes.values(), default=0) < 7:
            return text


def wild_kernel(rng: random.Random) -> str:
    """A kernel whose flags are right and whose accesses to global memory are anything."""
    while True:
        maker = _Maker(rng, wild=True)
        text = maker.make()
        if max(maker.lanes.values(), default=0) < 7:
            return text


def changed_kernel(rng: random.Random) -> str:
    """A right kernel with one fence removed, repeated, moved down or given another id."""
    lines = right_kernel(rng).splitlines()
    fences = [number for number, line in enumerate(lines) if "_flag" in line or "pto.barrier" in line]
    at = rng.choice(fences)
    what = rng.choice(["remove", "repeat", "move", "id"])
    if what == "id" and "<EVENT_ID" in lines[at]:
        head = lines[at].index("<EVENT_ID") + 9
        lines[at] = f"{lines[at][:head]}{rng.randint(0, 3)}{lines[at][head + 1 :]}"
    elif what == "repeat":
        lines.insert(at, lines[at])
    elif what == "move":
        to = at + 1
        while to < len(lines) and rng.random() < 0.8 and lines[to].strip() not in ("}", "return"):
            if lines[to].endswith("{"):
                break
            to += 1
        lines.insert(to, lines[at])
        del lines[at]
    else:
        del lines[at]
    return "\n".join(lines)
