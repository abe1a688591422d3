"""All fences of a program: which events there are, and where each set, wait and barrier stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pto_buf.fences.actions import Action, PlannedEvent, Rank
from pto_buf.fences.barriers import barriers
from pto_buf.fences.budget import fit_ids
from pto_buf.fences.ids import Reserved
from pto_buf.fences.pools import Pool, PoolFences, fence_pool
from pto_buf.fences.tree import Site, build_tree
from pto_buf.hw import Pipe, Target
from pto_buf.slots.flow import Flow
from pto_buf.slots.program import Program


@dataclass(frozen=True)
class FencePlan:
    """`actions` stand in the order in which those of one gap follow one another."""

    events: tuple[PlannedEvent, ...]
    actions: tuple[Action, ...]
    lost: tuple[str, ...]
    """Overlap that was given up, and why, for each pool without a ring."""


def plan_fences(
    program: Program, pools: Sequence[Pool], flow: Flow, target: Target, reserved: Reserved = frozenset()
) -> FencePlan:
    """Fences for every conflict through slots. `pools` holds each slot set once, grouped by shared bytes."""
    tree = build_tree(program)
    by_set = {slots.key: number for number, pool in enumerate(pools) for slots in pool.sets}
    sites: list[list[Site]] = [[] for _ in pools]
    for site in tree.sites:
        sites[by_set[site.access.slots.key]].append(site)
    fenced = [fence_pool(pool, mine, tree, flow) for pool, mine in zip(pools, sites, strict=True)]
    fitted = fit_ids(fenced, tree, reserved)
    unordered = frozenset(pipe for pipe in Pipe if pipe not in target.ordered_pipes)
    order = _Order(fitted.fenced, by_set)
    reached = [site for fences in fitted.fenced for site in fences.sites]
    needed = barriers(program.body, sorted(reached, key=_site_key), unordered, order)
    actions = list(fitted.planner.actions)
    actions += [Action(key, False, Rank.BARRIER, pipe=pipe) for key, pipes in needed.items() for pipe in pipes]
    lost = [f"{fences.pool.name}: {fences.reason}" for fences in fitted.fenced if fences.reason is not None]
    return FencePlan(tuple(fitted.planner.events), tuple(actions), (*lost, *fitted.lost))


def _site_key(site: Site) -> tuple[int, int]:
    return site.key.op, site.key.access


@dataclass(frozen=True)
class _Order:
    fenced: Sequence[PoolFences]
    by_set: Mapping[int, int]

    def storage(self, site: Site) -> int:
        return self.by_set[site.access.slots.key]

    def phase(self, site: Site) -> int:
        return self.fenced[self.storage(site)].phase.get(site.key, 0)

    def must_wait(self, earlier: Site, later: Site, carried: tuple[int, ...]) -> bool:
        return self.fenced[self.storage(earlier)].must_wait(earlier, later, carried)
