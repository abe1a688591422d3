"""Index terms as linear forms over atoms, in one canonical spelling.

An atom is a leaf (an argument, an unknown, the number of finished trips of a loop) or something that is not linear,
made of forms itself. An operator whose result might wrap around becomes an atom, and so equal forms are equal numbers.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from pto_buf.slots.bounds import ANY, BOOL, Interval, bounds_of
from pto_buf.slots.fold import BITS
from pto_buf.slots.linear import (
    Atom,
    Choice,
    FloorDiv,
    IsZero,
    Leaf,
    Linear,
    Mod,
    NotPositive,
    Other,
    Product,
    Quotient,
    Rest,
    constant,
)
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Select, Term, Var

_WORD = 1 << BITS


class Atoms:
    """The atoms of one program, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.kinds: list[Atom] = []
        self.ranges: list[Interval] = []
        """Numbers that an atom cannot leave, wherever it is looked at."""
        self._used: list[Interval] = []
        """The same where a term is evaluated: there a counter has not reached its end."""
        self.leaves: list[frozenset[int]] = []
        """The leaves below each atom."""
        self.within: list[tuple[int, ...]] = []
        """All atoms below each atom, itself included."""
        self._numbers: dict[Atom, int] = {}
        self._counters: dict[Var, Linear] = {}
        self._forms: dict[int, tuple[Term, Linear]] = {}

    # --- atoms ---

    def leaf(self, what: Var | Opaque | str, held: Interval, used: Interval | None = None) -> int:
        """The atom of a leaf. Its intervals are those given when it is first met."""
        known = self._numbers.get(Leaf(what))
        return self._new(Leaf(what), held, used or held, ()) if known is None else known

    def bind(self, counter: Var, form: Linear) -> None:
        """Say what the counter of a loop is, before any term with it is looked at."""
        self._counters[counter] = form

    def divide(self, var: Var, others: Linear, divisor: int) -> None:
        """Spell `var + others`, fixed numbers, as a multiple of its quotient and a rest: say so of the variable, before
        any term with it is looked at."""
        held = self.range(others)
        low, high = (var.low + held.low) // divisor, (var.high + held.high) // divisor
        quotient = self._new(Quotient(var), Interval(low, high), Interval(low, high), ())
        rest = self._new(Rest(var), Interval(0, divisor - 1), Interval(0, divisor - 1), ())
        self.bind(var, Linear(((quotient, divisor), (rest, 1)), 0) - others)

    def _new(self, kind: Atom, held: Interval, used: Interval, made_of: Iterable[Linear]) -> int:
        number = len(self.kinds)
        self._numbers[kind] = number
        self.kinds.append(kind)
        self.ranges.append(held)
        self._used.append(used)
        inner = [atom for form in made_of for atom, _ in form.parts]
        own: frozenset[int] = frozenset({number}) if isinstance(kind, Leaf) else frozenset()
        self.leaves.append(own.union(*(self.leaves[atom] for atom in inner)))
        below = dict.fromkeys(deeper for atom in inner for deeper in self.within[atom])
        self.within.append((number, *below))
        return number

    def _atom(self, kind: Atom, *made_of: Linear, held: Callable[[Callable[[Linear], Interval]], Interval]) -> Linear:
        number = self._numbers.get(kind)
        if number is None:
            number = self._new(kind, held(self.range), held(self.used), made_of)
        return Linear(((number, 1),), 0)

    def range(self, form: Linear) -> Interval:
        """Numbers that the form cannot leave."""
        return _sum(form, self.ranges)

    def used(self, form: Linear) -> Interval:
        """Numbers that the form cannot leave where a term is evaluated."""
        return _sum(form, self._used)

    def below(self, form: Linear) -> tuple[int, ...]:
        """All atoms that the form's value depends on."""
        return tuple(dict.fromkeys(deeper for atom, _ in form.parts for deeper in self.within[atom]))

    # --- terms ---

    def form(self, term: Term) -> Linear:
        """The linear form of a term."""
        known = self._forms.get(id(term))
        if known is not None:
            return known[1]
        form = self._form(term)
        self._forms[id(term)] = (term, form)  # the term is kept, so that its id stays its own
        return form

    def _form(self, term: Term) -> Linear:
        match term:
            case Const(value):
                return constant(value)
            case Var() if term in self._counters:
                return self._counters[term]
            case Var(low=low, high=high) | Opaque(low=low, high=high):
                return Linear(((self.leaf(term, Interval(low, high)), 1),), 0)
            case Select(condition, if_true, if_false):
                return self.choice(self.form(condition), self.form(if_true), self.form(if_false))
            case Apply(fn, left, right):
                return self._applied(fn, self.form(left), self.form(right))

    def form_where(self, term: Term, known: Callable[[Var | Opaque], Linear]) -> Linear:
        """The linear form of a term, with its variables and unknowns as `known` says."""
        match term:
            case Const(value):
                return constant(value)
            case Var() | Opaque():
                return known(term)
            case Select():
                parts = (self.form_where(part, known) for part in (term.condition, term.if_true, term.if_false))
                return self.choice(*parts)
            case Apply():
                return self._applied(term.fn, self.form_where(term.left, known), self.form_where(term.right, known))

    def _applied(self, fn: Fn, left: Linear, right: Linear) -> Linear:
        rule = _RULES.get(fn)
        found = None if rule is None else rule(self, left, right)
        if found is None:
            return self._other(fn, left, right)
        if fn in _MAY_WRAP and not self.used(found).within(ANY):
            return self._other(fn, left, right)
        return found

    def _other(self, fn: Fn, left: Linear, right: Linear) -> Linear:
        kind = Other(fn, left, right)
        return self._atom(kind, left, right, held=lambda of: bounds_of(fn, of(left), of(right)))

    # --- what is not linear ---

    def floor_div(self, form: Linear, divisor: int) -> Linear:
        """The quotient rounded down; the divisor is positive."""
        whole, rest = _split(form, divisor)
        held = self.used(rest)
        if held.low >= 0 and held.high < divisor:
            return whole
        inner = self._only_atom(rest)
        if isinstance(inner, FloorDiv):  # of a quotient: one division by both
            return whole + self.floor_div(inner.form.shifted(rest.const * inner.divisor), inner.divisor * divisor)
        choices = [(atom, kind) for atom, _ in rest.parts if isinstance(kind := self.kinds[atom], Choice)]
        if len(choices) == 1:  # each way is divided as what it is: often no atom is left
            ((atom, kind),) = choices
            others, times = rest.without(atom), rest.coefficient(atom)
            ways = (self.floor_div(others.plus(way, times), divisor) for way in (kind.if_true, kind.if_false))
            return whole + self.choice(kind.condition, *ways)
        quotient = self._atom(
            FloorDiv(rest, divisor),
            rest,
            held=lambda of: Interval(of(rest).low // divisor, of(rest).high // divisor),
        )
        return whole + quotient

    def _only_atom(self, form: Linear) -> Atom | None:
        """The atom that the form is, apart from its constant."""
        return self.kinds[form.parts[0][0]] if len(form.parts) == 1 and form.parts[0][1] == 1 else None

    def mod(self, form: Linear, divisor: int) -> Linear:
        """The remainder of rounding down; the divisor is positive."""
        _, rest = _split(form, divisor)
        for candidate in (rest, _balanced(rest, divisor)):
            held = self.used(candidate)
            if held.low >= 0 and held.high < divisor:
                return candidate
        return self._atom(Mod(rest, divisor), rest, held=lambda _: Interval(0, divisor - 1))

    def not_positive(self, form: Linear) -> Linear:
        """1 where the form is 0 or less, else 0."""
        held = self.used(form)
        if held.high <= 0 or held.low > 0:
            return constant(int(held.high <= 0))
        return self._atom(NotPositive(form), form, held=lambda _: BOOL)

    def is_zero(self, form: Linear) -> Linear:
        """1 where the form is 0, else 0."""
        held = self.used(form)
        if held.low > 0 or held.high < 0 or held.is_point:
            return constant(int(held == Interval(0, 0)))
        if form.parts[0][1] < 0:
            form = form.times(-1)
        return self._atom(IsZero(form), form, held=lambda _: BOOL)

    def choice(self, condition: Linear, if_true: Linear, if_false: Linear) -> Linear:
        return self._choice(condition, if_true, if_false, Interval.hull)

    def _choice(
        self, condition: Linear, if_true: Linear, if_false: Linear, held: Callable[[Interval, Interval], Interval]
    ) -> Linear:
        """A choice whose numbers are within `held` of those of either side."""
        known = self.used(condition)
        if known.is_point or known.low > 0 or known.high < 0:
            return if_false if known == Interval(0, 0) else if_true
        if if_true == if_false:
            return if_true
        kind = Choice(condition, if_true, if_false)
        return self._atom(kind, condition, if_true, if_false, held=lambda of: held(of(if_true), of(if_false)))

    def least(self, left: Linear, right: Linear) -> Linear:
        if self.used(left - right).low >= 0:
            return right
        return self._choice(self.not_positive(left - right), left, right, partial(bounds_of, Fn.MINS))

    def most(self, left: Linear, right: Linear) -> Linear:
        if self.used(left - right).low >= 0:
            return left
        return self._choice(self.not_positive(left - right), right, left, partial(bounds_of, Fn.MAXS))

    def product(self, left: Linear, right: Linear) -> Linear:
        if not left.parts:
            return right.times(left.const)
        if not right.parts:
            return left.times(right.const)
        if left.parts > right.parts:
            left, right = right, left
        return self._atom(Product(left, right), left, right, held=lambda of: bounds_of(Fn.MUL, of(left), of(right)))

    def by_sign(self, form: Linear, if_negative: Linear, if_natural: Linear) -> Linear:
        return self.choice(self.not_positive(form.shifted(1)), if_negative, if_natural)


def _sum(form: Linear, ranges: list[Interval]) -> Interval:
    low = high = form.const
    for atom, coefficient in form.parts:
        held = ranges[atom]
        low += coefficient * (held.low if coefficient > 0 else held.high)
        high += coefficient * (held.high if coefficient > 0 else held.low)
    return Interval(low, high)


def _split(form: Linear, divisor: int) -> tuple[Linear, Linear]:
    """`whole` and `rest` with form = divisor * whole + rest, coefficients and constant of the rest in [0, divisor)."""
    whole = Linear(tuple((a, c // divisor) for a, c in form.parts if c // divisor), form.const // divisor)
    rest = Linear(tuple((a, c % divisor) for a, c in form.parts if c % divisor), form.const % divisor)
    return whole, rest


def _balanced(rest: Linear, divisor: int) -> Linear:
    """The same remainder with coefficients around 0, which may show that it is small."""
    parts = tuple((atom, c - divisor if 2 * c > divisor else c) for atom, c in rest.parts)
    return Linear(parts, rest.const)


# --- operators ----------------------------------------------------------------------------------------------------

_Rule = Callable[[Atoms, Linear, Linear], Linear | None]


def _positive_constant(form: Linear) -> int | None:
    return form.const if not form.parts and form.const > 0 else None


def _natural(atoms: Atoms, form: Linear) -> bool:
    return atoms.used(form).low >= 0


def _signed(natural: Callable[[Atoms, Linear, int], Linear], negative: Callable[[Atoms, Linear, int], Linear]) -> _Rule:
    """A rule for division by a positive constant, by the sign of the dividend."""

    def rule(atoms: Atoms, left: Linear, right: Linear) -> Linear | None:
        divisor = _positive_constant(right)
        if divisor is None:
            return None
        if _natural(atoms, left):
            return natural(atoms, left, divisor)
        if atoms.used(left).high < 0:
            return negative(atoms, left, divisor)
        return atoms.by_sign(left, negative(atoms, left, divisor), natural(atoms, left, divisor))

    return rule


def _ceil_div(atoms: Atoms, form: Linear, divisor: int) -> Linear:
    return atoms.floor_div(form.shifted(divisor - 1), divisor)


def _and(atoms: Atoms, left: Linear, right: Linear) -> Linear | None:
    if not right.parts and right.const >= 0 and (right.const & (right.const + 1)) == 0:
        return atoms.mod(left, right.const + 1)
    return atoms.least(left, right) if _are_bits(atoms, left, right) else None


def _or(atoms: Atoms, left: Linear, right: Linear) -> Linear | None:
    return atoms.most(left, right) if _are_bits(atoms, left, right) else None


def _xor(atoms: Atoms, left: Linear, right: Linear) -> Linear | None:
    if not _are_bits(atoms, left, right):
        return None
    return atoms.choice(left, constant(1) - right, right)


def _are_bits(atoms: Atoms, left: Linear, right: Linear) -> bool:
    return atoms.used(left).within(BOOL) and atoms.used(right).within(BOOL)


def _shift_left(atoms: Atoms, left: Linear, right: Linear) -> Linear | None:
    return None if right.parts or not 0 <= right.const < BITS else left.times(1 << right.const)


def _shift_right(rule: _Rule) -> _Rule:
    def shifted(atoms: Atoms, left: Linear, right: Linear) -> Linear | None:
        return None if right.parts or not 0 <= right.const < BITS - 1 else rule(atoms, left, constant(1 << right.const))

    return shifted


def _if_natural(rule: _Rule) -> _Rule:
    """For unsigned operators, which read numbers that are not negative as signed ones do."""
    return lambda atoms, left, right: (
        rule(atoms, left, right) if _natural(atoms, left) and _natural(atoms, right) else None
    )


def _below(atoms: Atoms, left: Linear, right: Linear) -> Linear:
    return atoms.not_positive((left - right).shifted(1))


def _at_most(atoms: Atoms, left: Linear, right: Linear) -> Linear:
    return atoms.not_positive(left - right)


_DIV_UNSIGNED = _signed(Atoms.floor_div, lambda atoms, form, d: atoms.floor_div(form.shifted(_WORD), d))

_RULES: Mapping[Fn, _Rule] = {
    Fn.ADD: lambda _, left, right: left + right,
    Fn.SUB: lambda _, left, right: left - right,
    Fn.MUL: Atoms.product,
    Fn.SHL: _shift_left,
    Fn.DIVS: _signed(Atoms.floor_div, lambda atoms, form, d: atoms.floor_div(form.times(-1), d).times(-1)),
    Fn.FLOORDIVS: _signed(Atoms.floor_div, Atoms.floor_div),
    Fn.CEILDIVS: _signed(_ceil_div, _ceil_div),
    Fn.DIVU: _DIV_UNSIGNED,
    Fn.CEILDIVU: _signed(_ceil_div, lambda atoms, form, d: _ceil_div(atoms, form.shifted(_WORD), d)),
    Fn.REMS: _signed(Atoms.mod, lambda atoms, form, d: atoms.mod(form.times(-1), d).times(-1)),
    Fn.REMU: _signed(Atoms.mod, lambda atoms, form, d: atoms.mod(form.shifted(_WORD), d)),
    Fn.SHRS: _shift_right(_signed(Atoms.floor_div, Atoms.floor_div)),
    Fn.SHRU: _shift_right(_DIV_UNSIGNED),
    Fn.AND: _and,
    Fn.OR: _or,
    Fn.XOR: _xor,
    Fn.MINS: Atoms.least,
    Fn.MAXS: Atoms.most,
    Fn.MINU: _if_natural(Atoms.least),
    Fn.MAXU: _if_natural(Atoms.most),
    Fn.EQ: lambda atoms, left, right: atoms.is_zero(left - right),
    Fn.NE: lambda atoms, left, right: constant(1) - atoms.is_zero(left - right),
    Fn.SLT: _below,
    Fn.SLE: _at_most,
    Fn.SGT: lambda atoms, left, right: _below(atoms, right, left),
    Fn.SGE: lambda atoms, left, right: _at_most(atoms, right, left),
    Fn.ULT: _if_natural(_below),
    Fn.ULE: _if_natural(_at_most),
    Fn.UGT: _if_natural(lambda atoms, left, right: _below(atoms, right, left)),
    Fn.UGE: _if_natural(lambda atoms, left, right: _at_most(atoms, right, left)),
}

_MAY_WRAP = frozenset({Fn.ADD, Fn.SUB, Fn.MUL, Fn.SHL, Fn.DIVU, Fn.CEILDIVU, Fn.SHRU})
"""Operators whose result, taken over all integers, may not be a number of 64 bits."""
