"""Arrays in global memory as pools: of each one, the accesses that nothing else orders."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pto_buf.dialect.table.row import Role
from pto_buf.fences.rings.loss import Lost
from pto_buf.fences.rings.pools import Pool, PoolFences, region_rings
from pto_buf.fences.rings.rings import Hand
from pto_buf.fences.tree import Tree
from pto_buf.fences.windows import Array, Pair, Window, Windows
from pto_buf.hw import Space
from pto_buf.slots.program import Access, Block, Branch, Loop, Node, Op, Program, SlotSet, While
from pto_buf.slots.terms import Const
from pto_buf.tile import TileSpec

Pairs = Mapping[int, frozenset[Pair]]
"""By the number of the array."""


def with_arrays(program: Program, windows: Windows, pairs: Pairs) -> tuple[Program, dict[int, Pool]]:
    """The program in which each array is one slot more, accessed by the ops of its pairs; and the arrays' pools."""
    arrays = {window.array.number: window.array for found in windows.values() for window in found}
    pools: dict[int, Pool] = {}
    more: dict[int, list[Access]] = {}
    for number, found in pairs.items():
        slot = _slot(len(program.sets) + len(pools), arrays[number])
        pools[number] = Pool((slot,))
        for key in sorted({key for pair in found for key in (pair.earlier, pair.later)}):
            touched = [window for window in windows.get(key, ()) if window.array.number == number]
            if touched:
                more.setdefault(key, []).append(Access(slot, Const(0), _role(touched), "view", None))
    body = _added(program.body, more)
    sets = (*program.sets, *(slots for pool in pools.values() for slots in pool.sets))
    return replace(program, sets=sets, body=body), pools


def fence_array(pool: Pool, tree: Tree, pairs: frozenset[Pair]) -> PoolFences:
    """Its fences: rings of one lane by regions, around the accesses of pairs on two pipes."""
    fences = PoolFences(pool, tree, tree.sites, 1, pairs=pairs)
    return replace(region_rings(fences, ""), irregular=None)


def lost_on(fences: PoolFences, told: Mapping[str, int]) -> Lost | None:
    """What it costs where the fences of an array need a way back that no two of its accesses ask for.

    `told`: for each event, by its name, how many waits in trial runs told their pipe something.
    """
    if any(pair.crosses and pair.carrier >= 0 for pair in fences.pairs or ()):
        return None
    held = sum(waits for name, waits in told.items() if name.startswith(f"{fences.pool.name}.{Hand.FREE}."))
    if not held:
        return None
    reason = "its accesses are apart from trip to trip, but the flags between them have to come back"
    cost = f"{held} times, in trial runs, an operation on it waits for one that it does not depend on"
    return Lost(fences.pool.sets[0], fences.pool.name, reason, cost)


def _slot(key: int, array: Array) -> SlotSet:
    return SlotSet(key, f"gm.{array.name}", 1, TileSpec(Space.GM, 1, 1, array.dtype, 1, 1), False, None)


def _role(windows: Sequence[Window]) -> Role:
    reads, writes = any(one.reads for one in windows), any(one.writes for one in windows)
    return Role.UPDATE if reads and writes else Role.WRITE if writes else Role.READ


def _added(block: Block, more: Mapping[int, Sequence[Access]]) -> Block:
    found: list[Node] = []
    for node in block:
        match node:
            case Op() if node.key in more:
                found.append(replace(node, accesses=(*node.accesses, *more[node.key])))
            case Loop():
                found.append(replace(node, body=_added(node.body, more)))
            case Branch():
                found.append(replace(node, then=_added(node.then, more), otherwise=_added(node.otherwise, more)))
            case While():
                found.append(replace(node, before=_added(node.before, more), after=_added(node.after, more)))
            case _:
                found.append(node)
    return tuple(found)
