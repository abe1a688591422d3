"""One event for two: its token says what both of theirs say.

Two events between the same pipes whose sets and waits stand in the same blocks, in the same order and on the same lanes
can be one, which is set where the later of the two is and waited for where the earlier one is. Whatever either of them
ordered stays ordered, so nothing else has to change; and every set still stands before its wait, so that nothing waits
for itself. What stands between the two waits is held back for more than it needs: it is done for want of ids.
"""

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pto_buf.fences.actions import Action, PlannedEvent, Rank
from pto_buf.fences.tree import Site, Tree, last_key
from pto_buf.hw import Pipe
from pto_buf.slots.program import Node


@dataclass(frozen=True)
class Merge:
    """The event numbered `other` becomes part of the one numbered `event`.

    `waiting` operations of the pipe that waits stand between the two waits, `awaited` ones of the other pipe between
    the two sets.
    """

    event: int
    other: int
    waiting: int
    awaited: int

    @property
    def cost(self) -> int:
        return self.waiting + self.awaited


class Merger:
    """Finds events that can be one. `tree` is that of the whole program."""

    def __init__(self, tree: Tree):
        self._places: dict[int, tuple[int, int, Node]] = {}
        """The block of each node, how deep it lies, and the node, by the node's key."""
        self._ops: dict[Pipe, list[int]] = {pipe: [] for pipe in Pipe}
        for block in tree.blocks:
            for node in block.nodes:
                self._places[node.key] = block.key, len(block.path), node
        for key, op in sorted({site.op.key: site.op for site in tree.sites}.items()):
            for pipe in op.pipes:
                self._ops[pipe].append(key)

    def cheapest(self, events: Sequence[PlannedEvent], actions: Sequence[Action], src: Pipe, dst: Pipe) -> Merge | None:
        """The two events between these pipes that cost the least as one; the last of equals. None if none can be."""
        mine = [number for number, event in enumerate(events) if (event.src, event.dst) == (src, dst)]
        found = self._fences(actions, mine)
        alike: dict[Hashable, list[int]] = {}
        for number, own in found.items():
            if not own or events[number].pool is None:
                continue
            alike.setdefault(tuple(map(self._form, own)), []).append(number)
        best: Merge | None = None
        for numbers in alike.values():
            numbers.sort(key=lambda number: [self._spot(action) for action in found[number]])
            for one, other in pairwise(numbers):
                if self._merged(found[one], found[other]) is None:
                    continue
                merge = Merge(one, other, *self._held(found[one], found[other], src, dst))
                best = merge if best is None or merge.cost <= best.cost else best
        return best

    def apply(self, events: list[PlannedEvent], actions: list[Action], merge: Merge) -> None:
        """Makes one event of the two. Where their fences do not stand alike, all stays as it is."""
        found = self._fences(actions, (merge.event, merge.other))
        ours, theirs = found[merge.event], found[merge.other]
        merged = self._merged(ours, theirs) if [*map(self._form, ours)] == [*map(self._form, theirs)] else None
        if merged is None:
            return
        one, other = events[merge.event], events[merge.other]
        pools, _, rest = one.name.partition(".")
        name = f"{pools}+{other.name.partition('.')[0]}.{rest}"
        events[merge.event] = replace(one, name=name, why=f"{one.why}; and {other.why}")
        chosen = {id(old): new._replace(event=merge.event) for old, new in zip(ours, merged, strict=True)}
        gone = set(map(id, theirs))
        actions[:] = [chosen.get(id(action), action) for action in actions if id(action) not in gone]

    def _fences(self, actions: Sequence[Action], numbers: Sequence[int]) -> Mapping[int, list[Action]]:
        """The sets and waits of some events, in program order; none of an event that takes part in closings."""
        found: dict[int, list[Action]] = {number: [] for number in numbers}
        for action in actions:
            for part in action.trip:
                found.pop(-1 if part.event is None else part.event, None)
        for action in actions:
            if action.event in found:
                found[action.event].append(action)
        for own in found.values():
            own.sort(key=self._spot)
        return found

    def _form(self, action: Action) -> Hashable:
        """What has to be equal of two sets or waits that become one."""
        lane = action.lane.access.term if isinstance(action.lane, Site) else action.lane
        return self._places[action.anchor][0], action.waits, action.rank, lane, action.modulus, action.once

    def _spot(self, action: Action) -> tuple[int, int, Rank, tuple[int, bool]]:
        """Where a set or wait stands: equal for those of one gap that may stand in any order."""
        _, depth, _ = self._places[action.anchor]
        return self._gap(action), -depth, action.rank, action.order

    def _gap(self, action: Action) -> int:
        """The key of the first node behind it, if there is one."""
        return last_key(self._places[action.anchor][2]) + 1 if action.behind else action.anchor

    def _merged(self, ours: Sequence[Action], theirs: Sequence[Action]) -> list[Action] | None:
        """The later sets and the earlier waits; None if they do not follow one another as they did."""
        pairs = zip(ours, theirs, strict=True)
        merged = [(min if one.waits else max)(one, other, key=self._spot) for one, other in pairs]
        spots = [self._spot(action) for action in merged]
        for before, after, here, there in zip(merged, merged[1:], spots, spots[1:], strict=False):
            if here > there or (here == there and before.waits != after.waits):
                return None
        return merged

    def _held(self, ours: Sequence[Action], theirs: Sequence[Action], src: Pipe, dst: Pipe) -> tuple[int, int]:
        """How many operations of `dst` stand between two waits, how many of `src` between two sets."""
        between = {True: 0, False: 0}
        for one, other in zip(ours, theirs, strict=True):
            ops = self._ops[dst if one.waits else src]
            first, last = sorted((self._gap(one), self._gap(other)))
            between[one.waits] += bisect_left(ops, last) - bisect_left(ops, first)
        return between[True], between[False]
