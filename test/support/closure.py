"""What comes before what in one run: as the flags of the code have it, and as its data need it, by brute force.

Every op has a start and an end. Flags hold back a start until ends; a pipe starts its ops in order, and the end of one
of them is only ever seen together with the ends of those before it.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp

from pto_buf.check.reading.build import build
from pto_buf.check.runs.atoms import byte_runs
from pto_buf.check.runs.concrete import Choice, open_arguments, steps_of
from pto_buf.check.runs.steps import Access, Bytes, Did, Fence, Set, Step, Wait
from pto_buf.hw import Pipe


@dataclass(frozen=True)
class Pair:
    """The end of `first` comes before the start of `second`, on another pipe. Both are numbers of steps."""

    first: int
    second: int


@dataclass
class _Graph:
    """Edges lead from later nodes to earlier ones; nodes are added in an order in which all edges lead back."""

    before: list[int] = field(default_factory=list[int])
    """For each node a set of bits: the nodes that come before it."""

    def node(self, *earlier: int | None) -> int:
        bits = 0
        for one in earlier:
            if one is not None:
                bits |= self.before[one] | 1 << one
        self.before.append(bits)
        return len(self.before) - 1


@dataclass(frozen=True)
class Closures:
    """`steps`: the run. `held`: pairs ordered by the code. `needed`: pairs that the data ask for."""

    steps: Sequence[Step]
    held: frozenset[Pair]
    needed: frozenset[Pair]

    def words(self, pairs: frozenset[Pair]) -> list[str]:
        """The pairs, for people."""
        return [f"{self._op(pair.first)} before {self._op(pair.second)}" for pair in sorted(pairs, key=_numbers)]

    def _op(self, number: int) -> str:
        step = self.steps[number]
        assert isinstance(step, Did)
        trips = "".join(f"[{trip}]" for _, trip in step.trips)
        return f"{step.site.name}{trips}@{step.site.key}"


def _numbers(pair: Pair) -> tuple[int, int]:
    return pair.first, pair.second


def closures(function: FuncOp, numbers: Mapping[str, int]) -> Closures:
    """Both closures of one run, whose arguments are `numbers`, others 0."""
    program = build(function)
    values = {var.key: numbers.get(var.name, 0) for var in open_arguments(program)}
    steps = tuple(steps_of(program, Choice(values)))
    return Closures(steps, frozenset(_held(steps)), frozenset(_needed(steps)))


class _Pipes:
    """The last start and the last end of each pipe."""

    def __init__(self, graph: _Graph):
        self.graph = graph
        self.started: dict[Pipe, int] = {}
        self.ended: dict[Pipe, int] = {}

    def op(self, pipe: Pipe, *earlier: int) -> tuple[int, int]:
        start = self.graph.node(self.started.get(pipe), *earlier)
        end = self.graph.node(start, self.ended.get(pipe))
        self.started[pipe], self.ended[pipe] = start, end
        return start, end


def _held(steps: Sequence[Step]) -> Iterator[Pair]:
    graph = _Graph()
    pipes = _Pipes(graph)
    tokens: dict[tuple[Pipe, Pipe, int], deque[int]] = {}
    points: list[tuple[int, Pipe, int, int]] = []
    for number, step in enumerate(steps):
        match step:
            case Did():
                points += [(number, pipe, *pipes.op(pipe)) for pipe in step.pipes]
            case Set():
                # It fires behind all that its pipe holds, and what its pipe knows it tells.
                fired = graph.node(pipes.ended.get(step.src), pipes.started.get(step.src))
                tokens.setdefault((step.src, step.dst, step.lane), deque()).append(fired)
            case Wait():
                token = tokens[step.src, step.dst, step.lane].popleft()
                pipes.started[step.dst] = graph.node(pipes.started.get(step.dst), token)
            case Fence(pipe=Pipe.ALL):
                break
            case Fence():
                pipes.started[step.pipe] = graph.node(pipes.started.get(step.pipe), pipes.ended.get(step.pipe))
            case _:
                pass
    yield from _pairs(graph, points)


def _needed(steps: Sequence[Step]) -> Iterator[Pair]:
    graph = _Graph()
    pipes = _Pipes(graph)
    points: list[tuple[int, Pipe, int, int]] = []
    done: list[tuple[int, Did]] = []
    ends: dict[tuple[int, Pipe], int] = {}
    for number, step in enumerate(steps):
        if not isinstance(step, Did):
            continue
        earlier = [(old, past) for old, past in done if _conflict(past, step)]
        for pipe in step.pipes:
            found = [ends[old, own] for old, past in earlier for own in past.pipes if own is not pipe]
            start, end = pipes.op(pipe, *found)
            points.append((number, pipe, start, end))
            ends[number, pipe] = end
        done.append((number, step))
    yield from _pairs(graph, points)


def _conflict(one: Did, other: Did) -> bool:
    return any((a.writes or b.writes) and _overlap(a, b) for a in one.accesses for b in other.accesses)


def _overlap(one: Access, other: Access) -> bool:
    a, b = one.where, other.where
    if isinstance(a, Bytes) and isinstance(b, Bytes):
        return a.space is b.space and any(max(s, t) < min(e, f) for s, e in a.runs for t, f in b.runs)
    if isinstance(a, Bytes) or isinstance(b, Bytes):
        return False
    return a.argument == b.argument and any(max(s, t) < min(e, f) for s, e in byte_runs(a) for t, f in byte_runs(b))


def _pairs(graph: _Graph, points: Sequence[tuple[int, Pipe, int, int]]) -> Iterator[Pair]:
    """The ends before each start, of ops on different pipes."""
    for second, pipe, start, _ in points:
        for first, own, _, end in points:
            if own is not pipe and first < second and graph.before[start] >> end & 1:
                yield Pair(first, second)
