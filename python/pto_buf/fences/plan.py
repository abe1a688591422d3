"""All fences of a program: which events there are, and where each set, wait and barrier stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pto_buf.fences.barriers import barriers
from pto_buf.fences.handshake import handovers
from pto_buf.fences.phases import Closing
from pto_buf.fences.pools import Pool, PoolFences, fence_pool
from pto_buf.fences.rings import Do, Hand, RingEvent, is_behind, pass_order
from pto_buf.fences.tree import Site, Tree, build_tree
from pto_buf.hw import Pipe, Target
from pto_buf.slots.flow import Flow
from pto_buf.slots.program import Program


class Rank(IntEnum):
    """Order of fences in one gap between two items: what releases comes before what holds."""

    SET = 0
    PRIME = 1
    PASS = 2
    CLOSING = 3
    WAIT = 4
    BARRIER = 5


@dataclass(frozen=True)
class PlannedEvent:
    name: str
    src: Pipe
    dst: Pipe
    lanes: int
    why: str


@dataclass(frozen=True)
class Action:
    """A set or wait of event `event`, or a barrier of `pipe`, before or behind the item with the key `anchor`.

    A closing holds the sets and waits of one of its trips in `trip`; `anchor` is its loop.
    """

    anchor: int
    behind: bool
    rank: Rank
    event: int | None = None
    pipe: Pipe | None = None
    lane: Site | int = 0
    waits: bool = False
    """Whether it is a wait."""
    order: tuple[int, bool] = (0, False)
    """The order of passes in one gap."""
    closing: Closing | None = None
    trip: tuple["Action", ...] = ()


@dataclass(frozen=True)
class FencePlan:
    """`actions` stand in the order in which those of one gap follow one another."""

    events: tuple[PlannedEvent, ...]
    actions: tuple[Action, ...]
    lost: tuple[str, ...]
    """Overlap that was given up, and why, for each pool without a ring."""


def plan_fences(program: Program, pools: Sequence[Pool], flow: Flow, target: Target) -> FencePlan:
    """Fences for every conflict through slots. `pools` holds each slot set once, grouped by shared bytes."""
    tree = build_tree(program)
    by_set = {slots.key: number for number, pool in enumerate(pools) for slots in pool.sets}
    sites: list[list[Site]] = [[] for _ in pools]
    for site in tree.sites:
        sites[by_set[site.access.slots.key]].append(site)
    fenced = [fence_pool(pool, mine, tree, flow) for pool, mine in zip(pools, sites, strict=True)]
    planner = _Planner(tree)
    for fences in fenced:
        planner.ring(fences)
    planner.handshakes(fenced)
    unordered = frozenset(pipe for pipe in Pipe if pipe not in target.ordered_pipes)
    order = _Order(fenced, by_set)
    reached = [site for fences in fenced for site in fences.sites]
    for key, pipes in barriers(program.body, sorted(reached, key=_site_key), unordered, order).items():
        planner.actions += [Action(key, False, Rank.BARRIER, pipe=pipe) for pipe in pipes]
    lost = tuple(f"{fences.pool.name}: {fences.reason}" for fences in fenced if fences.reason is not None)
    return FencePlan(tuple(planner.events), tuple(planner.actions), lost)


def _site_key(site: Site) -> tuple[int, int]:
    return site.key.op, site.key.access


@dataclass(frozen=True)
class _Order:
    fenced: Sequence[PoolFences]
    by_set: Mapping[int, int]

    def storage(self, site: Site) -> int:
        return self.by_set[site.access.slots.key]

    def phase(self, site: Site) -> int:
        return self.fenced[self.storage(site)].phase.get(site.key, 0)

    def must_wait(self, earlier: Site, later: Site, carried: tuple[int, ...]) -> bool:
        return self.fenced[self.storage(earlier)].must_wait(earlier, later, carried)


_RANKS = {Do.SET: Rank.SET, Do.PRIME: Rank.PRIME, Do.WAIT: Rank.WAIT, Do.DRAIN: Rank.WAIT}


class _Planner:
    def __init__(self, tree: Tree):
        self.tree = tree
        self.events: list[PlannedEvent] = []
        self.actions: list[Action] = []

    def ring(self, fences: PoolFences) -> None:
        numbers: dict[RingEvent, int] = {}
        closings: dict[Closing, list[tuple[tuple[int, bool], Action]]] = {}
        for use in fences.uses:
            if use.event not in numbers:
                numbers[use.event] = len(self.events)
                self.events.append(_describe(fences, use.event))
            anchor = self.tree.blocks[use.block].nodes[use.item].key
            lane = use.lane if len(fences.pool.sets) == 1 else 0
            action = Action(
                anchor,
                is_behind(use),
                _RANKS[use.do] if use.way is None else Rank.PASS,
                event=numbers[use.event],
                lane=lane,
                waits=use.do in (Do.WAIT, Do.DRAIN),
                order=pass_order(use) if use.way is not None else (0, False),
            )
            if use.closing is None:
                self.actions.append(action)
            else:
                closings.setdefault(use.closing, []).append((pass_order(use), action))
        for closing, trip in closings.items():
            ordered = tuple(action for _, action in sorted(trip, key=lambda entry: entry[0]))
            self.actions.append(Action(closing.loop, True, Rank.CLOSING, closing=closing, trip=ordered))

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


def _describe(fences: PoolFences, event: RingEvent) -> PlannedEvent:
    """Names the hazard: what the phase before does, what the phase behind does, and where."""
    ring, pool = fences.ring, fences.pool
    assert ring is not None
    before = _Side.of(fences, event.phase, event.src)
    after = _Side.of(fences, (event.phase + 1) % len(ring.signature), event.dst)
    hazard = _HAZARDS.get((before.writes, after.writes), "order")
    lease = "a later lease: " if event.hand is Hand.FREE else ""
    why = f"{hazard} on {pool.name} ({pool.sets[0].tile.space.buffer}): {before}, then {lease}{after}"
    return PlannedEvent(f"{pool.name}.{event.hand}.{event.src}.{event.dst}", event.src, event.dst, pool.lanes, why)


_HAZARDS = {(True, False): "RAW", (False, True): "WAR", (True, True): "WAW"}


@dataclass(frozen=True)
class _Side:
    """What one pipe does in one phase of a ring: its first access, unless it only passes slots on."""

    pipe: Pipe
    site: Site | None
    writes: bool

    @staticmethod
    def of(fences: PoolFences, phase: int, pipe: Pipe) -> "_Side":
        sites = [site for site in fences.sites if fences.phase[site.key] == phase and pipe in site.op.pipes]
        return _Side(pipe, sites[0] if sites else None, any(site.access.role.writes for site in sites))

    def __str__(self) -> str:
        if self.site is None:
            return f"{self.pipe} passes it on"
        where = f" at {self.site.op.place}" if self.site.op.place else ""
        return f"{self.pipe} {'writes' if self.writes else 'reads'} it by {self.site.op.name}{where}"
