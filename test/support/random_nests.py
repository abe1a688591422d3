"""More random `SlotText` kernels: starts and steps of any kind, slots taken together, halves, peeled prefetch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from support.slot_text import SlotText

_COUNTS = (1, 2, 2, 3, 3, 4, 5, 8)


class RandomNest:
    """One kernel for a seed, over sets in UB. `Y` is a sum that everything read is added to, `H` holds halves."""

    def __init__(self, seed: int, arch: str = "a3"):
        self._draw = Random(seed)
        self._sets = {f"P{number}": self._draw.choice(_COUNTS) for number in range(self._draw.randint(1, 2))}
        self.slots = max(self._sets.values())
        sets: dict[str, Any] = {**self._sets, "Y": 1, "H": (2, "half")}
        self.kernel = SlotText("n m q", arch=arch, **sets)
        self._left = self._draw.randint(1, 3)
        self._loops = 0
        self.kernel.fill("Y")
        while self._left > 0:
            self._block((), 0)
        self.kernel.store("Y", "z")

    def module(self) -> ModuleOp:
        return self.kernel.module()

    def _block(self, counters: Sequence[str], depth: int) -> None:
        statements: list[Callable[[Sequence[str], int], None]] = [self._use, self._together, self._halves]
        if depth < 3:
            statements += [self._loop] * 3
        if depth < 2:
            statements += [self._ahead, self._ahead, self._peeled, self._chosen]
        if self._left > 0:
            self._left -= 1
            self._draw.choice(statements)(counters, depth)

    def _use(self, counters: Sequence[str], depth: int) -> None:
        name = self._draw.choice(list(self._sets))
        slot = f"{name}[({self._number(counters)} + {self._draw.randrange(3)}) % {self._sets[name]}]"
        self._fill(slot, counters)
        for reader in self._draw.sample([self._add, self._store], self._draw.randint(1, 2)):
            reader(slot, counters)

    def _together(self, counters: Sequence[str], depth: int) -> None:
        """Two slots of one set, filled and read in any order."""
        name = self._draw.choice(list(self._sets))
        count, number = self._sets[name], self._number(counters)
        slots = [f"{name}[({number} + {ahead}) % {count}]" for ahead in ((0, 1) if count > 1 else (0,))]
        for slot in slots:
            self._fill(slot, counters)
        for slot in self._draw.sample(slots, len(slots)):
            self._add(slot, counters)

    def _halves(self, counters: Sequence[str], depth: int) -> None:
        """A lease that two writers fill further, each a part of it."""
        name = self._draw.choice(list(self._sets))
        slot = f"{name}[{self._number(counters)} % {self._sets[name]}]"
        self._fill(slot, counters)
        for half in self._draw.sample((0, 1), 2):
            self.kernel.fill(f"H[{half}]")
            self.kernel.insert(slot, f"H[{half}]", row=8 * half)
        self._store(slot, counters)

    def _loop(self, counters: Sequence[str], depth: int) -> None:
        upper = self._draw.choice(["n", "m", "q", "2", "0", *(f"{other} + 1" for other in counters)])
        step = self._draw.choice([1, 1, 2, 3])
        with self._trips(self._draw.choice(["0", "0", "1", "m"]), upper, step) as counter:
            self._block((*counters, counter), depth + 1)
            self._block((*counters, counter), depth + 1)

    def _ahead(self, counters: Sequence[str], depth: int) -> None:
        """A loop that fills some trips ahead, past the end or not."""
        name = self._draw.choice(list(self._sets))
        count, upper = self._sets[name], self._draw.choice(["n", "m"])
        ahead, guarded = self._draw.randint(1, max(count - 1, 1)), self._draw.random() < 0.6
        if count == 1:
            return
        for trip in range(ahead):
            self.kernel.load(f"{name}[{trip}]", row=trip)
        with self._trips("0", upper, 1) as i:
            if guarded:
                with self.kernel.when(f"{i} + {ahead} < {upper}"):
                    self.kernel.load(f"{name}[({i} + {ahead}) % {count}]", row=f"{i} + {ahead}")
            else:
                self.kernel.load(f"{name}[({i} + {ahead}) % {count}]", row=f"{i} + {ahead}")
            self._draw.choice([self._add, self._store])(f"{name}[{i} % {count}]", (i,))

    def _peeled(self, counters: Sequence[str], depth: int) -> None:
        """The same, with the last trip behind the loop."""
        name = self._draw.choice(list(self._sets))
        count = self._sets[name]
        last = f"last{self._loops}"
        self.kernel.let(last, "max(n, 1) - 1")
        self.kernel.load(f"{name}[0]")
        if count > 1:
            with self._trips("0", last, 1) as i:
                self.kernel.load(f"{name}[({i} + 1) % {count}]", row=f"{i} + 1")
                self._add(f"{name}[{i} % {count}]", (i,))
        self._add(f"{name}[{last} % {count}]", counters)

    def _chosen(self, counters: Sequence[str], depth: int) -> None:
        """Slots that an outcome or a parity chooses."""
        name = self._draw.choice(list(self._sets))
        with self._trips("0", self._draw.choice(["n", "3"]), 1) as i:
            chosen = self._draw.choice([f"unknown({i})", f"{i} % 2 == 0", f"{i} < m"])
            self.kernel.let(f"s{i}", f"select({chosen}, {self._sets[name] - 1}, 0)")
            self._fill(f"{name}[s{i}]", (i,))
            self._add(f"{name}[s{i}]", (i,))

    # --- parts ---

    @contextmanager
    def _trips(self, lower: str, upper: str, step: int) -> Iterator[str]:
        """A loop, with the name of its counter."""
        self._loops += 1
        counter = f"i{self._loops}"
        with self.kernel.loop(counter, lower, upper, step):
            yield counter

    def _number(self, counters: Sequence[str]) -> str:
        return self._draw.choice(counters) if counters else self._draw.choice(["0", "1", "m"])

    def _fill(self, slot: str, counters: Sequence[str]) -> None:
        if self._draw.random() < 0.7:
            self.kernel.load(slot, row=self._number(counters))
        else:
            self.kernel.fill(slot)

    def _add(self, slot: str, counters: Sequence[str]) -> None:
        self.kernel.vector("Y", "Y", slot)

    def _store(self, slot: str, counters: Sequence[str]) -> None:
        self.kernel.store(slot, row=self._number(counters))
