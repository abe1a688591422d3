"""Runs the steps of one or several cores in a legal order of their pipes. Knows of tokens and queues, not of values."""

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from pto_buf.errors import Note
from pto_buf.hw import Pipe
from pto_buf.machine.steps import (
    Barrier,
    Exec,
    GiveLock,
    ScalarAccess,
    SetFlag,
    Step,
    SyncSet,
    SyncWait,
    TakeLock,
    WaitFlag,
)
from pto_buf.sim.faults import Fault, SimulationFault
from pto_buf.sim.orders import QUEUED, Order, Policy
from pto_buf.sim.tokens import Entry, Kind, Queue, Roles, Token, Tokens, spelt


class Effects(Protocol):
    """What the steps do. `core` is the position of the core among those that run."""

    def issue(self, core: int, step: Exec) -> None:
        """The scalar unit hands the op to its pipe."""
        ...

    def execute(self, core: int, pipe: Pipe, step: Exec) -> Any:
        """The op runs. Returns what it reads for the scalar unit, if it does."""
        ...

    def access(self, core: int, step: ScalarAccess) -> Any:
        """The scalar unit reads or writes global memory. Returns what it reads."""
        ...

    def unfinished(self, core: int, pipe: Pipe) -> bool:
        """Whether the pipe has begun what it has not finished."""
        ...

    def settle(self, core: int, pipe: Pipe) -> None:
        """Everything that the pipe has begun is finished now."""
        ...


@dataclass
class _Core:
    steps: Generator[Step, Any, None]
    queues: dict[Pipe, Queue] = field(default_factory=lambda: {pipe: Queue() for pipe in QUEUED})
    next: Entry | None = None
    """What the scalar unit issues next, once it has been fetched."""
    answer: Any = None
    started: bool = False
    ended: bool = False


Agent: TypeAlias = tuple[int, Pipe]
"""A pipe of a core; pipe S is the scalar unit, which issues."""


@dataclass(frozen=True)
class _Goal:
    """Until `agent` has executed `until` steps of its queue; for a scalar unit until `token` is set or queued."""

    agent: Agent
    until: int = 0
    token: Token | None = None


class Engine:
    """One run of the cores of a block. Raises SimulationFault when it cannot go on; other faults are gathered.

    `signals_hold_scalar`: a wait for another core holds the scalar unit (a2a3), not only its pipe (a5).
    """

    def __init__(
        self,
        cores: Sequence[Generator[Step, Any, None]],
        effects: Effects,
        order: Order,
        roles: Roles | None = None,
        signals_hold_scalar: bool = True,
    ):
        self._cores = [_Core(steps) for steps in cores]
        self._effects = effects
        self._order = order
        self._tokens = Tokens(roles or Roles(None, tuple(range(len(cores)))))
        self._signals_hold_scalar = signals_hold_scalar
        self._random = random.Random(order.seed)
        self._woken: list[Agent] = []
        self._deferred: dict[Agent, list[Entry]] = {}
        """Sets that a pipe has come past, but not with all that it has begun: they fire when somebody waits."""
        self.faults = self._tokens.faults

    def run(self) -> None:
        match self._order.policy:
            case Policy.EARLY:
                self._run_early()
            case Policy.RANDOM:
                self._run_random()
            case Policy.LATE:
                self._run_late()
        for number in range(len(self._cores)):
            for pipe in QUEUED:
                self._settle((number, pipe))
        self._tokens.leftovers()

    # --- orders ---

    def _run_late(self) -> None:
        for number, core in enumerate(self._cores):
            while not core.ended:
                self._advance_scalar(number)
        for pipe in self._order.rush:
            for number, core in enumerate(self._cores):
                self._reach(_Goal((number, pipe), len(core.queues[pipe].entries)))

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
                raise self._deadlock(self._chain((number, stuck[0] if stuck else Pipe.S)))

    def _chain(self, agent: Agent) -> list[Agent]:
        """The agent, whom it waits for, whom that one waits for, and so on."""
        chain = [agent]
        while (obstacle := self._obstacle(chain[-1])) is not None and obstacle.agent not in chain:
            chain.append(obstacle.agent)
        return chain

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
        if goal.token is not None:
            return self._tokens.missing((goal.token,)) is None or self._tokens.announced(goal.token) is not None
        return self._cores[number].queues[pipe].head >= goal.until

    def _obstacle(self, agent: Agent) -> _Goal | None:
        """What has to happen before the agent can do its next step; None if that cannot be said."""
        entry = self._head(agent)
        if entry is None:
            return None
        token = self._tokens.missing(entry.needs)
        if token is not None:
            if (provider := self._tokens.announced(token)) is not None:
                number, pipe, place = provider
                return _Goal((number, pipe), place + 1)
            return None if self._cores[token.giver].ended else _Goal((token.giver, Pipe.S), token=token)
        number = agent[0]
        if isinstance(entry.step, Barrier):  # PIPE_ALL, held by the scalar unit
            queues = self._cores[number].queues
            for pipe in self._order.rush:
                if queues[pipe].waiting:
                    return _Goal((number, pipe), len(queues[pipe].entries))
        return None

    def _head(self, agent: Agent) -> Entry | None:
        number, pipe = agent
        if pipe is Pipe.S:
            return self._fetch(number)
        queue = self._cores[number].queues[pipe]
        return queue.entries[queue.head] if queue.waiting else None

    def _fetch(self, number: int) -> Entry | None:
        """The step at the scalar unit's head; None at the end of the kernel."""
        core = self._cores[number]
        if core.next is None and not core.ended:
            try:
                step = core.steps.send(core.answer) if core.started else next(core.steps)
                core.next = Entry(step, self._tokens.needs(number, step), self._tokens.gives(number, step))
                core.started = True
            except StopIteration:
                core.ended = True
            core.answer = None
        return core.next

    def _step(self, agent: Agent) -> bool:
        """Let the agent do its next step; False if it has none or has to wait."""
        entry = self._head(agent)
        if entry is None:
            return False
        number, pipe = agent
        core = self._cores[number]
        if pipe is Pipe.S:
            if not self._issue(number, core, entry):
                return False
            core.next = None
            return True
        if not self._take(entry):
            return False
        match entry.step:
            case Exec():
                self._check_internal_flags(number, entry.step)
                self._effects.execute(number, pipe, entry.step)
            case SetFlag() | SyncSet() | GiveLock() if self._effects.unfinished(number, pipe):
                self._deferred.setdefault(agent, []).append(entry)
            case Barrier():
                self._settle(agent)
            case _:
                self._give(entry)
        core.queues[pipe].head += 1
        return True

    def _settle(self, agent: Agent) -> None:
        """The pipe finishes all that it has begun, and what it has come past fires."""
        self._effects.settle(*agent)
        for entry in self._deferred.pop(agent, ()):
            self._give(entry)

    # --- the scalar unit ---

    def _issue(self, number: int, core: _Core, entry: Entry) -> bool:
        step = entry.step
        match step:
            case WaitFlag() if step.dst is Pipe.S:
                return self._take(entry)
            case SyncWait() if self._signals_hold_scalar:
                return self._take(entry)
            case SetFlag() if step.src is Pipe.S:
                self._give(entry)
            case SyncSet() | SyncWait() | TakeLock() | GiveLock() if step.pipe is Pipe.S:
                if not self._take(entry):
                    return False
                self._give(entry)
            case Barrier() if step.pipe is Pipe.ALL:
                if any(core.queues[pipe].waiting for pipe in QUEUED):
                    return False
                for pipe in QUEUED:
                    self._settle((number, pipe))
            case Barrier() if step.pipe is Pipe.S:
                message = "a barrier on the scalar unit, which the hardware refuses"
                raise SimulationFault(Fault("barrier", message, step.place))
            case Exec() if Pipe.S in step.pipes:
                self._effects.issue(number, step)
                core.answer = self._effects.execute(number, Pipe.S, step)
            case ScalarAccess():
                core.answer = self._effects.access(number, step)
            case _:
                self._enqueue(number, core, entry)
        return True

    def _enqueue(self, number: int, core: _Core, entry: Entry) -> None:
        pipe = self._pipe_of(entry.step)
        if isinstance(entry.step, Exec):
            self._effects.issue(number, entry.step)
        self._tokens.announce(entry.gives, (number, pipe, len(core.queues[pipe].entries)))
        core.queues[pipe].entries.append(entry)
        self._wake((number, pipe))

    def _pipe_of(self, step: Step) -> Pipe:
        """The queue that the step goes to. An op whose pipe the sources do not agree on may run on any of them."""
        match step:
            case SetFlag():
                return step.src
            case WaitFlag():
                return step.dst
            case Exec():
                if self._order.policy is Policy.RANDOM:
                    return self._random.choice(step.pipes)
                return self._order.rush[0] if self._order.rush[0] in step.pipes else step.pipes[0]
            case ScalarAccess():
                return Pipe.S
            case _:
                return step.pipe

    # --- tokens ---

    def _take(self, entry: Entry) -> bool:
        """Take what the entry waits for, if all of it has been given or only needs a pipe to finish."""
        while (token := self._tokens.missing(entry.needs)) is not None:
            provider = self._tokens.announced(token)
            if provider is None or self._cores[provider[0]].queues[provider[1]].head <= provider[2]:
                return False
            self._settle(provider[:2])
        self._tokens.take(entry.needs)
        return True

    def _give(self, entry: Entry) -> None:
        self._tokens.give(entry.gives, entry.step)
        if self._order.policy is Policy.EARLY:
            for token in entry.gives:
                pipes = (token.dst,) if token.kind is Kind.FLAG else QUEUED
                self._woken += [(token.taker, pipe) for pipe in pipes]

    def _wake(self, agent: Agent) -> None:
        if self._order.policy is Policy.EARLY:
            self._woken.append(agent)

    def _check_internal_flags(self, number: int, step: Exec) -> None:
        """The library sets and waits for some flags inside an op."""
        for src, dst, flag in sorted(step.row.internal_flags):
            token = Token(Kind.FLAG, number, number, flag, src, dst)
            if (before := self._tokens.pending(token)) is not None:
                message = f"{step.name} uses {spelt(token)} inside, which is pending"
                self.faults.append(Fault("overflow", message, step.place, (Note(before.place, "it was set here"),)))

    def _deadlock(self, chain: Sequence[Agent]) -> SimulationFault:
        """Says which wait is at the end of the chain; who only waits for all pipes is held by that one too."""
        blocked = [(agent[1], entry) for agent in chain if (entry := self._head(agent)) is not None]
        if not blocked:
            raise AssertionError("a deadlock without a wait")
        last = max(range(len(blocked)), key=lambda n: (bool(blocked[n][1].needs), n))
        pipe, entry = blocked.pop(last)
        notes = tuple(
            Note(other.step.place, f"{who} is held here: {self._held(other)}") for who, other in reversed(blocked)
        )
        message = f"deadlock: {pipe} {self._held(entry)}, and never goes on"
        return SimulationFault(Fault("deadlock", message, entry.step.place, notes))

    def _held(self, entry: Entry) -> str:
        token = self._tokens.missing(entry.needs) or next(iter(entry.needs), None)
        return "waits until all pipes are done" if token is None else f"waits for {spelt(token)}"
