"""Answers about forms under facts: which values, which residues, which truth. A question that the facts leave open
splits the path: each answer comes with the facts of the paths on which it is the answer."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import islice
from math import gcd, lcm
from typing import TypeVar

from pto_buf.slots.facts import LARGEST_MODULUS, Facts, Reasoner
from pto_buf.slots.fold import fold
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import (
    Choice,
    FloorDiv,
    IsZero,
    Leaf,
    Linear,
    Mod,
    NotPositive,
    Other,
    Product,
    Rest,
    constant,
)
from pto_buf.slots.terms import Fn

_T = TypeVar("_T")

Answers = list[tuple[_T, Facts]]

MOST_VALUES = 16
"""Numbers that are told apart where only an interval is known: as many as a slot set can have slots."""

_MOST_ANSWERS = 256


def demands(atoms: Atoms, forms: Iterable[Linear]) -> Mapping[int, int]:
    """For each leaf the modulus of the residues that the values of these forms depend on."""
    wanted: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()

    def ask(form: Linear, modulus: int) -> None:
        for atom, coefficient in form.parts:
            ask_atom(atom, modulus // gcd(coefficient, modulus))

    def ask_atom(atom: int, modulus: int) -> None:
        if (atom, modulus) in seen:
            return
        seen.add((atom, modulus))
        match atoms.kinds[atom]:
            case Leaf():
                common = lcm(wanted.get(atom, 1), modulus)
                if common <= LARGEST_MODULUS:
                    wanted[atom] = common
            case Mod(form, divisor):
                ask(form, divisor)
            case FloorDiv(form, divisor):
                ask(form, modulus * divisor if modulus > 1 else 1)
            case NotPositive(form) | IsZero(form):
                ask(form, 1)
            case Choice(condition, if_true, if_false):
                ask(condition, 1)
                ask(if_true, modulus)
                ask(if_false, modulus)
            case Product(left, right):
                ask(left, modulus)
                ask(right, modulus)
            case Other(_, left, right):
                ask(left, 1)
                ask(right, 1)

    for form in forms:
        ask(form, 1)
    return wanted


class Decider:
    """Answers questions about forms. Every list of answers covers all paths; none is empty unless no path is left."""

    def __init__(self, reasoner: Reasoner):
        self.reasoner = reasoner
        self.atoms = reasoner.atoms
        # Paths that differ in what their slots hold ask the same about the same facts.
        self._signs: dict[Hashable, Answers[bool]] = {}
        self._zeros: dict[Hashable, Answers[bool]] = {}
        self._values: dict[Hashable, Answers[int] | None] = {}

    # --- truth ---

    def truth(self, facts: Facts, form: Linear) -> Answers[bool]:
        """Whether the form is not 0."""
        return [(not zero, found) for zero, found in self._zero(facts, form)]

    def not_positive(self, facts: Facts, form: Linear) -> Answers[bool]:
        """Whether the form is 0 or less."""
        key = (facts.key, form.parts, form.const)
        if key not in self._signs:
            self._signs[key] = self._not_positive(facts, form)
        return self._signs[key]

    def _not_positive(self, facts: Facts, form: Linear) -> Answers[bool]:
        answers: Answers[bool] = []
        for plain, found in self._grounded(facts, form):
            span = self.reasoner.span(found, plain)
            if span.high is not None and span.high <= 0:
                answers.append((True, found))
            elif span.low is not None and span.low > 0:
                answers.append((False, found))
            else:
                answers += self._assumed(found, plain, ((True, None, 0), (False, 1, None)))
        return answers

    def _zero(self, facts: Facts, form: Linear) -> Answers[bool]:
        key = (facts.key, form.parts, form.const)
        if key not in self._zeros:
            self._zeros[key] = self._is_zero(facts, form)
        return self._zeros[key]

    def _is_zero(self, facts: Facts, form: Linear) -> Answers[bool]:
        answers: Answers[bool] = []
        for plain, found in self._grounded(facts, form):
            answers += self._assumed(found, plain, ((True, 0, 0), (False, None, -1), (False, 1, None)))
        return answers

    def _assumed(
        self, facts: Facts, form: Linear, cases: Iterable[tuple[bool, int | None, int | None]]
    ) -> Iterator[tuple[bool, Facts]]:
        for answer, low, high in cases:
            found = self.reasoner.assume(facts, form, low, high)
            if found is not None:
                yield answer, found

    # --- forms without what can be decided first ---

    def _resolved(self, facts: Facts, form: Linear) -> Answers[Linear]:
        """The form with each choice replaced by what is chosen."""
        return self._replaced(facts, form, self._chosen)

    def _chosen(self, facts: Facts, atom: int) -> Answers[Linear] | None:
        kind = self.atoms.kinds[atom]
        if not isinstance(kind, Choice):
            return None
        return [(kind.if_true if t else kind.if_false, found) for t, found in self.truth(facts, kind.condition)]

    def _grounded(self, facts: Facts, form: Linear) -> Answers[Linear]:
        """The form with each choice, truth and remainder replaced by its value, where that can be told."""

        def value(facts: Facts, atom: int) -> Answers[Linear] | None:
            kind = self.atoms.kinds[atom]
            if isinstance(kind, Choice):
                return self._chosen(facts, atom)
            if not isinstance(kind, Mod | NotPositive | IsZero | Other | Rest):
                return None
            values = self._values_of(facts, atom)
            return None if values is None else [(constant(value), found) for value, found in values]

        return self._replaced(facts, form, value)

    def _replaced(
        self, facts: Facts, form: Linear, replace: Callable[[Facts, int], Answers[Linear] | None]
    ) -> Answers[Linear]:
        pending: Answers[Linear] = [(form, facts)]
        done: Answers[Linear] = []
        kept: set[int] = set()
        while pending:
            current, found = pending.pop()
            for atom, coefficient in current.parts:
                if atom in kept:
                    continue
                replacements = replace(found, atom)
                if replacements is None:
                    kept.add(atom)
                    continue
                rest = current.without(atom)
                pending += [(rest.plus(new, coefficient), after) for new, after in reversed(replacements)]
                break
            else:
                done.append((current, found))
        return done

    # --- values ---

    def values(self, facts: Facts, form: Linear) -> Answers[int] | None:
        """Every value the form can have; None if they cannot be told apart."""
        if not form.parts:
            return [(form.const, facts)]
        key = (facts.key, form.parts, form.const)
        if key not in self._values:
            self._values[key] = self._values_of_form(facts, form)
        return self._values[key]

    def _values_of_form(self, facts: Facts, form: Linear) -> Answers[int] | None:
        answers: Answers[int] = []
        for plain, found in self._resolved(facts, form):
            point = self.reasoner.span(found, plain).point
            if point is not None:
                answers.append((point, found))
                continue
            inner = self._sums(found, plain)
            if inner is None:
                inner = self._enumerated(found, plain)
            if inner is None:
                return None
            answers += inner
        return answers if len(answers) <= _MOST_ANSWERS else None

    def _sums(self, facts: Facts, form: Linear) -> Answers[int] | None:
        totals: Answers[int] = [(form.const, facts)]
        for atom, coefficient in form.parts:
            grown: Answers[int] = []
            for total, found in totals:
                values = self._values_of(found, atom)
                if values is None:
                    return None
                grown += [(total + coefficient * value, after) for value, after in values]
            if len(grown) > _MOST_ANSWERS:
                return None
            totals = grown
        return totals

    def _enumerated(self, facts: Facts, form: Linear) -> Answers[int] | None:
        """The numbers of a short interval, one by one."""
        span = self.reasoner.span(facts, form)
        if span.low is None or span.high is None or span.high - span.low >= MOST_VALUES:
            return None
        answers: Answers[int] = []
        for value in range(span.low, span.high + 1):
            found = self.reasoner.assume(facts, form, value, value)
            if found is not None:
                answers.append((value, found))
        return answers

    def _values_of(self, facts: Facts, atom: int) -> Answers[int] | None:
        point = self.reasoner.span_of(facts, atom).point
        if point is not None:
            return [(point, facts)]
        match self.atoms.kinds[atom]:
            case Mod(form, divisor):
                found = self.residues(facts, form, divisor)
            case FloorDiv(form, divisor):
                values = self.values(facts, form)
                found = None if values is None else [(value // divisor, after) for value, after in values]
            case NotPositive(form):
                found = [(int(truth), after) for truth, after in self.not_positive(facts, form)]
            case IsZero(form):
                found = [(int(zero), after) for zero, after in self._zero(facts, form)]
            case Choice():
                found = self.values(facts, Linear(((atom, 1),), 0))
            case Other(fn, left, right):
                found = self._folded(facts, fn, left, right)
            case Leaf() | Product():
                found = None
        return self._enumerated(facts, Linear(((atom, 1),), 0)) if found is None else found

    def _folded(self, facts: Facts, fn: Fn, left: Linear, right: Linear) -> Answers[int] | None:
        answers: Answers[int] = []
        lefts = self.values(facts, left)
        for first, found in lefts or ():
            rights = self.values(found, right)
            if rights is None:
                return None
            for second, after in rights:
                value = fold(fn, first, second)
                if value is None:
                    return None
                answers.append((value, after))
        return None if lefts is None or len(answers) > _MOST_ANSWERS else answers

    # --- residues ---

    def residues(self, facts: Facts, form: Linear, modulus: int) -> Answers[int] | None:
        """Every remainder of the form in [0, modulus); None if they cannot be told apart."""
        if modulus > LARGEST_MODULUS:
            return None
        totals: Answers[int] = [(form.const % modulus, facts)]
        for atom, coefficient in form.parts:
            needed = modulus // gcd(coefficient, modulus)
            if needed == 1:
                continue
            grown: Answers[int] = []
            for total, found in totals:
                remainders = self._residues_of(found, atom, needed)
                if remainders is None:
                    return None
                grown += [((total + coefficient * r) % modulus, after) for r, after in remainders]
            if len(grown) > _MOST_ANSWERS:
                return None
            totals = grown
        return totals

    def _residues_of(self, facts: Facts, atom: int, modulus: int) -> Answers[int] | None:
        point = self.reasoner.span_of(facts, atom).point
        if point is not None:
            return [(point % modulus, facts)]
        match self.atoms.kinds[atom]:
            case Leaf():
                return self._residues_of_leaf(facts, atom, modulus)
            case Mod(form, divisor) if divisor % modulus == 0:
                return self.residues(facts, form, modulus)
            case FloorDiv(form, divisor):
                wide = self.residues(facts, form, modulus * divisor)
                return None if wide is None else [(r // divisor, found) for r, found in wide]
            case Choice(condition, if_true, if_false):
                answers: Answers[int] = []
                for truth, found in self.truth(facts, condition):
                    chosen = self.residues(found, if_true if truth else if_false, modulus)
                    if chosen is None:
                        return None
                    answers += chosen
                return answers
            case Product(left, right):
                return self._residues_of_product(facts, left, right, modulus)
            case Mod() | NotPositive() | IsZero() | Other():
                values = self._values_of(facts, atom)
                return None if values is None else [(value % modulus, found) for value, found in values]

    def _residues_of_leaf(self, facts: Facts, atom: int, modulus: int) -> Answers[int] | None:
        answers = list(islice(self.reasoner.residues(facts, atom, modulus), _MOST_ANSWERS + 1))
        return None if len(answers) > _MOST_ANSWERS else answers

    def _residues_of_product(self, facts: Facts, left: Linear, right: Linear, modulus: int) -> Answers[int] | None:
        answers: Answers[int] = []
        lefts = self.residues(facts, left, modulus)
        if lefts is None:
            return None
        for first, found in lefts:
            rights = [(0, found)] if first == 0 else self.residues(found, right, modulus)
            if rights is None:
                return None
            answers += [(first * second % modulus, after) for second, after in rights]
        return answers
