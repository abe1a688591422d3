"""Which accesses to global memory the fences of a plan leave unordered though their bytes may overlap.

Found on small runs, and on runs that are so long that windows come to overlap: the plan is replayed in issue order, the
windows of each trip are compared with the arguments left open, and a pair counts as ordered where the pipe of the later
one knows the earlier one to be over. What is found gets a fence; that none is missing for other numbers is proven on
the output, by the checker.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, groupby

from pto_buf.fences.actions import PlannedEvent
from pto_buf.fences.global_memory.meetings import Meeting
from pto_buf.fences.layout import Layout
from pto_buf.fences.tree import Tree
from pto_buf.fences.trials.replay import Listening
from pto_buf.fences.trials.runs import NOTHING, Given, always, numbers
from pto_buf.fences.windows import Box, Boxes, Cell, Cells, Pair, Window, Windows
from pto_buf.hw import Pipe
from pto_buf.slots.bounds import Interval
from pto_buf.slots.linear import Linear, constant
from pto_buf.slots.program import Branch, Loop, Op, While
from pto_buf.slots.terms import Const, Opaque, Term, Var, leaves, subterms


@dataclass(frozen=True)
class Watched:
    """`pairs`: of each array, by its number, what the plan does not order.

    `told`: for each event, by its name, how many waits told their pipe of an operation not known to be over.
    """

    pairs: Mapping[int, frozenset[Pair]]
    told: Mapping[str, int]


def watch(
    events: Sequence[PlannedEvent],
    laid_out: Layout,
    windows: Windows,
    met: Sequence[Meeting],
    in_order: Set[Pipe],
) -> Watched:
    """Replays a plan, also with the numbers of meetings. Pipes in `in_order` need no barrier between dependent ops."""
    found: dict[int, set[Pair]] = {}
    told: dict[str, int] = {}
    lucky: _Carriers = {}
    loose: _Carriers = {}
    tree = laid_out.tree
    involved = _involved(tree, windows)
    small = ((unknown, NOTHING) for unknown in numbers(tree, tree.sites, _compared(tree)))
    meeting = list(dict.fromkeys(one.given for one in met if one.trips <= _MOST_TRIPS))[:_MOST_RUNS]
    left: set[Given] = set()
    steps = 0
    for unknown, given in chain(small, ((always(0), given) for given in meeting)):
        if given is not NOTHING and steps > _MOST_STEPS:
            left.add(given)
            continue
        run = _Watch(events, laid_out, unknown, windows, in_order, involved, given)
        if run.go() or run.tired:
            for array, pairs in run.found.items():
                found.setdefault(array, set()).update(pairs)
            for known, more in ((lucky, run.lucky), (loose, run.loose)):
                for ops, carriers in more.items():
                    known.setdefault(ops, set()).update(carriers)
            for event, waits in run.told.items():
                told[events[event].name] = told.get(events[event].name, 0) + waits
        if not run.chose:
            break
        steps += 0 if given is NOTHING else run.steps
    for one in met:
        if one.trips > _MOST_TRIPS or one.given in left:
            found.setdefault(one.array, set()).update(one.pairs(in_order))
    for (array, earlier, later), carriers in lucky.items():
        for carrier in carriers & loose.get((array, earlier, later), set()):
            found.setdefault(array, set()).add(Pair(earlier, later, carrier, crosses=False))
    return Watched({array: frozenset(found[array]) for array in sorted(found)}, told)


_MOST_TRIPS = 1024
"""Where it takes more trips until two operations overlap, they are taken to be unordered then."""


_MOST_RUNS = 16
"""Of runs in which operations come to overlap."""

_MOST_STEPS = 20_000
"""Of those runs together. Of what would overlap in others, that is taken to be unordered, too."""


def _compared(tree: Tree) -> list[int]:
    """The constants that conditions of branches compare with."""
    found: dict[int, None] = {}
    for block in tree.blocks:
        for node in block.nodes:
            if isinstance(node, Branch):
                found.update(dict.fromkeys(one.value for one in subterms(node.condition) if isinstance(one, Const)))
    return [value for value in found if value >= 0][:_MOST_COMPARED]


_MOST_COMPARED = 4


_Carriers = dict[tuple[int, int, int], set[int]]
"""By array, earlier and later op: the loops in different trips of which they are, -1 for one trip of each."""


@dataclass(frozen=True)
class _Past:
    op: int
    index: Mapping[Pipe, int]
    """For each pipe that it runs on, how many operations of the pipe are over with it."""
    writes: bool
    box: Box
    trips: tuple[tuple[int, int], ...]
    """The loops around it, outermost first, with the number of the trip."""


class _Array:
    """The accesses to one array that may still be going on."""

    def __init__(self, boxes: Boxes) -> None:
        self.cells = Cells(boxes)
        self._families: dict[Hashable, dict[Cell, list[_Past]]] = {}

    def add(self, past: _Past) -> None:
        family, cells = self.cells.of(past.box)
        for cell in cells:
            self._families.setdefault(family, {}).setdefault(cell, []).append(past)

    def near(self, box: Box, known: Mapping[Pipe, Mapping[Pipe, int]], pipes: Set[Pipe]) -> Iterator[_Past]:
        """What may overlap the box, the latest of each place first. Forgets what all `pipes` know to be over."""
        mine, cells = self.cells.of(box)
        for family, places in self._families.items():
            for cell in cells if family == mine else list(places):
                if cell not in places:
                    continue
                places[cell] = [past for past in places[cell] if not _over(past, known, pipes)]
                yield from reversed(places[cell])


def _over(past: _Past, known: Mapping[Pipe, Mapping[Pipe, int]], pipes: Set[Pipe]) -> bool:
    return all(known[pipe].get(own, 0) >= index for pipe in pipes for own, index in past.index.items())


class _Watch(Listening):
    def __init__(
        self,
        events: Sequence[PlannedEvent],
        laid_out: Layout,
        unknown: Iterator[int],
        windows: Windows,
        in_order: Set[Pipe],
        involved: Set[int],
        given: Given,
    ):
        super().__init__(events, laid_out, unknown, given)
        self.windows = windows
        self.in_order = in_order
        self.found: dict[int, set[Pair]] = {}
        self.lucky: _Carriers = {}
        """Of ops that overlap in some trips, and it is not plain in which."""
        self.loose: _Carriers = {}
        """Of such ops that are not ordered in some trips, whether they overlap there or not."""
        self._involved = involved
        self._history: dict[int, dict[int, deque[_Past]]] = {}
        """By array and op, what of it was last."""
        self._boxes = Boxes()
        self._arrays: dict[int, _Array] = {}
        self._pipes: dict[int, set[Pipe]] = {}
        self._forms: dict[int, Linear] = {}
        """What counters and carried numbers are now, by the key of their variable."""
        self._trips: dict[int, int] = {}
        """For each loop, how many trips have begun."""
        self._around = {
            node.key: block.loops for block in self.tree.blocks for node in block.nodes if node.key in windows
        }
        for block in self.tree.blocks:
            for node in block.nodes:
                for window in windows.get(node.key, ()):
                    assert isinstance(node, Op)
                    self._pipes.setdefault(window.array.number, set()).update(node.pipes)

    # --- what numbers are, with the arguments left open ---

    def start(self, node: Loop | While) -> None:
        super().start(node)
        self._forms.update((carried.var.key, self._boxes.form(carried.init, self._known)) for carried in node.carried)

    def trip(self, node: Loop | While, counter: int) -> None:
        super().trip(node, counter)
        self._trips[node.key] = self._trips.get(node.key, 0) + 1
        self._forms[node.var.key] = self._counter(node, counter)

    def carry(self, node: Loop | While) -> None:
        following = [self._boxes.form(carried.next, self._known) for carried in node.carried]
        super().carry(node)
        for carried, form in zip(node.carried, following, strict=True):
            self._forms[carried.var.key] = form

    def _counter(self, node: Loop | While, counter: int) -> Linear:
        if isinstance(node, While) or (isinstance(node.lower, Const) and isinstance(node.step, Const)):
            return constant(counter)
        first, _, step = self.bounds(node)
        travelled = self._boxes.form(node.step, self._known).times((counter - first) // step)
        return self._boxes.form(node.lower, self._known) + travelled

    def _known(self, what: Var | Opaque) -> Linear:
        held = Interval(what.low, what.high)
        if isinstance(what, Opaque):
            trip = 0 if what.loop is None else self._trips.get(what.loop, 0)
            return self._boxes.leaf(f"{what.key} in trip {trip}", held)
        return self._forms.get(what.key) or self._boxes.leaf(what, held)

    # --- accesses ---

    def op(self, op: Op, accesses: Sequence[object]) -> None:
        windows = self.windows.get(op.key, ())
        touched = [(window, self._boxes.box(window, self._known)) for window in windows]
        trips = tuple((loop, self._trips[loop]) for loop in self._around.get(op.key, ()))
        for window, box in touched:
            self._recall(op, window, box, trips)
            self._compare(op, window, box, trips)
        for pipe in op.pipes:
            self.issued[pipe] = self.issued.get(pipe, 0) + 1
        index = {pipe: self.issued[pipe] for pipe in op.pipes}
        for window, box in touched:
            array = self._arrays.setdefault(window.array.number, _Array(self._boxes))
            past = _Past(op.key, index, window.writes, box, trips)
            array.add(past)
            if self._involved:
                history = self._history.setdefault(window.array.number, {})
                history.setdefault(op.key, deque(maxlen=_REMEMBERED)).append(past)

    def _recall(self, op: Op, window: Window, box: Box, trips: tuple[tuple[int, int], ...]) -> None:
        """Where it is not plain which trips overlap, order on one pipe must not depend on that: it is hard to prove."""
        number = window.array.number
        for earlier, history in self._history.get(number, {}).items():
            own = [pipe for pipe in op.pipes if pipe in history[0].index and pipe not in self.in_order]
            if not own or (op.key not in self._involved and earlier not in self._involved):
                continue
            lucky, loose = (found.setdefault((number, earlier, op.key), set()) for found in (self.lucky, self.loose))
            for carrier, group in _by_carrier(history, trips):
                if carrier in lucky and carrier in loose:
                    continue
                conflicting = (past for past in group if past.writes or window.writes)
                latest = next(conflicting, None)
                if latest is None:
                    continue
                if any(self.known[pipe].get(pipe, 0) < latest.index[pipe] for pipe in own):
                    loose.add(carrier)
                if carrier not in lucky and not all(
                    self._boxes.apart(past.box, box) for past in chain((latest,), conflicting)
                ):
                    lucky.add(carrier)

    def _compare(self, op: Op, window: Window, box: Box, trips: tuple[tuple[int, int], ...]) -> None:
        array = self._arrays.get(window.array.number)
        if array is None:
            return
        for past in array.near(box, self.known, self._pipes[window.array.number]):
            if not (past.writes or window.writes):
                continue
            for pipe in op.pipes:
                for own, index in past.index.items():
                    if self.known[pipe].get(own, 0) >= index or (own is pipe and pipe in self.in_order):
                        continue
                    if self._boxes.apart(past.box, box):
                        continue
                    pair = Pair(past.op, op.key, _carrier(past.trips, trips), own is not pipe)
                    self.found.setdefault(window.array.number, set()).add(pair)
                    # The fence that it gets orders what else lies before it.
                    self.known[pipe][own] = self.issued[own] if own is pipe else index


_REMEMBERED = 32
"""Trips of an op that are compared with later ones."""


def _involved(tree: Tree, windows: Windows) -> frozenset[int]:
    """The ops of which it is not plain which trips overlap: in several loops, or not placed by one counter from 0."""
    from_zero = {
        block.owner.var.key: isinstance(block.owner, Loop) and block.owner.lower == Const(0)
        for block in tree.blocks
        if isinstance(block.owner, Loop | While)
    }

    def is_plain(term: Term) -> bool:
        found = {leaf.key if isinstance(leaf, Var) else -1 for leaf in leaves(term)}
        return len(found) < 2 and all(from_zero.get(key, False) for key in found)

    nested = {node.key for block in tree.blocks if len(block.loops) > 1 for node in block.nodes}
    return frozenset(
        key
        for key, found in windows.items()
        if key in nested or not all(is_plain(offset) for window in found for offset in window.offsets)
    )


def _carrier(one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> int:
    for (loop, trip), (same, later) in zip(one, other, strict=False):
        if loop != same:
            break
        if trip != later:
            return loop
    return -1


def _by_carrier(history: Sequence[_Past], trips: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, Iterator[_Past]]]:
    """What came before some trips, the latest first, by the loop in different trips of which it was: an ever outer one,
    as trips only count up."""
    latest = _carrier(history[-1].trips, trips)
    if latest == _carrier(history[0].trips, trips):
        return iter([(latest, reversed(history))])
    return groupby(reversed(history), key=lambda past: _carrier(past.trips, trips))
