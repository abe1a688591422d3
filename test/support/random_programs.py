"""Random programs of slot reasoning: nested loops with odd bounds and steps, guards, affine indices, releases, and on
request stores that name values."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from pto_buf.slots.program import Block, Node, Op, Program
from pto_buf.slots.terms import TRIP_LIMIT, Const, Fn, Opaque, Term, Var
from support.slot_programs import Maker, Number, add, binary, mod
from support.slot_runs import Run, run

_RUNS_PER_ARGUMENT = 12


@dataclass
class RandomProgram:
    """The program of one seed, over one slot set."""

    seed: int
    names: bool = False
    """Whether half of the stores name the value of a load rather than the slot."""
    loops: list[tuple[int, Var]] = field(default_factory=list[tuple[int, Var]])

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._make = Maker()
        self.count = self._random.choice([1, 2, 2, 2, 3, 3, 4, 5])
        self._ring = self._make.ring(self.count)
        self.arguments = [self._make.argument("n")] if self._chance(0.8) else []
        self._flags = [self._make.unknown("f")] if self._chance(0.3) else []
        self._left = self._random.randint(3, 9)
        self._releases = self._chance(0.3)
        self._loads: list[Op] = []
        """Those whose value can be named here."""
        self.program = self._program()

    def _chance(self, part: float) -> bool:
        return self._random.random() < part

    def _program(self) -> Program:
        before: list[Node] = []
        if self._chance(0.6):
            before += [self._make.load(self._ring, slot) for slot in range(self.count)]
            before += [self._make.store(self._ring, slot) for slot in range(self.count)]
        body: list[Node] = []
        while self._left > 0:
            body += self._block(0)
        return self._make.program(*before, *body)

    def _index(self) -> Term:
        choose = self._random.choice
        if (not self.loops and not self.arguments) or self._chance(0.2):
            return Const(self._random.randrange(self.count))
        total: Term = Const(choose([0, 0, 1, 2, self.count - 1, -1]))
        for variable, part in [*((v, 0.7) for _, v in self.loops), *((v, 0.15) for v in self.arguments)]:
            if self._chance(part):
                total = add(total, binary(Fn.MUL, variable, choose([1, 1, 1, 1, 2, 3, -1])))
                if self._chance(0.1):
                    total = binary(Fn.DIVS, total, 2)
        if self._chance(0.05):
            return total
        return binary(choose([*[Fn.REMU] * 6, Fn.REMS]), total, self.count)

    def _condition(self) -> Term:
        choose = self._random.choice
        if self._flags and self._chance(0.4):
            return choose(self._flags)
        if not self.loops:
            if self.arguments:
                return binary(Fn.SGT, self.arguments[0], choose([0, 1, 3]))
            return self._make.unknown("g")
        _, counter = choose(self.loops)
        limits: list[Number] = [*self.arguments, 3]
        return choose(
            [
                binary(Fn.EQ, counter, 0),
                binary(Fn.SLT, add(counter, choose([1, 1, 2])), choose(limits)),
                binary(Fn.SGE, counter, choose([1, 2])),
                binary(Fn.EQ, mod(counter, 2), 0),
                self._make.unknown("g", self.loops[-1][0]),
            ]
        )

    def _block(self, depth: int) -> Block:
        nodes: list[Node] = []
        seen = len(self._loads)
        for _ in range(self._random.randint(1, 4)):
            if self._left > 0:
                nodes.append(self._node(depth))
        del self._loads[seen:]
        return tuple(nodes)

    def _node(self, depth: int) -> Node:
        self._left -= 1
        kind = self._random.random()
        if depth < 3 and kind < 0.26:
            return self._loop(depth)
        if depth < 3 and kind < 0.3:
            return self._repeat(depth)
        if depth < 4 and kind < 0.42:
            key, condition = self._make.key(), self._condition()
            then = self._block(depth + 1)
            return self._make.branch(key, condition, then, self._block(depth + 1) if self._chance(0.4) else ())
        if kind < 0.68:
            self._loads.append(self._make.load(self._ring, self._index()))
            return self._loads[-1]
        if kind < 0.9:
            if self.names and self._loads and self._chance(0.5):
                load = self._random.choice(self._loads)
                return self._make.store(self._ring, load.accesses[0].term, load.key)
            return self._make.store(self._ring, self._index())
        if kind < 0.95 or not self._releases:
            return self._make.update(self._ring, self._index())
        return self._make.release(self._ring, self._index())

    def _loop(self, depth: int) -> Node:
        choose = self._random.choice
        key = self._make.key()
        lower: Number = choose([0, 0, 0, 1, 2])
        uppers: list[Number] = [choose([0, 1, 2, 3, 4, 5, 9]), *self.arguments, *self.arguments]
        uppers += [add(argument, choose([-1, 1])) for argument in self.arguments]
        if self.loops and self._chance(0.3):
            uppers.append(self.loops[-1][1])
        upper = choose(uppers)
        if self.arguments and self._chance(0.1):
            lower = self.arguments[0]
            upper = add(lower, choose([1, 2, 3]))
        counter = self._make.counter("ijkl"[len(self.loops)], lower, upper)
        self.loops.append((key, counter))
        body = self._block(depth + 1)
        self.loops.pop()
        return self._make.loop(key, counter, lower, upper, *body, step=choose([1, 1, 1, 1, 2, 3]))

    def _repeat(self, depth: int) -> Node:
        """A `while`: what stands in `before` runs once more than what stands in `after`."""
        key, choose = self._make.key(), self._random.choice
        counter = self._make.counter("ijkl"[len(self.loops)], 0, TRIP_LIMIT)
        self.loops.append((key, counter))
        limits: list[Number] = [*self.arguments, choose([1, 2, 4])]
        condition = choose([binary(Fn.SLT, counter, choose(limits)), self._make.unknown("again", key)])
        before = self._block(depth + 1) if self._chance(0.3) else ()
        after = self._block(depth + 1)
        self.loops.pop()
        return self._make.repeat(key, counter, condition, before, *after)

    def runs(self) -> Iterator[Run]:
        """Runs for many arguments, each with several outcomes of what is unknown."""
        for values in itertools.product(*[range(6 * self.count + 6)] * len(self.arguments)):
            rng = random.Random(1)
            for trial in range(_RUNS_PER_ARGUMENT):
                asked: list[Opaque] = []

                def choose(
                    unknown: Opaque, trial: int = trial, rng: random.Random = rng, asked: list[Opaque] = asked
                ) -> int:
                    asked.append(unknown)
                    return trial if trial < 2 else rng.randrange(2)

                fixed: dict[Var | Opaque, int] = dict(zip(self.arguments, values, strict=True))
                yield run(self.program, fixed, choose)
                if not asked:
                    break
