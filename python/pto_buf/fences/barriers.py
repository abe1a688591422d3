"""Same-pipe barriers: where a pipe must finish what it holds because the next operation depends on it.

One walk over the program with, for each pipe, the accesses that no barrier has closed yet. A loop's body is walked
from the state that its own end leaves (found by a first walk that decides nothing, and put right until it is so), so
that a dependence carried by the loop finds its barrier too.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, Protocol

from pto_buf.fences.rings.pools import in_conflict
from pto_buf.fences.tree import OfOp, Site, by_op, inner_blocks
from pto_buf.hw import Pipe
from pto_buf.slots.program import Block, Branch, Loop, Op, While


class Order(Protocol):
    """What is known of the order of two accesses without a barrier."""

    def storage(self, site: Site) -> int:
        """The number of the bytes' pool: accesses of different pools never meet."""
        ...

    def phase(self, site: Site) -> Hashable:
        """The phases that the access belongs to: what is known of it is known of others in the same ones."""
        ...

    def must_wait(self, earlier: Site, later: Site, carried: tuple[int, ...]) -> bool:
        """Whether no flag proves `earlier` complete, with which `later`, of the same pool and pipe, is in conflict.

        `carried`: keys of the loops whose back edge lies between.
        """
        ...


class _Open(NamedTuple):
    """An access that is not known to be complete, and the loops whose back edge has been passed since."""

    site: Site
    carried: tuple[int, ...]


_Pool = dict[Hashable, _Open]
"""Open accesses of one pool. A later one with the same key, to the same slot, stands for the earlier: it ends later."""
_State = dict[Pipe, dict[int, _Pool]]


def barriers(
    body: Block, sites: Sequence[Site], unordered: frozenset[Pipe], order: Order
) -> Mapping[int, tuple[Pipe, ...]]:
    """For the key of each op that needs one, the pipes whose barrier stands before it."""
    walk = _Walk(by_op(sites), unordered, order)
    walk.block(body, {}, decide=True)
    return {key: tuple(pipe for pipe in Pipe if pipe in pipes) for key, pipes in walk.found.items()}


class _Walk:
    def __init__(self, of_op: OfOp, unordered: frozenset[Pipe], order: Order):
        self.of_op = of_op
        self.unordered = unordered
        self.order = order
        self.found: dict[int, dict[Pipe, None]] = {}

    def block(self, nodes: Block, state: _State, decide: bool) -> _State:
        for node in nodes:
            match node:
                case Op():
                    for pipe in node.pipes:
                        if pipe in self.unordered:
                            self._op(node, pipe, state.setdefault(pipe, {}), decide)
                case Branch():
                    state = _join([self.block(arm, _copy(state), decide) for arm in inner_blocks(node)])
                case Loop() | While():
                    left, ended = self._trip(node, state, decide=False)
                    if decide:
                        left = self._loop(node, state, ended)
                    state = _join([state, left])
                case _:
                    pass
        return state

    def _trip(self, loop: Loop | While, entered: _State, decide: bool) -> tuple[_State, _State]:
        """One trip: the state in which the loop is left, and that at the end of the trip."""
        first, *more = inner_blocks(loop)
        left = ended = self.block(first, _copy(entered), decide)
        for part in more:  # a `while` is left in its middle
            ended = self.block(part, _copy(ended), decide)
        return left, ended

    def _loop(self, loop: Loop | While, before: _State, ended: _State) -> _State:
        """Trips from the state before the loop, and from that at the end of a trip, until no trip ends in another: a
        barrier that is set in one of them may make another one, in whose place a state was expected, unnecessary."""
        entered = before
        while True:
            entered = _join([entered, self._carry(ended, loop.key)])
            left, ended = self._trip(loop, entered, decide=True)
            if _within(self._carry(ended, loop.key), entered):
                return left

    def _op(self, op: Op, pipe: Pipe, pools: dict[int, _Pool], decide: bool) -> None:
        mine = [(site, self.order.storage(site)) for site in self.of_op.get(op.key, ())]
        if pipe in self.found.get(op.key, ()) or any(
            in_conflict(earlier.site, site) and self.order.must_wait(earlier.site, site, earlier.carried)
            for site, storage in mine
            if storage in pools
            for earlier in pools[storage].values()
        ):
            pools.clear()
            if decide:
                self.found.setdefault(op.key, {})[pipe] = None
        for site, storage in mine:
            pools.setdefault(storage, {})[self._key(site, ())] = _Open(site, ())

    def _key(self, site: Site, carried: tuple[int, ...]) -> Hashable:
        access = site.access
        return (
            access.slots.key,
            access.term,
            access.role.writes,
            self.order.phase(site),
            access.start,
            access.end,
            carried,
        )

    def _carry(self, state: _State, loop: int) -> _State:
        carried: _State = {}
        for pipe, pools in state.items():
            for number, pool in pools.items():
                entries = (
                    entry if loop in entry.carried else _Open(entry.site, (*entry.carried, loop))
                    for entry in pool.values()
                )
                carried.setdefault(pipe, {})[number] = {self._key(new.site, new.carried): new for new in entries}
        return carried


def _copy(state: _State) -> _State:
    return {pipe: {number: dict(pool) for number, pool in pools.items()} for pipe, pools in state.items()}


def _within(state: _State, other: _State) -> bool:
    """Whether all that is open in one state is open in the other."""
    return all(
        pool.keys() <= other.get(pipe, {}).get(number, {}).keys()
        for pipe, pools in state.items()
        for number, pool in pools.items()
    )


def _join(states: Sequence[_State]) -> _State:
    joined: _State = {}
    for state in states:
        for pipe, pools in state.items():
            for number, pool in pools.items():
                joined.setdefault(pipe, {}).setdefault(number, {}).update(pool)
    return joined
