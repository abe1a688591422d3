"""Whether a set is known at its wait without the pair itself, on every way that a run may take from one to the other.

From the set on, the ways through the program are followed: loops for any number of trips, arms by no condition.
On each way two things only grow: which pipes know of the set, and which tokens tell of it. So a wait on a lane that a
telling token was put on passes the knowledge on, whichever token it meets there: that one, or a later one behind it.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from pto_buf.fences.actions import PlannedEvent
from pto_buf.fences.layout import Closed, Guarded, Item, Layout, Mark, marks_of
from pto_buf.fences.remainders import Divisors, Lanes
from pto_buf.fences.tree import Tree
from pto_buf.hw import Pipe
from pto_buf.slots.forms import Atoms
from pto_buf.slots.program import Branch, Loop, Op, Release, While
from pto_buf.slots.terms import Const


class TiredError(Exception):
    """The ways are too many to follow."""


class _LostError(Exception):
    """A way leads to what has to come behind the wait, and the set is not known there; or to another wait."""


@dataclass(frozen=True)
class _State:
    known: frozenset[Pipe]
    """The pipes that know of the set."""
    told: frozenset[tuple[int, Hashable]]
    """Events and lanes with a token that tells of it."""
    late: bool = False
    """Whether a wait that may be the set's has passed, and its pipe does not know."""
    met: bool = False
    """Whether the set's wait has surely passed."""


_States = tuple[_State, ...]
"""At most one for each value of `late` and `met`; no state: nothing is left to be shown."""


@dataclass(frozen=True)
class Pair:
    """Sets and waits of one event that only meet one another."""

    event: int
    marks: frozenset[int]


class Ways:
    """`events` and `laid_out` are those of the whole plan. `most`: items to come by, for all questions together."""

    def __init__(self, tree: Tree, events: Sequence[PlannedEvent], laid_out: Layout, most: int):
        self.tree = tree
        self.events = events
        self.laid_out = laid_out
        self.gone: set[int] = set()
        """Numbers of marks that are no longer there."""
        self._divisors = Divisors(part for mark in laid_out.marks for part in (mark.action,))
        self._atoms = Atoms()
        self._left = most
        self._of_event: dict[int, list[Mark]] = {}
        for mark in laid_out.marks:
            self._of_event.setdefault(mark.event, []).append(mark)

    def imply(self, pair: Pair) -> bool:
        """Whether all sets of the pair are known at their waits without it. Raises TiredError."""
        members = self._of_event[pair.event]
        whole = all(mark.number in pair.marks or mark.number in self.gone for mark in members)
        try:
            for mark in members:
                if mark.action.waits or mark.number in self.gone:
                    continue
                if mark.number in pair.marks:
                    self._follow(mark, _Goal(self.events[pair.event], pair, ordered=True, paired=not whole))
                elif not whole:
                    self._follow(mark, _Goal(self.events[pair.event], pair, ordered=False, paired=True))
        except _LostError:
            return False
        return True

    def _follow(self, mark: Mark, goal: "_Goal") -> None:
        spot = self.laid_out.spots[mark.number]
        path = self.tree.blocks[spot.block].path
        loops = [node for step in path if isinstance(node := self.tree.node(step), Loop | While)]
        for remainders in self._divisors.choices(loops):
            _Way(self, mark, goal, Lanes(self._divisors, self._atoms, remainders)).follow()

    def spend(self, items: int) -> None:
        self._left -= items
        if self._left < 0:
            raise TiredError


@dataclass(frozen=True)
class _Goal:
    event: PlannedEvent
    pair: Pair
    ordered: bool
    """The set has to be known at its wait."""
    paired: bool
    """Its wait has to be one of the pair's (or, of a set that is not of the pair, none of them)."""


class _Way:
    """The ways from one set."""

    def __init__(self, ways: Ways, mark: Mark, goal: _Goal, lanes: Lanes):
        self.ways = ways
        self.mark = mark
        self.goal = goal
        self.lanes = lanes
        self.lane = lanes.of(mark.action)
        self.src, self.dst = goal.event.src, goal.event.dst
        self.begun = False
        """Whether the set itself has passed."""

    def follow(self) -> None:
        spot = self.ways.laid_out.spots[self.mark.number]
        items = self.ways.laid_out.blocks[spot.block]
        first = self._first(items, spot.item)
        known = frozenset(Pipe) if spot.block == 0 and first == 0 else frozenset({self.src})
        states: _States = (_State(known, frozenset()),)
        states = self._items(items[first : spot.item], states)
        self.begun = True
        item = items[spot.item]
        states = self._open(self._marks(marks_of(item)[spot.inner :], states))
        if isinstance(item, Closed):
            states = self._again(item, states)
        self._up(spot.block, spot.item + 1, states)

    def _first(self, items: Sequence[Item], at: int) -> int:
        """The first item from which on its pipe does nothing but set, up to the set."""
        first = at
        while first > 0 and self.src is not Pipe.S:
            item = items[first - 1]
            if isinstance(item, Op) and self.src not in item.pipes:
                pass
            elif not isinstance(item, Mark | Release) or (isinstance(item, Mark) and self._waits(item, self.src)):
                break
            first -= 1
        self.ways.spend(at - first)
        return first

    def _waits(self, mark: Mark, pipe: Pipe) -> bool:
        return mark.action.waits and self.ways.events[mark.event].dst is pipe

    def _up(self, block: int, first: int, states: _States) -> None:
        """From an item of a block on to the end of the program."""
        while True:
            states = self._items(self.ways.laid_out.blocks[block][first:], states)
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
            block = path[-1].block
            first = self.ways.laid_out.items[node.key] + 1

    def _block(self, block: int, states: _States) -> _States:
        return self._items(self.ways.laid_out.blocks[block], states)

    def _items(self, items: Sequence[Item], states: _States) -> _States:
        for item in items:
            if not states:
                break
            self.ways.spend(1)
            states = self._item(item, states)
        return states

    def _item(self, item: Item, states: _States) -> _States:
        match item:
            case Op():
                if self.dst in item.pipes:
                    self._must_know(states)
                return states
            case Mark():
                return self._open(self._marks((item,), states))
            case Guarded(marks):
                return _merged((*states, *self._open(self._marks(marks, states))))
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

    def _loop(self, loop: Loop, states: _States) -> _States:
        (body,) = self.ways.tree.inner[loop.key]
        self.lanes.enter(loop)
        left = self._trips(loop, self._block(body, states))
        self.lanes.leave(loop)
        return left if _surely_runs(loop) else _merged((*states, *left))

    def _while(self, loop: While, states: _States) -> _States:
        self.lanes.enter(loop)
        left = self._trips(loop, self._block(self.ways.tree.inner[loop.key][0], states))
        self.lanes.leave(loop)
        return left

    def _trips(self, loop: Loop | While, states: _States) -> _States:
        """Any number of further trips; what is left behind the loop."""
        left = states
        seen: dict[object, _State] = {}
        while states:
            here = self.lanes.remainder(loop)
            fresh: list[_State] = []
            for state in states:
                key = (here, state.late, state.met)
                old = seen.get(key)
                if old is None or not (state.known >= old.known and state.told >= old.told):
                    seen[key] = state if old is None else _both(state, old)
                    fresh.append(seen[key])
            states = self._trip(loop, tuple(fresh))
            left = _merged((*left, *states))
        return left

    def _trip(self, loop: Loop | While, states: _States) -> _States:
        inner = self.ways.tree.inner[loop.key]
        if isinstance(loop, While):
            states = self._block(inner[1], states)
        self.lanes.advance(loop)
        return self._block(inner[0], states)

    def _closed(self, item: Closed, states: _States) -> _States:
        """The trips of a closing: as many as it has, or (`to_lag`) any number up to that."""
        closing = item.action.closing
        assert closing is not None
        return self._closings(item, closing.lag, closing.to_lag, states)

    def _again(self, item: Closed, states: _States) -> _States:
        """Further trips of the closing in which the set stands."""
        closing = item.action.closing
        assert closing is not None
        return self._closings(item, closing.lag - 1, True, states)

    def _closings(self, item: Closed, most: int, fewer: bool, states: _States) -> _States:
        assert isinstance(item.node, Loop | While)
        left = states
        for _ in range(most):
            self.lanes.leave(item.node)
            states = self._open(self._marks(item.marks, states))
            left = _merged((*left, *states)) if fewer else states
        self.lanes.leave(item.node)
        return left

    # --- sets and waits ---

    def _marks(self, marks: Sequence[Mark], states: _States) -> _States:
        for mark in marks:
            if states and mark.number not in self.ways.gone:
                states = tuple(self._mark(mark, state) for state in states)
        return states

    def _mark(self, mark: Mark, state: _State) -> _State:
        event = self.ways.events[mark.event]
        lane = self.lanes.of(mark.action)
        mine = mark.number in self.goal.pair.marks
        if self.begun and mark.action.waits and mark.event == self.goal.pair.event and not state.met:
            state = self._meets(mark, lane, state)
        if not mark.action.waits:
            if event.src is self.dst:
                self._must_know((state,))
            if not mine and event.src in state.known:
                state = replace(state, told=state.told | {(mark.event, lane)})
        elif not mine and (mark.event, lane) in state.told:
            state = replace(state, known=state.known | {event.dst})
        return state

    def _meets(self, mark: Mark, lane: Hashable, state: _State) -> _State:
        """A wait of the same event, which may be the set's, or surely is."""
        if lane != self.lane and isinstance(lane, int) and isinstance(self.lane, int):
            return state
        if self.dst is Pipe.S and self.goal.ordered and self.dst not in state.known:
            raise _LostError  # it issues everything, so that all that follows comes behind the wait
        if self.goal.paired and (mark.number in self.goal.pair.marks) != (self.mark.number in self.goal.pair.marks):
            raise _LostError
        return replace(state, met=lane == self.lane, late=self.goal.ordered)

    def _must_know(self, states: _States) -> None:
        if any(state.late and self.dst not in state.known for state in states):
            raise _LostError

    def _open(self, states: _States) -> _States:
        """Without the states in which all has been shown."""
        return tuple(state for state in states if not self._shown(state))

    def _shown(self, state: _State) -> bool:
        return (self.dst in state.known or not self.goal.ordered) and (state.met or not self.goal.paired)


def _surely_runs(loop: Loop) -> bool:
    lower, upper = loop.lower, loop.upper
    return isinstance(lower, Const) and isinstance(upper, Const) and lower.value < upper.value


def _both(one: _State, other: _State) -> _State:
    return replace(one, known=one.known & other.known, told=one.told & other.told)


def _merged(states: Sequence[_State]) -> _States:
    """What is sure whichever of the states is the case."""
    found: dict[tuple[bool, bool], _State] = {}
    for state in states:
        key = state.late, state.met
        found[key] = state if key not in found else _both(found[key], state)
    return tuple(found.values())
