"""Whether two index terms are one number, in one trip or some trips apart, and whether a term stays within a range."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from pto_buf.slots.bounds import bounds
from pto_buf.slots.deciding import Decider, demands
from pto_buf.slots.facts import NO_FACTS, Reasoner
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import Linear
from pto_buf.slots.nesting import bind_counter, is_counted
from pto_buf.slots.program import Loop, While
from pto_buf.slots.simplify import apply, select
from pto_buf.slots.spans import Horizon
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Select, Term, Var

_FRESH = 1 << 40
"""Keys of stand-ins for what is another number in the other trip."""

_EXACT = Horizon(64)


class Equality(StrEnum):
    """What is known of two terms over all trips."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    """Equal in some trips and not in others, or not known."""


def compare(
    left: Term, right: Term, around: Sequence[Loop | While], loop: int | None = None, distance: int = 0
) -> Equality:
    """Whether `left` in a trip of the loop with key `loop` equals `right` `distance` trips later.

    `around` are the loops around both terms, outermost first; without `loop` both are in the same trip of all. What
    the loops inside `loop` count is another number in the later trip.
    """
    moved, inner = right, False
    for one in around:
        if one.key == loop:
            step = one.step if isinstance(one, Loop) else Const(1)
            travelled = apply(Fn.MUL, step, Const(distance))
            moved, inner = substituted(moved, {one.var: apply(Fn.ADD, one.var, travelled)}, one.key), True
        elif inner:
            moved = substituted(moved, {one.var: replace(one.var, key=one.var.key + _FRESH)}, one.key)
    question = _Question((left, moved), around, loop, distance)
    return question.equality(left, moved)


def proven_within(term: Term, count: int, around: Sequence[Loop | While] = ()) -> bool:
    """Whether the term is in [0, count) in every trip of the loops around it."""
    held = bounds(term)
    if held.low >= 0 and held.high < count:
        return True
    question = _Question((term,), around, None, 0)
    values = question.decider.values(question.facts, question.form(term))
    return values is not None and all(0 <= value < count for value, _ in values)


class _Question:
    """The terms in forms, and what the loops say of their counters."""

    def __init__(self, terms: Sequence[Term], around: Sequence[Loop | While], loop: int | None, distance: int):
        self._atoms = Atoms()
        for one in around:
            bind_counter(self._atoms, one)
        forms = [self._atoms.form(term) for term in terms]
        reasoner = Reasoner(self._atoms, {}, _EXACT, demands(self._atoms, forms))
        self.decider = Decider(reasoner)
        self.facts = NO_FACTS
        self.never = False
        for one in around:
            if isinstance(one, Loop) and is_counted(one):
                rest = self._atoms.form(one.var) - self._atoms.form(one.upper)
                later = distance * bounds(one.step).low if one.key == loop else 0
                self._assume(rest, max(0, later))
                first = self._atoms.form(one.var) - self._atoms.form(one.lower)
                self._assume(first.times(-1), max(0, -later) - 1)

    def _assume(self, form: Linear, margin: int) -> None:
        """That form + margin is below 0."""
        found = self.decider.reasoner.assume(self.facts, form, None, -1 - margin)
        self.never = self.never or found is None
        self.facts = found or self.facts

    def form(self, term: Term) -> Linear:
        return self._atoms.form(term)

    def equality(self, left: Term, right: Term) -> Equality:
        first, second = self.form(left), self.form(right)
        if first == second:
            return Equality.EQUAL
        if self.never:
            return Equality.DIFFERENT
        found = Equality.UNKNOWN
        for equal in self._answers(first, second):
            answer = Equality.EQUAL if equal else Equality.DIFFERENT
            if found not in (Equality.UNKNOWN, answer):
                return Equality.UNKNOWN  # what the other paths say changes nothing, and there may be very many
            found = answer
        return found

    def _answers(self, first: Linear, second: Linear) -> Iterator[bool]:
        """Whether they are equal, on each path."""
        values = self.decider.values(self.facts, first)
        if values is None:
            yield from (not unequal for unequal, _ in self.decider.truth(self.facts, first - second))
            return
        for value, facts in values:
            others = self.decider.values(facts, second)
            if others is None:
                yield from (True, False)
                return
            yield from (value == other for other, _ in others)


def substituted(term: Term, values: Mapping[Var, Term], loop: int) -> Term:
    """The term with variables replaced, and with unknowns of the loop's trips by those of another trip."""
    match term:
        case Const():
            return term
        case Var():
            return values.get(term, term)
        case Opaque(key=key):
            return replace(term, key=key + _FRESH) if term.loop == loop else term
        case Select(condition, if_true, if_false):
            return select(*(substituted(part, values, loop) for part in (condition, if_true, if_false)))
        case Apply(fn, left, right):
            return apply(fn, substituted(left, values, loop), substituted(right, values, loop))
