"""Running a part of a program for small numbers, in the order of issue."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, cycle

from pto_buf.fences.phases import Closing
from pto_buf.fences.tree import OfOp, Site, Tree
from pto_buf.slots.fold import fold
from pto_buf.slots.program import Branch, Loop, Node, Op, While
from pto_buf.slots.terms import Apply, Const, Opaque, Select, Term, leaves

_STEPS = 20_000
"""Items that one run goes through at most, beyond those of the text; a longer one is watched only so far."""


_MOST_TRIPS = 1024
"""Trips of a `while` after which it is left: with numbers that no run has, it may go on for ever."""


class UndefinedError(Exception):
    """The numbers lead to a slot that does not exist or was never written: no run of an accepted program does."""


class TiredError(Exception):
    """The run has gone on for long enough."""


def numbers(tree: Tree, sites: Sequence[Site], compared: Iterable[int] = ()) -> Iterator[Iterator[int]]:
    """What unknown values are, in each run worth making: all alike and small, small and large in turn, then mixed.

    Small is next to how many slots the sites choose from; where the trips of a loop take several numbers each, there
    are as many trips. `compared`: what conditions compare numbers with, so that each of them comes out either way.
    """
    slots, unit = most_slots(sites), tree.unit
    around = (near for value in compared for near in (value - 1, value, value + 1))
    far = (unit * slots, unit * (2 * slots + 1)) if unit > 1 else ()
    for value in dict.fromkeys((0, 1, 2, 3, slots, slots + 1, 2 * slots + 1, *around, *far)):
        yield always(value)
    for small, large in ((0, 1), (0, unit * (slots + 1)), (1, unit * (2 * slots + 1))):
        yield cycle((small, large))
        yield cycle((large, small))
    for seed in range(8):
        yield _drawn(random.Random(seed), unit * (2 * slots + 1) + 1)


def most_slots(sites: Sequence[Site]) -> int:
    """The slots of the largest set among them."""
    return max((site.access.slots.count for site in sites), default=1)


def always(value: int) -> Iterator[int]:
    while True:
        yield value


def _drawn(source: random.Random, below: int) -> Iterator[int]:
    while True:
        yield source.randrange(below)


@dataclass(frozen=True)
class Given:
    """Numbers that a run is to have: those of variables and unknowns, and how often a `while` goes around at most."""

    numbers: tuple[tuple[int, int], ...] = ()
    trips: tuple[tuple[int, int], ...] = ()


NOTHING = Given()


class Run:
    """One run. Unknown values are `given`, or drawn from `unknown`; a key keeps its value for as long as it is one
    number."""

    def __init__(self, tree: Tree, of_op: OfOp, unknown: Iterator[int], given: Given = NOTHING):
        self.tree = tree
        self.of_op = of_op
        self._unknown = unknown
        self._given: Mapping[int, int] = dict(given.numbers)
        self._given_trips: Mapping[int, int] = dict(given.trips)
        self._values: dict[int, int] = {}
        self._drawn: dict[int, dict[int, int]] = {}
        """By the loop in whose trips they are drawn anew, values of unknowns."""
        self._written: set[tuple[int, int]] = set()
        self.steps = 0
        """How many nodes it has come by."""
        self._longest = max(_STEPS, 2 * tree.size)
        self.tired = False
        """Whether it was given up for its length."""
        self.chose = False
        """Whether anything was unknown, so that another run may be another one."""

    def go(self) -> bool:
        """Runs to the end. Returns whether it got there: not if the numbers are none of an accepted program's."""
        try:
            self.block(0)
        except TiredError:
            self.tired = True
            return False
        except UndefinedError:
            return False
        return True

    # --- what a run does besides ---

    def before(self, node: Node) -> None:
        """Called before each node."""

    def behind(self, node: Node) -> None:
        """Called behind each node."""

    def op(self, op: Op, accesses: Sequence[tuple[Site, int]]) -> None:
        """Called for each op, with its accesses and the slots that they touch."""
        for site, lane in accesses:
            self.access(site, lane)

    def access(self, site: Site, lane: int) -> None:
        """Called for each access."""

    # --- the walk ---

    def block(self, block: int) -> None:
        for node in self.tree.blocks[block].nodes:
            self.steps += 1
            if self.steps > self._longest:
                raise TiredError
            self.before(node)
            match node:
                case Op():
                    self.op(node, [(site, self._lane(site)) for site in self.of_op.get(node.key, ())])
                case Loop():
                    self._loop(node)
                case Branch():
                    self.block(self.tree.inner[node.key][0 if self.value(node.condition) else 1])
                case While():
                    self._while(node)
                case _:
                    pass
            self.behind(node)

    def bounds(self, node: Loop) -> tuple[int, int, int]:
        """The counter's first value, the value behind its last trip, and the step."""
        lower, upper, step = (self.value(term) for term in (node.lower, node.upper, node.step))
        step = max(step, 1)
        return lower, lower + len(range(lower, upper, step)) * step, step

    def trips_behind(self, node: Loop, closing: Closing) -> range:
        """The counters of trips that follow the last one, as a closing has them."""
        first, end, step = self.bounds(node)
        lag = 0 if closing.if_run and end == first else closing.lag
        return range(end, (first if closing.to_lag else end) + lag * step, step)

    def trip(self, node: Loop | While, counter: int) -> None:
        """Begins a trip: sets the counter, and forgets what is drawn anew in each trip."""
        self._values[node.var.key] = counter
        self._drawn.pop(node.key, None)

    def carry(self, node: Loop | While) -> None:
        """Ends a trip: hands on what the loop carries."""
        following = [self.value(carried.next) for carried in node.carried]
        for carried, number in zip(node.carried, following, strict=True):
            self._values[carried.var.key] = number

    def _loop(self, node: Loop) -> None:
        first, end, step = self.bounds(node)
        self.start(node)
        for counter in range(first, end, step):
            self.trip(node, counter)
            self.block(self.tree.inner[node.key][0])
            self.carry(node)
        self._values[node.var.key] = end

    def _while(self, node: While) -> None:
        """Runs until the condition fails; if what is drawn anew in each trip decides that, for some trips at most."""
        self.start(node)
        before, after = self.tree.inner[node.key]
        last = self._last_trip(node)
        for counter in count():
            self.trip(node, counter)
            self.block(before)
            if counter == last or not self.value(node.condition):
                break
            self.block(after)
            self.carry(node)

    def _last_trip(self, node: While) -> int:
        """The trip that is the last one whatever the condition says."""
        if not _decided_anew(node):
            return _MOST_TRIPS
        self.chose = True
        return self._given_trips[node.key] if node.key in self._given_trips else next(self._unknown) % 6

    def start(self, node: Loop | While) -> None:
        """Enters a loop: what it carries begins."""
        for carried in node.carried:
            self._values[carried.var.key] = self.value(carried.init)

    def _lane(self, site: Site) -> int:
        access = site.access
        lane = self.value(access.term)
        slot = (access.slots.key, lane)
        if not 0 <= lane < access.slots.count:
            raise UndefinedError
        if access.role.writes:
            self._written.add(slot)
        elif slot not in self._written:
            raise UndefinedError
        return lane

    def value(self, term: Term) -> int:
        match term:
            case Const():
                return term.value
            case Apply():
                result = fold(term.fn, self.value(term.left), self.value(term.right))
                return 0 if result is None else result
            case Select():
                return self.value(term.if_true if self.value(term.condition) else term.if_false)
            case Opaque():
                drawn = self._drawn.setdefault(-1 if term.loop is None else term.loop, {})
                if term.key not in drawn:
                    drawn[term.key] = self._draw(term.key, term.low, term.high)
                return drawn[term.key]
            case _:
                if term.key not in self._values:
                    self._values[term.key] = self._draw(term.key, term.low, term.high)
                return self._values[term.key]

    def _draw(self, key: int, low: int, high: int) -> int:
        """A value of the run's, moved into the interval where it lies outside."""
        self.chose = True
        value = self._given[key] if key in self._given else next(self._unknown)
        if value < low or value > high:
            value = low + abs(value - low) % (high - low + 1)
        return value


def _decided_anew(node: While) -> bool:
    """Whether what is drawn anew in each trip decides how often it goes around, at once or by what it carries."""
    carried = {one.var.key: one.next for one in node.carried}
    left, seen = [node.condition], set[int]()
    while left:
        for leaf in leaves(left.pop()):
            if isinstance(leaf, Opaque) and leaf.loop == node.key:
                return True
            if leaf.key in carried and leaf.key not in seen:
                seen.add(leaf.key)
                left.append(carried[leaf.key])
    return False
