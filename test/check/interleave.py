"""The referee: goes through every interleaving of the pipes of one short run, step by step, with no cleverness.

Pipes take their steps in order. An op starts when it is its turn and is complete as late as it may be: when a set, a
signal or the giving back of a lock behind it fires, which may be long after the pipe has gone on, or when a barrier
asks for it, or at once on an ordered pipe. A flag is one bit; a lock goes from hand to hand in program order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pto_buf.check.model import Model
from pto_buf.check.runs.atoms import byte_runs
from pto_buf.check.runs.signals import Lines
from pto_buf.check.runs.steps import Awaited, Box, Bytes, Did, Done, Fence, Locked, Set, Signalled, Step, Stream, Wait
from pto_buf.hw import Core, Pipe

_PIPES = [pipe for pipe in Pipe if pipe is not Pipe.ALL]
_MOST = 40_000


class TooManyError(Exception):
    """More states than a test should take."""


Way = tuple[int, Pipe]
"""A pipe of a core."""


@dataclass(frozen=True)
class State:
    """How many steps each scalar unit has issued, how many each pipe has taken, and has complete; what is set."""

    issued: tuple[int, ...]
    taken: tuple[int, ...]
    complete: tuple[int, ...]
    flags: frozenset[tuple[object, ...]] = frozenset()
    signals: tuple[int, ...] = ()


class Referee:
    """`eager`: the scalar units hand out everything at once; otherwise they stand at each wait until it is over."""

    def __init__(self, streams: Sequence[Stream], model: Model, eager: bool):
        self._model = model
        self._eager = eager
        self._lines = Lines([stream.core for stream in streams], model.broadcast)
        self._steps = [[step for step in stream.steps if not isinstance(step, Done)] for stream in streams]
        self.faults: set[str] = set()
        self._ways: list[Way] = [(core, pipe) for core in range(len(streams)) for pipe in _PIPES]
        self._number = {way: number for number, way in enumerate(self._ways)}
        self._queues = [
            [at for at, step in enumerate(self._steps[core]) if pipe in self._pipes(step)] for core, pipe in self._ways
        ]
        every = (line for core, steps in enumerate(self._steps) for step in steps for line in self._sent(core, step))
        self._names = sorted(set(every))
        self._conflicts = self._find_conflicts()
        self._orders: set[tuple[tuple[int, int], tuple[int, int]]] = set()

    def _pipes(self, step: Step) -> tuple[Pipe, ...]:
        match step:
            case Did():
                return step.pipes
            case Set():
                return (step.src,)
            case Wait():
                return (step.dst,)
            case Fence():
                return tuple(_PIPES) if step.pipe is Pipe.ALL else (step.pipe,)
            case Awaited() if self._model.broadcast:
                return (Pipe.S,)
            case Locked() | Signalled() | Awaited():
                return (step.pipe,)
            case _:
                return ()

    def _sent(self, core: int, step: Step) -> list[tuple[int, int, int]]:
        return self._lines.sent_by(core, step.pipe, step.lane) if isinstance(step, Signalled) else []

    def _find_conflicts(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """For each op of a core, the others that it must not meet: those before it, and those of other cores."""
        ops = [
            ((core, at), step)
            for core, steps in enumerate(self._steps)
            for at, step in enumerate(steps)
            if isinstance(step, Did)
        ]
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for one, step in ops:
            for two, other in ops:
                if (two[0] != one[0] or two[1] < one[1]) and _conflict(step, other):
                    found.setdefault(one, []).append(two)
        return found

    def run(self) -> set[str]:
        none = (0,) * len(self._ways)
        start = State((0,) * len(self._steps), none, none, signals=(0,) * len(self._names))
        seen, todo = {start}, [start]
        while todo:
            state = todo.pop()
            after = list(self._moves(state))
            if not after:
                self._stopped(state)
            for one in after:
                if one not in seen:
                    seen.add(one)
                    todo.append(one)
            if len(seen) > _MOST:
                raise TooManyError
        if any((two, one) in self._orders for one, two in self._orders):
            self.faults.add("race")
        return self.faults

    def _stopped(self, state: State) -> None:
        if any(taken < len(queue) for queue, taken in zip(self._queues, state.taken, strict=True)):
            self.faults.add("deadlock")
        elif state.flags or any(state.signals):
            self.faults.add("leftover")

    def _moves(self, state: State) -> Iterator[State]:
        for core, steps in enumerate(self._steps):
            if state.issued[core] < len(steps) and self._may_issue(state, core):
                yield replace(state, issued=_with(state.issued, core, state.issued[core] + 1))
        for number, (core, _) in enumerate(self._ways):
            if state.taken[number] < len(self._queues[number]):
                at = self._queues[number][state.taken[number]]
                if at < state.issued[core]:
                    after = self._take(state, number, at)
                    if after is not None:
                        yield after
            fired = self._fire(state, number)
            if fired is not None:
                yield fired

    def _fires(self, step: Step) -> bool:
        return isinstance(step, Set | Signalled) or (isinstance(step, Locked) and not step.take)

    def _next_firing(self, state: State, number: int) -> int | None:
        """Where in the pipe's queue the first step stands that it has taken and that has yet to fire."""
        core = self._ways[number][0]
        for position in range(state.complete[number], state.taken[number]):
            if self._fires(self._steps[core][self._queues[number][position]]):
                return position
        return None

    def _fire(self, state: State, number: int) -> State | None:
        position = self._next_firing(state, number)
        if position is None:
            return None
        core = self._ways[number][0]
        step = self._steps[core][self._queues[number][position]]
        flags, signals = state.flags, list(state.signals)
        match step:
            case Set():
                flag = (core, step.src, step.dst, step.lane)
                if flag in flags:
                    self.faults.add("overflow")
                flags |= {flag}
            case Locked():
                held = {one for one in flags if one[:3] == (core, "lock", step.lane)}
                if held != {(core, "lock", step.lane, step.pipe)}:
                    self.faults.add("overflow")
                flags -= held
            case _:
                for line in self._sent(core, step):
                    signals[self._names.index(line)] += 1
        complete = _with(state.complete, number, position + 1)
        return replace(state, complete=complete, flags=flags, signals=tuple(signals))

    def _may_issue(self, state: State, core: int) -> bool:
        for earlier in range(state.issued[core]):
            step = self._steps[core][earlier]
            waits = isinstance(step, Wait | Awaited) or (isinstance(step, Locked) and step.take)
            stands = isinstance(step, Fence) and step.pipe is Pipe.ALL
            stands |= waits and (not self._eager or Pipe.S in self._pipes(step))
            if stands and not all(self._has_taken(state, core, pipe, earlier) for pipe in self._pipes(step)):
                return False
        return True

    def _has_taken(self, state: State, core: int, pipe: Pipe, at: int) -> bool:
        number = self._number[core, pipe]
        return self._queues[number].index(at) < state.taken[number]

    def _is_complete(self, state: State, core: int, pipe: Pipe, at: int) -> bool:
        number = self._number[core, pipe]
        return self._queues[number].index(at) < state.complete[number]

    def _take(self, state: State, number: int, at: int) -> State | None:
        core, pipe = self._ways[number]
        step, taken, complete = self._steps[core][at], list(state.taken), list(state.complete)
        flags, signals = state.flags, list(state.signals)
        taken[number] += 1
        match step:
            case Did():
                self._meet(state, core, at)
                if pipe in self._model.ordered:
                    if self._next_firing(state, number) is not None:
                        return None
                    complete[number] = taken[number]
            case Set() | Signalled():
                pass  # fires later
            case Wait():
                flag = (core, step.src, step.dst, step.lane)
                if flag not in flags:
                    return None
                flags -= {flag}
            case Locked() if step.take:
                if not self._is_next(state, core, at) or any(one[:3] == (core, "lock", step.lane) for one in flags):
                    return None
                flags |= {(core, "lock", step.lane, step.pipe)}
            case Locked():
                pass  # given back later
            case Awaited():
                lines = self._lines.heard_by(core, step.lane)
                places = [self._names.index(line) for line in lines if line in self._names]
                if not places or len(places) < len(lines) or not all(signals[place] for place in places):
                    return None
                for place in places:
                    signals[place] -= 1
            case Fence() if step.pipe is Pipe.ALL:
                mine = [self._number[core, one] for one in _PIPES]
                if number != mine[0]:
                    return None  # the first pipe takes it for all
                for other in mine:
                    if self._queues[other][state.taken[other]] != at or self._next_firing(state, other) is not None:
                        return None
                for other in mine:
                    taken[other] = complete[other] = state.taken[other] + 1
            case _:
                if self._next_firing(state, number) is not None:
                    return None
                complete[number] = taken[number]
        return State(state.issued, tuple(taken), tuple(complete), flags, tuple(signals))

    def _is_next(self, state: State, core: int, at: int) -> bool:
        """Whether every earlier taker of the lock has had it."""
        lane = self._steps[core][at]
        assert isinstance(lane, Locked)
        return all(
            self._has_taken(state, core, step.pipe, earlier)
            for earlier, step in enumerate(self._steps[core][:at])
            if isinstance(step, Locked) and step.take and step.lane == lane.lane
        )

    def _meet(self, state: State, core: int, at: int) -> None:
        for other, earlier in self._conflicts.get((core, at), ()):
            step = self._steps[other][earlier]
            begun = any(self._has_taken(state, other, pipe, earlier) for pipe in self._pipes(step))
            over = all(self._is_complete(state, other, pipe, earlier) for pipe in self._pipes(step))
            if not over and (begun or other == core):
                self.faults.add("race")
            if other != core:
                self._orders.add(((other, earlier), (core, at)) if begun else ((core, at), (other, earlier)))


def _with(values: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _conflict(step: Did, other: Did) -> bool:
    for a in step.accesses:
        for b in other.accesses:
            if (a.writes or b.writes) and type(a.where) is type(b.where):
                runs = [(one, two) for one in _runs(a.where) for two in _runs(b.where)]
                if any(max(s, t) < min(e, f) for (s, e), (t, f) in runs) and _memory(a.where) == _memory(b.where):
                    return True
    return False


def _runs(where: Bytes | Box) -> list[tuple[int, int]]:
    return list(where.runs) if isinstance(where, Bytes) else list(byte_runs(where))


def _memory(where: Bytes | Box) -> object:
    return (where.space, where.core) if isinstance(where, Bytes) else where.argument


def faults_of(streams: Sequence[Stream], model: Model) -> set[str]:
    """Every kind of fault that some interleaving shows. Raises TooManyError."""
    return Referee(streams, model, True).run() | Referee(streams, model, False).run()


def alone(steps: Sequence[Step], core: Core | None = None) -> list[Stream]:
    """A run of one core."""
    return [Stream(core, 0, tuple(steps))]
