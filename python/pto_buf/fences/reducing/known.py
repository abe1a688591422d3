"""Whether a set is known at its wait without the pair itself, on every way from one to the other; and whether a pipe
knows at a barrier, without it, that what it did is over.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pto_buf.fences.actions import PlannedEvent
from pto_buf.fences.layout import Closed, Item, Mark, marks_of
from pto_buf.fences.reducing.remainders import Lanes
from pto_buf.fences.reducing.ways import State, States, Way, Ways
from pto_buf.hw import Pipe
from pto_buf.slots.program import Branch, Loop, Op, Release, While


@dataclass(frozen=True)
class Pair:
    """Sets and waits of one event that only meet one another."""

    event: int
    marks: frozenset[int]


def imply(ways: Ways, pair: Pair) -> bool:
    """Whether all sets of the pair are known at their waits without it. Raises TiredError."""
    members = ways.of_event[pair.event]
    whole = all(mark.number in pair.marks or mark.number in ways.gone for mark in members)
    try:
        for mark in members:
            mine = mark.number in pair.marks
            if mark.action.waits or mark.number in ways.gone or (whole and not mine):
                continue
            goal = _Goal(ways.events[pair.event], pair, ordered=mine, paired=not whole)
            for lanes in ways.lanes(ways.laid_out.spots[mark.number].block):
                _ToWait(ways, lanes, mark, goal).follow()
    except _LostError:
        return False
    return True


def not_needed(ways: Ways, pipe: Pipe, barriers: frozenset[int], within: int | None = None) -> frozenset[int]:
    """The barriers of a pipe among these at which flags have told it that all it did is over. Raises TiredError.

    `within`: only what it did since it has entered this loop.
    """
    left = set(barriers)
    for block in ways.tree.blocks:
        if within is not None and all(ways.tree.node(step).key != within for step in block.path):
            continue
        for node in block.nodes:
            if isinstance(node, Op) and pipe in node.pipes and left:
                for lanes in ways.lanes(block.key):
                    way = _ToBarrier(ways, lanes, pipe, frozenset(left), within)
                    way.follow(block.key, ways.laid_out.items[node.key] + 1)
                    left -= way.needed
    return frozenset(left)


def first_needed(ways: Ways, mark: Mark) -> int | None:
    """The outermost loop before which a barrier may stand, since only the first trip needs it. Raises TiredError.

    It is the first that its pipe comes by there, so that nothing waits that did not wait before.
    """
    pipe, spot = mark.action.pipe, ways.laid_out.spots[mark.number]
    assert pipe is not None
    loops: list[int] = []
    block, at = spot.block, spot.item
    while ways.tree.blocks[block].path:
        step = ways.tree.blocks[block].path[-1]
        loop = ways.tree.node(step)
        before = islice(ways.laid_out.blocks[block], at)
        entered = isinstance(loop, Loop | While) and ways.tree.inner[loop.key][0] == block
        if not entered or any(_may_work(item, pipe) for item in before):
            break
        loops.append(loop.key)
        block, at = step.block, ways.laid_out.items[loop.key]
    return next((loop for loop in reversed(loops) if not_needed(ways, pipe, frozenset({mark.number}), loop)), None)


def _may_work(item: Item, pipe: Pipe) -> bool:
    return pipe in item.pipes if isinstance(item, Op) else isinstance(item, Loop | While | Branch)


class _LostError(Exception):
    """A way leads to what has to come behind the wait, and the set is not known there; or to another wait."""


@dataclass(frozen=True)
class _Goal:
    event: PlannedEvent
    pair: Pair
    ordered: bool
    """The set has to be known at its wait."""
    paired: bool
    """Its wait has to be one of the pair's (or, of a set that is not of the pair, none of them)."""


class _ToWait(Way):
    """From a set to its wait, without the pair that they belong to."""

    def __init__(self, ways: Ways, lanes: Lanes, mark: Mark, goal: _Goal):
        super().__init__(ways, lanes)
        self.start = mark
        self.goal = goal
        self.lane = lanes.of(mark.action)
        self.src, self.dst = goal.event.src, goal.event.dst
        self.begun = False
        """Whether the set itself has passed."""

    def follow(self) -> None:
        """Raises an error if a way leads elsewhere."""
        spot = self.ways.laid_out.spots[self.start.number]
        items = self.ways.laid_out.blocks[spot.block]
        first = self._first(items, spot.item)
        known = frozenset[Pipe | None](Pipe if spot.block == 0 and first == 0 else (self.src,))
        states = self.items(items[first : spot.item], (State(known, frozenset()),))
        self.begun = True
        item = items[spot.item]
        states = self.marks(marks_of(item)[spot.inner :], states)
        if isinstance(item, Closed):
            states = self.again(item, states)
        self.up(spot.block, spot.item + 1, states)

    def _first(self, items: Sequence[Item], at: int) -> int:
        """The first item from which on its pipe does nothing but set, up to the set."""
        first = at
        while first > 0 and self.src is not Pipe.S and self._leaves_alone(items[first - 1]):
            first -= 1
        self.ways.spend(at - first)
        return first

    def _leaves_alone(self, item: Item) -> bool:
        match item:
            case Op():
                return self.src not in item.pipes
            case Mark():
                return not (item.action.waits and self.ways.events[item.event].dst is self.src)
            case _:
                return isinstance(item, Release)

    def op(self, op: Op, states: States) -> States:
        if self.dst in op.pipes:
            self._must_know(states)
        return states

    def mark(self, mark: Mark, state: State) -> State:
        if mark.action.event is None:
            return state
        lane = self.lanes.of(mark.action)
        if self.begun and mark.action.waits and mark.event == self.goal.pair.event and not state.met:
            state = self._meets(mark, lane, state)
        if not mark.action.waits and self.ways.events[mark.event].src is self.dst:
            self._must_know((state,))
        return state if mark.number in self.goal.pair.marks else self.tells(mark, lane, state)

    def _meets(self, mark: Mark, lane: Hashable, state: State) -> State:
        """A wait of the same event, which may be the set's, or surely is."""
        if lane != self.lane and isinstance(lane, int) and isinstance(self.lane, int):
            return state
        if self.goal.paired and (mark.number in self.goal.pair.marks) != (self.start.number in self.goal.pair.marks):
            raise _LostError
        late = state.late | {mark.number} if self.goal.ordered else state.late
        state = replace(state, met=lane == self.lane, late=late)
        if self.dst is Pipe.S:  # it issues everything, so that all that follows comes behind the wait
            self._must_know((state,))
        return state

    def _must_know(self, states: States) -> None:
        if any(state.late and self.dst not in state.known for state in states):
            raise _LostError

    def shown(self, state: State) -> bool:
        return (self.dst in state.known or not self.goal.ordered) and (state.met or not self.goal.paired)


class _ToBarrier(Way):
    """From an op to the next one of its pipe: by which barriers, and whether flags tell it that it is over."""

    def __init__(self, ways: Ways, lanes: Lanes, pipe: Pipe, barriers: frozenset[int], within: int | None):
        super().__init__(ways, lanes, within)
        self.pipe = pipe
        self.barriers = barriers
        self.needed: set[int] = set()

    def follow(self, block: int, first: int) -> None:
        """From an item of a block on."""
        self.up(block, first, (State(frozenset({self.pipe}), frozenset()),))

    def op(self, op: Op, states: States) -> States:
        if self.pipe not in op.pipes:
            return states
        for state in states:
            self.needed |= state.late
        return ()

    def mark(self, mark: Mark, state: State) -> State:
        if mark.action.event is None:
            return replace(state, late=state.late | {mark.number}) if mark.number in self.barriers else state
        told = self.tells(mark, self.lanes.of(mark.action), state)
        heard = mark.action.waits and (mark.event, self.lanes.of(mark.action)) in state.told
        return replace(told, known=told.known | {None}) if heard and self._is_mine(mark) else told

    def _is_mine(self, mark: Mark) -> bool:
        return self.ways.events[mark.event].dst is self.pipe

    def shown(self, state: State) -> bool:
        return None in state.known
