"""Which sets and waits a run could do without: they tell their pipe nothing that it does not get to know anyway.

A set and its wait are an edge between two *points*: what the source has done and waited for, and the spot of the
destination up to its next operation or set. Where other edges lead from the same point, or a later one of the source,
to the same spot or an earlier one of the destination, the edge adds nothing. All such edges can go together, since the
longest ways between two points are made of edges that stay; of several edges between the same two points one stays.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pto_buf.fences.actions import PlannedEvent
from pto_buf.fences.layout import Layout, Mark
from pto_buf.fences.tree import Site
from pto_buf.fences.trials.replay import Replay
from pto_buf.hw import Pipe
from pto_buf.slots.program import Op

_Clock = dict[Pipe, int]
_Point = tuple[Pipe, int]
"""A pipe, and how much it has done."""


class _Token(NamedTuple):
    by: int
    """The number of the set."""
    point: _Point
    clock: Mapping[Pipe, int]
    """What the source knew."""
    at: int
    """How many nodes came before it."""


class _Edge(NamedTuple):
    waited: int
    """The number of the wait."""
    at: int
    """How many nodes came before it."""
    token: _Token


class Trial(Replay):
    """One run. `pairs`: which sets met which waits, and how many nodes came between them at most.

    `needed`: sets that tell something that no other edge tells, and barriers whose pipe is not told otherwise that all
    it did is over. `rivals`: for each spot, sets from the same point of which one has to stay. What is marked as
    implied is not there.
    """

    def __init__(self, events: Sequence[PlannedEvent], laid_out: Layout, unknown: Iterator[int]):
        super().__init__(events, laid_out, unknown)
        self.pairs: dict[tuple[int, int], int] = {}
        self.needed: dict[int, None] = {}
        self.rivals: dict[tuple[int, ...], None] = {}
        self._done: _Clock = dict.fromkeys(Pipe, 0)
        self._known: dict[Pipe, _Clock] = {pipe: {} for pipe in Pipe}
        self._tokens: dict[tuple[int, int], _Token] = {}
        self._spot: dict[Pipe, list[_Edge]] = {pipe: [] for pipe in Pipe}
        """The waits of each pipe since its last operation or set."""
        self._barriers: dict[Pipe, list[int]] = {}
        """The barriers of each pipe since its last operation."""
        self._last: _Clock = dict.fromkeys(Pipe, 0)
        """How much each pipe had done behind its last operation."""

    def end(self) -> None:
        """Called behind the run: the last barrier tells every pipe everything, and what was set stays set."""
        for token in self._tokens.values():
            self.needed[token.by] = None
        for edges in self._spot.values():
            for edge in edges:
                self._meet(edge)

    def op(self, op: Op, accesses: Sequence[tuple[Site, int]]) -> None:
        for pipe in op.pipes:
            self._close(pipe)
            barriers = self._barriers.pop(pipe, ())
            if barriers and self._known[pipe].get(pipe, 0) < self._last[pipe]:
                self.needed.update(dict.fromkeys(barriers))
            self._done[pipe] += 1
            self._last[pipe] = self._done[pipe]

    def mark(self, mark: Mark) -> None:
        number, action = mark.number, mark.action
        if action.implied:
            return
        if action.pipe is not None:
            self._barriers.setdefault(action.pipe, []).append(number)
            return
        key = self.token(action)
        event = self.events[key[0]]
        if action.waits:
            token = self._tokens.pop(key, None)
            if token is not None:
                self._spot[event.dst].append(_Edge(number, self.steps, token))
            if event.dst is Pipe.S:  # it issues everything, so all that follows comes behind its waits
                self._close(Pipe.S)
        else:
            src = event.src
            self._close(src)
            self._tokens[key] = _Token(number, (src, self._done[src]), self._known[src].copy(), self.steps)

    def _meet(self, edge: _Edge) -> None:
        pair = edge.token.by, edge.waited
        self.pairs[pair] = max(self.pairs.get(pair, 0), edge.at - edge.token.at)

    def _close(self, pipe: Pipe) -> None:
        """Ends a spot: the pipe now knows what its waits tell."""
        edges = self._spot[pipe]
        if not edges:
            return
        self._spot[pipe] = []
        known = self._known[pipe]
        points: dict[_Point, dict[int, None]] = {}
        clocks: dict[_Point, Mapping[Pipe, int]] = {}
        for edge in edges:
            self._meet(edge)
            points.setdefault(edge.token.point, {})[edge.token.by] = None
            clocks[edge.token.point] = edge.token.clock
        for point, sets in points.items():
            if known.get(point[0], 0) >= point[1] or _told(point, clocks):
                continue
            if len(sets) == 1:
                self.needed.update(sets)
            else:
                self.rivals[tuple(sorted(sets))] = None
        for (src, done), clock in clocks.items():
            for other, number in (*clock.items(), (src, done)):
                if number > known.get(other, 0):
                    known[other] = number
        self._done[pipe] += 1


def _told(point: _Point, clocks: Mapping[_Point, Mapping[Pipe, int]]) -> bool:
    """Whether an edge from another one of these points tells as much. They come with what was known there."""
    src, done = point
    return any(
        (other[1] if other[0] is src else clock.get(src, -1)) >= done
        for other, clock in clocks.items()
        if other != point
    )
