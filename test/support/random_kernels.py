"""Random `SlotText` kernels of all kinds of slot use; most of them are legal, the verifier says which."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from support.slot_text import SlotText

_COUNTS = (1, 1, 2, 2, 3, 4, 5, 9)
_ROWS = ("{i}", "{i}", "{i} + 1", "0", "{i} % 2", "{i} + m", "{i} * 2")


class RandomKernel:
    """One kernel for a seed. Slots are in UB; `Y` is a sum that everything read is added to."""

    def __init__(self, seed: int):
        self._draw = Random(seed)
        self._sets = {f"P{number}": self._draw.choice(_COUNTS) for number in range(self._draw.randint(1, 3))}
        sets: dict[str, Any] = {**self._sets, "Y": 1}
        self.kernel = SlotText("n m", **sets)
        self._left = self._draw.randint(2, 5)
        """Statements that may still come."""
        self._loops = 0
        self.kernel.fill("Y")
        self._block((), "0")
        self.kernel.store("Y", "z")

    def module(self) -> ModuleOp:
        return self.kernel.module()

    def text(self) -> str:
        return self.kernel.text()

    # --- statements ---

    def _block(self, counters: Sequence[str], i: str) -> None:
        statements: list[Callable[[Sequence[str], str], None]] = [self._use, self._use, self._chain, self._arms]
        if len(counters) < 2:
            statements += [self._loop, self._loop, self._loop, self._ahead, self._behind, self._guard, self._while]
        for _ in range(self._draw.randint(1, 2 if counters else 3)):
            if self._left > 0:
                self._left -= 1
                self._draw.choice(statements)(counters, i)

    def _use(self, counters: Sequence[str], i: str) -> None:
        """One lease: filled, read by one pipe or two."""
        slot = self._slot(i)
        self._fill(slot, i)
        readers = self._draw.sample(["vector", "store"], self._draw.randint(1, 2))
        for reader in readers:
            self._read(slot, i, reader)

    def _chain(self, counters: Sequence[str], i: str) -> None:
        """One lease, changed in place."""
        slot = self._slot(i)
        self._fill(slot, i)
        for _ in range(self._draw.randint(1, 2)):
            self.kernel.vector(slot, slot)
        self._read(slot, i, self._draw.choice(["vector", "store"]))

    def _arms(self, counters: Sequence[str], i: str) -> None:
        """Filled in either arm, in one of them perhaps by another pipe; or all of it in one arm."""
        slot = self._slot(i)
        with self.kernel.when(self._condition(i)):
            self._fill(slot, i)
            if whole := self._draw.random() < 0.5:
                self._read(slot, i, "vector")
        if not whole:
            with self.kernel.otherwise():
                self.kernel.fill(slot)
            self._read(slot, i, self._draw.choice(["vector", "store"]))

    def _loop(self, counters: Sequence[str], i: str) -> None:
        counter = self._counter()
        upper = self._draw.choice(["n", "n", "m", "3", "2", "n + 1"])
        with self.kernel.loop(counter, self._draw.choice(["0", "0", "0", "1"]), upper):
            self._block((*counters, counter), counter)

    def _ahead(self, counters: Sequence[str], i: str) -> None:
        """A loop that fills some trips ahead, perhaps guarded."""
        name = self._draw.choice(list(self._sets))
        count, counter = self._sets[name], self._counter()
        if count < 2:
            return
        ahead = self._draw.randint(1, count - 1)
        for trip in range(ahead):
            self.kernel.load(f"{name}[{trip}]", row=trip)
        with self.kernel.loop(counter, 0, "n"):
            slot = f"{name}[({counter} + {ahead}) % {count}]"
            if self._draw.random() < 0.4:
                with self.kernel.when(f"{counter} + {ahead} < n"):
                    self.kernel.load(slot, row=f"{counter} + {ahead}")
            else:
                self.kernel.load(slot, row=f"{counter} + {ahead}")
            self._read(f"{name}[{counter} % {count}]", counter, self._draw.choice(["vector", "store"]))

    def _behind(self, counters: Sequence[str], i: str) -> None:
        """A loop that reads what the trip before has filled, then fills the slot again or the next one."""
        name = self._draw.choice(list(self._sets))
        count, counter = self._sets[name], self._counter()
        self.kernel.load(f"{name}[0]")
        with self.kernel.loop(counter, 0, "n"):
            self._read(f"{name}[{counter} % {count}]", counter, self._draw.choice(["vector", "store"]))
            self.kernel.load(f"{name}[({counter} + 1) % {count}]", row=f"{counter} + 1")

    def _guard(self, counters: Sequence[str], i: str) -> None:
        with self.kernel.when(self._condition(i)):
            self._block(counters, i)

    def _while(self, counters: Sequence[str], i: str) -> None:
        counter, slot = self._counter(), self._slot("k")

        def before() -> None:
            self.kernel.let("k", counter)
            self._fill(slot, counter)
            self._read(slot, counter, "vector")

        with self.kernel.repeat(counter, f"{counter} < n", before):
            self._block((*counters, counter), counter)

    # --- parts ---

    def _counter(self) -> str:
        self._loops += 1
        return f"i{self._loops}"

    def _condition(self, i: str) -> str:
        return self._draw.choice([f"{i} < m", f"{i} % 2 == 0", f"unknown({i})", "m > 1"])

    def _slot(self, i: str) -> str:
        name = self._draw.choice(list(self._sets))
        count = self._sets[name]
        index = self._draw.choice([f"{i} % {count}", f"({i} + 1) % {count}", f"{self._draw.randrange(count)}"])
        return f"{name}[{index}]"

    def _row(self, i: str) -> str:
        return self._draw.choice(_ROWS).format(i=i)

    def _fill(self, slot: str, i: str) -> None:
        if self._draw.random() < 0.75:
            self.kernel.load(slot, self._draw.choice("ggh"), row=self._row(i))
        else:
            self.kernel.fill(slot)

    def _read(self, slot: str, i: str, reader: str) -> None:
        if reader == "vector":
            self.kernel.vector("Y", "Y", slot)
        else:
            self.kernel.store(slot, "y", row=self._row(i))
