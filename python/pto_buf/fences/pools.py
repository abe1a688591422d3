"""Fences of one pool of bytes: a ring of events where its leases are regular, handshakes at each access otherwise."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pto_buf.fences.components import Component, components
from pto_buf.fences.phases import Irregular, Shape, carried_shapes, contained_shape, lane_is_known
from pto_buf.fences.rehearsal import holds
from pto_buf.fences.rings import Ring, ring_of, uses_of
from pto_buf.fences.tree import Site, Span, Tree, item_in
from pto_buf.fences.unify import common_signature, stretched
from pto_buf.hw import Pipe
from pto_buf.slots.bounds import bounds
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
    def slots(self) -> int:
        return max(slots.count for slots in self.sets)


@dataclass(frozen=True)
class PoolFences:
    """`ring` is None where the accesses hand over by handshake; `reason` then says why."""

    pool: Pool
    lanes: int
    """One for each slot, without those behind the last slot that an access reaches."""
    sites: tuple[Site, ...]
    ring: Ring | None
    shapes: tuple[Shape, ...]
    home: Span | None
    """The items around all accesses, where the ring begins and ends."""
    component: Mapping[SiteKey, int]
    phase: Mapping[SiteKey, int]
    around: tuple[tuple[int, ...], ...]
    """For each component, the loops around its frame."""
    carried: tuple[bool, ...]
    """For each component, whether a loop carries its leases."""
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
        number = self.component[earlier.key]
        start, goal = self.phase[earlier.key], self.phase[later.key]
        same_lease = number == self.component[later.key] and not any(loop in self.around[number] for loop in carried)
        if same_lease and self.carried[number]:
            same_lease = start < goal if carried else start <= goal
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
    lanes = min(max((bounds(site.access.term).high + 1 for site in reached), default=1), pool.slots)
    found = _ring_for(pool, lanes, groups, reached, tree, flow)
    ring, shapes, reason = (None, (), found) if isinstance(found, str) else (*found, None)
    return PoolFences(
        pool,
        lanes,
        reached,
        ring,
        shapes,
        home_of(reached, tree) if reached else None,
        {site.key: index for index, group in enumerate(groups) for site in group.sites},
        {key: number for shape in shapes for key, number in shape.phase.items()},
        tuple(tree.loops_around(tree.blocks[group.frame].path) for group in groups),
        tuple(group.carried for group in groups),
        reason,
    )


_Found = tuple[Ring, tuple[Shape, ...]]


def _ring_for(
    pool: Pool, lanes: int, groups: Sequence[Component], sites: Sequence[Site], tree: Tree, flow: Flow
) -> _Found | str:
    """The ring of a pool with the shapes of its components, or why there is none."""
    if not groups:
        return ring_of(()), ()
    if len(pool.sets) > 1 and pool.slots > 1:
        return "slot sets of several slots share its bytes"
    contained = [contained_shape(group) for group in groups if not group.carried]
    for shape in contained:
        if isinstance(shape, Irregular):
            return shape.reason
    shapes = [shape for shape in contained if isinstance(shape, Shape)]
    carried = [group for group in groups if group.carried]
    reason = "a loop carries its leases in a way that one token for each slot does not fit"
    for choice in _choices(carried, tree, flow):
        together = (*shapes, *choice)
        if not all(lane_is_known(piece, tree) for shape in together for piece in shape.pieces):
            reason = "its slot index changes within a region that a fence would have to span"
            continue
        signature = common_signature([shape.signature for shape in together])
        fitted = [] if signature is None else [stretched(shape, signature) for shape in together]
        if signature is None or not all(fitted):
            reason = "its leases pass through the pipes in different orders"
            continue
        alike = all(shape.signature == signature for shape in together)
        together = tuple(shape for shape in fitted if shape is not None)
        ring = ring_of(signature)
        phase = {key: number for shape in together for key, number in shape.phase.items()}
        if (carried or not alike) and not _holds(ring, together, phase, sites, lanes, tree):
            continue
        return ring, together
    return reason


def _holds(
    ring: Ring, shapes: Sequence[Shape], phase: Mapping[SiteKey, int], sites: Sequence[Site], lanes: int, tree: Tree
) -> bool:
    full = uses_of(ring, shapes, lanes, home_of(sites, tree), tree, keep_idle=True)
    return holds(tree, sites, phase, ring, full, lanes)


def keeps_promise(fences: PoolFences, lanes: int, tree: Tree) -> bool:
    """Whether the ring still orders every lease when slot k uses lane k modulo `lanes`."""
    assert fences.ring is not None
    return _holds(fences.ring, fences.shapes, fences.phase, fences.sites, lanes, tree)


def _choices(carried: Sequence[Component], tree: Tree, flow: Flow) -> Iterator[tuple[Shape, ...]]:
    """Shapes of all carried components together. With several of them, all take the same number of the list."""
    if not carried:
        yield ()
        return
    yield from zip(*(carried_shapes(component, tree, flow) for component in carried), strict=False)


def home_of(sites: Sequence[Site], tree: Tree) -> Span:
    """The innermost items around all accesses that no loop repeats: below branches of which one arm has them all."""
    block = 0
    while True:
        items = [item for site in sites if (item := item_in(site.path, block)) is not None]
        span = Span(block, min(items), max(items))
        node = tree.blocks[block].nodes[span.first]
        if span.first != span.last or not isinstance(node, Branch):
            return span
        arms = [arm for arm in tree.inner[node.key] if any(item_in(site.path, arm) is not None for site in sites)]
        if len(arms) != 1:
            return span
        block = arms[0]
