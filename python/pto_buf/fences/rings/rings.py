"""Events around the leases of one pool: what each phase hands to the next, and the last back to the first.

Every lane begins and ends FREE: its ring holds one token from each pipe of the last phase to each pipe of the first.
A lease takes these tokens, hands READY tokens from phase to phase, and puts the FREE ones back. A ring that does not
come round has no FREE tokens: something else orders what follows behind what went before.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from pto_buf.fences.phases import Closing, Early, Half, Pass, Piece, Shape, Signature
from pto_buf.fences.tree import Site, Span, Tree, last_key
from pto_buf.hw import Pipe
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.terms import Const


class Hand(StrEnum):
    READY = "ready"
    FREE = "free"


class RingEvent(NamedTuple):
    """Flags from pipe `src` to pipe `dst`, one for each lane; from the ring's phase `phase` to the next one."""

    src: Pipe
    dst: Pipe
    hand: Hand
    phase: int


@dataclass(frozen=True)
class Ring:
    signature: Signature
    events: tuple[RingEvent, ...]

    def completes(self, src: tuple[int, Pipe], dst: tuple[int, Pipe], same_lease: bool) -> bool:
        """Whether tokens carry the completion of an access in phase and pipe `src` to one in `dst`.

        In one lease only READY tokens count; from a lease to a later one the way leads over FREE.
        """
        first, pipe = src
        goal = dst[0] if same_lease else dst[0] + len(self.signature)
        told: set[Pipe] = set()
        for at in range(first, goal):
            here = at % len(self.signature)
            told |= {event.dst for event in self.events if event.phase == here and event.src in (pipe, *told)}
        return dst[1] in told


def ring_of(signature: Signature, *, around: bool = True) -> Ring:
    """The events of one ring, which comes round unless told otherwise. One phase alone has none."""
    events: list[RingEvent] = []
    if len(signature) > 1:
        for index, pipes in enumerate(signature):
            last = index == len(signature) - 1
            if last and not around:
                break
            hand = Hand.FREE if last else Hand.READY
            events += [
                RingEvent(src, dst, hand, index)
                for src in pipes
                for dst in signature[0 if last else index + 1]
                if src is not dst
            ]
    return Ring(signature, tuple(events))


@dataclass(frozen=True)
class Placed:
    """A ring of `lanes` lanes with the shapes of all leases that it orders. Slot k uses lane k modulo `lanes`."""

    ring: Ring
    shapes: tuple[Shape, ...]
    lanes: int
    of_leases: bool = False
    """Whether each round is a whole lease, so that what opens one never follows in the same round."""

    @cached_property
    def phase(self) -> Mapping[SiteKey, int]:
        """The phase of each access that the ring orders."""
        return {key: number for shape in self.shapes for key, number in shape.phase.items()}

    @cached_property
    def _shape(self) -> Mapping[SiteKey, Shape]:
        return {key: shape for shape in self.shapes for key in shape.phase}

    def proves(self, earlier: Site, later: Site, carried: tuple[int, ...], opens: bool) -> bool:
        """Whether its tokens tell each pipe that runs both accesses that the earlier one is complete.

        `carried`: the loops whose back edge lies between. `opens`: the later one opens a lease, whatever came before.
        """
        first, second = self._shape.get(earlier.key), self._shape.get(later.key)
        if first is None or second is None:
            return False
        start, goal = first.phase[earlier.key], second.phase[later.key]
        same_lease = first is second and not opens and not any(loop in first.around for loop in carried)
        if same_lease and first.carried:
            same_lease = start < goal if carried else start <= goal
        pipes = [pipe for pipe in earlier.op.pipes if pipe in later.op.pipes]
        return all(self.ring.completes((start, pipe), (goal, pipe), same_lease) for pipe in pipes)


class Do(StrEnum):
    SET = "set"
    PRIME = "prime"
    WAIT = "wait"
    DRAIN = "drain"


class Use(NamedTuple):
    """One set or wait of an event by phase `phase`: before or behind the node with the key `anchor`.

    With a closing: once for each trip that the closing runs behind the loop, on the lane of that trip.
    """

    event: RingEvent
    do: Do
    phase: int
    anchor: int
    behind: bool
    lane: Site | int
    closing: Closing | None = None
    way: Pass | None = None
    """Where a pass stands; its set and wait are both there."""
    direct: bool = False
    """Whether it stands directly in the block in which the ring begins and ends."""
    order: tuple[int, ...] = ()
    """Where it stands in the program, compared with the other uses."""
    early: Early | None = None
    """A wait is only in these trips of the loop, a set behind its closing."""


@dataclass(frozen=True)
class Ends:
    """Where a ring begins and ends: before the node with the key `first`, behind the one with the key `last`.

    These are the first and the last node of the home block: further inside, a prime would come behind what its pipe
    does before, and what a pipe does behind a drain would wait for the ring's last lease.
    """

    first: int
    last: int

    @staticmethod
    def of(home: Span, tree: Tree) -> "Ends":
        """`home`: the items around all accesses of the ring."""
        block = tree.blocks[home.block]
        return Ends(block.first, block.last)


def uses_of(placed: Placed, home: Span, tree: Tree, *, keep_idle: bool = False) -> list[Use]:
    """All sets and waits of a ring, in program order for each event. `home`: the items around all of its accesses.

    Tokens that order nothing are left out unless `keep_idle`.
    """
    return with_ends(inner_uses(placed, home, tree), placed.lanes, Ends.of(home, tree), keep_idle=keep_idle)


def inner_uses(placed: Placed, home: Span, tree: Tree) -> dict[RingEvent, list[Use]]:
    """The sets and waits of each event, in program order, but for primes and drains."""
    ring, lanes = placed.ring, placed.lanes
    inner: dict[RingEvent, list[Use]] = {event: [] for event in ring.events}
    if not inner:
        return inner
    puts, takes = _by_phase(placed, Half.ENTER), _by_phase(placed, Half.LEAVE)
    for event, found in inner.items():
        found += [_use(event, Do.SET, put, lanes, home, tree) for put in puts.get((event.phase, event.src), ())]
        for take in takes.get(((event.phase + 1) % len(ring.signature), event.dst), ()):
            found.append(_use(event, Do.WAIT, take, lanes, home, tree))
            if take.early is not None:
                found.append(_late_use(event, take, take.early.closing, lanes, tree))
    for shape in placed.shapes:
        for use in _closing_uses(ring, shape, lanes, tree):
            inner[use.event].append(use)
    for found in inner.values():
        found.sort(key=lambda use: use.order)
    return inner


def with_ends(
    inner: Mapping[RingEvent, Sequence[Use]], lanes: int, ends: Ends, *, keep_idle: bool = False
) -> list[Use]:
    """The uses of all events, with the primes before and the drains behind those of FREE events."""
    uses: list[Use] = []
    for event, found in inner.items():
        uses += found if event.hand is Hand.READY else _with_ends(event, found, lanes, ends, keep_idle)
    return uses


def _by_phase(placed: Placed, without: Half) -> dict[tuple[int, Pipe], list[Piece]]:
    found: dict[tuple[int, Pipe], list[Piece]] = {}
    for shape in placed.shapes:
        for piece in shape.pieces:
            if piece.half is not without:
                found.setdefault((piece.phase, piece.pipe), []).append(piece)
    return found


def _with_ends(event: RingEvent, inner: Sequence[Use], lanes: int, ends: Ends, keep_idle: bool) -> Iterator[Use]:
    reached = range(lanes) if any(isinstance(use.lane, Site) for use in inner) else sorted({*_lanes_of(inner)})
    taken = {} if keep_idle else _settled(inner, Do.WAIT)
    kept = {} if keep_idle else _settled(list(reversed(inner)), Do.SET)
    idle = {id(use) for use in (*taken.values(), *kept.values())}
    for lane in reached:
        if lane not in taken:
            yield Use(event, Do.PRIME, event.phase, ends.first, False, lane, direct=True)
    yield from (use for use in inner if id(use) not in idle)
    for lane in reached:
        if lane not in kept:
            yield Use(event, Do.DRAIN, 0, ends.last, True, lane, direct=True)


def _closing_uses(ring: Ring, shape: Shape, lanes: int, tree: Tree) -> Iterator[Use]:
    """What a trip that reads a lease does but for its work: each phase behind the first takes over and hands on."""
    closing = shape.closing
    if closing is None:
        return
    bodies = tree.inner[closing.loop]
    inside = [
        piece
        for piece in shape.pieces
        if piece.phase > shape.opening
        and piece.trails
        and any(_within(piece.span.block, body, tree) for body in bodies)
    ]
    behind = tree.blocks[bodies[0]].path[-1]
    at = last_key(tree.node(behind))
    for piece in sorted(inside, key=lambda piece: piece.phase):
        lane = constant_lane(piece.lane, lanes)
        for event in ring.events:
            if event.dst is piece.pipe and event.phase == piece.phase - 1 and piece.half is not Half.LEAVE:
                yield Use(event, Do.WAIT, piece.phase, closing.loop, True, lane, closing, order=(at, 2, piece.phase, 0))
        for event in ring.events:
            if event.src is piece.pipe and event.phase == piece.phase and piece.half is not Half.ENTER:
                yield Use(event, Do.SET, piece.phase, closing.loop, True, lane, closing, order=(at, 2, piece.phase, 1))


def _late_use(event: RingEvent, piece: Piece, closing: Closing, lanes: int, tree: Tree) -> Use:
    """Takes over behind a loop what its first trips did not, since they were too few."""
    (body,) = tree.inner[closing.loop]
    at = last_key(tree.node(tree.blocks[body].path[-1]))
    lane = constant_lane(piece.lane, lanes)
    return Use(event, Do.WAIT, piece.phase, closing.loop, True, lane, closing, order=(at, 2, piece.phase, 0))


def _within(block: int, outer: int, tree: Tree) -> bool:
    return block == outer or any(step.block == outer for step in tree.blocks[block].path)


def _use(event: RingEvent, do: Do, piece: Piece, lanes: int, home: Span, tree: Tree) -> Use:
    first = do is Do.WAIT if piece.way is None else piece.way is Pass.BEFORE
    span, phase, way = piece.span, piece.phase, piece.way
    node = tree.blocks[span.block].nodes[span.first if first else span.last]
    lane = constant_lane(piece.lane, lanes)
    if first:
        order = (node.key, -2 if way is not None else -1, phase, int(do is Do.SET))
    else:
        rank = 1 if way is not None else 0 if piece.early is None else 3
        order = (last_key(node), rank, phase, int(do is Do.SET))
    return Use(event, do, phase, node.key, not first, lane, None, way, span.block == home.block, order, piece.early)


def pass_order(use: Use) -> tuple[int, bool]:
    """The order of the uses of passes and closings in one place: a phase takes over, then hands on."""
    return use.phase, use.do is Do.SET


def constant_lane(lane: Site | int, lanes: int) -> Site | int:
    """The lane where it is known: a constant slot's, or the only one."""
    if isinstance(lane, int) or lanes == 1:
        return 0 if lanes == 1 else lane
    term = lane.access.term
    return term.value % lanes if isinstance(term, Const) else lane


def _lanes_of(uses: Sequence[Use]) -> Iterator[int]:
    """The constant lanes among these uses."""
    return (use.lane for use in uses if isinstance(use.lane, int))


def _settled(uses: Sequence[Use], do: Do) -> dict[int, Use]:
    """For each lane, its first use in this order, if that is `do` and nothing before it may be on the lane.

    Such a FREE token orders nothing: it is taken by the lane's first lease, or put back by its last one. Only where
    the lease stands directly in the home block, outside every loop and branch, on a constant lane.
    """
    found: dict[int, Use] = {}
    seen: set[int] = set()
    for use in uses:
        if not use.direct or not isinstance(use.lane, int):
            break
        if use.lane not in seen and use.do is do:
            found[use.lane] = use
        seen.add(use.lane)
    return found
