"""Rings that follow one another may share their events: the pending tokens are handed on, not drained and primed.

Two rings whose accesses stand apart in time and whose leases go through the pipes in the same order can do with one
set of events: the first ring's last tokens are what the second one's first leases would otherwise be primed with. That
holds the second ring's first leases back until the first ring's last ones are over, so it is done only for want of ids.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from pto_buf.fences.rings.pools import PoolFences
from pto_buf.fences.rings.rings import Ends, Hand, Placed, RingEvent, Use, inner_uses, with_ends
from pto_buf.fences.tree import last_key
from pto_buf.hw import Pipe


@dataclass(frozen=True)
class Member:
    """One of the rings of a pool."""

    fences: PoolFences
    placed: Placed

    @property
    def slots(self) -> int:
        """Slots that have a lane of their own while ids suffice."""
        return self.fences.lanes


@dataclass(frozen=True)
class RingGroup:
    """Rings, in program order, that have their events in common."""

    members: tuple[Member, ...]

    @property
    def placed(self) -> Placed:
        """The first of the rings; the others have its phases and lanes."""
        return self.members[0].placed

    @property
    def lanes(self) -> int:
        return self.placed.lanes

    @property
    def name(self) -> str:
        return self.members[0].fences.pool.name

    @property
    def ends(self) -> Ends:
        fences = self.members[0].fences
        return Ends.of(fences.home, fences.tree)

    def uses(self) -> list[Use]:
        """All sets and waits."""
        inner: dict[RingEvent, list[Use]] = {}
        for member in self.members:
            for event, uses in inner_uses(member.placed, member.fences.home, member.fences.tree).items():
                inner.setdefault(event, []).extend(uses)
        return with_ends(inner, self.lanes, self.ends)

    def joins(self, src: Pipe, dst: Pipe) -> bool:
        """Whether it has an event between these pipes."""
        return any((event.src, event.dst) == (src, dst) for event in self.placed.ring.events)

    @property
    def comes_round(self) -> bool:
        """Whether each lease hands on what the next one has to wait for."""
        return any(event.hand is Hand.FREE for event in self.placed.ring.events)

    @property
    def kind(self) -> Hashable:
        """Equal for rings that can share their events, where they stand apart in time."""
        return self.placed.ring, self.lanes, self.ends

    @property
    def first(self) -> int:
        """The key of the first node around its accesses."""
        fences = self.members[0].fences
        return fences.tree.blocks[fences.home.block].nodes[fences.home.first].key

    @property
    def last(self) -> int:
        """The key of the last node around its accesses."""
        fences = self.members[-1].fences
        return last_key(fences.tree.blocks[fences.home.block].nodes[fences.home.last])


def ring_groups(fenced: Sequence[PoolFences]) -> tuple[RingGroup, ...]:
    """All rings of all pools, each alone, in program order of their pools' first access."""
    alone = [RingGroup((Member(fences, placed),)) for fences in fenced for placed in fences.rings if placed.ring.events]
    return tuple(sorted(alone, key=lambda group: group.first))


def joined(groups: Sequence[RingGroup], src: Pipe, dst: Pipe) -> tuple[tuple[RingGroup, ...], RingGroup] | None:
    """The groups with the first two joined that can be and have events between these pipes, and what they became.

    None if there are no two.
    """
    ended: dict[Hashable, list[int]] = {}
    for number, group in enumerate(groups):
        if not group.joins(src, dst) or not group.comes_round:
            continue
        alike = ended.setdefault(group.kind, [])
        host = next((other for other in alike if groups[other].last < group.first), None)
        if host is not None:
            made = RingGroup((*groups[host].members, *group.members))
            return (*groups[:host], made, *groups[host + 1 : number], *groups[number + 1 :]), made
        alike.append(number)
    return None
