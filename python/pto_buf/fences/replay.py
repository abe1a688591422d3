"""Runs a program for small numbers with all that is planned for it: sets, waits and barriers where they will stand."""

from collections.abc import Iterator, Mapping, Sequence

from pto_buf.fences.actions import Action, PlannedEvent, Rank
from pto_buf.fences.outline import Gaps
from pto_buf.fences.runs import NOTHING, Given, Run
from pto_buf.fences.tree import Tree
from pto_buf.hw import Pipe
from pto_buf.slots.program import Loop, Node

Clock = dict[Pipe, int]
"""For each pipe, how many of its operations are known to be over."""


class Replay(Run):
    """Counts the operations of each pipe, and follows what each pipe knows to be over."""

    def __init__(
        self, tree: Tree, events: Sequence[PlannedEvent], gaps: Gaps, unknown: Iterator[int], given: Given = NOTHING
    ):
        super().__init__(tree, tree.of_op, unknown, given)
        self.events = events
        self.gaps = gaps
        self.issued: Clock = {}
        self.known: dict[Pipe, Clock] = {pipe: {} for pipe in Pipe}
        self.told: dict[int, int] = {}
        """For each event, how many waits told their pipe of an operation that it did not know to be over."""
        self._tokens: dict[tuple[int, int], Clock] = {}

    def before(self, node: Node) -> None:
        self._act(node, self.gaps.get((node.key, False), ()))

    def behind(self, node: Node) -> None:
        self._act(node, self.gaps.get((node.key, True), ()))

    def _act(self, node: Node, actions: Sequence[Action]) -> None:
        for action in actions:
            if action.once and not all(one.has(self.value(one.counter)) for one in action.once):
                continue
            if action.rank is Rank.CLOSING:
                self._close(node, action)
            elif action.pipe is not None:
                self.known[action.pipe][action.pipe] = self.issued.get(action.pipe, 0)
            else:
                self._signal(action)

    def _close(self, node: Node, action: Action) -> None:
        assert action.closing is not None
        if isinstance(node, Loop):
            for counter in self.trips_behind(node, action.closing):
                self.trip(node, counter)
                for part in action.trip:
                    self._signal(part)
                self.carry(node)
            return
        for part in action.trip:
            self._signal(part)

    def _signal(self, action: Action) -> None:
        assert action.event is not None
        event = self.events[action.event]
        lane = action.lane if isinstance(action.lane, int) else self.value(action.lane.access.term)
        token = action.event, lane if action.modulus is None else lane % action.modulus
        if action.waits:
            news = learn(self.known[event.dst], self._tokens.pop(token, {}))
            self.told[action.event] = self.told.get(action.event, 0) + news
        else:
            self._tokens[token] = {**self.known[event.src], event.src: self.issued.get(event.src, 0)}


def learn(mine: Clock, told: Mapping[Pipe, int]) -> bool:
    """Adds to a clock what another one knows. Returns whether anything of it was new."""
    news = {pipe: number for pipe, number in told.items() if number > mine.get(pipe, 0)}
    mine.update(news)
    return bool(news)
