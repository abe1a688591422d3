"""Events around the leases of one slot set: what each phase hands to the next, and the last back to the first.

Every lane begins and ends FREE: its ring holds one token from each pipe of the last phase to each pipe of the first.
A lease takes these tokens, hands READY tokens from phase to phase, and puts the FREE ones back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pto_buf.fences.phases import Lease, Phase, Span
from pto_buf.fences.tree import Site
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
    signature: tuple[tuple[Pipe, ...], ...]
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


def ring_of(signature: tuple[tuple[Pipe, ...], ...]) -> Ring:
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
    """One set or wait of an event: before or behind item `item` of `block`, on the lane of `site` or a constant one."""

    event: RingEvent
    do: Do
    block: int
    item: int
    lane: Site | int


def uses_of(ring: Ring, leases: Sequence[Lease], lanes: int, home: Span) -> list[Use]:
    """All sets and waits of a ring. `home` spans every lease: primes stand before it, drains behind it."""
    uses: list[Use] = []
    for event in ring.events:
        inner = [use for lease in leases for use in _lease_uses(event, lease)]
        if event.hand is Hand.READY:
            uses += inner
            continue
        inner, taken, kept = _without_idle_tokens(inner, home, lanes)
        reached = range(lanes) if any(isinstance(use.lane, Site) for use in inner) else sorted({*lanes_of(inner)})
        uses += [Use(event, Do.PRIME, home.block, home.first, lane) for lane in reached if lane not in taken]
        uses += inner
        uses += [Use(event, Do.DRAIN, home.block, home.last, lane) for lane in reached if lane not in kept]
    return uses


def _lease_uses(event: RingEvent, lease: Lease) -> list[Use]:
    lane = constant_lane(lease.lane)
    leaving = _span(lease.phases[event.phase], event.src)
    entering = _span(lease.phases[(event.phase + 1) % len(lease.phases)], event.dst)
    put = Use(event, Do.SET, leaving.block, leaving.last, lane)
    take = Use(event, Do.WAIT, entering.block, entering.first, lane)
    return [put, take] if event.hand is Hand.READY else [take, put]


def constant_lane(site: Site) -> Site | int:
    return site.access.term.value if isinstance(site.access.term, Const) else site


def lanes_of(uses: Sequence[Use]) -> Iterator[int]:
    """The constant lanes among these uses."""
    return (use.lane for use in uses if isinstance(use.lane, int))


def _span(phase: Phase, pipe: Pipe) -> Span:
    return phase.spans[phase.pipes.index(pipe)]


def _without_idle_tokens(uses: Sequence[Use], home: Span, lanes: int) -> tuple[list[Use], set[int], set[int]]:
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
