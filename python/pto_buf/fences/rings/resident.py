"""Shapes of leases that stay for one execution of the frame, where loops come by each of them again and again.

A pipe takes a lease over before all loops that its index does not depend on, and hands it on behind them. Where all
trips of a loop together come by each lease again and again, it takes each over in the first trip that reads it: where
there are N slots, in one of the first N trips. What it has taken over it then hands on behind the last trip.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from pto_buf.fences.phases import Closing, Early, Half, Piece, Shape, lane_is_known, pipes_of
from pto_buf.fences.rings.carried import Part, passes_of, runs_of
from pto_buf.fences.rings.components import Component
from pto_buf.fences.rings.traces import traces
from pto_buf.fences.rings.trips import Trips
from pto_buf.fences.tree import Site, Span, Tree, common_block, item_in, span_in
from pto_buf.hw import Pipe
from pto_buf.slots.flow import Flow
from pto_buf.slots.program import Loop, While
from pto_buf.slots.terms import Const, Term


def resident_shapes(component: Component, tree: Tree, flow: Flow, lanes: int) -> Iterator[Shape]:
    """Shapes to try, if each slot has one lease in the frame."""
    if component.carried:
        return
    runs = runs_of(component.sites, ())
    signature = tuple(pipes_of(run) for run in runs)
    phase = {site.key: number for number, run in enumerate(runs) for site in run}
    around = tree.blocks[component.frame].loops
    finder = _Finder(component.frame, tree, lanes)
    groups = [(number, pipe, _by_index(run, pipe)) for number, run in enumerate(runs) for pipe in signature[number]]
    parts = finder.parts(groups)
    if parts is not None:
        passes = passes_of(parts, runs, traces(tree, component.sites, flow).whole)
        yield Shape(signature, (*(part.piece for part in parts), *passes), phase, around)
    pieces = finder.pieces(groups)
    if pieces is not None:
        yield Shape(signature, tuple(pieces), phase, around)


_Groups = Sequence[tuple[int, Pipe, Sequence[Sequence[Site]]]]
"""For each phase and pipe, the accesses of each index."""


def _by_index(run: Sequence[Site], pipe: Pipe) -> Sequence[Sequence[Site]]:
    terms: dict[Term, list[Site]] = {}
    for site in run:
        if pipe in site.op.pipes:
            terms.setdefault(site.access.term, []).append(site)
    return list(terms.values())


class _Reads(NamedTuple):
    """What a pipe does in one phase at one index; with `early`, the loop names slots by its counter."""

    sites: Sequence[Site]
    early: Early | None


class _Finder:
    def __init__(self, frame: int, tree: Tree, lanes: int):
        self.frame = frame
        self.tree = tree
        self.lanes = lanes

    def parts(self, groups: _Groups) -> Sequence[Part] | None:
        """One piece for each index. None if there is no place for it."""
        found: list[Part] = []
        for number, pipe, of_index in groups:
            for sites in of_index:
                span = self._opening(sites) if number == 0 else self._outermost(sites)
                if span is None:
                    return None
                found.append(Part(Piece(number, pipe, span, sites[0]), frozenset(site.key for site in sites), False))
        return found

    def pieces(self, groups: _Groups) -> Sequence[Piece] | None:
        """Pieces of first trips, where a loop names slots by its counter; None if none does."""
        found: list[Piece] = []
        for number, pipe, of_index in groups:
            spans = [self._opening(sites) if number == 0 else self._in_frame(sites) for sites in of_index]
            known = [Piece(number, pipe, span, sites[0]) for span, sites in zip(spans, of_index, strict=True) if span]
            if len(known) == len(spans):
                found += known
                continue
            early = [None if span else self._early(sites) for span, sites in zip(spans, of_index, strict=True)]
            if number == 0 or any(not span and not one for span, one in zip(spans, early, strict=True)):
                return None
            reads = [_Reads(sites, one) for sites, one in zip(of_index, early, strict=True)]
            found += self._passing_through(number, pipe, reads)
        return found if any(piece.early is not None for piece in found) else None

    def _opening(self, sites: Sequence[Site]) -> Span | None:
        """Where these accesses stand: only one that runs opens a lease."""
        span = span_in(common_block([site.path for site in sites]), sites)
        return span if lane_is_known(sites[0], span, self.tree) else None

    def _in_frame(self, sites: Sequence[Site]) -> Span | None:
        span = span_in(self.frame, sites)
        return span if lane_is_known(sites[0], span, self.tree) else None

    def _outermost(self, sites: Sequence[Site]) -> Span | None:
        """The outermost place within the frame where the index of these accesses is one number."""
        depth = next(depth for depth, step in enumerate(sites[0].path) if step.block == self.frame)
        for step in sites[0].path[depth:]:
            if any(item_in(site.path, step.block) is None for site in sites):
                return None
            span = span_in(step.block, sites)
            if lane_is_known(sites[0], span, self.tree):
                return span
        return None

    def _passing_through(self, number: int, pipe: Pipe, reads: Sequence[_Reads]) -> Iterator[Piece]:
        """It takes over at the first place, for whatever indices, and hands on at the last one."""
        places = [list(place) for _, place in groupby(reads, key=lambda one: one.early)]
        for one in places[0]:
            block = self.frame if one.early is None else self.tree.inner[one.early.trips.loop][0]
            yield Piece(number, pipe, span_in(block, one.sites), one.sites[0], half=Half.ENTER, early=one.early)
        for one in places[-1]:
            for lane in one.sites[:1] if one.early is None else range(self.lanes):
                yield Piece(number, pipe, span_in(self.frame, one.sites), lane, half=Half.LEAVE, early=one.early)

    def _early(self, sites: Sequence[Site]) -> Early | None:
        """The first trips of the loop in the frame by whose counter these accesses name their slot."""
        depth = next(depth for depth, step in enumerate(sites[0].path) if step.block == self.frame)
        around = [self.tree.node(step) for step in sites[0].path[depth:-1]]
        loop = next((node for node in around if isinstance(node, Loop | While)), None)
        if not (isinstance(loop, Loop) and isinstance(loop.lower, Const) and loop.step == Const(1)):
            return None  # of larger steps, no proof is found for what the loop leaves over
        (body,) = self.tree.inner[loop.key]
        inside = all(item_in(site.path, body) is not None for site in sites)
        if not inside or not lane_is_known(sites[0], span_in(body, sites), self.tree):
            return None
        trips = Trips(loop.key, loop.var, loop.lower.value + self.lanes, below=True)
        return Early(trips, Closing(loop.key, self.lanes, to_lag=True))
