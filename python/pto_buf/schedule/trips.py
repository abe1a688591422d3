"""Comparing index terms of two trips of one loop.

Answers are one-sided: "may be equal" and "may overlap" are also said where nothing is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pto_buf.slots.deciding import Decider, demands
from pto_buf.slots.facts import NO_FACTS, Reasoner
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import Linear
from pto_buf.slots.simplify import apply
from pto_buf.slots.spans import Horizon
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Select, Term, Var

Leaf = Var | Opaque

_TRIP = -(1 << 31)
"""The key of the number of the trip, which no program uses."""

_HORIZON = Horizon(64)
"""Numbers beyond which exact knowledge of an interval is given up."""


@dataclass(frozen=True)
class Trips:
    """A loop: its counter, where it starts, its step, and what is worked out anew in each trip."""

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
            trip = apply(Fn.ADD, Var(_TRIP, "trip", 0, self.counter.high), Const(distance))
            return apply(Fn.ADD, apply(Fn.MUL, trip, self.step), self.lower)
        return apply(Fn.ADD, self.counter, apply(Fn.MUL, self.step, Const(distance)))


def _renamed(term: Term, known: Mapping[Leaf, Term], trips: Trips | None) -> Term:
    """The term with the known leaves replaced and, given `trips`, those that change from trip to trip made anew."""
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
            return apply(fn, _renamed(left, known, trips), _renamed(right, known, trips))


def _anew(leaf: Leaf) -> Leaf:
    """A leaf of its own for the value in another trip; no key of the program is negative."""
    if isinstance(leaf, Var):
        return Var(-1 - leaf.key, leaf.name, leaf.low, leaf.high)
    return Opaque(-1 - leaf.key, leaf.name, leaf.loop, leaf.low, leaf.high)


def may_be_equal(first: Term, second: Term, trips: Trips, distance: int) -> bool:
    """Whether `first` in some trip may have the value of `second` `distance` trips later."""
    atoms = Atoms()
    gap = atoms.form(trips.later(second, distance)) - atoms.form(trips.at(first))
    return not all(differ for differ, _ in _decider(atoms, gap).truth(NO_FACTS, gap))


@dataclass(frozen=True)
class Window:
    """Part of a tensor: first element and extent in each dimension."""

    offsets: tuple[Term, ...]
    sizes: tuple[Term, ...]


def may_overlap(first: Window, second: Window, trips: Trips, distance: int) -> bool:
    """Whether `first` in some trip may have an element of `second` `distance` trips later."""
    atoms = Atoms()

    def is_apart(low: Term, size: Term, other: Term, extent: Term) -> bool:
        here, there = atoms.form(trips.at(low)), atoms.form(trips.later(other, distance))
        end, far_end = here + atoms.form(trips.at(size)), there + atoms.form(trips.later(extent, distance))
        before, behind = end - there, far_end - here
        decider = _decider(atoms, before, behind)
        # In one case it may lie before and in another one behind: places that take turns do.
        return all(
            known or all(also for also, _ in decider.not_positive(facts, behind))
            for known, facts in decider.not_positive(NO_FACTS, before)
        )

    sides = zip(first.offsets, first.sizes, second.offsets, second.sizes, strict=True)
    return not any(is_apart(*side) for side in sides)


def _decider(atoms: Atoms, *forms: Linear) -> Decider:
    return Decider(Reasoner(atoms, {}, _HORIZON, demands(atoms, forms)))
