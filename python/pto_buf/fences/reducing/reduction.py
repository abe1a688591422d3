"""Which events may go, because other events order everything that they order, in every instance.

Two rules. *Twins*: an event whose sets and waits go side by side with those of another one between the same pipes,
the other being set no earlier and waited for no later. *Covered*: a single pair behind whose wait the destination
does nothing before it has waited for a later set of the source.
Both keep the order of all operations and flags as it was, so that no other flag can be set twice for lack of them.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pto_buf.hw import Pipe


class Work(NamedTuple):
    """Something that pipes do."""

    pipes: tuple[Pipe, ...]


class Signal(NamedTuple):
    """A set (by the event's source) or wait (by its destination) of event number `event` on a lane."""

    event: int
    is_set: bool
    lane: Hashable


@dataclass(frozen=True)
class Everything:
    """A barrier over all pipes."""


@dataclass(frozen=True)
class Nest:
    """A loop, or a branch of which one arm runs."""

    is_loop: bool
    bodies: tuple["Body", ...]


Item: TypeAlias = Work | Signal | Everything | Nest
Body: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True)
class Ends:
    src: Pipe
    dst: Pipe


class _Spot(NamedTuple):
    """Where a signal stands: its block, how much its pipe does there before, and its number in the program."""

    block: int
    rank: int
    number: int
    lane: Hashable


@dataclass(frozen=True)
class Dropped:
    """Event `event` is implied by event `by` (None where several together imply it)."""

    event: int
    by: int | None


def droppable(events: Sequence[Ends], body: Body, keep: Set[int] = frozenset()) -> tuple[Dropped, ...]:
    """The events that may go together, in the order of their numbers. Those in `keep` stay in any case."""
    dropped: dict[int, int | None] = {}
    survey = _Survey(events, body)
    for pair in dict.fromkeys(events):
        mine = [number for number, ends in enumerate(events) if ends == pair and number not in keep]
        dropped.update(_twins(mine, survey))
    for number, ends in enumerate(events):
        if number not in dropped and number not in keep and _covered(number, ends, survey, body, frozenset(dropped)):
            dropped[number] = None
    return tuple(Dropped(number, dropped[number]) for number in sorted(dropped))


class _Survey:
    """The spots of all sets and waits of each event."""

    def __init__(self, events: Sequence[Ends], body: Body):
        self.events = events
        self.sets: list[list[_Spot]] = [[] for _ in events]
        self.waits: list[list[_Spot]] = [[] for _ in events]
        self._blocks = 0
        self._number = 0
        self._visit(body)

    def _visit(self, body: Body) -> tuple[Pipe, ...]:
        """Goes through one block. Returns the pipes that have anything to do in it."""
        block = self._blocks
        self._blocks += 1
        before_set: Counter[Pipe] = Counter()
        """What a set comes behind: work and waits of its pipe."""
        before_wait: Counter[Pipe] = Counter()
        """What a wait comes behind: work and sets of its pipe."""
        for item in body:
            self._number += 1
            match item:
                case Signal(event, True, lane):
                    src = self.events[event].src
                    self.sets[event].append(_Spot(block, before_set[src], self._number, lane))
                    before_wait[src] += 1
                case Signal(event, _, lane):
                    dst = self.events[event].dst
                    self.waits[event].append(_Spot(block, before_wait[dst], self._number, lane))
                    before_set[dst] += 1
                case _:
                    for pipe in self._busy(item):
                        before_set[pipe] += 1
                        before_wait[pipe] += 1
        return tuple(pipe for pipe in Pipe if before_set[pipe] or before_wait[pipe])

    def _busy(self, item: Work | Everything | Nest) -> tuple[Pipe, ...]:
        match item:
            case Work():
                return item.pipes
            case Everything():
                return tuple(Pipe)
            case Nest():
                return tuple(dict.fromkeys(pipe for inner in item.bodies for pipe in self._visit(inner)))


def _twins(numbers: Sequence[int], survey: _Survey) -> Iterator[tuple[int, int]]:
    """Events implied by another one whose signals stand in the same blocks on the same lanes, one for one."""
    alike: dict[Hashable, list[int]] = {}
    for number in numbers:
        shape = tuple((spot.block, spot.lane) for spot in survey.sets[number])
        shape_of_waits = tuple((spot.block, spot.lane) for spot in survey.waits[number])
        alike.setdefault((shape, shape_of_waits), []).append(number)
    for group in alike.values():
        # In this order an event can only be implied by one before it: set last, then waited for first.
        ordered = sorted(
            group, key=lambda number: ([-r for r in _ranks(survey.sets[number])], _ranks(survey.waits[number]), number)
        )
        kept: list[int] = []
        for number in ordered:
            by = next((other for other in kept if _implies(other, number, survey)), None)
            if by is None:
                kept = [other for other in kept if len(survey.sets[number]) > 1] + [number]
            else:
                yield number, by


def _ranks(spots: Sequence[_Spot]) -> list[int]:
    return [spot.rank for spot in spots]


def _implies(by: int, number: int, survey: _Survey) -> bool:
    no_earlier = zip(_ranks(survey.sets[by]), _ranks(survey.sets[number]), strict=True)
    no_later = zip(_ranks(survey.waits[by]), _ranks(survey.waits[number]), strict=True)
    return all(a >= b for a, b in no_earlier) and all(a <= b for a, b in no_later)


def _covered(number: int, ends: Ends, survey: _Survey, body: Body, gone: Set[int]) -> bool:
    """Whether a single pair, outside every loop and branch, is implied by later pairs between the same pipes."""
    sets, waits = survey.sets[number], survey.waits[number]
    if len(sets) != 1 or len(waits) != 1 or sets[0].block != 0 or waits[0].block != 0:
        return False
    after = {
        other
        for other, pair in enumerate(survey.events)
        if pair == ends and other not in gone and other != number
        if all(spot.number > sets[0].number for spot in survey.sets[other])
    }
    start = next(
        i for i, item in enumerate(body) if isinstance(item, Signal) and item.event == number and not item.is_set
    )
    return _scan(body[start + 1 :], ends.dst, after, survey.events) is not None


def _scan(body: Body, pipe: Pipe, after: Set[int], events: Sequence[Ends]) -> bool | None:
    """None if `pipe` does something in this block before it waits for one of `after`; else whether it has waited."""
    for item in body:
        match item:
            case Work() if pipe in item.pipes:
                return None
            case Signal(event, True, _) if events[event].src is pipe:
                return None
            case Signal(event, False, _) if event in after:
                return True
            case Everything():
                return True
            case Nest():
                inner = [_scan(part, pipe, after, events) for part in item.bodies]
                if None in inner:
                    return None
                if not item.is_loop and all(inner):
                    return True
            case _:
                pass
    return False
