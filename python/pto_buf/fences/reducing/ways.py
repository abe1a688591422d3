"""Every way that a run may take from one place of a planned program on, and who comes to know of something on it.

From a set or op on, the ways through the program are followed: loops for any number of trips, arms by no condition.
On each way two things only grow: which pipes know of it, and which tokens tell of it. So a wait on a lane that a
telling token was put on passes the knowledge on, whichever token it meets there: that one, or a later one behind it.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pto_buf.fences.actions import PlannedEvent
from pto_buf.fences.layout import Closed, Guarded, Item, Layout, Mark
from pto_buf.fences.reducing.remainders import Divisors, Lanes
from pto_buf.hw import Pipe
from pto_buf.slots.forms import Atoms
from pto_buf.slots.program import Branch, Loop, Op, While
from pto_buf.slots.terms import Const


class TiredError(Exception):
    """The ways are too many to follow."""


@dataclass(frozen=True)
class State:
    known: frozenset[Pipe | None]
    """The pipes that know that it is over. None: its own pipe has heard of it from another one."""
    told: frozenset[tuple[int, Hashable]]
    """Events and lanes with a token that tells of it."""
    late: frozenset[int] = frozenset()
    """What it should be known at, and was not."""
    met: bool = False
    """Whether the set's wait has surely passed."""


States = tuple[State, ...]
"""At most one for each value of `late` and `met`; no state: nothing is left to be shown."""


class Ways:
    """`events` and `laid_out` are those of the whole plan. `most`: items to come by, for all questions together."""

    def __init__(self, events: Sequence[PlannedEvent], laid_out: Layout, most: int):
        self.tree = laid_out.tree
        self.events = events
        self.laid_out = laid_out
        self.gone = {mark.number for mark in laid_out.marks if mark.action.implied}
        """Numbers of marks that are no longer there."""
        self._divisors = Divisors(mark.action for mark in laid_out.marks)
        self._atoms = Atoms()
        self._left = most

    @cached_property
    def of_event(self) -> Mapping[int, Sequence[Mark]]:
        """The sets and waits of each event."""
        found: dict[int, list[Mark]] = {}
        for mark in self.laid_out.marks:
            if mark.action.event is not None:
                found.setdefault(mark.event, []).append(mark)
        return found

    def lanes(self, block: int) -> Iterator[Lanes]:
        """What may be known of the counters of the loops around a block."""
        path = self.tree.blocks[block].path
        loops = [node for step in path if isinstance(node := self.tree.node(step), Loop | While)]
        for remainders in self._divisors.choices(loops):
            yield Lanes(self._divisors, self._atoms, remainders)

    def spend(self, items: int) -> None:
        self._left -= items
        if self._left < 0:
            raise TiredError


class Way:
    """The ways from one place on."""

    def __init__(self, ways: Ways, lanes: Lanes, within: int | None = None):
        """`within`: the key of a loop; ways end where they leave it."""
        self.ways = ways
        self.lanes = lanes
        self.within = within

    # --- what is asked ---

    def op(self, op: Op, states: States) -> States:
        """Comes by an op."""
        raise NotImplementedError

    def mark(self, mark: Mark, state: State) -> State:
        """Comes by a set, wait or barrier."""
        raise NotImplementedError

    def shown(self, state: State) -> bool:
        """Whether nothing is left to be shown."""
        raise NotImplementedError

    # --- the walk ---

    def up(self, block: int, first: int, states: States) -> None:
        """From an item of a block on to the end of the program."""
        while True:
            states = self.items(self.ways.laid_out.blocks[block], states, first)
            path = self.ways.tree.blocks[block].path
            if not states or not path:
                return
            node = self.ways.tree.node(path[-1])
            match node:
                case Loop():
                    states = self._trips(node, states)
                    self.lanes.leave(node)
                case While():
                    before, after = self.ways.tree.inner[node.key]
                    if block == after:
                        self.lanes.advance(node)
                        states = self._block(before, states)
                    states = self._trips(node, states)
                    self.lanes.leave(node)
                case _:
                    pass
            if node.key == self.within:
                return
            block = path[-1].block
            first = self.ways.laid_out.items[node.key] + 1

    def items(self, items: Sequence[Item], states: States, first: int = 0) -> States:
        """By these items, from one of them on."""
        for at in range(first, len(items)):
            if not states:
                break
            self.ways.spend(1)
            states = self._item(items[at], states)
        return states

    def marks(self, marks: Sequence[Mark], states: States) -> States:
        """By these sets and waits."""
        for mark in marks:
            if states and mark.number not in self.ways.gone:
                states = tuple(self.mark(mark, state) for state in states)
        return tuple(state for state in states if not self.shown(state))

    def _block(self, block: int, states: States) -> States:
        return self.items(self.ways.laid_out.blocks[block], states)

    def _item(self, item: Item, states: States) -> States:
        match item:
            case Op():
                return self.op(item, states)
            case Mark():
                return self.marks((item,), states)
            case Guarded(marks):
                return _merged((*states, *self.marks(marks, states)))
            case Closed():
                return self._closed(item, states)
            case Loop():
                return self._loop(item, states)
            case While():
                return self._while(item, states)
            case Branch():
                arms = [self._block(arm, states) for arm in self.ways.tree.inner[item.key]]
                return _merged([state for arm in arms for state in arm])
            case _:
                return states

    # --- loops ---

    def _loop(self, loop: Loop, states: States) -> States:
        (body,) = self.ways.tree.inner[loop.key]
        self.lanes.enter(loop)
        left = self._trips(loop, self._block(body, states))
        self.lanes.leave(loop)
        return left if _surely_runs(loop) else _merged((*states, *left))

    def _while(self, loop: While, states: States) -> States:
        self.lanes.enter(loop)
        left = self._trips(loop, self._block(self.ways.tree.inner[loop.key][0], states))
        self.lanes.leave(loop)
        return left

    def _trips(self, loop: Loop | While, states: States) -> States:
        """Any number of further trips; what is left behind the loop."""
        left = states
        seen: dict[object, State] = {}
        while states:
            here = self.lanes.remainder(loop)
            fresh: list[State] = []
            for state in states:
                key = (here, state.late, state.met)
                old = seen.get(key)
                if old is None or not (state.known >= old.known and state.told >= old.told):
                    seen[key] = state if old is None else _both(state, old)
                    fresh.append(seen[key])
            states = self._trip(loop, tuple(fresh))
            left = _merged((*left, *states))
        return left

    def _trip(self, loop: Loop | While, states: States) -> States:
        inner = self.ways.tree.inner[loop.key]
        if isinstance(loop, While):
            states = self._block(inner[1], states)
        self.lanes.advance(loop)
        return self._block(inner[0], states)

    def _closed(self, item: Closed, states: States) -> States:
        """The trips of a closing: as many as it has, or (`to_lag`, `if_run`) any number up to that."""
        closing = item.action.closing
        assert closing is not None
        return self._closings(item, closing.lag, closing.to_lag or closing.if_run, states)

    def again(self, item: Closed, states: States) -> States:
        """Further trips of a closing."""
        closing = item.action.closing
        assert closing is not None
        return self._closings(item, closing.lag - 1, True, states)

    def _closings(self, item: Closed, most: int, fewer: bool, states: States) -> States:
        assert isinstance(item.node, Loop | While)
        left = states
        for _ in range(most):
            self.lanes.leave(item.node)
            states = self.marks(item.marks, states)
            left = _merged((*left, *states)) if fewer else states
        self.lanes.leave(item.node)
        return left

    def tells(self, mark: Mark, lane: Hashable, state: State) -> State:
        """What a set or wait does with the knowledge that something is over."""
        event = self.ways.events[mark.event]
        if not mark.action.waits:
            if event.src in state.known:
                return replace(state, told=state.told | {(mark.event, lane)})
        elif (mark.event, lane) in state.told:
            return replace(state, known=state.known | {event.dst})
        return state


def _surely_runs(loop: Loop) -> bool:
    lower, upper = loop.lower, loop.upper
    return isinstance(lower, Const) and isinstance(upper, Const) and lower.value < upper.value


def _both(one: State, other: State) -> State:
    return replace(one, known=one.known & other.known, told=one.told & other.told)


def _merged(states: Sequence[State]) -> States:
    """What is sure whichever of the states is the case."""
    found: dict[tuple[frozenset[int], bool], State] = {}
    for state in states:
        key = state.late, state.met
        found[key] = state if key not in found else _both(found[key], state)
    return tuple(found.values())
