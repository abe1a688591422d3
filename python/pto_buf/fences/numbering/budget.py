"""Making do with eight ids for each pair of pipes.

When the rings need more: rings that stand apart in time share their events; then two events that stand side by side
become one; then the ring with the most lanes for the short pair gives up one at a time (slots k and k + lanes then
share a lane, which is right where no two leases of a lane are ever live together); then rings whose leases follow one
another take turns; then the last ring orders its pool by regions, on one lane; and when nothing else is left, it hands
over by handshake. Whatever is given up is said.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pto_buf.fences.actions import Action, PlannedEvent, Planner
from pto_buf.fences.layout import Layout, layout
from pto_buf.fences.numbering.ids import Ids, Lanes, Shortage, missing_returns, number_events, surely_enough
from pto_buf.fences.numbering.merge import Merge, Merger
from pto_buf.fences.reducing.implied import implied, remaining
from pto_buf.fences.reducing.outline import outline
from pto_buf.fences.reducing.reduction import Body, Ends, Everything, Nest, Signal, Work, droppable
from pto_buf.fences.rings.groups import Member, RingGroup, joined, ring_groups
from pto_buf.fences.rings.loss import Lost
from pto_buf.fences.rings.once import Mover
from pto_buf.fences.rings.pools import PoolFences, cost_of, region_rings
from pto_buf.fences.rings.rehearsal import holds
from pto_buf.fences.rings.rings import Placed, uses_of
from pto_buf.fences.rings.turns import in_turns
from pto_buf.fences.tree import Tree
from pto_buf.hw import EVENT_IDS


@dataclass(frozen=True)
class Fitted:
    """Pools and rings whose events have enough ids, their fences, and what was given up for that."""

    fenced: tuple[PoolFences, ...]
    planner: Planner
    lost: tuple[Lost, ...]


class _Search:
    """The pools and rings as they stand, while more and more is given up."""

    def __init__(self, fenced: Sequence[PoolFences], tree: Tree, reduce: bool):
        self.reduce = reduce
        self.tree = tree
        self.pools = {fences.pool.key: fences for fences in fenced}
        self.groups = ring_groups(fenced)
        self.lost: dict[Hashable, Lost] = {}
        self.merges: list[tuple[Merge, Lost]] = []
        """Events that are one, for the rings as they are now, and what that costs."""

    @cached_property
    def merger(self) -> Merger:
        return Merger(self.tree)

    def planned(self, mover: Mover | None) -> Planner:
        """All sets and waits of what is left."""
        planner = Planner(mover)
        planner.handshakes(list(self.pools.values()))
        for group in self.groups:
            planner.ring(group)
        planner.closings()
        for merge, _ in self.merges:
            self.merger.apply(planner.events, planner.actions, merge)
        return planner

    def give_up(self, short: Shortage) -> bool:
        """Gives up some overlap for ids between these pipes. Returns whether there was any left to give up."""
        pair = f"{short.src} to {short.dst} has too few event ids"
        together = joined(self.groups, short.src, short.dst)
        if together is not None:
            self.groups, made = together
            first, *others = (member.fences.pool for member in made.members)
            reason = f"waits for the end of {first.name}, whose events it takes over, since {pair}"
            cost = "its first leases wait for the last ones there"
            self.lost[first.key, "joined"] = Lost(others[0].sets[0], ", ".join(o.name for o in others), reason, cost)
            self.merges.clear()
            return True
        over = max(1, short.wanted - EVENT_IDS)
        if self._merge(short, over, pair):
            return True
        self.merges.clear()
        if self._narrow(short, over, pair):
            return True
        turns = in_turns(self.groups, short.src, short.dst)
        if turns is not None:
            self.groups, made = turns
            self._take_turns(made, pair)
            return True
        rings = [group for group in self.groups if group.joins(short.src, short.dst)]
        for member in rings[-1].members if rings else ():
            self._by_region(member.fences, pair)
        return bool(rings)

    def _merge(self, short: Shortage, over: int, pair: str) -> bool:
        """Makes one event of two, until there are so many lanes fewer. Returns whether there was anything to do."""
        planner, before = self.planned(None), len(self.merges)
        while over > 0:
            merge = self.merger.cheapest(planner.events, planner.actions, short.src, short.dst)
            if merge is None:
                break
            self.merges.append((merge, self._merged(planner.events, merge, pair)))
            over -= planner.events[merge.other].lanes
            self.merger.apply(planner.events, planner.actions, merge)
        return len(self.merges) > before

    def _narrow(self, short: Shortage, over: int, pair: str) -> bool:
        """Takes lanes from the rings that have the most, until there are so many fewer, or no other one can go."""
        narrowed = False
        while over > 0:
            rings = [group for group in self.groups if group.joins(short.src, short.dst)]
            _, group = max(enumerate(rings), key=lambda entry: (entry[1].lanes, entry[0]), default=(0, None))
            fewer = None if group is None else _narrower(group)
            if group is None or fewer is None:
                break
            narrowed = True
            over -= group.lanes - fewer.lanes
            self.groups = tuple(fewer if other is group else other for other in self.groups)
            for member in fewer.members:
                self._narrowed(member, pair)
        return narrowed

    @staticmethod
    def _merged(events: Sequence[PlannedEvent], merge: Merge, pair: str) -> Lost:
        one, other = events[merge.event], events[merge.other]
        assert one.pool is not None and other.pool is not None
        reason = f"shares its flags from {one.src} to {one.dst} with {one.pool.name}, since {pair}"
        held = (
            f"1 operation of {one.dst} waits" if merge.waiting == 1 else f"{merge.waiting} operations of {one.dst} wait"
        )
        cost = f"{held} for {merge.awaited} of {one.src} more than needed"
        return Lost(other.pool.sets[0], other.pool.name, reason, cost)

    def _take_turns(self, made: Sequence[RingGroup], pair: str) -> None:
        for group in made:
            first, *others = (member.fences.pool for member in group.members)
            self.lost.pop((first.key, "turns"), None)
            for other in others:
                reason = f"its leases take turns with those of {first.name} on one lane for both, since {pair}"
                cost = "each waits for the one before"
                self.lost[other.key, "turns"] = Lost(other.sets[0], other.name, reason, cost)

    def _narrowed(self, member: Member, pair: str) -> None:
        pool, lanes = member.fences.pool, member.placed.lanes
        reason = f"{member.slots} slots share {lanes} lane{'s' if lanes > 1 else ''}, since {pair}"
        cost = cost_of(member.fences, [member.placed])
        self.lost[pool.key, "lanes"] = Lost(pool.sets[0], pool.name, reason, str(cost))

    def _by_region(self, fences: PoolFences, pair: str) -> None:
        """Gives up the ring of a pool for rings of its regions, or those for handshakes."""
        self.groups = tuple(
            group for group in self.groups if all(member.fences.pool.key != fences.pool.key for member in group.members)
        )
        for what in ("lanes", "turns"):
            self.lost.pop((fences.pool.key, what), None)
        reason = f"{pair} for a ring"
        known = self.pools[fences.pool.key]
        fewer = region_rings(known, reason)
        if fewer.rings == known.rings:
            fewer = replace(known, rings=(), handshake=True, irregular=reason)
        self.pools[fences.pool.key] = fewer
        self.groups = tuple(sorted((*self.groups, *ring_groups([fewer])), key=lambda group: group.first))


def fit_ids(fenced: Sequence[PoolFences], tree: Tree, ids: Ids, *, reduce: bool = True) -> Fitted:
    """Plans all rings and handshakes; gives overlap up until the ids suffice, if they ever do.

    With `reduce`, what others imply may go for that.
    """
    search = _Search(fenced, tree, reduce)
    planner = search.planned(None)
    while (short := _shortage(planner, tree, ids, search.reduce)) is not None and search.give_up(short):
        planner = search.planned(None)
    outside: Sequence[Lost] = ()
    if short is None:
        planner, outside = _inside(planner, search, tree, ids)
    merged = (lost for _, lost in search.merges)
    lost = (*search.lost.values(), *merged, *outside, *_returns(planner, search.groups))
    return Fitted(tuple(search.pools.values()), planner, lost)


def _inside(planner: Planner, search: _Search, tree: Tree, ids: Ids) -> tuple[Planner, Sequence[Lost]]:
    """The plan with fences inside of loops that surely run, where the ids are enough for that; what stays outside."""
    mover = Mover(tree)
    if not mover.has_loops or any(event.returns for event in planner.events):
        return planner, ()
    lost: list[Lost] = []
    while True:
        moved = search.planned(mover)
        short = _shortage(moved, tree, ids, search.reduce)
        if short is None:
            return moved, lost
        outside = [group for group in search.groups if group.joins(short.src, short.dst) and mover.moves(group)]
        if not outside:
            return planner, lost
        for group in outside:
            lost.append(_stays_outside(group, mover.moves(group), short))
            mover.leave(group)


def _stays_outside(group: RingGroup, fences: int, short: Shortage) -> Lost:
    pool = group.members[0].fences.pool
    number = f"{fences} fence{'s' if fences > 1 else ''}"
    reason = f"{number} stay{'s' if fences == 1 else ''} outside of loops, since {short.src} to {short.dst} has too few"
    cost = "what stands in a loop before the first access waits with it, what waits for the last one waits for the loop"
    return Lost(pool.sets[0], group.name, f"{reason} event ids", cost)


def _returns(planner: Planner, groups: Sequence[RingGroup]) -> Iterator[Lost]:
    """What the pairs cost that are only there so that an id serves again."""
    back = Counter((event.src, event.dst) for event in planner.events if event.returns)
    for (dst, src), times in back.items():
        group = next(group for group in groups if group.joins(src, dst))
        reason = f"a stream from {src} to {dst} has more tiles than there are event ids"
        cost = f"{src} waits for {dst} {times} time{'s' if times > 1 else ''}, so that ids serve again"
        yield Lost(group.members[0].fences.pool.sets[0], f"{group.name} and others", reason, cost)


def _narrower(group: RingGroup) -> RingGroup | None:
    """The rings with as many lanes less one as their leases allow; None if they allow none."""
    for lanes in range(group.lanes - 1, 0, -1):
        fewer = [Member(member.fences, replace(member.placed, lanes=lanes)) for member in group.members]
        if all(_keeps_promise(member.fences, member.placed) for member in fewer):
            return RingGroup(tuple(fewer))
    return None


def _keeps_promise(fences: PoolFences, placed: Placed) -> bool:
    uses = uses_of(placed, fences.home, fences.tree, keep_idle=True)
    return holds(fences.tree, fences.sites, placed, uses)


def _shortage(planner: Planner, tree: Tree, ids: Ids, reduce: bool) -> Shortage | None:
    """How far the ids are too few. Marks what others imply, or adds the returns, where that makes them enough."""
    short = _short(planner.events, planner.actions, tree, ids)
    if short is None:
        return None
    found = implied(planner.events, layout(tree, planner.actions)) if reduce else None
    if found is not None and found.any:
        short = _short(planner.events, found.actions, tree, ids)
        if short is None:
            planner.actions = list(found.actions)
            return None
    kept, lanes, body = _reduced(planner.events, planner.actions, tree)
    returns = missing_returns(lanes, body, ids)
    if not returns:
        return short
    for missing in returns:
        planner.come_back(kept[missing.waited], kept[missing.set_again])
    return _short(planner.events, planner.actions, tree, ids)


def reduced(
    events: Sequence[PlannedEvent], laid_out: Layout, ids: Ids
) -> tuple[Sequence[PlannedEvent], Sequence[Action]]:
    """A plan with marks on all that others imply, if the ids still suffice: what is left may tell less of when an id
    serves again. Events of which that could not be shown for every run say so."""
    found = implied(events, laid_out)
    if found.any and _short(events, found.actions, laid_out.tree, ids) is not None:
        return events, laid_out.actions
    doubt = "some of it is not needed in trial runs, which could not be shown for every run"
    doubtful = {number: replace(events[number], why=f"{events[number].why}; {doubt}") for number in found.doubtful}
    return [doubtful.get(number, event) for number, event in enumerate(events)], found.actions


def _short(events: Sequence[PlannedEvent], actions: Sequence[Action], tree: Tree, ids: Ids) -> Shortage | None:
    """How far the ids are too few for the events that reduction will leave."""
    if surely_enough([_lanes_of(event) for event in events], ids):
        return None
    _, lanes, body = _reduced(events, actions, tree)
    found = number_events(lanes, body, ids)
    return found if isinstance(found, Shortage) else None


def _lanes_of(event: PlannedEvent) -> Lanes:
    return Lanes(event.src, event.dst, event.lanes)


def _reduced(
    events: Sequence[PlannedEvent], actions: Sequence[Action], tree: Tree
) -> tuple[list[int], list[Lanes], Body]:
    """The events that reduction will leave: their numbers in the plan, their lanes, and the body that names them."""
    left = remaining(actions)
    body = outline(tree, left)
    used = {part.event for action in left for part in (action.trip or (action,))}
    ends = [Ends(event.src, event.dst) for event in events]
    keep = {number for number, event in enumerate(events) if event.returns}
    gone = {dropped.event for dropped in droppable(ends, body, keep)}
    kept = [number for number in range(len(events)) if number not in gone and number in used]
    place = {number: index for index, number in enumerate(kept)}
    lanes = [_lanes_of(events[number]) for number in kept]
    return kept, lanes, body if len(kept) == len(events) else _without(body, place)


def _without(body: Body, place: dict[int, int]) -> Body:
    """The body with the signals of kept events only, under their new numbers."""

    def kept(part: Body) -> Body:
        return tuple(item for old in part if (item := renumbered(old)) is not None)

    def renumbered(item: Work | Signal | Everything | Nest) -> Work | Signal | Everything | Nest | None:
        match item:
            case Signal():
                return item._replace(event=place[item.event]) if item.event in place else None
            case Nest():
                return Nest(item.is_loop, tuple(kept(inner) for inner in item.bodies))
            case _:
                return item

    return kept(body)
