"""A planned program as reduction and numbering see it: work, sets and waits, and the nests they stand in."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import groupby

from pto_buf.fences.actions import Action, Rank
from pto_buf.fences.reducing.reduction import Body, Everything, Item, Nest, Signal, Work
from pto_buf.fences.tree import Site, Tree
from pto_buf.slots.program import Branch, Loop, Op, While


def outline(tree: Tree, actions: Sequence[Action]) -> Body:
    """The body of a program with these actions, in the order in which the passes put them into the IR."""
    gaps = gaps_of(actions)

    def block(key: int) -> Body:
        items: list[Item] = []
        for node in tree.blocks[key].nodes:
            items += gap(node.key, False)
            match node:
                case Op():
                    items.append(Work(node.pipes))
                case Loop() | While() | Branch():
                    bodies = tuple(block(inner) for inner in tree.inner[node.key])
                    items.append(Nest(not isinstance(node, Branch), bodies))
                case _:
                    pass
            items += gap(node.key, True)
        return tuple(items)

    def gap(anchor: int, behind: bool) -> list[Item]:
        found: list[Item] = []
        for once, actions in groupby(gaps.get((anchor, behind), ()), key=lambda action: action.once):
            items: list[Item] = []
            for action in actions:
                if action.rank is Rank.CLOSING:
                    items.append(Nest(True, (tuple(_signal(part) for part in action.trip),)))
                elif action.rank is not Rank.BARRIER:
                    items.append(_signal(action))
            found += [Nest(False, (tuple(items), ()))] if once else items
        return found

    return (*block(0), Everything())


Gaps = Mapping[tuple[int, bool], Sequence[Action]]
"""By anchor, and whether behind it: the actions of each gap in the order in which they stand there."""


def gaps_of(actions: Sequence[Action]) -> Gaps:
    """The gaps in the order of their first actions."""
    found: dict[tuple[int, bool], list[Action]] = {}
    for action in actions:
        found.setdefault((action.anchor, action.behind), []).append(action)
    for of_gap in found.values():
        of_gap.sort(key=lambda action: (action.rank, action.order))
    return found


def _signal(action: Action) -> Signal:
    assert action.event is not None
    lane: Hashable = (action.lane.access.term, action.modulus) if isinstance(action.lane, Site) else action.lane
    return Signal(action.event, not action.waits, lane)
