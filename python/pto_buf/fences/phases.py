"""The phases of a lease: in which order which pipes touch it, and where the program does so.

A phase is either the writes of one pipe or the reads of several pipes between two writes; each pipe of one phase
hands the slot on to each pipe of the next. A *piece* is one place where one pipe has one phase of some lease: the pipe
takes the slot over before it and hands it on behind it, once for each lease.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pto_buf.fences.components import Component
from pto_buf.fences.tree import Site, Span, Tree, common_block, span_in
from pto_buf.hw import Pipe
from pto_buf.slots.flow import Flow, SiteKey
from pto_buf.slots.program import Loop, While
from pto_buf.slots.terms import Apply, Opaque, Select, Term, Var

Signature = tuple[tuple[Pipe, ...], ...]
"""The pipes of each phase."""


class Pass(StrEnum):
    """Where a pipe takes over and hands on without work: before the span's first item, or behind its last one."""

    BEFORE = "before"
    BEHIND = "behind"


@dataclass(frozen=True)
class Piece:
    """Phase `phase` of `pipe` at `span`; the slot index of `lane` names the slot there.

    With `way`, the pipe has no work there and only passes the slot on.
    """

    phase: int
    pipe: Pipe
    span: Span
    lane: Site
    way: Pass | None = None


@dataclass(frozen=True)
class Closing:
    """Behind loop `loop`, leases that no trip has read are closed: the trips that would have read them run, without
    their work. `lag` such trips follow the last one, or (`to_lag`) those up to number `lag` that have not been run.
    """

    loop: int
    lag: int
    to_lag: bool


@dataclass(frozen=True)
class Shape:
    """How the leases of one component pass through the pipes."""

    signature: Signature
    pieces: tuple[Piece, ...]
    phase: Mapping[SiteKey, int]
    closing: Closing | None = None
    opening: int = 0
    """The phase that opens a lease."""


@dataclass(frozen=True)
class Irregular:
    """Why the accesses of a component do not fall into phases."""

    reason: str


def contained_shape(component: Component) -> Shape | Irregular:
    """The phases where one execution of the frame holds one lease: items of the frame, one phase behind the other."""
    runs = _runs(component.sites)
    lane = _lane_site(component)
    pieces: list[list[Piece]] = []
    for number, run in enumerate(runs):
        found = [
            (pipe, span_in(component.frame, [site for site in run if pipe in site.op.pipes])) for pipe in _pipes(run)
        ]
        pieces.append([Piece(number, pipe, span, lane) for pipe, span in found])
    for before, after in itertools.pairwise(pieces):
        for left, right in itertools.product(before, after):
            if left.pipe is not right.pipe and left.span.last >= right.span.first:
                return Irregular(f"{left.pipe} and {right.pipe} take turns inside one loop or branch")
    return _shape(runs, [piece for of_phase in pieces for piece in of_phase])


def carried_shapes(component: Component, tree: Tree, flow: Flow) -> Iterator[Shape]:
    """Shapes to try where a loop inside the frame carries leases from trip to trip, the most parallel ones first.

    Each lease is opened at one piece of the first phase and taken over once at a piece of each later phase. Which of
    the shapes keeps that promise has to be tried out.
    """
    carriers = {
        origin.carried_by
        for site in component.sites
        for origin in flow.origins[site.key]
        if origin.carried_by is not None
        and origin.carried_by not in tree.loops_around(tree.blocks[component.frame].path)
    }
    if len(carriers) != 1:
        return
    (carrier,) = carriers
    body = next((b.key for b in tree.blocks if isinstance(b.owner, Loop) and b.owner.key == carrier), None)
    if body is None:
        return
    ordered = sorted(component.sites, key=lambda site: (_is_carried(site, carrier, flow), site.key))
    runs = _runs(ordered)
    lanes = component.sites[0].access.slots.count
    for deep in (False, True):
        pieces = [
            piece for number, run in enumerate(runs) for piece in _pieces(number, run, component.frame, body, deep)
        ]
        shape = _shape(runs, pieces)
        yield shape
        for lag in range(1, lanes + 1):
            for to_lag in (False, True):
                yield Shape(shape.signature, shape.pieces, shape.phase, Closing(carrier, lag, to_lag))


def _is_carried(site: Site, carrier: int, flow: Flow) -> bool:
    return any(origin.carried_by == carrier for origin in flow.origins[site.key])


def _pieces(number: int, run: Sequence[Site], frame: int, body: int, deep: bool) -> Iterator[Piece]:
    """One piece for each slot index and pipe, in the loop's body and outside of it.

    The first phase stands where its write does, since only a write that runs opens a lease; a later one stands
    in the body itself (so that every trip hands on), or, if `deep`, where its accesses do.
    """
    groups: dict[tuple[bool, object, Pipe], list[Site]] = {}
    for site in run:
        inside = any(step.block == body for step in site.path)
        for pipe in site.op.pipes:
            groups.setdefault((inside, site.access.term, pipe), []).append(site)
    for (inside, _, pipe), sites in groups.items():
        block = common_block([site.path for site in sites])
        if inside and number > 0 and not deep:
            block = body
        yield Piece(number, pipe, span_in(block, sites), sites[0])


def _runs(sites: Sequence[Site]) -> list[list[Site]]:
    """Cuts the accesses where a write follows another pipe's access, and where a read follows a write."""
    runs: list[list[Site]] = []
    writing = False
    by_op: dict[int, list[Site]] = {}
    for site in sites:
        by_op.setdefault(site.op.key, []).append(site)
    for of_op in by_op.values():
        writes = any(site.access.role.writes for site in of_op)
        same_pipes = bool(runs) and runs[-1][0].op.pipes == of_op[0].op.pipes
        if runs and writes == writing and (not writes or same_pipes):
            runs[-1].extend(of_op)
        else:
            runs.append(list(of_op))
        writing = writes
    return runs


def _pipes(run: Sequence[Site]) -> tuple[Pipe, ...]:
    found = {pipe for site in run for pipe in site.op.pipes}
    return tuple(pipe for pipe in Pipe if pipe in found)


def _shape(runs: Sequence[Sequence[Site]], pieces: Sequence[Piece]) -> Shape:
    phase = {site.key: number for number, run in enumerate(runs) for site in run}
    return Shape(tuple(_pipes(run) for run in runs), tuple(pieces), phase)


def lane_is_known(piece: Piece, tree: Tree) -> bool:
    """Whether the slot index at the piece depends on nothing that changes within its span."""
    depth = next(depth for depth, step in enumerate(piece.lane.path) if step.block == piece.span.block)
    inner = [tree.node(step) for step in piece.lane.path[depth:-1]]
    if not inner:
        return True
    changing = {node.var.key for node in inner if isinstance(node, Loop | While)}
    changing |= {carried.var.key for node in inner if isinstance(node, Loop) for carried in node.carried}
    return not any(isinstance(leaf, Opaque) or leaf.key in changing for leaf in _leaves(piece.lane.access.term))


def _leaves(term: Term) -> Iterator[Var | Opaque]:
    match term:
        case Var() | Opaque():
            yield term
        case Apply():
            yield from _leaves(term.left)
            yield from _leaves(term.right)
        case Select():
            for part in (term.condition, term.if_true, term.if_false):
                yield from _leaves(part)
        case _:
            pass


def _lane_site(component: Component) -> Site:
    """The first access that stands directly in the frame, where its index is at hand; else the first of all."""
    for site in component.sites:
        if site.path[-1].block == component.frame:
            return site
    return component.sites[0]
