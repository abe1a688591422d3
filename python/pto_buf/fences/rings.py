"""Events around the leases of one slot set: what each phase hands to the next, and the last back to the first.

Every lane begins and ends FREE: its ring holds one token from each pipe of the last phase to each pipe of the first.
A lease takes these tokens, hands READY tokens from phase to phase, and puts the FREE ones back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pto_buf.fences.phases import Closing, Pass, Piece, Shape, Signature
from pto_buf.fences.tree import Site, Span, Tree, last_key
from pto_buf.hw import Pipe
from pto_buf.slots.terms import Const


class Hand(StrEnum):
    READY = "ready"
    FREE = "free"


@dataclass(frozen=True)
class RingEvent:
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


def ring_of(signature: Signature) -> Ring:
    """The events of one ring. One phase alone has none: its pipe keeps its own order."""
    events: list[RingEvent] = []
    if len(signature) > 1:
        for index, pipes in enumerate(signature):
            last = index == len(signature) - 1
            hand = Hand.FREE if last else Hand.READY
            events += [
                RingEvent(src, dst, hand, index)
                for src in pipes
                for dst in signature[0 if last else index + 1]
                if src is not dst
            ]
    return Ring(signature, tuple(events))


class Do(StrEnum):
    SET = "set"
    PRIME = "prime"
    WAIT = "wait"
    DRAIN = "drain"


@dataclass(frozen=True)
class Use:
    """One set or wait of an event by phase `phase`: before or behind item `item` of `block`, on the lane of `lane`.

    With a closing: once for each trip that the closing runs behind the loop, on the lane of that trip.
    """

    event: RingEvent
    do: Do
    phase: int
    block: int
    item: int
    lane: Site | int
    closing: Closing | None = None
    way: Pass | None = None
    """Where a pass stands; its set and wait are both there."""


def uses_of(
    ring: Ring, shapes: Sequence[Shape], lanes: int, home: Span, tree: Tree, *, keep_idle: bool = False
) -> list[Use]:
    """All sets and waits of a ring, in program order for each event. `home` spans every access.

    Primes stand at the start of the home block and drains at its end: further inside, a prime would come behind what
    its pipe does before, and what a pipe does behind a drain would wait for the ring's last lease.
    Tokens that order nothing are left out unless `keep_idle`.
    """
    last = len(tree.blocks[home.block].nodes) - 1
    uses: list[Use] = []
    pieces = [piece for shape in shapes for piece in shape.pieces]
    closings = [use for shape in shapes for use in _closing_uses(ring, shape, lanes, tree)]
    by_phase: dict[tuple[int, Pipe], list[Piece]] = {}
    for piece in pieces:
        by_phase.setdefault((piece.phase, piece.pipe), []).append(piece)
    for event in ring.events:
        puts = by_phase.get((event.phase, event.src), [])
        takes = by_phase.get(((event.phase + 1) % len(ring.signature), event.dst), [])
        inner = [_use(event, Do.SET, put, lanes) for put in puts]
        inner += [_use(event, Do.WAIT, take, lanes) for take in takes]
        inner += [use for use in closings if use.event == event]
        inner.sort(key=lambda use: _position(use, tree))
        if event.hand is Hand.READY:
            uses += inner
            continue
        inner, taken, kept = (inner, set[int](), set[int]()) if keep_idle else _without_idle_tokens(inner, home)
        reached = range(lanes) if any(isinstance(use.lane, Site) for use in inner) else sorted({*lanes_of(inner)})
        uses += [Use(event, Do.PRIME, event.phase, home.block, 0, lane) for lane in reached if lane not in taken]
        uses += inner
        uses += [Use(event, Do.DRAIN, 0, home.block, last, lane) for lane in reached if lane not in kept]
    return uses


def _closing_uses(ring: Ring, shape: Shape, lanes: int, tree: Tree) -> Iterator[Use]:
    """What a trip that reads a lease does but for its work: each phase behind the first takes over and hands on."""
    closing = shape.closing
    if closing is None:
        return
    loop = next(block for block in tree.blocks if block.owner is not None and block.owner.key == closing.loop)
    at = loop.path[-1]
    inside = [
        piece for piece in shape.pieces if piece.phase > shape.opening and _within(piece.span.block, loop.key, tree)
    ]
    for piece in sorted(inside, key=lambda piece: piece.phase):
        for event in ring.events:
            if event.dst is piece.pipe and event.phase == piece.phase - 1:
                yield Use(event, Do.WAIT, piece.phase, at.block, at.item, constant_lane(piece.lane, lanes), closing)
        for event in ring.events:
            if event.src is piece.pipe and event.phase == piece.phase:
                yield Use(event, Do.SET, piece.phase, at.block, at.item, constant_lane(piece.lane, lanes), closing)


def _within(block: int, outer: int, tree: Tree) -> bool:
    return block == outer or any(step.block == outer for step in tree.blocks[block].path)


def _use(event: RingEvent, do: Do, piece: Piece, lanes: int) -> Use:
    first = do is Do.WAIT if piece.way is None else piece.way is Pass.BEFORE
    item = piece.span.first if first else piece.span.last
    return Use(event, do, piece.phase, piece.span.block, item, constant_lane(piece.lane, lanes), way=piece.way)


def is_behind(use: Use) -> bool:
    """Whether a use stands behind its item rather than before it."""
    if use.way is not None:
        return use.way is Pass.BEHIND
    return use.closing is not None or use.do in (Do.SET, Do.DRAIN)


def pass_order(use: Use) -> tuple[int, bool]:
    """The order of the uses of passes and closings in one place: a phase takes over, then hands on."""
    return use.phase, use.do is Do.SET


def _position(use: Use, tree: Tree) -> tuple[int, int, int, tuple[int, bool]]:
    node = tree.blocks[use.block].nodes[use.item]
    if not is_behind(use):
        return node.key, 0, 0 if use.way is not None else 1, pass_order(use)
    return last_key(node), 1, 2 if use.closing is not None else 1 if use.way is not None else 0, pass_order(use)


def constant_lane(site: Site, lanes: int) -> Site | int:
    """The lane where it is known: a constant slot's, or the only one."""
    if lanes == 1:
        return 0
    return site.access.term.value % lanes if isinstance(site.access.term, Const) else site


def lanes_of(uses: Sequence[Use]) -> Iterator[int]:
    """The constant lanes among these uses."""
    return (use.lane for use in uses if isinstance(use.lane, int))


def _without_idle_tokens(uses: Sequence[Use], home: Span) -> tuple[list[Use], set[int], set[int]]:
    """Drops FREE tokens that order nothing: taken by the first lease of a lane, or put back by its last one.

    Only where the lease stands directly in the home block, outside every loop and branch, on a constant lane.
    Returns the remaining uses and the lanes whose prime and whose drain fall away.
    """
    taken = _settled(uses, Do.WAIT, home)
    kept = _settled(list(reversed(uses)), Do.SET, home)
    idle = [*taken.values(), *kept.values()]
    return [use for use in uses if all(use is not other for other in idle)], set(taken), set(kept)


def _settled(uses: Sequence[Use], do: Do, home: Span) -> dict[int, Use]:
    """For each lane, its first use in this order, if that is `do` and nothing before it may be on the lane."""
    found: dict[int, Use] = {}
    seen: set[int] = set()
    for use in uses:
        if use.block != home.block or not isinstance(use.lane, int):
            break
        if use.lane not in seen and use.do is do:
            found[use.lane] = use
        seen.add(use.lane)
    return found
