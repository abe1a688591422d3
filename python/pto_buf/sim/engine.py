"""Runs the steps of one or several cores in a legal order of their pipes. Knows of flags and queues, not of values."""

import random
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from pto_buf.errors import Note
from pto_buf.hw import Pipe
from pto_buf.machine.steps import Barrier, Exec, SetFlag, Step, SyncSet, SyncWait, WaitFlag
from pto_buf.sim.faults import Fault, SimulationFault
from pto_buf.sim.orders import QUEUED, Order, Policy

Key: TypeAlias = tuple[Pipe, Pipe, int]
"""A flag: source, destination, id."""


class Effects(Protocol):
    """What the steps do. `core` is the position of the core among those that run."""

    def issue(self, core: int, step: Exec) -> None:
        """The scalar unit hands the op to its pipe."""
        ...

    def execute(self, core: int, pipe: Pipe, step: Exec) -> Any:
        """The op runs. Returns what it reads for the scalar unit, if it does."""
        ...

    def settle(self, core: int, pipe: Pipe) -> None:
        """Everything that the pipe has begun is finished now."""
        ...


@dataclass
class _Queue:
    steps: list[Step] = field(default_factory=list[Step])
    head: int = 0

    @property
    def waiting(self) -> int:
        return len(self.steps) - self.head


@dataclass
class _Core:
    steps: Generator[Step, Any, None]
    queues: dict[Pipe, _Queue] = field(default_factory=lambda: {pipe: _Queue() for pipe in QUEUED})
    next: Step | None = None
    """What the scalar unit issues next, once it has been fetched."""
    answer: Any = None
    started: bool = False
    ended: bool = False
    pending: dict[Key, int] = field(default_factory=dict[Key, int])
    setter: dict[Key, SetFlag] = field(default_factory=dict[Key, SetFlag])
    """The last set of each flag that fired."""
    queued_sets: dict[Key, deque[int]] = field(default_factory=dict[Key, "deque[int]"])
    """For each flag, where in its source's queue the sets stand that have not fired."""

    def fetch(self) -> Step | None:
        """The step at the scalar unit's head; None at the end of the kernel."""
        if self.next is None and not self.ended:
            try:
                self.next = self.steps.send(self.answer) if self.started else next(self.steps)
                self.started = True
            except StopIteration:
                self.ended = True
            self.answer = None
        return self.next


Agent: TypeAlias = tuple[int, Pipe]
"""A pipe of a core; pipe S is the scalar unit, which issues."""


@dataclass(frozen=True)
class _Goal:
    """Until `agent` has executed `until` steps of its queue; for a scalar unit until flag `flag` is set or queued."""

    agent: Agent
    until: int = 0
    flag: Key | None = None


class Engine:
    """One run. Raises SimulationFault when it cannot go on; other faults are gathered."""

    def __init__(self, cores: Sequence[Generator[Step, Any, None]], effects: Effects, order: Order):
        self._cores = [_Core(steps) for steps in cores]
        self._effects = effects
        self._order = order
        self._random = random.Random(order.seed)
        self._woken: list[Agent] = []
        self.faults: list[Fault] = []

    def run(self) -> None:
        match self._order.policy:
            case Policy.EARLY:
                self._run_early()
            case Policy.RANDOM:
                self._run_random()
            case Policy.LATE:
                self._run_late()
        for number, core in enumerate(self._cores):
            for pipe in QUEUED:
                self._effects.settle(number, pipe)
            self._leftovers(core)

    # --- orders ---

    def _run_late(self) -> None:
        for number, core in enumerate(self._cores):
            while not core.ended:
                self._advance_scalar(number)
        for number, core in enumerate(self._cores):
            for pipe in self._order.rush:
                self._reach(_Goal((number, pipe), len(core.queues[pipe].steps)))

    def _advance_scalar(self, number: int) -> None:
        if not self._step((number, Pipe.S)) and not self._cores[number].ended:
            obstacle = self._obstacle((number, Pipe.S))
            if obstacle is None:
                raise self._deadlock([(number, Pipe.S)])
            self._reach(obstacle, (number, Pipe.S))

    def _run_early(self) -> None:
        moved = True
        while moved:
            moved = False
            for number in range(len(self._cores)):
                while self._step((number, Pipe.S)):
                    moved = True
                    self._flow()
        self._finish()

    def _flow(self) -> None:
        """Everything that was woken runs on as far as it may."""
        while self._woken:
            agent = self._woken.pop()
            while agent[1] is not Pipe.S and self._step(agent):
                pass

    def _run_random(self) -> None:
        agents: list[Agent] = [(number, pipe) for number in range(len(self._cores)) for pipe in (*QUEUED, Pipe.S)]
        live = list(agents)
        while live:
            position = self._random.randrange(len(live))
            agent = live[position]
            wanted = self._random.choice((1, 1, 2, 5, 25))
            done = 0
            while done < wanted and self._step(agent):
                done += 1
            if done:
                if len(live) < len(agents):
                    live = list(agents)
            else:
                live[position] = live[-1]
                live.pop()
        self._finish()

    def _finish(self) -> None:
        """Nothing can move any more: that must be because all is done."""
        for number, core in enumerate(self._cores):
            stuck = [pipe for pipe in QUEUED if core.queues[pipe].waiting]
            if stuck or core.next is not None:
                raise self._deadlock([(number, stuck[0] if stuck else Pipe.S)])

    # --- progress ---

    def _reach(self, goal: _Goal, asked_by: Agent | None = None) -> None:
        """Run what it takes to meet the goal, and nothing else."""
        goals = [goal]
        while goals:
            goal = goals[-1]
            if self._met(goal):
                goals.pop()
            elif not self._step(goal.agent):
                obstacle = self._obstacle(goal.agent)
                chain = [asked_by] if asked_by is not None else []
                chain += [other.agent for other in goals]
                if obstacle is None or obstacle.agent in chain:
                    raise self._deadlock(chain)
                goals.append(obstacle)

    def _met(self, goal: _Goal) -> bool:
        number, pipe = goal.agent
        core = self._cores[number]
        if goal.flag is not None:
            return bool(core.pending.get(goal.flag) or core.queued_sets.get(goal.flag))
        return core.queues[pipe].head >= goal.until

    def _obstacle(self, agent: Agent) -> _Goal | None:
        """What has to happen before the agent can do its next step; None if that cannot be said."""
        number = agent[0]
        core = self._cores[number]
        step = self._head(agent)
        if isinstance(step, WaitFlag):
            key = (step.src, step.dst, step.id)
            if sets := core.queued_sets.get(key):
                return _Goal((number, step.src), sets[0] + 1)
            return None if core.ended else _Goal((number, Pipe.S), flag=key)
        if isinstance(step, Barrier):  # PIPE_ALL, held by the scalar unit
            for other in self._order.rush:
                if core.queues[other].waiting:
                    return _Goal((number, other), len(core.queues[other].steps))
        return None

    def _head(self, agent: Agent) -> Step | None:
        number, pipe = agent
        core = self._cores[number]
        if pipe is Pipe.S:
            return core.fetch()
        queue = core.queues[pipe]
        return queue.steps[queue.head] if queue.waiting else None

    def _step(self, agent: Agent) -> bool:
        """Let the agent do its next step; False if it has none or has to wait."""
        step = self._head(agent)
        if step is None:
            return False
        number, pipe = agent
        core = self._cores[number]
        if pipe is Pipe.S:
            if not self._issue(number, core, step):
                return False
            core.next = None
            return True
        match step:
            case WaitFlag():
                if not self._take(core, step):
                    return False
            case SetFlag():
                core.queued_sets[(step.src, step.dst, step.id)].popleft()
                self._effects.settle(number, pipe)
                self._fire(number, core, step)
            case Barrier():
                self._effects.settle(number, pipe)
            case Exec():
                self._check_internal_flags(core, step)
                self._effects.execute(number, pipe, step)
            case SyncSet() | SyncWait():
                message = "signals between cores are not simulated"
                raise SimulationFault(Fault("unsupported", message, step.place))
        core.queues[pipe].head += 1
        return True

    def _issue(self, number: int, core: _Core, step: Step) -> bool:
        match step:
            case WaitFlag() if step.dst is Pipe.S:
                return self._take(core, step)
            case SetFlag() if step.src is Pipe.S:
                self._fire(number, core, step)
            case Barrier() if step.pipe is Pipe.ALL:
                if any(core.queues[pipe].waiting for pipe in QUEUED):
                    return False
                for pipe in QUEUED:
                    self._effects.settle(number, pipe)
            case Barrier() if step.pipe is Pipe.S:
                message = "a barrier on the scalar unit, which the hardware refuses"
                raise SimulationFault(Fault("barrier", message, step.place))
            case Exec() if Pipe.S in step.pipes:
                self._effects.issue(number, step)
                core.answer = self._effects.execute(number, Pipe.S, step)
            case _:
                self._enqueue(number, core, step)
        return True

    def _enqueue(self, number: int, core: _Core, step: Step) -> None:
        match step:
            case SetFlag():
                pipe = step.src
                key = (step.src, step.dst, step.id)
                core.queued_sets.setdefault(key, deque()).append(len(core.queues[pipe].steps))
            case WaitFlag():
                pipe = step.dst
            case Exec():
                self._effects.issue(number, step)
                pipe = self._pipe_of(step)
            case Barrier() | SyncSet() | SyncWait():
                pipe = step.pipe
        core.queues[pipe].steps.append(step)
        self._wake((number, pipe))

    def _pipe_of(self, step: Exec) -> Pipe:
        """Where an op runs whose pipe the sources do not agree on: it may be any."""
        if self._order.policy is Policy.RANDOM:
            return self._random.choice(step.pipes)
        return self._order.rush[0] if self._order.rush[0] in step.pipes else step.pipes[0]

    # --- flags ---

    def _take(self, core: _Core, step: WaitFlag) -> bool:
        key = (step.src, step.dst, step.id)
        if not core.pending.get(key):
            return False
        core.pending[key] -= 1
        return True

    def _fire(self, number: int, core: _Core, step: SetFlag) -> None:
        key = (step.src, step.dst, step.id)
        if core.pending.get(key):
            before = core.setter[key]
            self.faults.append(
                Fault(
                    "overflow",
                    f"flag {_flag(step)} is set a second time while it is pending",
                    step.place,
                    (Note(before.place, "it was set here"),),
                )
            )
        core.pending[key] = core.pending.get(key, 0) + 1
        core.setter[key] = step
        self._wake((number, step.dst))

    def _check_internal_flags(self, core: _Core, step: Exec) -> None:
        """The library sets and waits for some flags inside an op."""
        for key in sorted(step.row.internal_flags):
            if core.pending.get(key):
                before = core.setter[key]
                message = f"{step.name} uses flag {_flag(before)} inside, which is pending"
                self.faults.append(Fault("overflow", message, step.place, (Note(before.place, "it was set here"),)))

    def _wake(self, agent: Agent) -> None:
        if self._order.policy is Policy.EARLY:
            self._woken.append(agent)

    def _leftovers(self, core: _Core) -> None:
        for key, count in core.pending.items():
            if count:
                step = core.setter[key]
                message = f"flag {_flag(step)} is still set when the kernel ends"
                self.faults.append(Fault("leftover", message, step.place))

    def _deadlock(self, chain: Sequence[Agent]) -> SimulationFault:
        blocked = [(pipe, step) for agent in chain for pipe, step in self._blocked(agent)]
        if not blocked:
            raise AssertionError("a deadlock without a wait")
        pipe, step = blocked[-1]
        notes = tuple(Note(other.place, f"{who} is held here: {_held(other)}") for who, other in reversed(blocked[:-1]))
        return SimulationFault(
            Fault("deadlock", f"deadlock: {pipe} {_held(step)}, and never goes on", step.place, notes)
        )

    def _blocked(self, agent: Agent) -> Iterator[tuple[Pipe, Step]]:
        step = self._head(agent)
        if step is not None:
            yield agent[1], step


def _flag(step: SetFlag | WaitFlag) -> str:
    return f"{step.src} -> {step.dst} id {step.id}"


def _held(step: Step) -> str:
    return f"waits for flag {_flag(step)}" if isinstance(step, WaitFlag) else "waits until all pipes are done"
