"""Hardware ids for events: eight for each ordered pair of pipes.

The lanes of one event get consecutive ids. A single pair of set and wait outside all loops and branches needs its id
only between the two: the id serves again once the source is known to come behind the wait.
Events of one source get ids apart from one another while those last, so that the program is right, too, where the
hardware tells flags apart by source and id alone; after that ids are counted for each pair of pipes, unless that is
asked for: then every id of a source goes to one destination.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from pto_buf.fences.reducing.reduction import Body, Everything, Signal
from pto_buf.hw import EVENT_IDS, Pipe

_Pair = tuple[Pipe, Pipe]
Reserved: TypeAlias = frozenset[tuple[Pipe, Pipe, int]]
"""Flags (source, destination, id) that no event may use."""


class Ids(NamedTuple):
    """Which ids there are for events. `by_source`: an id of a source serves one destination only."""

    reserved: Reserved = frozenset()
    by_source: bool = False

    def scope(self, pair: _Pair) -> tuple[Pipe, ...]:
        """Pairs of one scope share eight ids."""
        return pair[:1] if self.by_source else pair

    def taken(self, scope: tuple[Pipe, ...]) -> frozenset[int]:
        """The ids of a scope, or of a source, that no event may use."""
        return frozenset(number for *pair, number in self.reserved if (*pair,)[: len(scope)] == scope)


@dataclass(frozen=True)
class Lanes:
    """An event: `lanes` flags from `src` to `dst`."""

    src: Pipe
    dst: Pipe
    lanes: int

    @property
    def pair(self) -> _Pair:
        return self.src, self.dst


@dataclass(frozen=True)
class Shortage:
    """The events from `src` to `dst`, or with `Ids.by_source` all those from `src`, need more ids than there are."""

    src: Pipe
    dst: Pipe
    wanted: int


def surely_enough(events: Sequence[Lanes], ids: Ids) -> bool:
    """Whether counting them is enough to know that there are ids for these events, and so for any of them alone."""
    wanted = Counter[Pipe]()
    for event in events:
        wanted[event.src] += event.lanes
    return all(lanes <= EVENT_IDS for lanes in wanted.values()) and not any(src in wanted for src, _, _ in ids.reserved)


def number_events(events: Sequence[Lanes], body: Body, ids: Ids) -> Mapping[int, int] | Shortage:
    """The first id of each event, by the event's number; or the first pair of pipes that has too few."""
    found: dict[int, int] = {}
    short: dict[Pipe, None] = {}
    for source in dict.fromkeys(event.src for event in events):
        mine = [number for number, event in enumerate(events) if event.src is source]
        apart = _apart(mine, events, ids.taken((source,)))
        if apart is None:
            short[source] = None
        else:
            found.update(apart)
    if short:
        passing = _single(events, body)
        lasting = _lasting([n for n, event in enumerate(events) if event.src in short], events, passing, ids)
        if isinstance(lasting, Shortage):
            return lasting
        found.update(lasting)
        clash = _Passing(events, passing, found, ids).number(body)
        if clash is not None:
            return clash
    return found


def _lasting(
    numbers: Sequence[int], events: Sequence[Lanes], passing: frozenset[int], ids: Ids
) -> dict[int, int] | Shortage:
    """Ids apart in each scope for those events that do not pass."""
    found: dict[int, int] = {}
    for scope in dict.fromkeys(ids.scope(events[number].pair) for number in numbers):
        mine = [n for n in numbers if ids.scope(events[n].pair) == scope and n not in passing]
        apart = _apart(mine, events, ids.taken(scope))
        if apart is None:
            wanted = Counter[_Pair]()
            for number in mine:
                wanted[events[number].pair] += events[number].lanes
            return Shortage(*wanted.most_common(1)[0][0], wanted.total())
        found.update(apart)
    return found


def _apart(numbers: Sequence[int], events: Sequence[Lanes], taken: frozenset[int]) -> dict[int, int] | None:
    """Ids apart for all lanes, those of the largest events first so that they begin at 0; None if there are too few."""
    starts: dict[int, int] = {}
    used = set(taken)
    for number in sorted(numbers, key=lambda number: (-events[number].lanes, number)):
        lanes = events[number].lanes
        fits = (s for s in range(EVENT_IDS - lanes + 1) if used.isdisjoint(range(s, s + lanes)))
        start = next(fits, None)
        if start is None:
            return None
        starts[number] = start
        used.update(range(start, start + lanes))
    return starts


def _single(events: Sequence[Lanes], body: Body) -> frozenset[int]:
    """Events of one lane with one set and one wait, both outside all loops and branches."""
    signals: dict[int, int] = {}
    nested = set(range(len(events)))
    for item in body:
        if isinstance(item, Signal):
            signals[item.event] = signals.get(item.event, 0) + 1
    inside = _nested_events(body)
    return frozenset(
        number for number in nested if signals.get(number) == 2 and number not in inside and events[number].lanes == 1
    )


def _nested_events(body: Body) -> set[int]:
    found: set[int] = set()
    pending = [inner for item in body for inner in getattr(item, "bodies", ())]
    while pending:
        for item in pending.pop():
            if isinstance(item, Signal):
                found.add(item.event)
            pending.extend(getattr(item, "bodies", ()))
    return found


_Clock = dict[Pipe, int]


@dataclass(frozen=True)
class Return:
    """A pair that is missing: from behind the wait of event `waited` back to before the set of event `set_again`."""

    waited: int
    set_again: int


def missing_returns(events: Sequence[Lanes], body: Body, ids: Ids) -> tuple[Return, ...] | None:
    """Pairs that make ids serve again where a stream of events never comes back; None if those would not be enough."""
    passing = _single(events, body)
    lasting = _lasting(range(len(events)), events, passing, ids)
    if isinstance(lasting, Shortage):
        return None
    walk = _Passing(events, passing, lasting, ids, returns=[])
    return None if walk.number(body) is not None else tuple(walk.returns or ())


@dataclass
class _Passing:
    """Walks the outermost block with what each pipe knows to be done of the others."""

    events: Sequence[Lanes]
    passing: frozenset[int]
    found: dict[int, int]
    ids: Ids
    returns: list[Return] | None = None
    """What was missing, where missing pairs are to be found rather than refused."""
    known: dict[Pipe, _Clock] = field(default_factory=dict[Pipe, _Clock])
    tokens: dict[int, _Clock] = field(default_factory=dict[int, _Clock])
    waited: dict[tuple[Pipe, Pipe, int], tuple[int, int]] = field(
        default_factory=dict[tuple[Pipe, Pipe, int], tuple[int, int]]
    )
    """For each id of each pair, when its last wait stood and of which event; absent while a token may be pending."""
    told: dict[int, _Clock] = field(default_factory=dict[int, _Clock])
    """What the destination knew behind the wait of each event."""

    def number(self, body: Body) -> Shortage | None:
        free = self._free()
        for pair, mine in free.items():
            self.waited.update(((*pair, i), (0, -1)) for i in mine)
        for now, item in enumerate(body, start=1):
            match item:
                case Everything():
                    for pipe in Pipe:
                        self.known[pipe] = dict.fromkeys(Pipe, now)
                case Signal(event, True, _) if event in self.passing:
                    clash = self._set(event, now, free)
                    if clash is not None:
                        return clash
                case Signal(event, _, _) if event in self.passing:
                    self._wait(event, now)
                case _:
                    pass
        return None

    def _free(self) -> dict[_Pair, list[int]]:
        """By pair of pipes, the ids that pass. Those of a scope are dealt out: one to each pair, then more to those
        that have more events."""
        waiting = Counter(self.events[number].pair for number in sorted(self.passing) if number not in self.found)
        lasting: dict[tuple[Pipe, ...], set[int]] = {}
        for number, start in self.found.items():
            event = self.events[number]
            lasting.setdefault(self.ids.scope(event.pair), set()).update(range(start, start + event.lanes))
        free: dict[_Pair, list[int]] = {pair: [] for pair in waiting}
        for scope in dict.fromkeys(map(self.ids.scope, waiting)):
            pairs = [pair for pair in waiting if self.ids.scope(pair) == scope]
            used = lasting.get(scope, set()) | self.ids.taken(scope)
            for i in range(EVENT_IDS):
                if i not in used:
                    most = max(pairs, key=lambda pair: (not free[pair], waiting[pair] / (len(free[pair]) + 1)))
                    free[most].append(i)
        return free

    def _set(self, number: int, now: int, free: Mapping[_Pair, Sequence[int]]) -> Shortage | None:
        event, pair = self.events[number], self.events[number].pair
        mine = self.known.setdefault(event.src, {})
        mine[event.src] = now
        if number not in self.found:
            chosen = self._served(pair, free[pair])
            if chosen is None and self.returns is not None:
                self._come_back(number, pair, free[pair])
                chosen = self._served(pair, free[pair])
            if chosen is None:
                return Shortage(*pair, len(free[pair]) + 1)
            self.found[number] = chosen
            del self.waited[(*pair, chosen)]
        self.tokens[number] = dict(mine)
        return None

    def _served(self, pair: _Pair, ids: Sequence[int]) -> int | None:
        """An id whose last wait is known to the source to be over."""
        done = self.known[pair[0]].get(pair[1], 0)
        return next((i for i in ids if (*pair, i) in self.waited and self.waited[(*pair, i)][0] <= done), None)

    def _come_back(self, number: int, pair: _Pair, ids: Sequence[int]) -> None:
        """Tells the source of a wait in the middle: half of the ids then serve again, half stay in flight."""
        over = sorted(self.waited[(*pair, i)] for i in ids if (*pair, i) in self.waited)
        if not over or self.returns is None:
            return
        _, event = over[len(over) // 2]
        self.returns.append(Return(event, number))
        _learn(self.known[pair[0]], self.told[event])

    def _wait(self, number: int, now: int) -> None:
        event = self.events[number]
        mine = self.known.setdefault(event.dst, {})
        _learn(mine, self.tokens.get(number, {}))
        mine[event.dst] = now
        self.told[number] = dict(mine)
        self.waited[event.src, event.dst, self.found[number]] = (now, number)


def _learn(mine: _Clock, told: _Clock) -> None:
    for pipe, time in told.items():
        mine[pipe] = max(mine.get(pipe, 0), time)
