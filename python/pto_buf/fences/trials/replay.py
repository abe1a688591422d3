"""Runs a program for small numbers with all that is planned for it: sets, waits and barriers where they will stand."""

from collections.abc import Iterator, Mapping, Sequence

from pto_buf.fences.actions import Action, PlannedEvent
from pto_buf.fences.layout import Closed, Guarded, Item, Layout, Mark
from pto_buf.fences.phases import Closing
from pto_buf.fences.trials.runs import NOTHING, Given, Run
from pto_buf.hw import Pipe
from pto_buf.slots.program import Loop, Node

Clock = dict[Pipe, int]
"""For each pipe, how many of its operations are known to be over."""


class Replay(Run):
    """A run that comes by all that is planned."""

    def __init__(
        self, events: Sequence[PlannedEvent], laid_out: Layout, unknown: Iterator[int], given: Given = NOTHING
    ):
        super().__init__(laid_out.tree, laid_out.tree.of_op, unknown, given)
        self.events = events
        self.laid_out = laid_out

    def mark(self, mark: Mark) -> None:
        """Called for each set, wait and barrier."""
        raise NotImplementedError

    def token(self, action: Action) -> tuple[int, int]:
        """The event that is set or waited for, and the lane that it is on now."""
        assert action.event is not None
        lane = action.lane if isinstance(action.lane, int) else self.value(action.lane.access.term)
        return action.event, lane if action.modulus is None else lane % action.modulus

    def before(self, node: Node) -> None:
        for item in self.laid_out.gaps.get((node.key, False), ()):
            self._act(item)

    def behind(self, node: Node) -> None:
        for item in self.laid_out.gaps.get((node.key, True), ()):
            self._act(item)

    def _act(self, item: Item) -> None:
        match item:
            case Mark():
                self.mark(item)
            case Guarded(marks):
                if all(one.has(self.value(one.counter)) for one in marks[0].action.once):
                    self._marks(marks)
            case Closed(Loop() as loop, Action(closing=Closing() as closing), marks):
                for counter in self.trips_behind(loop, closing):
                    self.trip(loop, counter)
                    self._marks(marks)
                    self.carry(loop)
            case Closed():
                self._marks(item.marks)
            case _:
                pass

    def _marks(self, marks: Sequence[Mark]) -> None:
        for mark in marks:
            self.mark(mark)


class Listening(Replay):
    """Counts the operations of each pipe, and follows what each pipe knows to be over."""

    def __init__(
        self, events: Sequence[PlannedEvent], laid_out: Layout, unknown: Iterator[int], given: Given = NOTHING
    ):
        super().__init__(events, laid_out, unknown, given)
        self.issued: Clock = {}
        self.known: dict[Pipe, Clock] = {pipe: {} for pipe in Pipe}
        self.told: dict[int, int] = {}
        """For each event, how many waits told their pipe of an operation that it did not know to be over."""
        self._tokens: dict[tuple[int, int], Clock] = {}

    def mark(self, mark: Mark) -> None:
        action = mark.action
        if action.pipe is not None:
            self.known[action.pipe][action.pipe] = self.issued.get(action.pipe, 0)
            return
        token = self.token(action)
        event = self.events[token[0]]
        if action.waits:
            news = learn(self.known[event.dst], self._tokens.pop(token, {}))
            self.told[token[0]] = self.told.get(token[0], 0) + news
        else:
            self._tokens[token] = {**self.known[event.src], event.src: self.issued.get(event.src, 0)}


def learn(mine: Clock, told: Mapping[Pipe, int]) -> bool:
    """Adds to a clock what another one knows. Returns whether anything of it was new."""
    news = {pipe: number for pipe, number in told.items() if number > mine.get(pipe, 0)}
    mine.update(news)
    return bool(news)
