"""Marks the sets and waits that a plan can do without, pair by pair: others order all that they order, in every run.

A trial run says which pairs add nothing to it. If it is the only run there is, that is all; else each of them has to be
shown not to be needed on any way through the program, with those that went before it gone. A barrier that only the
first trip of a loop needs goes before the loop.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pto_buf.fences.actions import Action, PlannedEvent
from pto_buf.fences.layout import Layout, Mark
from pto_buf.fences.reducing.known import Pair, first_needed, imply, not_needed
from pto_buf.fences.reducing.ways import TiredError, Ways
from pto_buf.fences.tree import Tree
from pto_buf.fences.trials.runs import always, most_slots, numbers
from pto_buf.fences.trials.trial import Trial
from pto_buf.hw import Pipe

_RUNS = 3
"""Trial runs of a program with unknown numbers. They only say which pairs are worth looking at."""
_ITEMS_EACH = 15
"""Items that may be come by to show pairs needless, for each one of the program."""
_ITEMS = 20_000
"""The same, for a small program."""


@dataclass(frozen=True)
class Implied:
    actions: tuple[Action, ...]
    """With those marked that others imply."""
    any: bool
    """Whether there are any sets and waits among them."""
    doubtful: tuple[int, ...]
    """Events of which trial runs do not need all, which could not be shown of every run."""


def implied(events: Sequence[PlannedEvent], laid_out: Layout) -> Implied:
    """What others imply of a plan: sets with their waits, and barriers. Pairs that make an id serve again stay."""
    tree, actions = laid_out.tree, laid_out.actions
    tried = _tried(events, laid_out)
    pairs, barriers = _pairs_not_needed(events, laid_out, tried), _barriers_not_needed(laid_out, tried)
    ways = Ways(events, laid_out, _ITEMS + _ITEMS_EACH * tree.size)
    if not tried.exact:
        shown = _shown(ways, pairs)
        barriers = _shown_barriers(ways, barriers)
    else:
        shown = pairs
    flags = _but_one(laid_out, shown)
    gone = flags.union(*barriers.values())
    ways.gone |= gone
    ahead, doubled = _ahead(ways)
    gone |= doubled
    if gone or ahead:
        actions = [
            _marked(_moved(action, ahead.get(marks[0].number)) if action.pipe else action, marks, gone)
            for action, marks in zip(actions, laid_out.of_action, strict=True)
        ]
    doubtful = dict.fromkeys(pair.event for pair in pairs if not pair.marks <= flags)
    return Implied(tuple(actions), bool(flags), tuple(doubtful))


def _but_one(laid_out: Layout, pairs: Sequence[Pair]) -> frozenset[int]:
    """The marks of the pairs; but if that leaves only sets on computed lanes, a pair with one on a constant lane stays:
    the assembler takes a function without such a set for one without fences."""
    gone = frozenset(mark for pair in pairs for mark in pair.marks)
    constant = {mark.number: isinstance(mark.action.lane, int) for mark in laid_out.marks if _is_set(mark)}
    left = [is_constant for number, is_constant in constant.items() if number not in gone]
    if not left or any(left):
        return gone
    stays = next((pair for pair in pairs if any(constant.get(mark) for mark in pair.marks)), None)
    return gone if stays is None else gone - stays.marks


def _is_set(mark: Mark) -> bool:
    return mark.action.event is not None and not mark.action.waits and not mark.action.implied


def _shown(ways: Ways, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """The pairs that go, one after the other."""
    shown: list[Pair] = []
    try:
        for pair in pairs:
            if imply(ways, pair):
                ways.gone |= pair.marks
                shown.append(pair)
    except TiredError:
        pass
    return tuple(shown)


def _shown_barriers(ways: Ways, found: Mapping[Pipe, Sequence[int]]) -> dict[Pipe, list[int]]:
    try:
        return {pipe: sorted(not_needed(ways, pipe, frozenset(numbers))) for pipe, numbers in found.items()}
    except TiredError:
        return {}


def _ahead(ways: Ways) -> tuple[dict[int, int], frozenset[int]]:
    """Barriers that move before a loop, with its key; and those that another one does for there."""
    found: dict[int, int] = {}
    moved: dict[tuple[Pipe, int], None] = {}
    doubled: set[int] = set()
    try:
        for mark in ways.laid_out.marks:
            pipe = mark.action.pipe
            if pipe is None or mark.number in ways.gone:
                continue
            loop = first_needed(ways, mark)
            if loop is not None and (pipe, loop) in moved:
                doubled.add(mark.number)
            elif loop is not None:
                found[mark.number] = loop
                moved[pipe, loop] = None
    except TiredError:
        pass
    return found, frozenset(doubled)


def _moved(action: Action, loop: int | None) -> Action:
    return action if loop is None else action._replace(anchor=loop, behind=False)


def remaining(actions: Sequence[Action]) -> list[Action]:
    """The actions without the marked ones."""
    left: list[Action] = []
    for action in actions:
        trip = tuple(part for part in action.trip if not part.implied)
        if not action.implied and bool(trip) == bool(action.trip):
            left.append(action._replace(trip=trip) if trip != action.trip else action)
    return left


def _marked(action: Action, marks: Sequence[Mark], gone: frozenset[int]) -> Action:
    if action.trip:
        marked = (mark.action._replace(implied=mark.action.implied or mark.number in gone) for mark in marks)
        return action._replace(trip=tuple(marked))
    return action._replace(implied=True) if marks[0].number in gone else action


def _barriers_not_needed(laid_out: Layout, tried: "_Tried") -> dict[Pipe, list[int]]:
    """The barriers that no trial run needs."""
    found: dict[Pipe, list[int]] = {}
    for mark in laid_out.marks:
        if mark.action.pipe is not None and not mark.action.implied and mark.number not in tried.needed:
            found.setdefault(mark.action.pipe, []).append(mark.number)
    return found


def _pairs_not_needed(events: Sequence[PlannedEvent], laid_out: Layout, tried: "_Tried") -> tuple[Pair, ...]:
    """The pairs that no trial run needs, the closest first: if it is the only run, all together."""
    pairs = _pairs(laid_out, tried.met)
    of_mark = {mark: number for number, pair in enumerate(pairs) for mark in pair.marks}
    stays = {of_mark[mark] for mark in tried.needed if mark in of_mark}
    stays |= {number for number, pair in enumerate(pairs) if events[pair.event].returns}
    open_ = [number for number in range(len(pairs)) if number not in stays]
    spans = [0] * len(pairs)
    for (set_, _), span in tried.met.items():
        spans[of_mark[set_]] = max(spans[of_mark[set_]], span)
    if tried.exact:
        open_ = list(_without_rivals(open_, [[of_mark[mark] for mark in group] for group in tried.rivals]))
    return tuple(pairs[number] for number in sorted(open_, key=lambda number: (spans[number], number)))


@dataclass
class _Tried:
    """What trial runs have shown; `exact` if there is but one run, which was tried."""

    needed: dict[int, None] = field(default_factory=dict[int, None])
    met: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """Sets with the waits that they met, and how much stood between the two at most."""
    rivals: dict[tuple[int, ...], None] = field(default_factory=dict[tuple[int, ...], None])
    exact: bool = False


def _tried(events: Sequence[PlannedEvent], laid_out: Layout) -> _Tried:
    tried = _Tried()
    for unknown in _numbers(laid_out.tree):
        run = Trial(events, laid_out, unknown)
        done = run.go()
        if done or run.tired:
            run.end()
            tried.needed.update(run.needed)
            for pair, span in run.pairs.items():
                tried.met[pair] = max(tried.met.get(pair, 0), span)
            tried.rivals.update(run.rivals)
        tried.exact = done and not run.chose
        if not run.chose:
            break
    return tried


def _numbers(tree: Tree) -> Iterator[Iterator[int]]:
    """A long run, then the shortest ones."""
    yield always(tree.unit * (most_slots(tree.sites) + 3))
    yield from islice(numbers(tree, tree.sites), _RUNS - 1)


def _pairs(laid_out: Layout, met: Mapping[tuple[int, int], int]) -> list[Pair]:
    """The sets and waits that met one another, in the order of their first ones."""
    leader = list(range(len(laid_out.marks)))

    def find(mark: int) -> int:
        while leader[mark] != mark:
            leader[mark] = leader[leader[mark]]
            mark = leader[mark]
        return mark

    for set_, wait in met:
        one, other = find(set_), find(wait)
        leader[max(one, other)] = min(one, other)
    groups: dict[int, list[int]] = {}
    for mark in dict.fromkeys(mark for pair in met for mark in pair):
        groups.setdefault(find(mark), []).append(mark)
    return [Pair(laid_out.marks[first].event, frozenset(groups[first])) for first in sorted(groups)]


def _without_rivals(open_: Sequence[int], rivals: Sequence[Sequence[int]]) -> Iterator[int]:
    """As many of the open pairs as leave one of each group of rivals."""
    groups: dict[int, list[int]] = {}
    left: list[int] = []
    for number, group in enumerate(rivals):
        members = dict.fromkeys(group)
        left.append(len(members))
        for pair in members:
            groups.setdefault(pair, []).append(number)
    for pair in open_:
        mine = groups.get(pair, [])
        if all(left[group] > 1 for group in mine):
            for group in mine:
                left[group] -= 1
            yield pair
