"""The cores of a block in step: loops that run alike on several cores share a counter, and wait for each other. Pure.

What is known does not depend on how the cores interleave. So those that do the same trips may as well do them side by
side: then no core is ever far from another one, and what one learns of the counter holds for all. Where a core needs
another one to be a trip ahead, the cores get stuck, and nothing follows from that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
)
from pto_buf.check.rewrite import Rewriter
from pto_buf.check.terms import Term, constant_of, substitute
from pto_buf.check.values import ValueSets
from pto_buf.check.whole import Whole

_IDS = 16
"""Signals of the second vector core have ids so much higher."""


@dataclass
class _Nest:
    """A loop and those inside it. `ids` are the signals between cores that pass in it."""

    core: int
    enter: int
    loop: Loop
    ids: set[int] = field(default_factory=set[int])
    inside: "list[_Nest]" = field(default_factory=list["_Nest"])


@dataclass(frozen=True)
class _Group:
    """Loops of different cores that run alike; the first one keeps the counter."""

    number: int
    members: tuple[_Nest, ...]

    @property
    def cores(self) -> tuple[int, ...]:
        return tuple(one.core for one in self.members)


def in_step(whole: Whole) -> Whole | None:
    """The same block with its like loops joined; None if it has none."""
    nests = _nests(whole, ValueSets(whole.program, whole.code, {}))
    matcher = _Matcher()
    matcher.match(nests)
    return _Joiner(whole, matcher).joined() if matcher.groups else None


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


class _Matcher:
    """Finds loops of different cores that have the same bounds and talk to each other."""

    def __init__(self) -> None:
        self.groups: list[_Group] = []
        self.by: dict[int, Term] = {}
        """The counters that give way to others, by key."""

    def match(self, nests: Sequence[list[_Nest]]) -> None:
        """`nests`: for each core, the loops next to each other; those inside of matched ones come next."""
        left = [list(one) for one in nests]
        for core, mine in enumerate(left):
            pairs = {other: dict(self._pairs(mine, theirs)) for other, theirs in enumerate(left) if other > core}
            for nest in list(mine):
                others = [found[id(nest)] for found in pairs.values() if id(nest) in found]
                if not others:
                    continue
                group = _Group(len(self.groups), (nest, *others))
                self.groups.append(group)
                assert nest.loop.counter is not None
                for other in others:
                    assert other.loop.counter is not None
                    self.by[other.loop.counter.key] = nest.loop.counter
                    left[other.core].remove(other)
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
        """How many signals both loops have to do with; 0 if they run differently."""
        if one.loop.counter is None or other.loop.counter is None or not one.ids & other.ids:
            return 0
        return len(one.ids & other.ids) if self._bounds(one.loop) == self._bounds(other.loop) else 0

    def _bounds(self, loop: Loop) -> tuple[Term, ...]:
        assert loop.lower is not None and loop.upper is not None and loop.step is not None
        return tuple(substitute(term, self.by) for term in (loop.lower, loop.upper, loop.step))


class _Joiner:
    def __init__(self, whole: Whole, matcher: _Matcher):
        self._whole = whole
        self._by: Mapping[int, Term] = matcher.by
        self._code = Rewriter(lambda term: substitute(term, self._by)).code(whole.code).instructions
        self._instead: dict[int, list[Instruction]] = {}
        for group in matcher.groups:
            leader = self._loop_at(group.members[0])
            for member in group.members:
                self._join(group, member, leader)

    def _loop_at(self, nest: _Nest) -> Loop:
        one = self._code[nest.enter]
        assert isinstance(one, Enter)
        return one.loop

    def _join(self, group: _Group, member: _Nest, loop: Loop) -> None:
        """The cores meet before the counter starts, steps and goes; the leader alone changes it."""
        enter, leads = member.enter, member is group.members[0]
        meets = [Meet(3 * group.number + place, group.cores) for place in range(3)]
        head = self._code[enter + 1]
        assert isinstance(head, Branch)
        leave = head.otherwise
        assert isinstance(self._code[leave], Leave)
        back = leave - 3  # the counter steps, the next trip begins, the jump to the head
        assert isinstance(self._code[back + 1], Next)
        for at, meet in ((enter - 1, meets[0]), (back, meets[1])):
            step = self._code[at]
            assert isinstance(step, Assign)
            mine = Assign(tuple((var, term) for var, term in step.pairs if var != member.loop.counter))
            self._instead[at] = [meet, step] if leads else [mine, meet]
        self._instead[enter] = [Enter(loop)]
        self._instead[enter + 1] = [replace(head, loop=loop)]
        self._instead[back + 1] = [Next(loop)]
        self._instead[leave] = [meets[2], Leave(loop)] if leads else [meets[2]]

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
        return Whole(program, code, starts, self._whole.kinds, in_step=True)


def _moved(one: Instruction, places: Sequence[int]) -> Instruction:
    if isinstance(one, Branch):
        return replace(one, otherwise=places[one.otherwise])
    return Jump(places[one.target]) if isinstance(one, Jump) else one
