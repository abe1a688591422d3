"""Takes set/wait pairs and barriers out of a kernel, one after another, to see which of them its result depends on."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe
from pto_buf.machine.exec import Steps
from pto_buf.machine.steps import Barrier, CoreId, Exec, SetFlag, Step, WaitFlag
from pto_buf.sim.orders import QUEUED, Order, Policy, late
from pto_buf.sim.simulate import Launch, Run, simulate

Key: TypeAlias = tuple[Pipe, Pipe, int]


@dataclass(frozen=True)
class Pair:
    """The `number`-th set of a flag, counted from 0, and the wait that it releases (None: nothing waits for it)."""

    number: int
    set: SetFlag
    wait: WaitFlag | None

    @property
    def key(self) -> Key:
        return self.set.src, self.set.dst, self.set.id

    @property
    def sites(self) -> tuple[int, int | None]:
        """The ops of the text that the pair comes from."""
        return self.set.site, self.wait.site if self.wait is not None else None

    def __str__(self) -> str:
        trips = ", ".join(str(trip) for _, trip in self.set.trips)
        at = f" at {self.set.place}" if self.set.place else ""
        return f"{self.set.src} -> {self.set.dst} id {self.set.id}, set {self.number}{at} (trip {trips or '-'})"


@dataclass(frozen=True)
class Verdict:
    """What came of runs without `pairs`, or without `barrier`, and the order that showed it.

    `how` names the fault; or it is `value`, an array that the kernel leaves is not as it was; or `displaced`, an op
    read a value that it should not have seen, without effect on what is left; None if nothing changed.
    """

    pairs: tuple[Pair, ...]
    how: str | None
    order: Order | None
    barrier: Barrier | None = None


def executed_pairs(steps: Iterable[Step]) -> tuple[Pair, ...]:
    """The pairs of one core's run, in the order of their sets."""
    sets: dict[Key, list[SetFlag]] = {}
    waits: dict[Key, list[WaitFlag]] = {}
    order: list[tuple[Key, int]] = []
    for step in steps:
        if isinstance(step, SetFlag):
            key = (step.src, step.dst, step.id)
            order.append((key, len(sets.setdefault(key, []))))
            sets[key].append(step)
        elif isinstance(step, WaitFlag):
            waits.setdefault((step.src, step.dst, step.id), []).append(step)
    pairs: list[Pair] = []
    for key, number in order:
        waiting = waits.get(key, [])
        pairs.append(Pair(number, sets[key][number], waiting[number] if number < len(waiting) else None))
    return tuple(pairs)


def without(steps: Steps, pairs: Sequence[Pair]) -> Steps:
    """The steps of a core with the sets and waits of these pairs left out."""
    gone = frozenset((pair.key, pair.number) for pair in pairs)
    sets: dict[Key, int] = {}
    waits: dict[Key, int] = {}
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(step, (SetFlag, WaitFlag)):
            counts = sets if isinstance(step, SetFlag) else waits
            key = (step.src, step.dst, step.id)
            number = counts.get(key, 0)
            counts[key] = number + 1
            if (key, number) in gone:
                continue
        answer = yield step


def without_barrier(steps: Steps, number: int) -> Steps:
    """The steps of a core with the `number`-th barrier of one pipe left out, counted from 0."""
    count = 0
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(step, Barrier) and step.pipe is not Pipe.ALL:
            count += 1
            if count - 1 == number:
                continue
        answer = yield step


def remove_each_pair(launch: Launch, *, by_site: bool = False, stride: int = 1) -> tuple[Verdict, ...]:
    """Run the kernel without each executed pair, or without all pairs of the same two ops, in every adverse order.

    With a stride only every so manyth. Raises DiagnosticError when the whole kernel has a fault or depends on the order
    of its pipes: then a pair more or less says nothing.
    """
    trial = _Trial(launch)
    groups: dict[object, list[Pair]] = {}
    for pair in executed_pairs(trial.steps):
        groups.setdefault(pair.sites if by_site else (pair.key, pair.number), []).append(pair)
    return tuple(trial.without_pairs(tuple(group)) for group in list(groups.values())[::stride])


def remove_each_barrier(launch: Launch, *, stride: int = 1) -> tuple[Verdict, ...]:
    """The same for each executed barrier of one pipe."""
    trial = _Trial(launch)
    barriers = [step for step in trial.steps if isinstance(step, Barrier) and step.pipe is not Pipe.ALL]
    return tuple(trial.without_barrier(number, barrier) for number, barrier in list(enumerate(barriers))[::stride])


class _Trial:
    """A kernel that is right, to be run without some of its fences. Raises as `remove_each_pair`."""

    def __init__(self, launch: Launch):
        self._launch = launch
        self.steps = list(launch.steps(CoreId(0, launch.blocks)))
        used = {pipe for step in self.steps if isinstance(step, Exec) for pipe in step.pipes}
        self._pipes = [pipe for pipe in QUEUED if pipe in used]
        self._expected = simulate(launch, Order(Policy.EARLY)).checked()
        for pipe in self._pipes:
            found = simulate(launch, late(pipe)).checked()
            if difference(self._expected, found) is not None:
                words = f"the result depends on the order of the pipes: {late(pipe)} differs from early"
                raise DiagnosticError.at(None, words, kind="race")

    def without_pairs(self, pairs: tuple[Pair, ...]) -> Verdict:
        how, order = self._judged(lambda steps: without(steps, pairs), pairs[0].set.dst)
        return Verdict(pairs, how, order)

    def without_barrier(self, number: int, barrier: Barrier) -> Verdict:
        how, order = self._judged(lambda steps: without_barrier(steps, number), barrier.pipe)
        return Verdict((), how, order, barrier)

    def _judged(self, change: Callable[[Steps], Steps], first: Pipe) -> tuple[str | None, Order | None]:
        """What the change makes wrong, and in which order; the order in which `first` rushes ahead is tried first."""
        displaced: Order | None = None
        for pipe in sorted(self._pipes, key=lambda pipe: pipe is not first):
            order = late(pipe)
            run = simulate(self._launch, order, lambda core: change(self._source(core)))
            if run.faults:
                return run.faults[0].kind, order
            if difference(self._expected, run) is not None:
                return "value", order
            if run.displaced and displaced is None:
                displaced = order
        return (None if displaced is None else "displaced"), displaced

    def _source(self, core: CoreId) -> Steps:
        """What the core does; for the first block, whose numbers cannot depend on memory, as it was recorded."""
        return _replayed(self.steps) if core.block == 0 else self._launch.steps(core)


def _replayed(steps: Sequence[Step]) -> Steps:
    yield from steps


def difference(expected: Run, found: Run) -> str | None:
    """The first array in which two runs differ in any bit; None if there is none."""
    for name, array in expected.arrays.items():
        if not np.array_equal(_bits(array), _bits(found.arrays[name])):
            return name
    return None


def _bits(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
