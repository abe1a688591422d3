"""Shapes of leases that loops read again and again, by numbers in one loop and by the counter in another.

A loop that names a slot by its counter takes each lease over in the first trip that reads it: where there are N slots,
in one of its first N trips. What it has taken over it hands on behind its last trip.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from pto_buf.fences.carried import runs_of
from pto_buf.fences.components import Component
from pto_buf.fences.phases import Closing, Early, Half, Piece, Shape, lane_is_known, pipes_of
from pto_buf.fences.tree import Site, Tree, common_block, item_in, span_in
from pto_buf.fences.trips import Trips
from pto_buf.hw import Pipe
from pto_buf.slots.program import Loop, While
from pto_buf.slots.terms import Const, Term


def resident_shapes(component: Component, tree: Tree, lanes: int) -> Iterator[Shape]:
    """The shape to try, if each slot has one lease in the frame, and loops there name slots by their counters."""
    if component.carried:
        return
    runs = runs_of(component.sites, ())
    finder = _Finder(component.frame, tree, lanes)
    pieces: list[Piece] = []
    for number, run in enumerate(runs):
        for pipe in pipes_of(run):
            terms: dict[Term, list[Site]] = {}
            for site in run:
                if pipe in site.op.pipes:
                    terms.setdefault(site.access.term, []).append(site)
            found = finder.pieces(number, pipe, list(terms.values()))
            if found is None:
                return
            pieces += found
    if any(piece.early is not None for piece in pieces):
        phase = {site.key: number for number, run in enumerate(runs) for site in run}
        around = tree.loops_around(tree.blocks[component.frame].path)
        yield Shape(tuple(pipes_of(run) for run in runs), tuple(pieces), phase, around)


class _Reads(NamedTuple):
    """What a pipe does in one phase at one index; with `early`, the loop names slots by its counter."""

    sites: Sequence[Site]
    early: Early | None


class _Finder:
    def __init__(self, frame: int, tree: Tree, lanes: int):
        self.frame = frame
        self.tree = tree
        self.lanes = lanes

    def pieces(self, number: int, pipe: Pipe, groups: Sequence[Sequence[Site]]) -> Sequence[Piece] | None:
        """What one pipe does in one phase, whose accesses are grouped by their index. None if that is not known."""
        if number == 0:
            spans = [span_in(common_block([site.path for site in sites]), sites) for sites in groups]
            found = [Piece(number, pipe, span, sites[0]) for span, sites in zip(spans, groups, strict=True)]
            return found if all(lane_is_known(piece.lane, piece.span, self.tree) for piece in found) else None
        reads: list[_Reads] = []
        for sites in groups:
            known = lane_is_known(sites[0], span_in(self.frame, sites), self.tree)
            early = None if known else self._early(sites)
            if not known and early is None:
                return None
            reads.append(_Reads(sites, early))
        return list(self._passing_through(number, pipe, reads))

    def _passing_through(self, number: int, pipe: Pipe, reads: Sequence[_Reads]) -> Iterator[Piece]:
        """It takes over at the first place, for whatever indices, and hands on at the last one."""
        places = [list(place) for _, place in groupby(reads, key=lambda one: one.early)]
        if len(places) == 1 and reads[0].early is None:
            for one in reads:
                yield Piece(number, pipe, span_in(self.frame, one.sites), one.sites[0])
            return
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
        if not (isinstance(loop, Loop) and isinstance(loop.lower, Const) and isinstance(loop.step, Const)):
            return None
        (body,) = self.tree.inner[loop.key]
        inside = all(item_in(site.path, body) is not None for site in sites)
        if not inside or not lane_is_known(sites[0], span_in(body, sites), self.tree):
            return None
        trips = Trips(loop.key, loop.var, loop.lower.value + self.lanes * loop.step.value, below=True)
        return Early(trips, Closing(loop.key, self.lanes, to_lag=True))
