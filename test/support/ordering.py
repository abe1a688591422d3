"""Which operations of one run come before which: as the code has it, and as its accesses need it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pto_buf.check.reading.build import build
from pto_buf.check.runs.concrete import Choice, open_arguments, steps_of
from pto_buf.check.runs.run import Outcome, always_zero
from pto_buf.check.runs.steps import Access, Box, Bytes, Did, Fence, Set, Step, Wait
from pto_buf.hw import Pipe, Space

Clock = dict[Pipe, int]
"""For each pipe, how many of its operations come before."""


@dataclass(frozen=True)
class Done:
    """An executed operation: the `number`-th of its pipe, behind all that `before` says."""

    name: str
    pipe: Pipe
    number: int
    before: Mapping[Pipe, int]
    step: Did

    def spaces(self) -> set[Space]:
        return {one.where.space for one in self.step.accesses if isinstance(one.where, Bytes)}

    def __str__(self) -> str:
        trips = ",".join(str(trip) for _, trip in self.step.trips)
        return f"{self.name}[{trips}] at line {self.step.site.place.line if self.step.site.place else '?'}"


class Run:
    """One run of a `pto` kernel; `numbers` are its integer arguments (0 where not given)."""

    def __init__(self, module: ModuleOp, numbers: Mapping[str, int] | None = None, outcome: Outcome = always_zero):
        program = build(next(op for op in module.walk() if isinstance(op, FuncOp)))
        arguments = {var.key: (numbers or {}).get(var.name, 0) for var in open_arguments(program)}
        self.steps: Sequence[Step] = steps_of(program, Choice(arguments, outcome))

    @cached_property
    def done(self) -> list[Done]:
        """The operations in the order of issue, ordered by the code: pipes in order, and each wait behind its set."""
        clocks: dict[Pipe, Clock] = {pipe: dict.fromkeys(Pipe, 0) for pipe in Pipe}
        tokens: dict[tuple[Pipe, Pipe, int], list[Clock]] = {}
        found: list[Done] = []
        for step in self.steps:
            match step:
                case Did():
                    for pipe in step.pipes:
                        found.append(_did(step, pipe, clocks[pipe]))
                    for pipe in step.pipes:
                        clocks[pipe][pipe] += 1
                case Set():
                    tokens.setdefault((step.src, step.dst, step.lane), []).append(dict(clocks[step.src]))
                case Wait():
                    _learn(clocks[step.dst], tokens[step.src, step.dst, step.lane].pop(0))
                case Fence(pipe=Pipe.ALL):
                    every = {pipe: clock[pipe] for pipe, clock in clocks.items()}
                    for clock in clocks.values():
                        _learn(clock, every)
                case _:
                    pass
        return found

    @cached_property
    def needed(self) -> list[Done]:
        """The same operations, ordered only by their pipes and by the bytes that they share."""
        counts: Clock = dict.fromkeys(Pipe, 0)
        clocks: dict[Pipe, Clock] = {pipe: dict.fromkeys(Pipe, 0) for pipe in Pipe}
        touched: dict[tuple[Space, int], list[tuple[bool, Pipe, Clock]]] = {}
        found: list[Done] = []
        for step in self.steps:
            if not isinstance(step, Did):
                continue
            now = [clocks[pipe] for pipe in step.pipes]
            for access in step.accesses:
                for unit in _units(access):
                    for writes, pipe, clock in touched.get(unit, ()):
                        if writes or access.writes:
                            for mine in now:
                                _learn(mine, clock)
                                mine[pipe] = max(mine[pipe], clock[pipe])
            for pipe, mine in zip(step.pipes, now, strict=True):
                found.append(_did(step, pipe, mine))
                mine[pipe] += 1
                counts[pipe] += 1
            for access in step.accesses:
                for unit in _units(access):
                    past = touched.setdefault(unit, [])
                    for pipe, mine in zip(step.pipes, now, strict=True):
                        past[:] = [one for one in past if one[1] is not pipe or (one[0] and not access.writes)]
                        past.append((access.writes, pipe, dict(mine)))
        return found

    def named(self, name: str) -> list[Done]:
        """The executed operations of this name, in the order of issue."""
        return [one for one in self.done if one.name == name]

    def waits(self, src: Pipe, dst: Pipe) -> int:
        return sum(isinstance(step, Wait) and (step.src, step.dst) == (src, dst) for step in self.steps)

    def extra(self) -> Iterator[tuple[Done, Done]]:
        """Pairs of operations on two pipes that the code orders though nothing needs it."""
        for behind, needed in zip(self.done, self.needed, strict=True):
            for pipe in Pipe:
                if pipe is behind.pipe:
                    continue
                for number in range(needed.before[pipe], behind.before[pipe]):
                    yield next(one for one in self.done if (one.pipe, one.number) == (pipe, number)), behind


def ordered(first: Done, second: Done) -> bool:
    """Whether `second` only starts once `first` is done, or, on one pipe, comes behind it."""
    if first.pipe is second.pipe:
        return first.number < second.number
    return second.before[first.pipe] > first.number


def _did(step: Did, pipe: Pipe, clock: Clock) -> Done:
    return Done(step.site.name.removeprefix("pto."), pipe, clock[pipe], dict(clock), step)


def _learn(mine: Clock, told: Mapping[Pipe, int]) -> None:
    for pipe, number in told.items():
        mine[pipe] = max(mine[pipe], number)


def _units(access: Access) -> Iterator[tuple[Space, int]]:
    """The pieces of 32 bytes that an access touches; of global memory, none."""
    if isinstance(access.where, Box):
        return
    for start, end in access.where.runs:
        for unit in range(start // 32, -(-end // 32)):
            yield access.where.space, unit
