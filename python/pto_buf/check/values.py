"""Which numbers an address or an event id can be, over all runs. Pure."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from pto_buf.check.guards import guards_of
from pto_buf.check.operators import mask_of, modulus_of
from pto_buf.check.program import Assign, Code, Enter, Fresh, Kind, Program
from pto_buf.check.terms import (
    DivisionError,
    Fn,
    Node,
    Sum,
    Term,
    Var,
    add,
    as_sum,
    const,
    constant_of,
    scale,
    value_of,
    variables,
)

MOST = 1024
"""Values of one term at most; a term with more counts as anything."""

_MOST_CARRIED = 64
_FEW = 64

Values = frozenset[int] | None
"""None: anything."""

_KEEP_SIGN = frozenset({Fn.MUL, Fn.DIVS, Fn.DIVU, Fn.FLOORDIV, Fn.CEILDIV, Fn.SHRS, Fn.SHRU, Fn.MINS})
"""Operators whose value is not negative where their operands are not."""

_Parts: TypeAlias = dict[Var | Node, frozenset[int]]

_Guarded: TypeAlias = tuple[Term, tuple[Term, ...]]
"""What a variable is assigned, and conditions that hold where it is."""


class ValueSets:
    """Values of terms. A variable has those of all that it is ever assigned, where the conditions around hold."""

    def __init__(self, program: Program, code: Code, known: Mapping[int, int]):
        self._of: dict[int, Values] = {info.var.key: None for info in program.variables}
        self._not_negative = {info.var.key for info in program.variables if info.kind is Kind.ARGUMENT}
        for info in program.variables:
            if info.boolean and info.kind in (Kind.UNKNOWN, Kind.FIXED, Kind.ARGUMENT):
                self._of[info.var.key] = frozenset({0, 1})
        self._of.update({key: frozenset({value}) for key, value in known.items()})
        carried: dict[int, list[_Guarded]] = {}
        counted: dict[int, tuple[Term, Term, Term]] = {}
        guards = guards_of(code.instructions)
        for at, one in enumerate(code.instructions):
            if isinstance(one, Assign):
                for var, term in one.pairs:
                    own = variables(term)
                    about = tuple(guard for guard in guards[at] if any(each in own for each in variables(guard)))
                    carried.setdefault(var.key, []).append((term, about))
            elif isinstance(one, Enter) and one.loop.counter is not None:
                assert one.loop.lower is not None and one.loop.upper is not None and one.loop.step is not None
                counted[one.loop.counter.key] = (one.loop.lower, one.loop.upper, one.loop.step)
        made = {one.var.key for one in code.instructions if isinstance(one, Fresh)}
        others = {key: terms for key, terms in carried.items() if not (key in counted or key in known or key in made)}
        signed = {key: [term for term, _ in terms] for key, terms in carried.items() if key not in made}
        self._find_signs(signed)
        # Counters need carried values and these need counters: each round starts from sets that hold everything.
        for _ in range(2):
            for key, (lower, upper, step) in counted.items():
                self._count(key, lower, upper, step)
            self._settle(others)

    def _count(self, key: int, lower: Term, upper: Term, step: Term) -> None:
        """The values of a counter; of one whose start or step is not one number, all that lie between its ends."""
        starts, ends, by = self.of(lower), self.of(upper), constant_of(step)
        if starts is None and self.is_not_negative(lower):
            starts, by = frozenset({0}), 1
        if not starts or ends is None:
            return
        trips = range(min(starts), max(ends, default=min(starts)), by if by and len(starts) == 1 else 1)
        if len(trips) <= MOST:
            self._of[key] = frozenset(trips)

    def _find_signs(self, assigned: Mapping[int, list[Term]]) -> None:
        """A variable is not negative if all that it is assigned is not, given that."""
        self._not_negative.update(assigned)
        changed = True
        while changed:
            changed = False
            for key, terms in assigned.items():
                if key in self._not_negative and not all(map(self.is_not_negative, terms)):
                    self._not_negative.discard(key)
                    changed = True

    def _settle(self, carried: Mapping[int, list[_Guarded]]) -> None:
        self._of.update({key: frozenset() for key in carried})
        changed = True
        while changed:
            changed = False
            for key, terms in carried.items():
                before = self._of[key]
                after = before
                for term, guards in terms:
                    more = self.of(term, guards)
                    after = None if after is None or more is None else after | more
                if after is not None and len(after) > _MOST_CARRIED:
                    after = None
                if after != before:
                    self._of[key] = after
                    changed = True

    def is_not_negative(self, term: Term) -> bool:
        """Whether that is known of all its values."""
        if isinstance(term, Var):
            values = self._of.get(term.key)
            return term.key in self._not_negative or (values is not None and min(values, default=0) >= 0)
        if isinstance(term, Sum):
            return term.const >= 0 and all(factor > 0 and self.is_not_negative(atom) for atom, factor in term.parts)
        values = self._of_node(term)
        if values is not None:
            return min(values, default=0) >= 0
        signs = map(self.is_not_negative, term.args)
        return any(signs) if term.fn is Fn.MAXS else term.fn in _KEEP_SIGN and all(signs)

    def ends(self) -> dict[int, tuple[int, int]]:
        """The lowest and the highest value of each variable that has few."""
        return {key: (min(values), max(values)) for key, values in self._of.items() if values}

    def of(self, term: Term, guards: Sequence[Term] = ()) -> Values:
        """The values that the term takes as its parts take theirs, a part that occurs twice the same both times.

        Of these only where the guards hold, as far as the values of their parts are known too.
        """
        known = constant_of(term)
        if known is not None:
            return frozenset({known})
        if isinstance(term, Var) and not guards:
            return self._of.get(term.key)
        parts: _Parts = {}
        if not self._collect(term, parts):
            return None
        held: list[Term] = []
        for guard in guards:
            more = dict(parts)
            if self._collect(guard, more) and prod(map(len, more.values())) <= MOST:
                parts = more
                held.append(guard)
        return _values(term, parts, held)

    def _collect(self, term: Term, parts: _Parts) -> bool:
        """Adds the parts of the term whose values are known, large ones if they have few; False if it has others."""
        if isinstance(term, Sum):
            return all(self._collect(atom, parts) for atom, _ in term.parts)
        if term in parts:
            return True
        values = self._of.get(term.key) if isinstance(term, Var) else None
        if isinstance(term, Node):
            own: _Parts = {}
            inside = term.fn is not Fn.ELEMENT and all(self._collect(arg, own) for arg in term.args)
            if inside and prod(len(each) for each in own.values()) <= _FEW:
                parts.update(own)
                return True
            values = (_values(term, own) if inside else None) or self._of_node(term)
        if values is not None:
            parts[term] = values
        return values is not None

    def _of_node(self, term: Node) -> Values:
        """Of an operator that has few values whatever its operands are."""
        modulus, mask = modulus_of(term), mask_of(term)
        if modulus is not None and modulus <= MOST:
            least = 0 if term.fn is not Fn.REMS or self.is_not_negative(term.args[0]) else 1 - modulus
            return frozenset(range(least, modulus))
        if mask is not None and mask < MOST:
            return frozenset(bits & mask for bits in range(mask + 1))
        if term.fn is Fn.MINS:
            return self._least(*term.args)
        if term.fn is Fn.MAXS:
            least = self._least(*(scale(arg, -1) for arg in term.args))
            return None if least is None else frozenset(-value for value in least)
        if term.fn is Fn.SELECT:
            yes, no = self.of(term.args[1]), self.of(term.args[2])
            return None if yes is None or no is None else yes | no
        boolean = term.width == 1 if term.fn is Fn.ELEMENT else term.fn in (Fn.EQ0, Fn.LE0, Fn.ULT, Fn.NOT)
        return frozenset({0, 1}) if boolean else None

    def _least(self, left: Term, right: Term) -> Values:
        """The smaller of a number that is not below some other one, and of one of a few."""
        for few, other in ((self.of(right), left), (self.of(left), right)):
            start = as_sum(other).const
            if few and max(few) - start < MOST and self.is_not_negative(add(other, const(-start))):
                return frozenset({value for value in few if value < start} | set(range(start, max(few) + 1)))
        return None


def _values(term: Term, parts: _Parts, guards: Sequence[Term] = ()) -> Values:
    if prod(len(values) for values in parts.values()) > MOST:
        return None
    try:
        every = (dict(zip(parts, values, strict=True)) for values in product(*parts.values()))
        return frozenset(_value(term, one) for one in every if all(_value(guard, one) for guard in guards))
    except DivisionError:
        return None


def _value(term: Term, parts: Mapping[Var | Node, int]) -> int:
    """Raises DivisionError."""
    if isinstance(term, Sum):
        return term.const + sum(factor * _value(atom, parts) for atom, factor in term.parts)
    known = parts.get(term)
    if known is not None or isinstance(term, Var):
        assert known is not None
        return known
    return value_of(term.fn, term.width, [_value(arg, parts) for arg in term.args])
