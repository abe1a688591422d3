"""All fences of a program: which events there are, and where each set, wait and barrier stands."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from pto_buf.fences.actions import Action, PlannedEvent, Rank
from pto_buf.fences.barriers import barriers
from pto_buf.fences.budget import fit_ids
from pto_buf.fences.ids import Reserved
from pto_buf.fences.loss import Lost
from pto_buf.fences.pools import Pool, PoolFences, Reach, cost_of, fence_pool
from pto_buf.fences.tree import Site, build_tree, build_trees
from pto_buf.hw import Pipe, Target
from pto_buf.slots.flow import Flow
from pto_buf.slots.program import Program


@dataclass(frozen=True)
class FencePlan:
    """`actions` stand in the order in which those of one gap follow one another."""

    events: tuple[PlannedEvent, ...]
    actions: tuple[Action, ...]
    lost: tuple[Lost, ...]
    """Overlap that was given up."""


def plan_fences(
    program: Program,
    pools: Sequence[Pool],
    flow: Flow,
    target: Target,
    reserved: Reserved = frozenset(),
    reach: Reach | None = None,
) -> FencePlan:
    """Fences for every conflict through slots. `pools` holds each slot set once, grouped by shared bytes."""
    tree = build_tree(program)
    by_set = {slots.key: number for number, pool in enumerate(pools) for slots in pool.sets}
    parts = build_trees(program, by_set)
    fenced = {
        number: fence_pool(pools[number], part, flow, reach or Reach()) for number, part in parts.items() if part.sites
    }
    fitted = fit_ids(tuple(fenced.values()), tree, reserved)
    after = dict(zip(fenced, fitted.fenced, strict=True))
    unordered = frozenset(pipe for pipe in Pipe if pipe not in target.ordered_pipes)
    reached = [site for site in tree.sites if site.key in flow.origins]
    needed = barriers(program.body, reached, unordered, _Order(after, by_set))
    actions = list(fitted.planner.actions)
    actions += [Action(key, False, Rank.BARRIER, pipe=pipe) for key, pipes in needed.items() for pipe in pipes]
    lost = [one for fences in fitted.fenced if (one := _lost(fences)) is not None]
    return FencePlan(tuple(fitted.planner.events), tuple(actions), (*lost, *fitted.lost))


def _lost(fences: PoolFences) -> Lost | None:
    """What it costs that a pool has not one ring for leases that are all alike; None if it costs nothing."""
    if fences.handshake:
        cost = "each operation on it waits for all pipes that use it, and they for it"
        return Lost(fences.pool.sets[0], fences.pool.name, f"hands over by handshake, since {fences.irregular}", cost)
    reason = fences.irregular
    if reason is None and any(piece.way for ring in fences.rings for shape in ring.shapes for piece in shape.pieces):
        reason = "its leases pass through the pipes in different orders"
    if reason is None:
        return None
    cost = cost_of(fences, fences.rings)
    return Lost(fences.pool.sets[0], fences.pool.name, reason, str(cost)) if cost.held else None


@dataclass(frozen=True)
class _Order:
    fenced: Mapping[int, PoolFences]
    by_set: Mapping[int, int]

    def storage(self, site: Site) -> int:
        return self.by_set[site.access.slots.key]

    def phase(self, site: Site) -> Hashable:
        return tuple(placed.phase.get(site.key) for placed in self.fenced[self.storage(site)].rings)

    def must_wait(self, earlier: Site, later: Site, carried: tuple[int, ...]) -> bool:
        return self.fenced[self.storage(earlier)].must_wait(earlier, later, carried)
