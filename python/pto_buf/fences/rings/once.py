"""Fences inside loops that surely run: taken over in the first trip, handed on in the last one.

A fence around a loop makes what stands before its first access wait too, and holds until what stands behind its last
access is over. Where that is work of the same pipe, and the loop is known to run, the fence moves to the access itself,
under the condition that the trip is the first or the last one.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pto_buf.fences.rings.groups import RingGroup
from pto_buf.fences.rings.rings import Do, Use
from pto_buf.fences.rings.trips import Trips
from pto_buf.fences.tree import Site, Tree, last_key
from pto_buf.hw import Pipe
from pto_buf.slots.program import Loop, Op
from pto_buf.slots.terms import Const


@dataclass(frozen=True)
class Moved:
    """Before or behind the op with the key `op`, in one trip of each loop around it that the fence was outside of."""

    op: int
    once: tuple[Trips, ...]


Inside = Mapping[int, Sequence[tuple[Site, int]]]
"""By the key of a node: the accesses inside it, each with the depth at which the node stands on the way to it."""


class Mover:
    """Finds better places for fences around loops. `tree` is that of the whole program."""

    def __init__(self, tree: Tree):
        self._ops: dict[Pipe, list[int]] = {}
        self._left: set[str] = set()
        """Names of the rings whose fences stay where they are."""
        self.has_loops = False
        """Whether there is any loop to move a fence into."""
        for block in tree.blocks:
            for node in block.nodes:
                self.has_loops = self.has_loops or _once(node, True) is not None
                if isinstance(node, Op):
                    for pipe in node.pipes:
                        self._ops.setdefault(pipe, []).append(node.key)
        for keys in self._ops.values():
            keys.sort()

    def moves(self, group: RingGroup) -> int:
        """How many fences of the rings have a better place."""
        inside = self.inside(group)
        return sum(self.moved(group, inside, use) is not None for use in group.uses())

    def leave(self, group: RingGroup) -> None:
        """From now on the fences of these rings stay where they are."""
        self._left.add(group.name)

    @staticmethod
    def inside(group: RingGroup) -> Sequence[Inside]:
        """For each member of the group, and each node around any of its accesses, the accesses in it."""
        found: list[Inside] = []
        for member in group.members:
            inside: dict[int, list[tuple[Site, int]]] = {}
            for site in member.fences.sites:
                for depth, step in enumerate(site.path[:-1]):
                    inside.setdefault(member.fences.tree.node(step).key, []).append((site, depth))
            found.append(inside)
        return found

    def moved(self, group: RingGroup, inside: Sequence[Inside], use: Use) -> Moved | None:
        """Where a set or wait goes; None if it stays."""
        enters = use.do is Do.WAIT and not use.behind
        if (
            group.name in self._left
            or not (enters or (use.do is Do.SET and use.behind))
            or use.way is not None
            or use.closing is not None
            or use.early is not None
        ):
            return None
        pipe = use.event.dst if enters else use.event.src
        for member, around in zip(group.members, inside, strict=True):
            tree, phase = member.fences.tree, member.placed.phase
            sites = [
                (site, depth)
                for site, depth in around.get(use.anchor, ())
                if phase.get(site.key) == use.phase and pipe in site.op.pipes
            ]
            if sites:
                site, depth = sites[0] if enters else sites[-1]
                return self._at(site, depth, tree, pipe, enters)
        return None

    def _at(self, site: Site, depth: int, tree: Tree, pipe: Pipe, enters: bool) -> Moved | None:
        loops = [tree.node(step) for step in site.path[depth:-1]]
        once = tuple(_once(loop, enters) for loop in loops)
        outer = loops[0]
        first, last = (outer.key, site.op.key) if enters else (site.op.key, last_key(outer))
        if not self._works(pipe, first, last, enters) or any(one is None for one in once):
            return None
        return Moved(site.op.key, tuple(one for one in once if one is not None))

    def _works(self, pipe: Pipe, first: int, last: int, enters: bool) -> bool:
        """Whether the pipe has an op between `first` and `last`, without the access itself."""
        keys = self._ops.get(pipe, ())
        at = bisect_right(keys, first)
        return at < len(keys) and (keys[at] < last if enters else keys[at] <= last)


def _once(node: object, enters: bool) -> Trips | None:
    """The first or the last trip of a loop that is known to run; None for any other node."""
    if not isinstance(node, Loop):
        return None
    lower, upper, step = node.lower, node.upper, node.step
    if not (isinstance(lower, Const) and isinstance(upper, Const) and isinstance(step, Const)) or step.value < 1:
        return None
    counters = range(lower.value, upper.value, step.value)
    if not counters:
        return None
    return Trips(node.key, node.var, counters[0] if enters else counters[-1])
