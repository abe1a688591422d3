"""Random small kernels with every kind of control flow and of order, right by construction; and slight changes of them.

A part is a pool that is filled and used in some shape of control flow, under some kind of order. Ids are not shared
between parts, so that a kernel of several right parts is right.
"""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from check.kernels import Kernel

_CONDITIONS = ("", "", "unknown({i})", "{i} % 2 == 0", "{i} + 1 < n", "{i} == 0", "n < 3", "{i} % 3 != 1")
_PREDICATES = (" slt,", " sle,", " sgt,", " sge,", " eq,", " ne,")


class _Order:
    """Flags, one for each slot: ready from the filling pipe to the using one, free on the way back."""

    def __init__(self, maker: "Maker", count: int, pair: tuple[str, str] = ("MTE2", "V")):
        self.kernel, self.count, (self.fills, self.uses) = maker.kernel, count, pair
        self.ready, self.free = f"{self.fills}>{self.uses}", f"{self.uses}>{self.fills}"
        self.base = maker.take(self.ready, count), maker.take(self.free, count)

    def set(self, pair: str, slot: str) -> None:
        self.kernel.set(pair, f"{slot} + {self.base[pair == self.free]}")

    def wait(self, pair: str, slot: str) -> None:
        self.kernel.wait(pair, f"{slot} + {self.base[pair == self.free]}")

    def prime(self) -> None:
        for lane in range(self.count):
            self.set(self.free, str(lane))

    def drain(self) -> None:
        for lane in range(self.count):
            self.wait(self.free, str(lane))

    def fill(self, slot: str, act: Callable[[], None]) -> None:
        self.wait(self.free, slot)
        act()
        self.set(self.ready, slot)

    def use(self, slot: str, act: Callable[[], None]) -> None:
        self.wait(self.ready, slot)
        act()
        self.set(self.free, slot)


class _Ids(_Order):
    """The same with ids that stand in an array."""

    def __init__(self, maker: "Maker", count: int, pair: tuple[str, str] = ("MTE2", "V")):
        super().__init__(maker, count, pair)
        self.array = maker.name("e")
        self.kernel.ids(self.array, count)
        for lane in range(count):
            self.kernel.put(self.array, lane, (lane + 1) % count)

    def _lane(self, slot: str) -> str:
        self.kernel.get(self.array + "v", self.array, slot)
        return self.array + "v"

    def set(self, pair: str, slot: str) -> None:
        super().set(pair, self._lane(slot))

    def wait(self, pair: str, slot: str) -> None:
        super().wait(pair, self._lane(slot))


class _Events(_Order):
    """The same for one slot, the pipes named by classes of ops."""

    def set(self, pair: str, slot: str) -> None:
        self.kernel.record(pair, self.base[pair == self.free])

    def wait(self, pair: str, slot: str) -> None:
        self.kernel.recorded(pair, self.base[pair == self.free])


class _Handshake(_Order):
    """No flag is left from one trip to the next: the pipe that fills asks the other one each time."""

    def prime(self) -> None:
        pass

    def drain(self) -> None:
        pass

    def fill(self, slot: str, act: Callable[[], None]) -> None:
        self.set(self.free, slot)
        super().fill(slot, act)

    def use(self, slot: str, act: Callable[[], None]) -> None:
        self.wait(self.ready, slot)
        act()


class _Locks(_Order):
    """Buffer locks, one for each slot (a5)."""

    def prime(self) -> None:
        pass

    def drain(self) -> None:
        pass

    def _held(self, pipe: str, slot: str, act: Callable[[], None]) -> None:
        self.kernel.lock(pipe, f"{slot} + {self.base[0]}")
        act()
        self.kernel.unlock(pipe, f"{slot} + {self.base[0]}")

    def fill(self, slot: str, act: Callable[[], None]) -> None:
        self._held(self.fills, slot, act)

    def use(self, slot: str, act: Callable[[], None]) -> None:
        self._held(self.uses, slot, act)


class Maker:
    """One kernel, in the making."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.a5 = rng.random() < 0.3
        self.kernel = Kernel("n m", arch="a5" if self.a5 else "a3")
        self.kernel.slots("Y")
        self.lanes: dict[str, int] = {}
        self.names = 0

    def take(self, pair: str, count: int) -> int:
        first = self.lanes.get(pair, 0)
        self.lanes[pair] = first + count
        return first

    def name(self, start: str) -> str:
        self.names += 1
        return f"{start}{self.names}"

    def order(self, count: int) -> _Order:
        kinds = [_Order, _Order, _Ids, _Handshake]
        if count == 1:
            kinds += [_Events, _Events]
        if self.a5:
            kinds += [_Locks, _Locks]
        return self.rng.choice(kinds)(self, count)

    def make(self) -> str:
        parts = [self.plain, self.nested, self.carried, self.repeated, self.chosen, self.loaded, self.ahead, self.rows]
        for _ in range(self.rng.choice([1, 1, 2])):
            self.rng.choice([*parts, self.in_place])()
        self.kernel.barrier()
        return self.kernel.text()

    # --- pieces ---

    def pool(self, count: int) -> str:
        name = self.name("P")
        self.kernel.slots(name, count)
        return name

    def slot(self, counter: str, count: int) -> str:
        terms = [f"{counter} % {count}", f"({counter} + 1) % {count}", f"({counter} // 2) % {count}"]
        terms += [f"({counter} * 2) % {count}", f"({counter} + n) % {count}", f"min({counter}, {count - 1})"]
        terms.append(f"select({counter} % 2 == 0, {count - 1}, 0)")
        return self.rng.choice(terms)

    def when(self, counter: str) -> AbstractContextManager[None]:
        condition = self.rng.choice(_CONDITIONS).format(i=counter)
        return self.kernel.when(condition) if condition else nullcontext()

    def upper(self) -> str:
        return self.rng.choice(["n", "n", "n", "3", "m", "n + 1", "min(n, 3)"])

    def load(self, tile: str) -> Callable[[], None]:
        return lambda: self.kernel.load(tile)

    def read(self, tile: str) -> Callable[[], None]:
        def act() -> None:
            self.kernel.class_barrier("V") if self.rng.random() < 0.3 else self.kernel.barrier("V")
            self.kernel.vector("Y", tile)

        return act

    def turn(self, order: _Order, name: str, slot: str, counter: str) -> None:
        """A fill and a use, perhaps both under one condition, perhaps each by itself."""
        condition = self.rng.choice(_CONDITIONS).format(i=counter)
        tile = f"{name}[{slot}]"
        if condition and self.rng.random() < 0.5:
            held = self.name("c")
            self.kernel.let(held, condition)
            with self.kernel.when(held):
                order.fill(slot, self.load(tile))
            with self.kernel.when(held):
                order.use(slot, self.read(tile))
            return
        with self.kernel.when(condition) if condition else nullcontext():
            order.fill(slot, self.load(tile))
            order.use(slot, self.read(tile))

    # --- parts ---

    def plain(self) -> None:
        count = self.rng.randint(1, 3)
        name, order, i = self.pool(count), self.order(count), self.name("i")
        order.prime()
        with self.kernel.loop(i, self.rng.choice(["0", "0", "1", "m"]), self.upper(), self.rng.choice([1, 1, 2, 3])):
            self.turn(order, name, self.slot(i, count), i)
        order.drain()

    def nested(self) -> None:
        """The slot turns with the inner loop, the outer one, or both."""
        count, i, j = self.rng.randint(1, 3), self.name("i"), self.name("i")
        name, order = self.pool(count), self.order(count)
        counter = self.rng.choice([i, j, f"({i} + {j})", f"({i} * 2 + {j})"])
        order.prime()
        with self.kernel.loop(i, 0, self.rng.choice(["m", "2", "n"])), self.when(i):
            if self.rng.random() < 0.3:
                self.turn(order, name, self.slot(i, count), i)
            with self.kernel.loop(j, self.rng.choice(["0", "0", i]), self.rng.choice(["n", "3", i, "m"])):
                self.turn(order, name, self.slot(counter, count), j)
        order.drain()

    def carried(self) -> None:
        """The slot is handed on from trip to trip."""
        count, i, s = self.rng.randint(1, 3), self.name("i"), self.name("s")
        name, order = self.pool(count), self.order(count)
        after = self.rng.choice(
            [f"({s} + 1) % {count}", f"select({s} + 1 == {count}, 0, {s} + 1)", f"{count - 1} - {s}"]
        )
        order.prime()
        with self.kernel.carrying(i, 0, self.upper(), s, self.rng.choice(["0", f"n % {count}"]), after):
            self.turn(order, name, s, i)
        if self.rng.random() < 0.5:
            self.turn(order, name, s, "n")
        order.drain()

    def repeated(self) -> None:
        """A while loop."""
        count, k = self.rng.randint(1, 3), self.name("i")
        name, order = self.pool(count), self.order(count)
        condition = self.rng.choice([f"{k} < n", f"{k} < n and unknown({k})", f"{k} * 2 < m"])
        order.prime()
        with self.kernel.repeat(k, self.rng.choice([0, 0, 1]), condition, f"{k} + {self.rng.choice([1, 1, 2])}"):
            self.turn(order, name, self.slot(k, count), k)
        order.drain()

    def chosen(self) -> None:
        """Two ways to fill, by a condition; used behind both."""
        name, order, i = self.pool(2), self.order(2), self.name("i")
        slot, (yes, no) = self.slot(i, 2), self.rng.choice([("0", "1"), ("1", "0"), ("same", "same")])
        order.prime()
        with self.kernel.loop(i, 0, self.upper()):
            c = self.name("c")
            self.kernel.let(c, self.rng.choice([f"unknown({i})", f"{i} % 2 == 0", f"{i} < m"]))
            with self.kernel.when(c):
                order.fill(slot if yes == "same" else yes, self.load(f"{name}[{slot if yes == 'same' else yes}]"))
            with self.kernel.otherwise():
                order.fill(slot if no == "same" else no, self.load(f"{name}[{slot if no == 'same' else no}]"))
            used = slot if yes == "same" else f"select({c}, {yes}, {no})"
            order.use(used, self.read(f"{name}[{used}]"))
        order.drain()

    def loaded(self) -> None:
        """The slot is read from memory."""
        count, i, v = self.rng.randint(2, 3), self.name("i"), self.name("v")
        name, order = self.pool(count), self.order(count)
        order.prime()
        with self.kernel.loop(i, 0, self.upper()):
            self.kernel.read(v, i)
            self.turn(order, name, f"{v} % {count}", i)
        order.drain()

    def ahead(self) -> None:
        """The next slot is filled before this one is used, if there is a next trip."""
        count, i = self.rng.randint(2, 3), self.name("i")
        name, order = self.pool(count), _Order(self, count)
        order.prime()
        with self.kernel.when("0 < n"):
            order.fill("0", self.load(f"{name}[0]"))
        with self.kernel.loop(i, 0, "n"):
            with self.kernel.when(f"{i} + 1 < n"):
                order.fill(f"({i} + 1) % {count}", self.load(f"{name}[({i} + 1) % {count}]"))
            order.use(f"{i} % {count}", self.read(f"{name}[{i} % {count}]"))
        order.drain()

    def rows(self) -> None:
        """Each half of a tile is filled and used by itself."""
        name, order, i = self.pool(1), self.order(2), self.name("i")
        slot = self.slot(i, 2)
        order.prime()
        with self.kernel.loop(i, 0, self.upper()):
            order.fill(slot, self.load(f"{name}@({slot}) * 8"))
            order.use(slot, lambda: (self.kernel.barrier("V"), self.kernel.vector("Y@0", f"{name}@({slot}) * 8"))[0])
        order.drain()

    def in_place(self) -> None:
        """Blocks of one global array are loaded, changed and stored again."""
        count, i = self.rng.randint(1, 2), self.name("i")
        name, order = self.pool(count), _Order(self, count, ("MTE2", "MTE3"))
        row = self.rng.choice(["{i} * 16", "({i} + n) * 16", "({i} * 2 + 1) * 16", "m * 16 + {i} * 16"]).format(i=i)
        tile, lane = f"{name}[{i} % {count}]", self.take("MTE2>V", 1)
        back = self.take("V>MTE3", 1)
        order.prime()
        with self.kernel.loop(i, 0, self.upper()):

            def change() -> None:
                self.kernel.load(tile, "g", row)
                self.kernel.fence("MTE2>V", lane)
                self.kernel.barrier("V")
                self.kernel.vector(tile, tile)

            def store() -> None:
                self.kernel.fence("V>MTE3", back)
                self.kernel.store(tile, "g", row)

            order.fill(f"{i} % {count}", change)
            order.use(f"{i} % {count}", store)
        order.drain()


def rich_kernel(rng: random.Random) -> str:
    """A right kernel, but for what a term or a loop makes of it; more often than not it is right."""
    while True:
        maker = Maker(rng)
        text = maker.make()
        if max(maker.lanes.values(), default=0) <= 8:
            return text


def altered(rng: random.Random, text: str) -> str:
    """The kernel with one or two lines changed: a fence, a small number, a comparison."""
    lines = text.splitlines()
    for _ in range(rng.choice([1, 1, 2])):
        rng.choice([_fence, _fence, _number, _compare])(rng, lines)
    return "\n".join(lines)


_ORDERS = ("_flag", "pto.barrier", "_event[", "get_buf", "rls_buf", "pto.sync.")


def _fence(rng: random.Random, lines: list[str]) -> None:
    found = [at for at, line in enumerate(lines) if any(word in line for word in _ORDERS)]
    at = rng.choice(found)
    what = rng.choice(["remove", "repeat", "move", "id"])
    if what == "repeat":
        lines.insert(at, lines[at])
    elif what == "move" and lines[at + 1].strip().startswith("pto.") and not lines[at + 1].endswith("{"):
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    elif what == "id" and "EVENT_ID" in lines[at]:
        head = lines[at].index("EVENT_ID") + 8
        lines[at] = f"{lines[at][:head]}{rng.randint(0, 3)}{lines[at][head + 1 :]}"
    else:
        del lines[at]


def _number(rng: random.Random, lines: list[str]) -> None:
    found = [at for at, line in enumerate(lines) if "arith.constant" in line and len(line.split()[3]) == 1]
    at = rng.choice(found)
    name, word = lines[at].split()[0], f"arith.constant {lines[at].split()[3]} "
    divides = any("ui %" in line and f", {name} " in line for line in lines)
    lines[at] = lines[at].replace(word, f"arith.constant {rng.randint(1 if divides else 0, 4)} ")


def _compare(rng: random.Random, lines: list[str]) -> None:
    found = [at for at, line in enumerate(lines) if "arith.cmpi" in line]
    if found:
        at = rng.choice(found)
        now = next(word for word in _PREDICATES if word in lines[at])
        lines[at] = lines[at].replace(now, rng.choice(_PREDICATES))
