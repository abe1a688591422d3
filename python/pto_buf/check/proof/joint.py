"""The cores of a block in step: loops that run alike on several cores share what they carry, and wait for each other.

What is known does not depend on how the cores interleave. So those that do the same trips may as well do them side by
side: then no core is ever far from another one, and what one learns of a counter, or of another number that all of them
carry alike, holds for all. Where a core needs another one to be a trip ahead, the cores get stuck, and nothing follows
from that. Pure.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pto_buf.check.facts.alike import alike, assigned_at
from pto_buf.check.program import (
    Assign,
    Await,
    Branch,
    Code,
    Enter,
    Instruction,
    Jump,
    Leave,
    Loop,
    Meet,
    Next,
    Signal,
    defined,
)
from pto_buf.check.rewrite import Rewriter
from pto_buf.check.terms import Term, Var, constant_of, substitute
from pto_buf.check.values import ValueSets
from pto_buf.check.whole import Whole

_IDS = 16
"""Signals of the second vector core have ids so much higher."""

_Pairs = tuple[tuple[Var, Term], ...]


_TALK = 1 << 8
"""The weight of a signal: more than that of all loops that talk to nobody."""

_ANCHOR = 1 << 16
"""The weight of loops that have been matched already: more than that of all others."""

_FIRST, _PASSED, _STEP, _LEFT = range(4)
"""Where cores meet: before what a loop carries starts, is passed on, steps, and at its end."""


@dataclass
class _Nest:
    """A loop and those inside it. `ids` are the signals between cores that pass in it."""

    core: int
    enter: int
    loop: Loop
    head: int = -1
    """The branch that decides the next trip."""
    leave: int = -1
    ids: set[int] = field(default_factory=set[int])
    inside: "list[_Nest]" = field(default_factory=list["_Nest"])

    @property
    def assigns(self) -> dict[int, int]:
        """By place, the instruction that assigns what the loop carries."""
        passed = {} if self.loop.counter is not None else {_PASSED: self.head - 1}
        return {_FIRST: self.enter - 1, **passed, _STEP: self.leave - 3}


@dataclass(frozen=True)
class _Group:
    """Loops of different cores that run alike; the first one keeps what they share."""

    number: int
    members: tuple[_Nest, ...]

    @property
    def cores(self) -> tuple[int, ...]:
        return tuple(one.core for one in self.members)


def in_step(whole: Whole) -> Iterator[Whole]:
    """The same block with its like loops joined: those that talk, if there are any; then others that carry numbers too.

    Of these a core may need another one's to be over, but what they leave behind alike may decide what comes next.
    """
    nests = _nests(whole, ValueSets(whole.program, whole.code, {}))
    joined = 0
    for silent in (False, True):
        matcher = _Matcher(whole, silent)
        matcher.match(nests)
        if len(matcher.groups) > joined:
            joined = len(matcher.groups)
            yield _Joiner(whole, matcher.groups).joined()


def _nests(whole: Whole, values: ValueSets) -> list[list[_Nest]]:
    """For each core, its outermost loops that it may come to."""
    outermost: list[list[_Nest]] = [[] for _ in whole.starts]
    around: list[_Nest] = []
    reached = _reached(whole)
    for at, one in enumerate(whole.code.instructions):
        if at not in reached:
            continue
        core = whole.core_of(at)
        if isinstance(one, Enter):
            nest = _Nest(core, at, one.loop)
            (around[-1].inside if around else outermost[core]).append(nest)
            around.append(nest)
        elif isinstance(one, Branch) and one.loop is not None:
            around[-1].head, around[-1].leave = at, one.otherwise
        elif isinstance(one, Leave):
            around.pop()
        elif isinstance(one, Signal | Await):
            known = values.of(one.lane)
            ids = range(_IDS) if known is None else [id % _IDS for id in known]
            for nest in around:
                nest.ids.update(ids)
    return outermost


def _reached(whole: Whole) -> frozenset[int]:
    """The instructions that are not behind a branch that is decided otherwise: which vector core it is decides some."""
    code = whole.code.instructions
    ends = {*whole.starts, len(code)}
    found: set[int] = set()
    waiting = list(whole.starts)
    while waiting:
        at = waiting.pop()
        if at in found or at >= len(code):
            continue
        found.add(at)
        match code[at]:
            case Jump(target):
                ways = (target,)
            case Branch(condition=condition, otherwise=otherwise):
                held = constant_of(condition)
                ways = (at + 1, otherwise) if held is None else (at + 1,) if held else (otherwise,)
            case _:
                ways = (at + 1,)
        waiting += [way for way in ways if way not in ends]
    return frozenset(found)


def _carried(whole: Whole, members: Sequence[_Nest]) -> list[tuple[Hashable, _Pairs]]:
    """What is assigned at the places of loops that run alike, of which the first one's number is part of a place.

    Variables that are assigned elsewhere too are left out: the address of a tile that a trip moves is one.
    """
    found: list[tuple[Hashable, _Pairs]] = []
    times = Counter(var.key for one in whole.code.instructions for var in defined(one))
    for member in members:
        here = Counter(var.key for at in member.assigns.values() for var in defined(whole.code.instructions[at]))
        for place, at in member.assigns.items():
            one = whole.code.instructions[at]
            assert isinstance(one, Assign)
            alone = [(var, term) for var, term in one.pairs if times[var.key] == here[var.key]]
            pairs = tuple((var, substitute(term, whole.meaning)) for var, term in alone)
            found.append(((members[0].enter, place), pairs))
    return found


class _Matcher:
    """Finds loops of different cores that talk to each other, and of which each does the trips that the other does.

    `silent`: also such as talk to nobody, but carry more than a counter.
    """

    def __init__(self, whole: Whole, silent: bool) -> None:
        self.groups: list[_Group] = []
        self._whole = whole
        self._code = whole.code.instructions
        self._silent = silent
        self._by: dict[int, Var] = {}
        """What loops around and before carry alike."""
        self._group_of: dict[int, int] = {}
        """By the instruction that enters a loop."""

    def match(self, nests: Sequence[list[_Nest]]) -> None:
        """`nests`: for each core, the loops next to each other; those inside of matched ones come next.

        What matched loops leave behind alike may make those that follow alike: so it is tried again.
        """
        before = -1
        while before < len(self.groups):
            before = len(self.groups)
            self._match(nests)

    def _match(self, nests: Sequence[list[_Nest]]) -> None:
        """Of the first core that has some to match: what comes of that may match more of them than later cores'."""
        before = len(self.groups)
        for core, mine in enumerate(nests):
            if len(self.groups) > before:
                return
            pairs = [dict(self._pairs(mine, theirs)) for theirs in nests[core + 1 :]]
            for nest in mine:
                others = [found[id(nest)] for found in pairs if id(nest) in found]
                if not others or any(one.enter in self._group_of for one in (nest, *others)):
                    continue
                group = _Group(len(self.groups), (nest, *others))
                self.groups.append(group)
                self._group_of.update((member.enter, group.number) for member in group.members)
                self._by |= self._shared(group.members)
                inside: list[list[_Nest]] = [[] for _ in nests]
                for member in group.members:
                    inside[member.core] = member.inside
                self.match(inside)

    def _pairs(self, mine: Sequence[_Nest], theirs: Sequence[_Nest]) -> list[tuple[int, _Nest]]:
        """The heaviest way to pair loops in order, as a longest common subsequence."""
        weights = [[self._weight(one, other) for other in theirs] for one in mine]
        best = [[0] * (len(theirs) + 1) for _ in range(len(mine) + 1)]
        for row in range(len(mine) - 1, -1, -1):
            for col in range(len(theirs) - 1, -1, -1):
                paired = weights[row][col] and weights[row][col] + best[row + 1][col + 1]
                best[row][col] = max(paired, best[row + 1][col], best[row][col + 1])
        found: list[tuple[int, _Nest]] = []
        row = col = 0
        while row < len(mine) and col < len(theirs):
            weight = weights[row][col]
            if weight and best[row][col] == weight + best[row + 1][col + 1]:
                found.append((id(mine[row]), theirs[col]))
                row, col = row + 1, col + 1
            elif best[row][col] == best[row + 1][col]:
                row += 1
            else:
                col += 1
        return found

    def _weight(self, one: _Nest, other: _Nest) -> int:
        """How many signals both loops have to do with, above all; 0 if they run differently, or are not looked for."""
        groups = self._group_of.get(one.enter), self._group_of.get(other.enter)
        if groups != (None, None):
            return _ANCHOR if groups[0] == groups[1] else 0
        if (one.loop.counter is None) is not (other.loop.counter is None):
            return 0
        weight = len(one.ids & other.ids) * _TALK
        if self._silent and not one.ids and not other.ids and self._carries_more(one):
            weight = 1
        if not weight:
            return 0
        names = self._by | self._shared((one, other))
        return weight if self._condition(one, names) == self._condition(other, names) else 0

    def _carries_more(self, nest: _Nest) -> bool:
        first = self._code[nest.assigns[_FIRST]]
        return isinstance(first, Assign) and len(first.pairs) > 1

    def _condition(self, nest: _Nest, names: Mapping[int, Term]) -> Term:
        head = self._code[nest.head]
        assert isinstance(head, Branch)
        return substitute(substitute(head.condition, self._whole.meaning), names)

    def _shared(self, members: Sequence[_Nest]) -> dict[int, Var]:
        """What they carry alike, given what the loops around them do."""
        carried = _carried(self._whole, members)
        known = [(place, tuple((var, substitute(term, self._by)) for var, term in pairs)) for place, pairs in carried]
        return alike(assigned_at(known))


def _shared(whole: Whole, groups: Sequence[_Group]) -> dict[int, Var]:
    """The variables, by key, of which another one, of the first loop of the group, always holds the same number."""
    first = alike(assigned_at([one for group in groups for one in _carried(whole, group.members)]))
    leaders = [one for group in groups for one in _carried(whole, group.members[:1])]
    kept = {var.key for _, pairs in leaders for var, _ in pairs}
    return {key: var for key, var in first.items() if key not in kept and var.key in kept}


class _Joiner:
    def __init__(self, whole: Whole, groups: Sequence[_Group]):
        self._whole = whole
        by = self._by = _shared(whole, groups)
        self._code = Rewriter(lambda term: substitute(term, by)).code(whole.code).instructions
        self._joined = len(groups)
        self._instead: dict[int, list[Instruction]] = {}
        for group in groups:
            leader = self._loop_at(group.members[0])
            for member in group.members:
                self._join(group, member, leader)

    def _loop_at(self, nest: _Nest) -> Loop:
        one = self._code[nest.enter]
        assert isinstance(one, Enter)
        return one.loop

    def _join(self, group: _Group, member: _Nest, loop: Loop) -> None:
        """The cores meet before what they share is assigned, and behind the loop; the leader alone assigns it."""
        leads = member is group.members[0]
        meets = [Meet(4 * group.number + place, group.cores) for place in range(4)]
        for place, at in member.assigns.items():
            step = self._code[at]
            assert isinstance(step, Assign)
            mine = Assign(tuple((var, term) for var, term in step.pairs if var.key not in self._by))
            self._instead[at] = [meets[place], step] if leads else [mine, meets[place]]
        head = self._code[member.head]
        assert isinstance(head, Branch)
        self._instead[member.enter] = [Enter(loop)]
        self._instead[member.head] = [replace(head, loop=loop)]
        self._instead[member.leave - 2] = [Next(loop)]
        self._instead[member.leave] = [meets[_LEFT], Leave(loop)] if leads else [meets[_LEFT]]

    def joined(self) -> Whole:
        places: list[int] = []
        found: list[Instruction] = []
        for at, one in enumerate(self._code):
            places.append(len(found))
            found += self._instead.get(at, [one])
        moved = tuple(_moved(one, places) for one in found)
        code = Code(None, moved)
        program = replace(self._whole.program, codes=(code,))
        starts = tuple(places[start] for start in self._whole.starts)
        return Whole(program, code, starts, self._whole.kinds, in_step=self._joined)


def _moved(one: Instruction, places: Sequence[int]) -> Instruction:
    if isinstance(one, Branch):
        return replace(one, otherwise=places[one.otherwise])
    return Jump(places[one.target]) if isinstance(one, Jump) else one
