"""All fences of a program: which events there are, and where each set, wait and barrier stands."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pto_buf.fences.actions import Action, PlannedEvent, Rank
from pto_buf.fences.barriers import barriers
from pto_buf.fences.global_memory.arrays import fence_array, lost_on, with_arrays
from pto_buf.fences.global_memory.global_order import watch
from pto_buf.fences.global_memory.meetings import meetings
from pto_buf.fences.layout import Layout, layout
from pto_buf.fences.numbering.budget import fit_ids, reduced
from pto_buf.fences.numbering.ids import Ids
from pto_buf.fences.rings.loss import Lost
from pto_buf.fences.rings.pools import Pool, PoolFences, Reach, cost_of, fence_pool
from pto_buf.fences.tree import Site, Step, Tree, build_tree, build_trees
from pto_buf.fences.windows import Pair, Windows
from pto_buf.hw import Pipe, Target
from pto_buf.slots.compare import Equality, compare
from pto_buf.slots.flow import Flow
from pto_buf.slots.program import Loop, Program, While


@dataclass(frozen=True)
class FencePlan:
    """`actions` stand in the order in which those of one gap follow one another."""

    events: tuple[PlannedEvent, ...]
    actions: tuple[Action, ...]
    lost: tuple[Lost, ...]
    """Overlap that was given up."""
    arrays: tuple[PoolFences, ...] = ()
    """The fences of global memory."""


def plan_fences(
    program: Program,
    pools: Sequence[Pool],
    flow: Flow,
    target: Target,
    ids: Ids | None = None,
    reach: Reach | None = None,
    windows: Windows | None = None,
    *,
    reduce: bool = True,
    plain: bool = False,
) -> FencePlan:
    """Fences for every conflict through slots, and through global memory as far as those do not order it already; those
    that others imply are marked.

    `pools` holds each slot set once, grouped by shared bytes. Without `reduce` nothing is marked: something else in the
    program orders pipes, too, of which the plan knows nothing. With `plain` every pool is ordered by regions.
    """
    tree, ids = build_tree(program), ids or Ids()
    context = _Context(pools, flow, target, ids, reach or Reach(), reduce, plain)
    plan, laid_out = _whole_plan(program, tree, context, windows)
    if not reduce:
        return plan
    events, actions = reduced(plan.events, laid_out, ids)
    return replace(plan, events=tuple(events), actions=tuple(actions))


def _whole_plan(program: Program, tree: Tree, context: "_Context", windows: Windows | None) -> tuple[FencePlan, Layout]:
    plan = _plan(program, tree, context, {})
    laid_out = layout(tree, plan.actions)
    if not windows:
        return plan, laid_out
    in_order = context.target.ordered_pipes
    met = tuple(meetings(tree, windows))
    pairs: dict[int, frozenset[Pair]] = {}
    while True:
        watched = watch(plan.events, laid_out, windows, met, in_order)
        more = {array: pairs.get(array, frozenset()) | new for array, new in watched.pairs.items()}
        if all(more[array] == pairs.get(array) for array in more):
            lost = [one for fences in plan.arrays if (one := lost_on(fences, watched.told)) is not None]
            return replace(plan, lost=(*plan.lost, *lost)), laid_out
        pairs.update(more)
        wider, arrays = with_arrays(program, windows, dict(sorted(pairs.items())))
        plan = _plan(wider, build_tree(wider), context, {arrays[number]: pairs[number] for number in arrays})
        laid_out = layout(tree, plan.actions)


@dataclass(frozen=True)
class _Context:
    pools: Sequence[Pool]
    flow: Flow
    target: Target
    ids: Ids
    reach: Reach
    reduce: bool
    plain: bool


def _plan(program: Program, tree: Tree, context: _Context, arrays: Mapping[Pool, frozenset[Pair]]) -> FencePlan:
    """`arrays`: what has to be ordered in global memory. The program and its tree have their accesses."""
    pools = (*context.pools, *arrays)
    by_set = {slots.key: number for number, pool in enumerate(pools) for slots in pool.sets}
    parts = build_trees(program, by_set)
    fenced: dict[int, PoolFences] = {}
    for number, part in parts.items():
        pairs = arrays.get(pools[number])
        if pairs is not None:
            fenced[number] = fence_array(pools[number], part, pairs)
        elif part.sites:
            fenced[number] = fence_pool(pools[number], part, context.flow, context.reach, plain=context.plain)
    fitted = fit_ids(tuple(fenced.values()), tree, context.ids, reduce=context.reduce)
    after = dict(zip(fenced, fitted.fenced, strict=True))
    unordered_pipes = frozenset(pipe for pipe in Pipe if pipe not in context.target.ordered_pipes)
    first_array = len(program.sets) - len(arrays)
    reached = [s for s in tree.sites if s.key in context.flow.origins or s.access.slots.key >= first_array]
    needed = barriers(program.body, reached, unordered_pipes, _Order(after, by_set, tree))
    actions = list(fitted.planner.actions)
    actions += [Action(key, False, Rank.BARRIER, pipe=pipe) for key, pipes in needed.items() for pipe in pipes]
    lost = [one for fences in fitted.fenced if (one := _lost(fences)) is not None]
    of_arrays = tuple(fences for fences in fitted.fenced if fences.pairs is not None)
    return FencePlan(tuple(fitted.planner.events), tuple(actions), (*lost, *fitted.lost), of_arrays)


def _lost(fences: PoolFences) -> Lost | None:
    """What it costs that a pool has not one ring for leases that are all alike; None if it costs nothing."""
    if fences.handshake:
        cost = "each operation on it waits for all pipes that use it, and they for it"
        return Lost(fences.pool.sets[0], fences.pool.name, f"hands over by handshake, since {fences.irregular}", cost)
    reason = fences.irregular
    if (
        fences.pairs is None
        and reason is None
        and any(piece.way for ring in fences.rings for shape in ring.shapes for piece in shape.pieces)
    ):
        reason = "its leases pass through the pipes in different orders"
    if reason is None:
        return None
    cost = cost_of(fences, fences.rings)
    return Lost(fences.pool.sets[0], fences.pool.name, reason, str(cost)) if cost.held else None


@dataclass(frozen=True)
class _Order:
    fenced: Mapping[int, PoolFences]
    by_set: Mapping[int, int]
    tree: Tree
    apart: dict[Hashable, bool] = field(default_factory=dict[Hashable, bool])
    """By two terms and the loops around them: whether they are never one number."""

    def storage(self, site: Site) -> int:
        return self.by_set[site.access.slots.key]

    def phase(self, site: Site) -> Hashable:
        fences = self.fenced[self.storage(site)]
        if fences.pairs is not None:  # accesses to an array wait pair by pair: none stands for another
            return site.op.key
        return tuple([placed.phase.get(site.key) for placed in fences.rings])

    def must_wait(self, earlier: Site, later: Site, carried: tuple[int, ...]) -> bool:
        shared = tuple(step for step, also in zip(earlier.path, later.path, strict=False) if step == also)
        if not carried and self._in_other_slot(earlier, later, shared):
            return False
        around = self.tree.loops_around(shared)
        return self.fenced[self.storage(earlier)].must_wait(earlier, later, carried, around)

    def _in_other_slot(self, earlier: Site, later: Site, shared: tuple[Step, ...]) -> bool:
        """Whether two accesses in one trip of all loops around both are known to touch two slots of a set."""
        one, other = earlier.access, later.access
        if one.slots.key != other.slots.key or one.term == other.term:
            return False
        around = [node for step in shared if isinstance(node := self.tree.node(step), Loop | While)]
        key = one.term, other.term, tuple(loop.key for loop in around)
        if key not in self.apart:
            self.apart[key] = compare(one.term, other.term, around) is Equality.DIFFERENT
        return self.apart[key]
