"""Rings that follow one another share their events: the pending tokens are handed on instead of drained and primed.

Two pools whose accesses stand apart in time and whose leases go through the pipes in the same order need no events of
their own: the first pool's last tokens are what the second one's first leases would otherwise be primed with.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from pto_buf.fences.pools import PoolFences
from pto_buf.fences.rings import Do, Ring, Use, uses_of
from pto_buf.fences.tree import Span, Tree


@dataclass(frozen=True)
class RingGroup:
    """Pools with one ring. Slot k uses lane k modulo `lanes`."""

    members: tuple[PoolFences, ...]
    ring: Ring
    home: Span
    lanes: int

    @property
    def slots(self) -> int:
        """The most lanes that one of the pools would have alone."""
        return max(member.lanes for member in self.members)

    @property
    def name(self) -> str:
        return self.members[0].pool.name

    def uses(self, tree: Tree) -> list[Use]:
        """All sets and waits."""
        shapes = [shape for member in self.members for shape in member.shapes]
        return uses_of(self.ring, shapes, self.lanes, self.home, tree)


def ring_groups(fenced: Sequence[PoolFences], tree: Tree) -> tuple[RingGroup, ...]:
    """The rings of all pools that have one, in program order of their first access."""
    alone = [
        RingGroup((member,), member.ring, member.home, member.lanes)
        for member in fenced
        if member.ring is not None and member.home is not None
    ]
    groups: list[RingGroup] = []
    ended: dict[Hashable, list[int]] = {}
    for group in sorted(alone, key=lambda group: (group.home.block, group.home.first)):
        if not any(use.do is Do.PRIME for use in group.uses(tree)):
            groups.append(group)
            continue
        alike = ended.setdefault((group.ring.signature, group.lanes, group.home.block), [])
        host = next((number for number in alike if groups[number].home.last < group.home.first), None)
        if host is None:
            alike.append(len(groups))
            groups.append(group)
        else:
            groups[host] = _joined(groups[host], group)
    return tuple(groups)


def _joined(group: RingGroup, later: RingGroup) -> RingGroup:
    home = Span(group.home.block, group.home.first, max(group.home.last, later.home.last))
    return RingGroup((*group.members, *later.members), group.ring, home, group.lanes)
