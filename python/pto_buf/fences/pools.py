"""Fences of one pool of bytes: a ring of events where its leases are regular, handshakes at each access otherwise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pto_buf.fences.components import components
from pto_buf.fences.phases import Irregular, Lease, Span, lease_of
from pto_buf.fences.rings import Ring, Use, ring_of, uses_of
from pto_buf.fences.tree import Site, Tree, inner_blocks, item_in
from pto_buf.hw import Pipe
from pto_buf.slots.flow import Flow, SiteKey
from pto_buf.slots.program import Branch, SlotSet


@dataclass(frozen=True)
class Pool:
    """Slot sets that have bytes in common; most often one set alone."""

    sets: tuple[SlotSet, ...]

    @property
    def name(self) -> str:
        return "+".join(slots.name for slots in self.sets)

    @property
    def lanes(self) -> int:
        return self.sets[0].count


@dataclass(frozen=True)
class PoolFences:
    """`ring` is None where the accesses hand over by handshake; `reason` then says why."""

    pool: Pool
    sites: tuple[Site, ...]
    ring: Ring | None
    uses: tuple[Use, ...]
    lease_number: Mapping[SiteKey, int]
    phase: Mapping[SiteKey, int]
    around: tuple[tuple[int, ...], ...]
    """For each kind of lease, the loops around its frame."""
    reason: str | None

    def partners(self, op_pipes: Sequence[Pipe], writes: bool) -> tuple[Pipe, ...]:
        """The other pipes whose accesses conflict with one on `op_pipes`."""
        found = {
            pipe
            for site in self.sites
            if writes or site.access.role.writes
            for pipe in site.op.pipes
            if pipe not in op_pipes
        }
        return tuple(pipe for pipe in Pipe if pipe in found)

    def must_wait(self, earlier: Site, later: Site, carried: tuple[int, ...]) -> bool:
        """Whether `later` conflicts with `earlier`, and no flag between them proves the earlier one complete."""
        if not (earlier.access.role.writes or later.access.role.writes) or apart(earlier, later):
            return False
        pipes = [pipe for pipe in earlier.op.pipes if pipe in later.op.pipes]
        if self.ring is None:
            behind = self.partners(earlier.op.pipes, earlier.access.role.writes)
            before = self.partners(later.op.pipes, later.access.role.writes)
            return not any(pipe in before for pipe in behind)
        number = self.lease_number[earlier.key]
        same_lease = number == self.lease_number[later.key] and not any(loop in self.around[number] for loop in carried)
        start, goal = self.phase[earlier.key], self.phase[later.key]
        if same_lease and carried:
            goal = max(start, goal)
        return not all(self.ring.completes((start, pipe), (goal, pipe), same_lease) for pipe in pipes)


def apart(one: Site, other: Site) -> bool:
    """Whether two accesses of one pool are known never to touch the same bytes of the same slot."""
    left, right = one.access, other.access
    if left.slots.key != right.slots.key:
        return False
    if left.term != right.term and all(hasattr(term, "value") for term in (left.term, right.term)):
        return True
    return (left.end is not None and left.end <= right.start) or (right.end is not None and right.end <= left.start)


def fence_pool(pool: Pool, sites: Sequence[Site], tree: Tree, flow: Flow) -> PoolFences:
    """The fences of one pool. `sites` are its accesses in program order."""
    groups = components(sites, tree, flow)
    reached = tuple(site for site in sites if site.key in flow.origins)
    around = tuple(tree.loops_around(tree.blocks[group.frame].path) for group in groups)
    number = {site.key: index for index, group in enumerate(groups) for site in group.sites}
    leases: list[Lease] = []
    reason: str | None = None
    for group in groups:
        lease = lease_of(group)
        if isinstance(lease, Irregular):
            reason = lease.reason
            break
        leases.append(lease)
    if reason is None and len({lease.signature for lease in leases}) > 1:
        reason = "its leases pass through the pipes in different orders"
    if reason is None and len(pool.sets) > 1 and pool.lanes > 1:
        reason = "slot sets of several slots share its bytes"
    if reason is not None or not leases:
        return PoolFences(pool, reached, None, (), number, {}, around, reason)
    ring = ring_of(leases[0].signature)
    phase = {key: index for lease in leases for index, part in enumerate(lease.phases) for key in part.sites}
    uses = tuple(uses_of(ring, leases, pool.lanes, home_of(reached, tree)))
    return PoolFences(pool, reached, ring, uses, number, phase, around, None)


def home_of(sites: Sequence[Site], tree: Tree) -> Span:
    """The innermost items around all accesses that no loop repeats and no untaken branch skips needlessly."""
    block = 0
    while True:
        items = [item for site in sites if (item := item_in(site.path, block)) is not None]
        first, last = min(items), max(items)
        node = tree.blocks[block].nodes[first]
        if first != last or not isinstance(node, Branch):
            return Span(block, first, last)
        inner = {step.block for site in sites for step in site.path[_depth(site, block) + 1 : _depth(site, block) + 2]}
        if len(inner) != 1 or len(list(inner_blocks(node))) == 0:
            return Span(block, first, last)
        (block,) = inner


def _depth(site: Site, block: int) -> int:
    return next(depth for depth, step in enumerate(site.path) if step.block == block)
