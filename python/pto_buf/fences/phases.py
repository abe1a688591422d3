"""The phases of a lease: in which order which pipes touch it, and where the program does so.

A phase is either the writes of one pipe, the reads of several pipes between two writes, or a region in which several
pipes take turns; each pipe of one phase hands the slot on to each pipe of the next. A *piece* is one place where one
pipe has one phase of some lease: the pipe takes the slot over before it and hands it on behind it, once for each lease.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from pto_buf.fences.rings.trips import Trips
from pto_buf.fences.tree import Site, Span, Tree
from pto_buf.hw import Pipe
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.program import Loop, While
from pto_buf.slots.terms import Opaque, leaves

Signature = tuple[tuple[Pipe, ...], ...]
"""The pipes of each phase."""


class Pass(StrEnum):
    """Where a pipe takes over and hands on without work: before the span's first item, or behind its last one."""

    BEFORE = "before"
    BEHIND = "behind"


class Half(StrEnum):
    """What of its phase a pipe does at a piece: take over and hand on, or only one of them."""

    BOTH = "both"
    ENTER = "enter"
    LEAVE = "leave"


@dataclass(frozen=True)
class Closing:
    """Behind loop `loop`, leases that no trip has read are closed: the trips that would have read them run, without
    their work. `lag` such trips follow the last one, or (`to_lag`) those up to number `lag` that have not been run.
    With `if_run` there are none where the loop runs no trip.
    """

    loop: int
    lag: int
    to_lag: bool
    if_run: bool = False


@dataclass(frozen=True)
class Early:
    """A loop reads each lease in many trips, but all of them in its first trips.

    Only these take over; those of them that have not been run do so behind the loop, in `closing`, and then all that
    was taken over is handed on.
    """

    trips: Trips
    closing: Closing


class Piece(NamedTuple):
    """Phase `phase` of `pipe` at `span`, on lane `lane` or the one of the slot that the index of a site names.

    With `way`, the pipe has no work there and only passes the slot on. `trails`: some leases do not get there before
    their loop ends, so that a closing has to do it.
    """

    phase: int
    pipe: Pipe
    span: Span
    lane: Site | int
    way: Pass | None = None
    half: Half = Half.BOTH
    trails: bool = True
    early: Early | None = None
    """Of which loop's first trips it is, if it enters in them, or leaves behind the loop."""


@dataclass(frozen=True)
class Shape:
    """How leases pass through the pipes."""

    signature: Signature
    pieces: tuple[Piece, ...]
    phase: Mapping[SiteKey, int]
    around: tuple[int, ...] = ()
    """The loops around the block of which one execution holds whole leases."""
    carried: bool = False
    """Whether a loop in that block carries leases from trip to trip."""
    closing: Closing | None = None
    opening: int = 0
    """The phase that opens a lease."""


def pipes_of(sites: Sequence[Site]) -> tuple[Pipe, ...]:
    """The pipes that run these accesses, each once, in the order of their names' definition."""
    if len(sites) == 1 and len(sites[0].op.pipes) == 1:
        return sites[0].op.pipes  # as most often
    found = {pipe for site in sites for pipe in site.op.pipes}
    return tuple(pipe for pipe in Pipe if pipe in found)


def lane_is_known(lane: Site | int, span: Span, tree: Tree) -> bool:
    """Whether the slot index of a site depends on nothing that changes within the span, which the site is in."""
    if isinstance(lane, int) or lane.path[-1].block == span.block:
        return True
    depth = next((depth for depth, step in enumerate(lane.path) if step.block == span.block), None)
    if depth is None:
        return False
    inner = [tree.node(step) for step in lane.path[depth:-1]]
    if not inner:
        return True
    changing = {node.var.key for node in inner if isinstance(node, Loop | While)}
    changing |= {carried.var.key for node in inner if isinstance(node, Loop | While) for carried in node.carried}
    loops = {node.key for node in inner if isinstance(node, Loop | While)}
    return not any(
        leaf.loop in loops if isinstance(leaf, Opaque) else leaf.key in changing for leaf in leaves(lane.access.term)
    )
