"""Fences of one pool of bytes: a ring of events where its leases are regular; else rings of its regions, but for those
parts of it whose leases are."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from pto_buf.fences.phases import Closing, Shape, lane_is_known, pipes_of
from pto_buf.fences.rings.carried import carried_shapes
from pto_buf.fences.rings.components import Component, components
from pto_buf.fences.rings.loss import Loss, loss
from pto_buf.fences.rings.nest import NO_PARTS, Lane, Parts, rings_in, rings_inside, shape_of
from pto_buf.fences.rings.rehearsal import holds
from pto_buf.fences.rings.resident import resident_shapes
from pto_buf.fences.rings.rings import Placed, Use, constant_lane, ring_of, uses_of
from pto_buf.fences.rings.stages import Stage, lease_groups, stages
from pto_buf.fences.rings.unify import common_signature, stretched
from pto_buf.fences.tree import Site, Span, Tree, item_in, span_in
from pto_buf.fences.windows import Pair
from pto_buf.hw import Pipe
from pto_buf.slots.bounds import bounds
from pto_buf.slots.flow import Flow, Origin, SiteKey
from pto_buf.slots.program import Branch, SlotSet
from pto_buf.slots.terms import Const


class Reach:
    """Where the value of a slot index is to be had. This one finds it everywhere."""

    def at(self, site: SiteKey, anchor: int, behind: bool) -> bool:
        """Whether it can be worked out before (or behind) the node with the key `anchor`."""
        return True

    def closing(self, site: SiteKey, closing: Closing) -> bool:
        """Whether it can be worked out for the trips of a closing."""
        return True

    def ahead(self, site: SiteKey, loop: int) -> bool:
        """Whether it can be worked out for any counter of a loop."""
        return True


@dataclass(frozen=True)
class Pool:
    """Slot sets that have bytes in common; most often one set alone."""

    sets: tuple[SlotSet, ...]

    @property
    def key(self) -> int:
        """The key of its first set."""
        return self.sets[0].key

    @property
    def name(self) -> str:
        return "+".join(slots.name for slots in self.sets)

    @property
    def slots(self) -> int:
        return max(slots.count for slots in self.sets)


@dataclass(frozen=True)
class PoolFences:
    """The rings of a pool, an outer one before those inside it; none where its accesses hand over by handshake."""

    pool: Pool
    tree: Tree
    """What there is of the program around its accesses."""
    sites: tuple[Site, ...]
    lanes: int
    """One for each slot, without those behind the last slot that an access reaches."""
    rings: tuple[Placed, ...] = ()
    handshake: bool = False
    irregular: str | None = None
    """Why its leases have no ring of one lane for each slot that holds all of them."""
    opening: frozenset[SiteKey] = frozenset()
    """Accesses that always open a lease."""
    pairs: frozenset[Pair] | None = None
    """Of an array in global memory: what has to be ordered, and nothing else."""

    @cached_property
    def home(self) -> Span:
        """The items around all accesses, where the rings begin and end."""
        return home_of(self.sites, self.tree)

    def partners(self, op_pipes: Sequence[Pipe], writes: bool) -> tuple[Pipe, ...]:
        """The other pipes whose accesses conflict with one on `op_pipes`."""
        found = self._writers if not writes else self._pipes
        return tuple(pipe for pipe in found if pipe not in op_pipes)

    @cached_property
    def _pipes(self) -> tuple[Pipe, ...]:
        found = {pipe for site in self.sites for pipe in site.op.pipes}
        return tuple(pipe for pipe in Pipe if pipe in found)

    @cached_property
    def _writers(self) -> tuple[Pipe, ...]:
        found = {pipe for site in self.sites if site.access.role.writes for pipe in site.op.pipes}
        return tuple(pipe for pipe in Pipe if pipe in found)

    def must_wait(self, earlier: Site, later: Site, carried: tuple[int, ...], around: Sequence[int]) -> bool:
        """Whether no flag between two accesses in conflict proves the earlier one complete.

        `carried`: the loops whose back edge lies between. `around`: those around both, outermost first.
        """
        if self.pairs is not None:
            carrier = next((loop for loop in around if loop in carried), -1)
            if Pair(earlier.op.key, later.op.key, carrier, crosses=False) not in self.pairs:
                return False
        if self.handshake:
            behind = self.partners(earlier.op.pipes, earlier.access.role.writes)
            before = self.partners(later.op.pipes, later.access.role.writes)
            return not any(pipe in before for pipe in behind)
        opens = later.key in self.opening
        return not any(placed.proves(earlier, later, carried, opens and placed.of_leases) for placed in self.rings)


def in_conflict(one: Site, other: Site) -> bool:
    """Whether one of two accesses of a pool may write what the other one touches."""
    left, right = one.access, other.access
    if not (left.role.writes or right.role.writes):
        return False
    if left.slots.key != right.slots.key:
        return True
    if isinstance(left.term, Const) and isinstance(right.term, Const) and left.term.value != right.term.value:
        return False
    return (left.end is None or left.end > right.start) and (right.end is None or right.end > left.start)


_UNPROVEN = "no proof was found for fences that have a lane for each slot"


def fence_pool(pool: Pool, tree: Tree, flow: Flow, reach: Reach, *, plain: bool = False) -> PoolFences:
    """The fences of one pool. `tree` is of the pool's accesses alone. With `plain` it is ordered by regions."""
    sites = tuple(site for site in tree.sites if site.key in flow.origins)
    lanes = min(max((bounds(site.access.term).high for site in sites), default=0) + 1, pool.slots)
    fences = PoolFences(pool, tree, sites, lanes, opening=_opening(sites, flow))
    if not sites:
        return fences
    if plain:
        return region_rings(fences, _UNPROVEN)
    found = _regular(fences, sites, flow, reach)
    if not isinstance(found, str):
        return replace(fences, rings=found)
    serial, mixed = region_rings(fences, found), region_rings(fences, found, _Regular(fences, flow, reach))
    if mixed.rings == serial.rings or cost_of(fences, serial.rings).held <= cost_of(fences, mixed.rings).held:
        return serial
    return mixed


def region_rings(fences: PoolFences, reason: str, parts: Parts = NO_PARTS) -> PoolFences:
    """The pool with rings of one lane, by regions: right in all control flow. Some `parts` may have their own rings."""
    home, sites = fences.home, fences.sites
    if fences.pairs is not None:
        crossing = {op for pair in fences.pairs if pair.crosses for op in (pair.earlier, pair.later)}
        sites = [site for site in sites if site.op.key in crossing]
    rings = tuple(rings_in(home.block, sites, fences.tree, (0, 1), around=False, parts=parts)) if sites else ()
    return replace(fences, rings=rings, irregular=reason)


def cost_of(fences: PoolFences, rings: Sequence[Placed]) -> Loss:
    """What it costs to order a pool by these rings."""
    uses = [(placed, uses_of(placed, fences.home, fences.tree, keep_idle=True)) for placed in rings]
    return loss(fences.tree, fences.home, fences.sites, uses)


def _opening(sites: Sequence[Site], flow: Flow) -> frozenset[SiteKey]:
    return frozenset(site.key for site in sites if flow.origins[site.key] == (Origin(site.key, None),))


class _Regular(Parts):
    """Parts whose leases have rings of one lane for each slot; leases of slots that other parts fill come in."""

    def __init__(self, fences: PoolFences, flow: Flow, reach: Reach):
        self.fences = fences
        self.flow = flow
        self.reach = reach
        self.found: dict[tuple[SiteKey, ...], tuple[Placed, ...]] = {tuple(site.key for site in fences.sites): ()}
        """By accesses: what has been found out."""

    def stages(self, block: int, sites: Sequence[Site], tree: Tree) -> list[Stage]:
        found: list[Stage] = []
        rest: list[Site] = []
        for group in lease_groups(block, sites, self.flow):
            span = span_in(block, group)
            if span.first < span.last and any(stage.mixed for stage in stages(block, group, tree)):
                whole = Stage(tuple(group), span, pipes_of(group), writes=True, mixed=True)
                if self.rings(whole):
                    found += [*stages(block, rest, tree), whole]
                    rest = []
                    continue
            rest += group
        return [*found, *stages(block, rest, tree)]

    def rings(self, stage: Stage) -> tuple[Placed, ...]:
        key = tuple(site.key for site in stage.sites)
        if key not in self.found:
            rings = _regular(self.fences, stage.sites, self.flow, self.reach)
            self.found[key] = () if isinstance(rings, str) else rings
        return self.found[key]


def _regular(fences: PoolFences, sites: Sequence[Site], flow: Flow, reach: Reach) -> tuple[Placed, ...] | str:
    """Rings with a lane for each slot around some accesses, or why there are none."""
    tree, lanes = fences.tree, fences.lanes
    if len(fences.pool.sets) > 1 and lanes > 1:
        return "slot sets of several slots share its bytes"
    groups = components(sites, tree, flow)
    whole = [None if group.carried else _contained(group, tree, lanes) for group in groups]
    contained = [one for one in whole if one is not None]
    spread = [group for group, one in zip(groups, whole, strict=True) if one is None]
    doubtful = bool(spread) or _meet(contained) or any(_spelt_apart(group) for group in groups)
    if len(sites) < len(fences.sites):
        keys = {site.key for site in sites}
        if any(_comes_in(group, keys, flow) for group in groups if group not in spread):
            return "its leases come in from elsewhere"
        doubtful = True
    reason = "a loop carries its leases in a way that one token for each slot does not fit"
    if not any(group.carried for group in spread):
        reason = "its slot index changes within a region that a fence would have to span"
    for choice in _choices(spread, fences, flow):
        together = (*(one.shape for one in contained), *choice)
        signature = common_signature([shape.signature for shape in together])
        fitted = [] if signature is None else [stretched(shape, signature) for shape in together]
        if signature is None or not all(fitted):
            reason = "its leases pass through the pipes in different orders"
            continue
        alike = all(shape.signature == signature for shape in together)
        placed = Placed(ring_of(signature), tuple(shape for shape in fitted if shape is not None), lanes)
        if not _within_reach(placed, fences, reach):
            reason = "its slot index is not known where a fence would have to stand"
        elif (not doubtful and alike) or holds(
            tree, fences.sites, placed, uses_of(placed, fences.home, tree, keep_idle=True)
        ):
            inner = [ring for one in contained for ring in one.inner(tree, len(signature) > 1)]
            if all(_within_reach(ring, fences, reach) for ring in inner):
                rings = (placed, *inner) if placed.ring.events else inner
                return tuple(replace(ring, of_leases=len(ring.phase) == len(sites)) for ring in rings)
            reason = "its slot index is not known where a fence would have to stand"
    return reason


def _within_reach(placed: Placed, fences: PoolFences, reach: Reach) -> bool:
    """Whether the slot indices that a ring needs are known where its fences stand. Constants are, everywhere."""
    if all(
        isinstance(constant_lane(piece.lane, placed.lanes), int) for shape in placed.shapes for piece in shape.pieces
    ):
        return True
    return all(_reached(reach, use) for use in uses_of(placed, fences.home, fences.tree, keep_idle=True))


def _reached(reach: Reach, use: Use) -> bool:
    if isinstance(use.lane, int):
        return True
    if use.lane.ahead is not None and not reach.ahead(use.lane.key, use.lane.ahead[0]):
        return False
    if use.closing is None:
        return reach.at(use.lane.key, use.anchor, use.behind)
    return reach.closing(use.lane.key, use.closing)


@dataclass(frozen=True)
class _Contained:
    """A component of which each execution of the frame holds one lease."""

    frame: int
    stages: tuple[Stage, ...]
    shape: Shape
    lane: Lane

    def inner(self, tree: Tree, apart: bool) -> Iterator[Placed]:
        """The rings inside it. `apart`: the outer ring has several phases and so keeps executions apart."""
        if apart:
            yield from rings_inside(self.stages, tree, self.lane)
        else:
            sites = [site for stage in self.stages for site in stage.sites]
            yield from rings_in(self.frame, sites, tree, self.lane, around=True)


def _contained(component: Component, tree: Tree, lanes: int) -> _Contained | None:
    """None if the slot index is not known throughout the frame."""
    found = tuple(stages(component.frame, component.sites, tree))
    lane = _lane_site(component)
    around = tree.blocks[component.frame].loops
    if not all(lane_is_known(site, found[0].span, tree) for site in component.sites):
        return None
    return _Contained(component.frame, found, shape_of(found, lane, around), (lane, lanes))


def _comes_in(component: Component, keys: Set[SiteKey], flow: Flow) -> bool:
    """Whether a lease of the component may be opened by an access that is not among these."""
    return any(origin.opener not in keys for site in component.sites for origin in flow.origins[site.key])


def _meet(contained: Sequence[_Contained]) -> bool:
    """Whether leases of two of these may be live together, so that only their lanes keep them apart."""
    last: dict[int, int] = {}
    for one in contained:
        first, end = one.stages[0].span.first, one.stages[-1].span.last
        if first <= last.get(one.frame, -1):
            return True
        last[one.frame] = max(end, last.get(one.frame, -1))
    return False


def _spelt_apart(component: Component) -> bool:
    """Whether the indices of a component are not all one term, so that it may hold leases of several slots at once."""
    return any(site.access.term != component.sites[0].access.term for site in component.sites)


def _lane_site(component: Component) -> Site:
    """The first access that stands directly in the frame, so that all executions have it; else the first one with the
    index that most accesses have: that of one arm may be right there only."""
    for site in component.sites:
        if site.path[-1].block == component.frame:
            return site
    alike = Counter(site.access.term for site in component.sites)
    return max(component.sites, key=lambda site: alike[site.access.term])


def _choices(spread: Sequence[Component], fences: PoolFences, flow: Flow) -> Iterator[tuple[Shape, ...]]:
    """Shapes of all these components together. With several of them, all take the same number of the list."""
    if not spread:
        yield ()
        return
    yield from zip(*(_shapes(component, fences, flow) for component in spread), strict=False)


def _shapes(component: Component, fences: PoolFences, flow: Flow) -> Iterator[Shape]:
    yield from carried_shapes(component, fences.tree, flow, fences.sites)
    yield from resident_shapes(component, fences.tree, flow, fences.lanes)


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
