"""Sets, waits and barriers with their places: what a plan is made of, and how rings and handshakes come to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby
from typing import NamedTuple

from pto_buf.fences.phases import Closing
from pto_buf.fences.rings.groups import Member, RingGroup
from pto_buf.fences.rings.handshake import handovers
from pto_buf.fences.rings.once import Mover
from pto_buf.fences.rings.pools import Pool, PoolFences
from pto_buf.fences.rings.rings import Do, Hand, RingEvent, Use, pass_order
from pto_buf.fences.rings.trips import Trips
from pto_buf.fences.tree import Site
from pto_buf.hw import Pipe
from pto_buf.slots.terms import Apply, Const, Fn


class Rank(IntEnum):
    """Order of fences in one gap between two items: what releases comes before what holds."""

    RETURNED = 0
    SET = 1
    PRIME = 2
    PASS = 3
    CLOSING = 4
    CLOSED = 5
    """A set for what a closing takes over."""
    WAIT = 6
    RETURN = 7
    BARRIER = 8


@dataclass(frozen=True)
class PlannedEvent:
    name: str
    src: Pipe
    dst: Pipe
    lanes: int
    why: str
    pool: Pool | None = None
    """Whose ring it is of; of several, that of the first."""
    returns: bool = False
    """Only there so that an id serves again."""


class Action(NamedTuple):
    """A set or wait of event `event`, or a barrier of `pipe`, before or behind the item with the key `anchor`.

    A closing holds the sets and waits of one of its trips in `trip`; `anchor` is its loop.
    """

    anchor: int
    behind: bool
    rank: Rank
    event: int | None = None
    pipe: Pipe | None = None
    lane: Site | int = 0
    modulus: int | None = None
    """The lane is the slot index modulo this."""
    waits: bool = False
    """Whether it is a wait."""
    order: tuple[int, bool] = (0, False)
    """The order of passes in one gap."""
    closing: Closing | None = None
    trip: tuple["Action", ...] = ()
    once: tuple[Trips, ...] = ()
    """Only in these trips."""
    implied: bool = False
    """Others order all that it orders; it is to be left out."""


_RANKS = {Do.SET: Rank.SET, Do.PRIME: Rank.PRIME, Do.WAIT: Rank.WAIT, Do.DRAIN: Rank.WAIT}


def _rank(use: Use) -> Rank:
    if use.early is not None and use.do is Do.SET:
        return Rank.CLOSED
    return _RANKS[use.do] if use.way is None else Rank.PASS


def _once(use: Use) -> tuple[Trips, ...]:
    return () if use.early is None or use.do is Do.SET else (use.early.trips,)


class Planner:
    """Gathers events and actions from rings and handshakes. With `mover`, fences go into loops that surely run."""

    def __init__(self, mover: Mover | None = None) -> None:
        self.mover = mover
        self.events: list[PlannedEvent] = []
        self.actions: list[Action] = []
        self._trips: dict[Closing, list[tuple[tuple[int, bool], Action]]] = {}

    def ring(self, group: RingGroup) -> None:
        folded = any(member.slots > group.lanes for member in group.members) and group.lanes > 1
        inside = self.mover.inside(group) if self.mover is not None else ()
        for event, of_event in groupby(group.uses(), key=lambda use: use.event):
            uses = list(of_event)
            named = _named_lanes(uses)
            number = len(self.events)
            self.events.append(_describe(group, event, group.lanes if named is None else len(named)))
            for use in uses:
                moved = self.mover.moved(group, inside, use) if self.mover is not None else None
                action = Action(
                    use.anchor if moved is None else moved.op,
                    use.behind,
                    _rank(use),
                    number,
                    None,
                    named[use.lane] if named is not None and isinstance(use.lane, int) else use.lane,
                    None if named is not None else _modulus(use, group.lanes, folded),
                    use.do is Do.WAIT or use.do is Do.DRAIN,
                    (0, False) if use.way is None else pass_order(use),
                    once=moved.once if moved is not None else _once(use),
                )
                if use.closing is None:
                    self.actions.append(action)
                else:
                    self._trips.setdefault(use.closing, []).append((pass_order(use), action))

    def closings(self) -> None:
        """The closings of all rings so far: in one trip each pipe takes over what it has to before it hands on any."""
        for closing, trip in self._trips.items():
            ordered = tuple(action for _, action in sorted(trip, key=lambda entry: entry[0]))
            self.actions.append(Action(closing.loop, True, Rank.CLOSING, closing=closing, trip=ordered))
        self._trips = {}

    def come_back(self, waited: int, set_again: int) -> None:
        """Adds the pair from behind the only wait of one event back to before the only set of another."""
        (wait,) = (action for action in self.actions if action.event == waited and action.waits)
        (set_,) = (action for action in self.actions if action.event == set_again and not action.waits)
        event = self.events[waited]
        why = f"an id from {event.src} to {event.dst} serves again: {event.dst} has waited for {event.name}"
        number = len(self.events)
        name = f"return.{number}.{event.dst}.{event.src}"
        self.events.append(PlannedEvent(name, event.dst, event.src, 1, why, returns=True))
        self.actions += [
            Action(wait.anchor, wait.behind, Rank.RETURN, event=number),
            Action(set_.anchor, set_.behind, Rank.RETURNED, event=number, waits=True),
        ]

    def handshakes(self, fenced: Sequence[PoolFences]) -> None:
        numbers: dict[tuple[bool, Pipe, Pipe], int] = {}
        for handover in handovers(fenced):
            key = (handover.behind, handover.src, handover.dst)
            if key not in numbers:
                numbers[key] = len(self.events)
                side = "give" if handover.behind else "take"
                name = f"handshake.{side}.{handover.src}.{handover.dst}"
                why = f"handshake: {handover.src} is done before {handover.dst} goes on"
                self.events.append(PlannedEvent(name, handover.src, handover.dst, 1, why))
            self.actions += [
                Action(handover.op, handover.behind, rank, event=numbers[key], waits=rank is Rank.WAIT)
                for rank in (Rank.SET, Rank.WAIT)
            ]


def _modulus(use: Use, lanes: int, folded: bool) -> int | None:
    """What a computed lane is taken modulo: where several slots share one, and where an index may leave its slots.

    It may in the trips of a closing, which lie behind the loop's last one.
    """
    if isinstance(use.lane, int) or not (folded or use.closing is not None):
        return None
    match use.lane.access.term:
        case Apply(fn=Fn.REMU, right=Const(value=count)) if count <= lanes and not folded:
            return None
        case Apply(fn=Fn.AND, right=Const(value=mask)) if 0 <= mask < lanes and not folded:
            return None
        case _:
            return lanes


def _named_lanes(uses: Sequence[Use]) -> dict[int, int] | None:
    """The lanes of an event, numbered without gaps, if all are named by constants."""
    lanes = {use.lane for use in uses if isinstance(use.lane, int)}
    if any(isinstance(use.lane, Site) for use in uses):
        return None
    return {lane: number for number, lane in enumerate(sorted(lanes))}


def _describe(group: RingGroup, event: RingEvent, lanes: int) -> PlannedEvent:
    """Names the hazard: what the phase before does, what the phase behind does, and where."""
    first, *others = group.members
    before = _Side.of(first, event.phase, event.src)
    after = _Side.of(first, (event.phase + 1) % len(group.placed.ring.signature), event.dst)
    hazard = "order"
    if before.site is not None and after.site is not None:
        hazard = "WAR" if not before.writes else "RAW" if after.reads else "WAW"
    lease = "a later lease: " if event.hand is Hand.FREE else ""
    why = f"{hazard} on {group.name} ({first.fences.pool.sets[0].tile.space.buffer}): {before}, then {lease}{after}"
    if others:
        why += f"; so for {', '.join(member.fences.pool.name for member in others)}"
    name = f"{group.name}.{event.hand}.{event.src}.{event.dst}"
    return PlannedEvent(name, event.src, event.dst, lanes, why, first.fences.pool)


@dataclass(frozen=True)
class _Side:
    """What one pipe does in one phase of a ring: its first operation there, unless it only passes slots on."""

    pipe: Pipe
    site: Site | None
    reads: bool
    writes: bool
    """Whether any of its operations there does."""

    @staticmethod
    def of(member: Member, phase: int, pipe: Pipe) -> "_Side":
        phases = member.placed.phase
        mine = [site for site in member.fences.sites if pipe in site.op.pipes]
        sites = [site for site in mine if phases.get(site.key) == phase]
        first = [site for site in sites if site.op.key == sites[0].op.key]
        return _Side(
            pipe,
            first[0] if first else None,
            any(site.access.role.reads for site in first),
            any(site.access.role.writes for site in sites),
        )

    def __str__(self) -> str:
        if self.site is None:
            return f"{self.pipe} passes it on"
        where = f" at {self.site.op.place}" if self.site.op.place else ""
        verb = "reads" if not self.writes else "updates" if self.reads else "writes"
        return f"{self.pipe} {verb} it by {self.site.op.name}{where}"
