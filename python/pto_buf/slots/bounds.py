"""Intervals of index terms that hold in every run: from types, loop bounds and the operators alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pto_buf.slots.fold import BITS, INDEX_MAX, INDEX_MIN, fold
from pto_buf.slots.terms import (
    COMPARISONS,
    Apply,
    Const,
    Fn,
    Opaque,
    Select,
    Term,
    Var,
)


@dataclass(frozen=True)
class Interval:
    """All numbers from `low` to `high`, both included."""

    low: int
    high: int

    def within(self, other: "Interval") -> bool:
        return other.low <= self.low and self.high <= other.high

    def hull(self, other: "Interval") -> "Interval":
        return Interval(min(self.low, other.low), max(self.high, other.high))

    @property
    def is_point(self) -> bool:
        return self.low == self.high


ANY = Interval(INDEX_MIN, INDEX_MAX)
BOOL = Interval(0, 1)


def bounds(term: Term) -> Interval:
    """Numbers that the term cannot leave. `ANY` where nothing is known, such as after a possible wrap-around."""
    match term:
        case Const(value):
            return Interval(value, value)
        case Var(low=low, high=high) | Opaque(low=low, high=high):
            return Interval(low, high)
        case Select(_, if_true, if_false):
            return bounds(if_true).hull(bounds(if_false))
        case Apply(fn, left, right):
            return bounds_of(fn, bounds(left), bounds(right))


def bounds_of(fn: Fn, left: Interval, right: Interval) -> Interval:
    """Numbers that `fn` yields for operands within these intervals."""
    if left.is_point and right.is_point:
        folded = fold(fn, left.low, right.low)
        return ANY if folded is None else Interval(folded, folded)
    if fn in COMPARISONS:
        return BOOL
    rule = _RULES.get(fn)
    found = None if rule is None else rule(left, right)
    return found if found is not None and found.within(ANY) else ANY


_Rule = Callable[[Interval, Interval], Interval | None]


def _corners(fn: Callable[[int, int], int]) -> _Rule:
    """For operators that are monotone in each operand."""

    def rule(left: Interval, right: Interval) -> Interval:
        values = [fn(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        return Interval(min(values), max(values))

    return rule


def _truncated(left: int, right: int) -> int:
    return left // right if left >= 0 else -(-left // right)


def _divided(quotient: Callable[[int, int], int], least: int = INDEX_MIN) -> _Rule:
    """For division by positive numbers of numbers not below `least`."""
    corners = _corners(quotient)
    return lambda left, right: corners(left, right) if right.low > 0 and left.low >= least else None


def _rem_unsigned(left: Interval, right: Interval) -> Interval | None:
    if right.low <= 0:
        return None
    if left.low >= 0 and left.high < right.low:
        return left
    return Interval(0, min(right.high - 1, left.high) if left.low >= 0 else right.high - 1)


def _rem_signed(left: Interval, right: Interval) -> Interval | None:
    if left.low >= 0:
        return _rem_unsigned(left, right)
    if right.low <= 0:
        return None
    largest = right.high - 1
    return Interval(max(-largest, left.low), max(0, min(largest, left.high)))


def _and(left: Interval, right: Interval) -> Interval | None:
    masks = [side.high for side in (left, right) if side.low >= 0]
    return Interval(0, min(masks)) if masks else None


def _or(left: Interval, right: Interval) -> Interval | None:
    if left.low < 0 or right.low < 0:
        return None
    bits = max(left.high, right.high).bit_length()
    return Interval(max(left.low, right.low), (1 << bits) - 1)


def _xor(left: Interval, right: Interval) -> Interval | None:
    either = _or(left, right)
    return None if either is None else Interval(0, either.high)


def _shifted(shift: Callable[[int, int], int], least: int = INDEX_MIN) -> _Rule:
    corners = _corners(shift)

    def rule(left: Interval, right: Interval) -> Interval | None:
        return corners(left, right) if right.low >= 0 and right.high < BITS and left.low >= least else None

    return rule


def _if_natural(rule: _Rule) -> _Rule:
    """For unsigned operators, which read numbers that are not negative as signed ones do."""
    return lambda left, right: rule(left, right) if left.low >= 0 and right.low >= 0 else None


_MIN = _corners(min)
_MAX = _corners(max)

_RULES: Mapping[Fn, _Rule] = {
    Fn.ADD: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    Fn.SUB: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    Fn.MUL: _corners(lambda a, b: a * b),
    Fn.DIVS: _divided(_truncated),
    Fn.FLOORDIVS: _divided(lambda a, b: a // b),
    Fn.CEILDIVS: _divided(lambda a, b: -(-a // b)),
    Fn.DIVU: _divided(lambda a, b: a // b, least=0),
    Fn.CEILDIVU: _divided(lambda a, b: -(-a // b), least=0),
    Fn.REMS: _rem_signed,
    Fn.REMU: _rem_unsigned,
    Fn.AND: _and,
    Fn.OR: _or,
    Fn.XOR: _xor,
    Fn.SHL: _shifted(lambda a, b: a << b),
    Fn.SHRS: _shifted(lambda a, b: a >> b),
    Fn.SHRU: _shifted(lambda a, b: a >> b, least=0),
    Fn.MINS: _MIN,
    Fn.MAXS: _MAX,
    Fn.MINU: _if_natural(_MIN),
    Fn.MAXU: _if_natural(_MAX),
}
