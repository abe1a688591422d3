"""Shapes of leases that a loop carries from trip to trip, or that go from one loop to another.

Each lease is opened at one piece of the first phase and taken over once at a piece of each later phase. Which of the
shapes that are thought of here keeps that promise has to be tried out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from pto_buf.fences.lanes import Rotation, period
from pto_buf.fences.phases import Closing, Half, Pass, Piece, Shape, lane_is_known, pipes_of
from pto_buf.fences.rings.components import Component
from pto_buf.fences.rings.traces import Trace, Traces, in_order, traces
from pto_buf.fences.tree import Site, Span, Tree, common_block, span_in
from pto_buf.hw import Pipe
from pto_buf.slots.compare import substituted
from pto_buf.slots.flow import Flow, SiteKey
from pto_buf.slots.program import Loop, While
from pto_buf.slots.simplify import apply
from pto_buf.slots.terms import Const, Fn, Term


class _Group(NamedTuple):
    """What the accesses that one piece covers have in common."""

    inside: int | None
    """The block of the loop that they are in, if they are in it."""
    block: int | None
    term: Term
    pipe: Pipe


def carried_shapes(component: Component, tree: Tree, flow: Flow, others: Sequence[Site] = ()) -> Iterator[Shape]:
    """Shapes to try where a loop inside the frame carries leases, or they go from one loop there to another.

    The most parallel ones come first. Leases may come in from `others`, other accesses.
    """
    around = tree.blocks[component.frame].loops
    found = traces(tree, component.sites, flow, others)
    ordered = in_order(found.whole, component.sites)
    if ordered is None:
        return
    runs = runs_of(ordered, found.whole)
    signature = tuple(pipes_of(run) for run in runs)
    phase = {site.key: number for number, run in enumerate(runs) for site in run}
    for carrier in _carriers(component, around, tree, flow):
        bodies = () if carrier is None else tree.inner[carrier.key]
        even: dict[tuple[Piece, ...], None] = {}
        uneven: dict[tuple[Piece, ...], None] = {}
        passed: dict[tuple[Piece, ...], None] = {}
        for deep, apart in ((False, False), (True, False), (False, True)):
            parts = [
                part
                for number, run in enumerate(runs)
                for part in _parts(number, run, bodies, found.whole, deep=deep, apart=apart)
            ]
            if all(lane_is_known(part.piece.lane, part.piece.span, tree) for part in parts):
                entering = tuple(_entering(span_in(component.frame, component.sites), parts, runs, found))
                if not entering:
                    even[tuple(part.piece for part in parts)] = None
                uneven[(*_uneven(parts, runs, found), *entering)] = None
                passed[(*(part.piece for part in parts), *passes_of(parts, runs, found.whole), *entering)] = None
        for pieces in even | uneven | passed:
            shape = Shape(signature, pieces, phase, around, carried=True)
            yield from _closed(shape, carrier, component.sites[0].access.slots.count)
        if isinstance(carrier, Loop) and len(runs) == 2:
            pieces = _until_next(component, runs, carrier, tree)
            if pieces:
                closing = Closing(carrier.key, 1, to_lag=False)
                yield Shape(signature, pieces, phase, around, carried=True, closing=closing)


def _until_next(component: Component, runs: Sequence[Sequence[Site]], loop: Loop, tree: Tree) -> tuple[Piece, ...]:
    """The pieces of leases that last until the loop opens the next one, however many trips read them; none if there is
    no such shape.

    Where one is opened, readers hand on the one before: the lane of the trip before, which is that of a trip to come,
    since lanes come back. Before the first one they take over that lane as if it had been opened in front of the loop.
    """
    (opens, reads), lane = runs, runs[0][0]
    blocks = {site.path[-1].block for site in opens}
    inside = all(
        tree.node(step) is loop for site in component.sites for step in site.path if step.block == component.frame
    )
    alike = all(site.access.term == lane.access.term for site in component.sites)
    if len(blocks) > 1 or not alike or not inside or not isinstance(loop.lower, Const) or loop.step != Const(1):
        return ()
    trips = period(lane.access.term, Rotation(loop.var, loop.lower.value, 1, (), 0))
    if trips is None:
        return ()
    before = _ahead(lane, loop, trips - 1)
    first = substituted(before.access.term, {loop.var: loop.lower}, loop.key)
    if not isinstance(first, Const):
        return ()
    at, around = span_in(blocks.pop(), opens), span_in(component.frame, component.sites)
    pieces = [Piece(0, pipe, at, lane) for pipe in pipes_of(opens)]
    pieces += [Piece(0, pipe, around, first.value, Pass.BEFORE) for pipe in pipes_of(opens)]
    pieces += [Piece(1, pipe, around, first.value, Pass.BEFORE, Half.ENTER, trails=False) for pipe in pipes_of(reads)]
    pieces += [Piece(1, pipe, at, before, Pass.BEFORE, Half.LEAVE) for pipe in pipes_of(reads)]
    pieces += [Piece(1, pipe, at, lane, Pass.BEHIND, Half.ENTER, trails=False) for pipe in pipes_of(reads)]
    return tuple(pieces)


def _ahead(site: Site, loop: Loop, distance: int) -> Site:
    """The access with the slot index that it has for a counter that much further."""
    there = apply(Fn.ADD, loop.var, Const(distance))
    term = substituted(site.access.term, {loop.var: there}, loop.key)
    return site._replace(access=replace(site.access, term=term), ahead=(loop.key, distance))


def _carriers(component: Component, around: tuple[int, ...], tree: Tree, flow: Flow) -> Sequence[Loop | While | None]:
    """The loops inside the frame that carry leases, inner ones first; or the `while` that, not carrying any, turns over
    slots; or None, if each slot has one lease in the frame, which goes from one loop to another."""
    ways = [origin.carried_by for site in component.sites for origin in flow.origins[site.key]]
    turns = [ended.carried_by for site in component.sites for ended in flow.ends.get(site.key, ())]
    for keys in (ways, turns):
        carriers = {key for key in keys if key is not None and key not in around}
        loops = [block.owner for block in tree.blocks if isinstance(block.owner, Loop | While)]
        inner = {loop.key: loop for loop in reversed(loops) if loop.key in carriers}
        if inner:
            return list(inner.values())
    return () if component.carried else (None,)


def _closed(shape: Shape, carrier: Loop | While | None, slots: int) -> Iterator[Shape]:
    """The shape as it is, then with what closes it behind the loop."""
    yield shape
    if carrier is not None:
        for closing in _closings(carrier, slots):
            yield replace(shape, closing=closing)


def _closings(carrier: Loop | While, slots: int) -> Iterator[Closing]:
    if isinstance(carrier, While):
        yield Closing(carrier.key, 1, to_lag=False)
        return
    for lag in range(1, slots + 1):
        yield from (Closing(carrier.key, lag, to_lag) for to_lag in (False, True))
    for lag in range(1, slots):
        yield Closing(carrier.key, lag, to_lag=False, if_run=True)


class Part(NamedTuple):
    """A piece, the accesses that it covers, and whether they are in the loop that carries leases."""

    piece: Piece
    covers: frozenset[SiteKey]
    inside: bool


def _parts(
    number: int, run: Sequence[Site], bodies: Sequence[int], found: Sequence[Trace], *, deep: bool, apart: bool
) -> Iterator[Part]:
    """Pieces for each slot index and pipe, in the loop's body and outside of it.

    The first phase stands where its write does, since only a write that runs opens a lease: where all writes of one
    index do, or, if `apart`, one piece for those of each block. A later phase stands in the body itself (so that every
    trip hands on), or, if `deep`, where its accesses do. Where a pipe meets a lease of one phase at several indices, it
    takes over at the first and hands on at the last.
    """
    groups: dict[_Group, list[Site]] = {}
    for site in run:
        inside = next((step.block for step in site.path if step.block in bodies), None)
        for pipe in site.op.pipes:
            block = site.path[-1].block if apart and number == 0 else inside
            groups.setdefault(_Group(inside, block, site.access.term, pipe), []).append(site)
    for group, sites in groups.items():
        block = common_block([site.path for site in sites])
        if group.inside is not None and number > 0 and not deep:
            block = group.inside
        half = _half(group, groups, found)
        if half is not None:
            piece = Piece(number, group.pipe, span_in(block, sites), sites[0], half=half)
            yield Part(piece, frozenset(site.key for site in sites), group.inside is not None)


def _half(group: _Group, groups: dict[_Group, list[Site]], found: Sequence[Trace]) -> Half | None:
    """What the pipe does here: by the leases that meet it both here and elsewhere in the phase."""
    mine = {site.key for site in groups[group]}
    others = {
        site.key for other, sites in groups.items() if other != group and other.pipe is group.pipe for site in sites
    }
    first = last = True
    for trace in found:
        here = [at for at, key in enumerate(trace) if key in mine]
        there = [at for at, key in enumerate(trace) if key in others]
        if here and there:
            first = first and here[0] < there[0]
            last = last and here[-1] > there[-1]
    if first and last:
        return Half.BOTH
    return Half.ENTER if first else Half.LEAVE if last else None


def _uneven(parts: Sequence[Part], runs: Sequence[Sequence[Site]], found: Traces) -> tuple[Piece, ...]:
    """The pieces where not all leases meet all of them, as with a window that slides over several slots.

    Leases that are open before the loop come in behind the place where others are taken over: the pipe does that right
    behind what opens them. And only the pieces that the last leases do not get to are there for a closing.
    """
    pieces = [part.piece._replace(trails=_trails(part, parts, found)) for part in parts]
    return (*pieces, *(piece for part in parts if part.piece.phase == 0 for piece in _late(part, parts, runs, found)))


def _trails(part: Part, parts: Sequence[Part], found: Traces) -> bool:
    """Whether a lease that the loop opens may end before it gets here."""
    openers = {key for one in parts if one.inside and one.piece.phase == 0 for key in one.covers}
    return any(
        part.covers.isdisjoint(cut)
        and any(whole[: len(cut)] == cut and not part.covers.isdisjoint(whole) for whole in found.whole)
        for cut in found.cut
        if cut[0] in openers
    )


def _late(opener: Part, parts: Sequence[Part], runs: Sequence[Sequence[Site]], found: Traces) -> Iterator[Piece]:
    """What pipes take over at once of leases that are opened outside of the loop and never come to the usual place."""
    ways = [trace for trace in found.whole if trace[0] in opener.covers]
    if not opener.inside and ways:
        yield from _taken_over(ways, opener.piece._replace(way=Pass.BEHIND), parts, runs)


def _entering(span: Span, parts: Sequence[Part], runs: Sequence[Sequence[Site]], found: Traces) -> Iterator[Piece]:
    """What pipes do before the frame's `span` for leases that come in there: as if they were opened, and for what never
    comes to the usual place."""
    for slot, ways in found.entering.items():
        passes = [Piece(0, pipe, span, slot, Pass.BEFORE, trails=False) for pipe in pipes_of(runs[0])]
        yield from passes
        yield from _taken_over(ways, passes[0], parts, runs)


def _taken_over(
    ways: Sequence[Trace], at: Piece, parts: Sequence[Part], runs: Sequence[Sequence[Site]]
) -> Iterator[Piece]:
    """The passes that there have to be, at one place, of leases that go these ways from there."""
    entered = {(key, one.piece.pipe) for one in parts if one.piece.half is not Half.LEAVE for key in one.covers}
    for number, run in enumerate(runs):
        for pipe in pipes_of(run) if number > 0 else ():
            mine = {site.key for site in run if pipe in site.op.pipes}
            firsts = [next((key for key in way if key in mine), None) for way in ways]
            if not any((first, pipe) in entered for first in firsts):
                half = Half.ENTER if any(firsts) else Half.BOTH
                yield Piece(number, pipe, at.span, at.lane, at.way, half, trails=False)


def passes_of(parts: Sequence[Part], runs: Sequence[Sequence[Site]], found: Sequence[Trace]) -> Iterator[Piece]:
    """What pipes pass on that have no work on some of the leases, in a place that only such leases come to: behind the
    last one up to that phase, or else before the first one behind it."""
    phase = {site.key: number for number, run in enumerate(runs) for site in run}
    passes: dict[Piece, None] = {}
    for number, run in enumerate(runs):
        for pipe in pipes_of(run) if number > 0 else ():
            mine = {site.key for site in run if pipe in site.op.pipes}
            working = {key for trace in found if not mine.isdisjoint(trace) for key in trace}
            hosts = [part for part in parts if part.covers.isdisjoint(working)]
            for trace in found:
                if not mine.isdisjoint(trace):
                    continue
                before = [key for key in trace if phase[key] <= number]
                behind = [key for key in trace if phase[key] > number]
                places = [(key, Pass.BEHIND) for key in before[-1:]] + [(key, Pass.BEFORE) for key in behind[:1]]
                place = next(((host, way) for key, way in places for host in hosts if key in host.covers), None)
                if place is not None:
                    host, way = place
                    passes[Piece(number, pipe, host.piece.span, host.piece.lane, way)] = None
    yield from passes


def runs_of(sites: Sequence[Site], found: Sequence[Trace]) -> list[list[Site]]:
    """Cuts the accesses where a write follows another pipe's access, and where a read follows a write.

    What an op does stays together, but for one that a lease comes by again: only what it does with one slot does.
    """
    again = {op for trace in found for op in _met_again(trace)}
    runs: list[list[Site]] = []
    writing = False
    by_op: dict[tuple[int, Term | None], list[Site]] = {}
    for site in sites:
        by_op.setdefault((site.op.key, site.access.term if site.op.key in again else None), []).append(site)
    for of_op in by_op.values():
        writes = any(site.access.role.writes for site in of_op)
        same_pipes = bool(runs) and runs[-1][0].op.pipes == of_op[0].op.pipes
        if runs and writes == writing and (not writes or same_pipes):
            runs[-1].extend(of_op)
        else:
            runs.append(list(of_op))
        writing = writes
    return runs


def _met_again(trace: Trace) -> Iterator[int]:
    """The ops that a lease comes by again behind another one."""
    ops = [op for op, _ in groupby(key.op for key in trace)]
    return (op for op, times in Counter(ops).items() if times > 1)
