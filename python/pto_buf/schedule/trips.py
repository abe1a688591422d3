"""Comparing index terms of two trips of one loop.

Answers are one-sided: "may be equal" and "may overlap" are also said where nothing is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import lcm, prod

from pto_buf.slots.bounds import bounds
from pto_buf.slots.carried import evaluate, free_leaves
from pto_buf.slots.fold import wrapped
from pto_buf.slots.simplify import apply
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Select, Term, Var

Leaf = Var | Opaque

_TRIP = -(1 << 31)
"""The key of the number of the trip, which no program uses."""

_MOST_POINTS = 20_000
"""Assignments of the leaves that are looked at for one pair of terms."""


@dataclass(frozen=True)
class Trips:
    """A loop: its counter, its step, and what is worked out anew in each trip."""

    counter: Var
    lower: Term
    step: Term
    inner: frozenset[Var] = frozenset()
    """Counters and carried values of the loops inside, and the loop's own carried values."""
    loops: frozenset[int] = frozenset()
    """Keys of the loop and of those inside, by which unknowns name the loop that they change in."""

    def changes(self, leaf: Leaf) -> bool:
        """Whether the leaf may have another value in each trip, and no known one."""
        return leaf in self.inner if isinstance(leaf, Var) else leaf.loop in self.loops

    def at(self, term: Term) -> Term:
        """The term as worked out in some trip."""
        return _renamed(term, {self.counter: self._counter(0)}, None)

    def later(self, term: Term, distance: int) -> Term:
        """The term as worked out `distance` trips after that one."""
        return _renamed(term, {self.counter: self._counter(distance)}, self)

    def _counter(self, distance: int) -> Term:
        if isinstance(self.step, Const):
            trip = Var(_TRIP, "trip", 0, self.counter.high)
            return apply(Fn.ADD, apply(Fn.MUL, apply(Fn.ADD, trip, Const(distance)), self.step), self.lower)
        return apply(Fn.ADD, self.counter, apply(Fn.MUL, self.step, Const(distance)))


def _renamed(term: Term, known: Mapping[Leaf, Term], trips: Trips | None) -> Term:
    """The term with the known leaves replaced and, given `trips`, those that change from trip to trip made anew.

    Sums are brought into one form, so that what is added and taken away again is gone.
    """
    match term:
        case Const():
            return term
        case Var() | Opaque():
            if term in known:
                return known[term]
            return _anew(term) if trips is not None and trips.changes(term) else term
        case Select(condition, if_true, if_false):
            return Select(*(_renamed(part, known, trips) for part in (condition, if_true, if_false)))
        case Apply(fn, left, right):
            found = apply(fn, _renamed(left, known, trips), _renamed(right, known, trips))
            return _summed(found) if fn in (Fn.ADD, Fn.SUB, Fn.MUL, Fn.SHL) else found


def _summed(term: Term) -> Term:
    parts, constant = _linear(term)
    total: Term = Const(0)
    for part, coefficient in parts.items():
        total = apply(Fn.ADD, total, apply(Fn.MUL, part, Const(wrapped(coefficient))))
    return apply(Fn.ADD, total, Const(wrapped(constant)))


def _anew(leaf: Leaf) -> Leaf:
    """A leaf of its own for the value in another trip; no key of the program is negative."""
    if isinstance(leaf, Var):
        return Var(-1 - leaf.key, leaf.name, leaf.low, leaf.high)
    return Opaque(-1 - leaf.key, leaf.name, leaf.loop, leaf.low, leaf.high)


# --- equality -----------------------------------------------------------------------------------------------------


def may_be_equal(first: Term, second: Term, trips: Trips, distance: int) -> bool:
    """Whether `first` in some trip may have the value of `second` `distance` trips later."""
    first, other = trips.at(first), trips.later(second, distance)
    parts, constant = _linear(apply(Fn.SUB, other, first))
    if not parts:
        return wrapped(constant) == 0
    period = _period(first, other)
    if period is None:
        return True
    leaves = sorted(free_leaves(first) | free_leaves(other), key=lambda leaf: (leaf.key, leaf.name))
    ranges = [range(leaf.low, min(leaf.high + 1, leaf.low + period)) for leaf in leaves]
    if prod(len(values) for values in ranges) > _MOST_POINTS:
        return True
    return any(_equal_at(first, other, dict(zip(leaves, point, strict=True))) for point in product(*ranges))


def _equal_at(first: Term, second: Term, values: Mapping[Leaf, int]) -> bool:
    one, two = evaluate(first, values), evaluate(second, values)
    return one is None or two is None or one == two


_DIVIDES = (Fn.DIVS, Fn.FLOORDIVS, Fn.CEILDIVS, Fn.DIVU, Fn.CEILDIVU, Fn.REMS, Fn.REMU)


def _period(*terms: Term) -> int | None:
    """A number by which any leaf can grow without a change in whether the terms are equal; None if none is known.

    Remainders at the top make both terms periodic.
    """
    periods: list[int] = []
    for term in terms:
        remainder = isinstance(term, Const) or (isinstance(term, Apply) and _modulus(term) is not None)
        growth = _growth(term) if remainder else None
        if growth is None:
            return None
        periods.append(growth)
    return lcm(*periods)


def _modulus(term: Apply) -> int | None:
    if not isinstance(term.right, Const):
        return None
    value = term.right.value
    if term.fn in (Fn.REMS, Fn.REMU) and value > 0:
        return value
    if term.fn is Fn.AND and value > 0 and value & (value + 1) == 0:
        return value + 1
    return None


def _growth(term: Term) -> int | None:
    """A number by multiples of which any leaf can grow so that the term grows by a whole number that does not depend
    on the leaves. None for an operator that does not pass growth on so, or that divides what may be negative.
    """
    match term:
        case Const() | Var() | Opaque():
            return 1
        case Apply(Fn.ADD | Fn.SUB, left, right):
            first, second = _growth(left), _growth(right)
            return None if first is None or second is None else lcm(first, second)
        case Apply(Fn.MUL, left, Const()):
            return _growth(left)
        case Apply(fn, left, Const(value)):
            divisor = value if fn in _DIVIDES and value > 0 else _modulus(term)
            if fn in (Fn.SHRS, Fn.SHRU) and 0 <= value < 16:
                divisor = 1 << value
            inner = _growth(left) if divisor is not None and bounds(left).low >= 0 else None
            return None if divisor is None or inner is None else divisor * inner
        case _:
            return None


# --- windows of global memory -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Part of a tensor: first element and extent in each dimension."""

    offsets: tuple[Term, ...]
    sizes: tuple[Term, ...]


def may_overlap(first: Window, second: Window, trips: Trips, distance: int) -> bool:
    """Whether `first` in some trip may have an element of `second` `distance` trips later."""
    return not any(
        _apart(trips.at(low), bounds(size).high, trips.later(other, distance), bounds(extent).high)
        for low, size, other, extent in zip(first.offsets, first.sizes, second.offsets, second.sizes, strict=True)
    )


def _apart(low: Term, size: int, other: Term, extent: int) -> bool:
    parts, gap = _linear(apply(Fn.SUB, other, low))
    return not parts and (gap >= size or -gap >= extent)


_Form = tuple[dict[Term, int], int]
"""Coefficients of what is not a sum itself, and the constant."""


def _linear(term: Term) -> _Form:
    match term:
        case Const(value):
            return {}, value
        case Apply(Fn.ADD, left, right):
            return _sum(_linear(left), _linear(right), 1)
        case Apply(Fn.SUB, left, right):
            return _sum(_linear(left), _linear(right), -1)
        case Apply(Fn.MUL, left, Const(value)):
            return _sum(({}, 0), _linear(left), value)
        case Apply(Fn.SHL, left, Const(value)) if 0 <= value < 32:
            return _sum(({}, 0), _linear(left), 1 << value)
        case _:
            return {term: 1}, 0


def _sum(left: _Form, right: _Form, factor: int) -> _Form:
    parts = dict(left[0])
    for part, coefficient in right[0].items():
        parts[part] = parts.get(part, 0) + factor * coefficient
    return {part: coefficient for part, coefficient in parts.items() if coefficient}, left[1] + factor * right[1]
