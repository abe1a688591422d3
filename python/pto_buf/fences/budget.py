"""Making do with eight ids for each pair of pipes.

When the rings need more, the one with the most lanes for the short pair gives up one at a time: slots k and k + lanes
then share a lane, which is right where no two leases of a lane are ever live together. When every ring is down to one
lane, the last one hands over by handshake. Whatever is given up is said.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pto_buf.fences.actions import Planner
from pto_buf.fences.groups import RingGroup, ring_groups
from pto_buf.fences.ids import Lanes, Reserved, Shortage, missing_returns, number_events
from pto_buf.fences.outline import outline
from pto_buf.fences.pools import PoolFences, keeps_promise
from pto_buf.fences.reduction import Body, Ends, Everything, Nest, Signal, Work, droppable
from pto_buf.fences.tree import Tree


@dataclass(frozen=True)
class Fitted:
    """Pools and rings whose events have enough ids, their fences, and what was given up for that."""

    fenced: tuple[PoolFences, ...]
    planner: Planner
    lost: tuple[str, ...]


def fit_ids(fenced: Sequence[PoolFences], tree: Tree, reserved: Reserved) -> Fitted:
    """Plans all rings and handshakes; takes lanes, then rings, away until the ids that are not reserved suffice."""
    pools = list(fenced)
    groups = list(ring_groups(pools, tree))
    narrowed: dict[str, str] = {}
    while True:
        planner = Planner(tree)
        planner.handshakes(pools)
        for group in groups:
            planner.ring(group)
        short = _shortage(planner, tree, reserved)
        if short is None:
            return Fitted(tuple(pools), planner, tuple(narrowed.values()))
        wanting = [
            (number, group)
            for number, group in enumerate(groups)
            if any((event.src, event.dst) == (short.src, short.dst) for event in group.ring.events)
        ]
        number, group = max(wanting, key=lambda entry: (entry[1].lanes, entry[0]))
        fewer = _narrower(group, tree)
        if fewer is not None:
            groups[number] = fewer
            narrowed[group.name] = (
                f"{group.name}: {group.slots} slots share {fewer.lanes} lane{'s' if fewer.lanes > 1 else ''}, since "
                f"{short.src} to {short.dst} has too few event ids"
            )
            continue
        reason = f"{short.src} to {short.dst} has too few event ids for a ring"
        given_up = {member.pool for member in group.members}
        pools = [
            replace(member, ring=None, shapes=(), reason=reason) if member.pool in given_up else member
            for member in pools
        ]
        narrowed.pop(group.name, None)
        del groups[number]


def _narrower(group: RingGroup, tree: Tree) -> RingGroup | None:
    """The ring with as many lanes less one as its leases allow; None if they allow none."""
    for lanes in range(group.lanes - 1, 0, -1):
        fewer = replace(group, lanes=lanes)
        if all(keeps_promise(member, lanes, tree) for member in group.members):
            return fewer
    return None


def _shortage(planner: Planner, tree: Tree, reserved: Reserved) -> Shortage | None:
    """Whether the ids are too few. Adds the returns to the plan that make them enough, where that helps."""
    kept, lanes, body = _reduced(planner, tree)
    found = number_events(lanes, body, reserved)
    if not isinstance(found, Shortage):
        return None
    returns = missing_returns(lanes, body, reserved)
    if not returns:
        return found
    for missing in returns:
        planner.come_back(kept[missing.waited], kept[missing.set_again])
    _, lanes, body = _reduced(planner, tree)
    again = number_events(lanes, body, reserved)
    return again if isinstance(again, Shortage) else None


def _reduced(planner: Planner, tree: Tree) -> tuple[list[int], list[Lanes], Body]:
    """The events that reduction will leave: their numbers in the plan, their lanes, and the body that names them."""
    body = outline(tree, planner.actions)
    events = planner.events
    ends = [Ends(event.src, event.dst) for event in events]
    keep = {number for number, event in enumerate(events) if event.returns}
    gone = {dropped.event for dropped in droppable(ends, body, keep)}
    kept = [number for number in range(len(events)) if number not in gone]
    place = {number: index for index, number in enumerate(kept)}
    lanes = [Lanes(events[number].src, events[number].dst, events[number].lanes) for number in kept]
    return kept, lanes, _without(body, place)


def _without(body: Body, place: dict[int, int]) -> Body:
    """The body with the signals of kept events only, under their new numbers."""

    def kept(part: Body) -> Body:
        return tuple(item for old in part if (item := renumbered(old)) is not None)

    def renumbered(item: Work | Signal | Everything | Nest) -> Work | Signal | Everything | Nest | None:
        match item:
            case Signal():
                return replace(item, event=place[item.event]) if item.event in place else None
            case Nest():
                return Nest(item.is_loop, tuple(kept(inner) for inner in item.bodies))
            case _:
                return item

    return kept(body)
