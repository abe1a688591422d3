"""The referee: goes through every interleaving of the pipes of one short run, step by step, with no cleverness.

Pipes take their steps in order. An op starts when it is its turn and is complete as late as it may be: when a set
behind it fires, which may be long after the pipe has gone on, or when a barrier asks for it, or at once on an ordered
pipe. A flag is one bit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pto_buf.check.model import Model
from pto_buf.check.steps import Bytes, Did, Done, Fence, Set, Step, Wait
from pto_buf.hw import Pipe

_PIPES = [pipe for pipe in Pipe if pipe is not Pipe.ALL]


@dataclass(frozen=True)
class State:
    """How many steps the scalar unit has issued, how many each pipe has taken, and has complete; the flags set."""

    issued: int
    taken: tuple[int, ...]
    complete: tuple[int, ...]
    flags: frozenset[tuple[Pipe, Pipe, int]]


class Referee:
    """`eager`: the scalar unit hands out everything at once; otherwise it stands at each wait until it is over."""

    def __init__(self, steps: Sequence[Step], model: Model, eager: bool):
        self._steps = [step for step in steps if not isinstance(step, Done)]
        self._model = model
        self._eager = eager
        self.faults: set[str] = set()
        self._queues = {pipe: [n for n, step in enumerate(self._steps) if pipe in self._pipes(step)] for pipe in _PIPES}
        self._conflicts = self._find_conflicts()

    @staticmethod
    def _pipes(step: Step) -> tuple[Pipe, ...]:
        match step:
            case Did():
                return step.pipes
            case Set():
                return (step.src,)
            case Wait():
                return (step.dst,)
            case Fence():
                return tuple(_PIPES) if step.pipe is Pipe.ALL else (step.pipe,)
            case _:
                return ()

    def _find_conflicts(self) -> dict[int, list[int]]:
        """For each op, the earlier ones that it must not overtake."""
        found: dict[int, list[int]] = {}
        for later, step in enumerate(self._steps):
            for earlier in range(later):
                other = self._steps[earlier]
                if isinstance(step, Did) and isinstance(other, Did) and _conflict(step, other):
                    found.setdefault(later, []).append(earlier)
        return found

    def run(self) -> set[str]:
        none = (0,) * len(_PIPES)
        start = State(0, none, none, frozenset())
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
        return self.faults

    def _stopped(self, state: State) -> None:
        if any(taken < len(self._queues[pipe]) for pipe, taken in zip(_PIPES, state.taken, strict=True)):
            self.faults.add("deadlock")
        elif state.flags:
            self.faults.add("leftover")

    def _moves(self, state: State) -> Iterator[State]:
        if state.issued < len(self._steps) and self._may_issue(state):
            yield State(state.issued + 1, state.taken, state.complete, state.flags)
        for number, pipe in enumerate(_PIPES):
            if state.taken[number] < len(self._queues[pipe]):
                step = self._queues[pipe][state.taken[number]]
                if step < state.issued:
                    after = self._take(state, number, pipe, step)
                    if after is not None:
                        yield after
            fired = self._fire(state, number, pipe)
            if fired is not None:
                yield fired

    def _next_set(self, state: State, number: int, pipe: Pipe) -> int | None:
        """Where in the pipe's queue its first set stands that it has taken and that has not fired."""
        for position in range(state.complete[number], state.taken[number]):
            if isinstance(self._steps[self._queues[pipe][position]], Set):
                return position
        return None

    def _fire(self, state: State, number: int, pipe: Pipe) -> State | None:
        position = self._next_set(state, number, pipe)
        if position is None:
            return None
        step = self._steps[self._queues[pipe][position]]
        assert isinstance(step, Set)
        flag = (step.src, step.dst, step.lane)
        if flag in state.flags:
            self.faults.add("overflow")
        complete = list(state.complete)
        complete[number] = position + 1
        return State(state.issued, state.taken, tuple(complete), state.flags | {flag})

    def _may_issue(self, state: State) -> bool:
        for earlier in range(state.issued):
            step = self._steps[earlier]
            stands = isinstance(step, Fence) and step.pipe is Pipe.ALL
            stands |= isinstance(step, Wait) and (not self._eager or step.dst is Pipe.S)
            if stands and not all(self._has_taken(state, pipe, earlier) for pipe in self._pipes(step)):
                return False
        return True

    def _has_taken(self, state: State, pipe: Pipe, step: int) -> bool:
        number = _PIPES.index(pipe)
        return self._queues[pipe].index(step) < state.taken[number]

    def _take(self, state: State, number: int, pipe: Pipe, at: int) -> State | None:
        step, taken, complete, flags = self._steps[at], list(state.taken), list(state.complete), state.flags
        taken[number] += 1
        match step:
            case Did():
                for earlier in self._conflicts.get(at, ()):
                    if not all(self._is_complete(state, other, earlier) for other in self._pipes(self._steps[earlier])):
                        self.faults.add("race")
                if pipe in self._model.ordered:
                    if self._next_set(state, number, pipe) is not None:
                        return None
                    complete[number] = taken[number]
            case Set():
                pass  # fires later
            case Wait():
                flag = (step.src, step.dst, step.lane)
                if flag not in flags:
                    return None
                flags -= {flag}
            case Fence() if step.pipe is Pipe.ALL:
                if number:
                    return None  # the first pipe takes it for all
                for other, (name, queue) in enumerate(self._queues.items()):
                    if queue[state.taken[other]] != at or self._next_set(state, other, name) is not None:
                        return None
                taken = [count + 1 for count in state.taken]
                complete = list(taken)
            case _:
                if self._next_set(state, number, pipe) is not None:
                    return None
                complete[number] = taken[number]
        return State(state.issued, tuple(taken), tuple(complete), flags)

    def _is_complete(self, state: State, pipe: Pipe, step: int) -> bool:
        return self._queues[pipe].index(step) < state.complete[_PIPES.index(pipe)]


def _conflict(step: Did, other: Did) -> bool:
    for a in step.accesses:
        for b in other.accesses:
            if (a.writes or b.writes) and isinstance(a.where, Bytes) and isinstance(b.where, Bytes):
                runs = [(one, two) for one in a.where.runs for two in b.where.runs]
                touch = any(max(s, t) < min(e, f) for (s, e), (t, f) in runs)
                if touch and a.where.space is b.where.space:
                    return True
    return False


def faults_of(steps: Sequence[Step], model: Model) -> set[str]:
    """Every kind of fault that some interleaving shows."""
    return Referee(steps, model, True).run() | Referee(steps, model, False).run()
