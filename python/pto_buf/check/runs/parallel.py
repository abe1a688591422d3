"""Pairs of ops that a run orders although nothing that they touch needs it. Pure.

What is needed: ops that conflict, in the order of issue, and ops of one pipe; and what follows from these. What is
there: how far each op knows the other pipes to be complete. The difference is parallelism that was given away.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.check.findings import Point
from pto_buf.check.model import Model
from pto_buf.check.runs.atoms import Atom, Atoms
from pto_buf.check.runs.clocks import NUMBER, PIPES, Clocks, Vector, number_of, pipes_of
from pto_buf.check.runs.steps import Did, Fence, Set, Step, Wait
from pto_buf.hw import Pipe


@dataclass(frozen=True)
class Lost:
    """`second` waits for `first` without need; so it is `count` times in the run, this the first time."""

    first: Point
    second: Point
    count: int


def lost_parallelism(steps: Sequence[Step], model: Model) -> list[Lost]:
    """Of a run of one core that is right, by the number of times that it happens."""
    return _Finder(steps, model).run()


class _Finder:
    def __init__(self, steps: Sequence[Step], model: Model):
        self._steps = steps
        self._clocks = Clocks(1, model.ordered)
        self._tokens: dict[tuple[Pipe, Pipe, int], Vector] = {}
        self._atoms = Atoms(access for step in steps if isinstance(step, Did) for access in step.accesses)
        self._needs: list[Vector] = [[0] * len(PIPES) for _ in PIPES]
        """For each pipe, what its latest op needed of the others, itself included."""
        self._touched: dict[Atom, list[tuple[Vector, bool]]] = {}
        self._points: list[dict[int, Point]] = [{} for _ in PIPES]
        self._found: dict[tuple[int, int], list[tuple[Point, Point]]] = {}

    def run(self) -> list[Lost]:
        for step in self._steps:
            match step:
                case Did():
                    self._did(step)
                case Set():
                    pipe = number_of(0, step.src)
                    self._clocks.advance(pipe)
                    self._tokens[step.src, step.dst, step.lane] = self._clocks.token(pipe)
                    self._clocks.done(pipe)
                case Wait():
                    pipe = number_of(0, step.dst)
                    self._clocks.advance(pipe)
                    token = self._tokens.pop((step.src, step.dst, step.lane), None)
                    if token is not None:
                        self._clocks.learn(pipes_of(0) if step.dst is Pipe.S else [pipe], token)
                case Fence():
                    if step.pipe is Pipe.ALL:
                        self._clocks.drain(pipes_of(0))
                    else:
                        self._clocks.drain_one(number_of(0, step.pipe))
                case _:
                    pass
        lost = [Lost(*pairs[0], len(pairs)) for pairs in self._found.values()]
        return sorted(lost, key=lambda one: (-one.count, one.second.site.key, one.first.site.key))

    def _did(self, step: Did) -> None:
        pipe = NUMBER[step.pipes[0]]
        now = self._clocks.advance(pipe)
        point = Point(step.site, step.pipes[0], step.trips)
        need = list(self._needs[pipe])
        for access in step.accesses:
            for atom in self._atoms.of(access.where):
                for other, wrote in self._touched.get(atom, ()):
                    if wrote or access.writes:
                        need = [max(pair) for pair in zip(need, other, strict=True)]
        for other in range(len(PIPES)):
            known = self._clocks.knows(pipe, other)
            if other != pipe and known > need[other]:
                self._report(other, need[other], known, point)
        need[pipe] = now
        self._needs[pipe] = need
        self._points[pipe][now] = point
        for access in step.accesses:
            for atom in self._atoms.of(access.where):
                held = self._touched.setdefault(atom, [])
                if access.writes:
                    held.clear()
                held.append((need, access.writes))
        self._clocks.done(pipe)

    def _report(self, other: int, need: int, known: int, point: Point) -> None:
        """The latest op of pipe `other` up to step `known`, if it is behind what is needed."""
        for when in range(known, need, -1):
            first = self._points[other].get(when)
            if first is not None:
                self._found.setdefault((first.site.key, point.site.key), []).append((first, point))
                return
