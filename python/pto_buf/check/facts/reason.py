"""Terms under facts: exact where they can be, a question where an answer would make them so. Pure."""

from dataclasses import dataclass
from math import gcd

from pto_buf.check.facts.facts import Facts, Scope, range_of, residue_of, residue_of_poly
from pto_buf.check.facts.poly import (
    EVERYTHING,
    Poly,
    Range,
    constant,
    joined,
    plus,
    scaled,
    split,
    summed,
    times,
    variable,
)
from pto_buf.check.facts.questions import Asked, AtMost, Exactly, Outcome, Remainder, Sign
from pto_buf.check.operators import compared_quotients, divisor_of, is_value, mask_of, modulus_of, remainder_range
from pto_buf.check.terms import DivisionError, Fn, Node, Sum, Term, Var, constant_of, value_of

MOST_VALUES = 17
"""The largest range of values that is gone through one by one."""

_BOOLEAN = frozenset({Fn.EQ0, Fn.LE0, Fn.ULT, Fn.NOT})
_WORD = 16
"""Numbers of at least so many bits are taken not to overflow."""


@dataclass(frozen=True)
class Reason:
    scope: Scope
    facts: Facts

    # --- numbers ---

    def value(self, term: Term) -> int | None:
        """The value, or None where it cannot be known here. Raises Asked if an answer would help."""
        poly = self.poly(term)
        if poly is None:
            return None
        low, high = range_of(self.scope, self.facts, poly)
        if low is None or high is None:
            return None
        if low == high:
            return low
        form, _ = split(poly)
        if form not in self.scope.forms or high - low >= MOST_VALUES:
            return None
        inner = range_of(self.scope, self.facts, Poly(form, 0))
        least, most = self.scope.forms[form]
        if inner[0] is None or inner[1] is None or inner[0] < least or inner[1] > most:
            return None
        raise Asked(Exactly(form, inner[0], inner[1]))

    def range(self, term: Term) -> Range:
        """Where the value lies, whatever the answers to open questions are."""
        constant = constant_of(term)
        if constant is not None:
            return constant, constant
        if isinstance(term, Var):
            return range_of(self.scope, self.facts, variable(term.key))
        if isinstance(term, Sum):
            return self._sum_range(term)
        ranges = [self.range(arg) for arg in term.args]
        match term.fn:
            case Fn.MINS:
                low, high = joined(ranges[0], ranges[1])
                highs = [top for _, top in ranges if top is not None]
                return low, min(highs) if highs else high
            case Fn.MAXS:
                low, high = joined(ranges[0], ranges[1])
                lows = [bottom for bottom, _ in ranges if bottom is not None]
                return max(lows) if lows else low, high
            case Fn.SELECT:
                return joined(ranges[1], ranges[2])
            case Fn.REMU | Fn.REMS | Fn.AND:
                return remainder_range(term.fn, ranges)
            case Fn.DIVS | Fn.DIVU | Fn.FLOORDIV | Fn.SHRS | Fn.SHRU:
                low = ranges[0][0]
                return (0, ranges[0][1]) if low is not None and low >= 0 else EVERYTHING
            case Fn.ELEMENT:
                return (0, 1) if term.width == 1 else EVERYTHING
            case _:
                return (0, 1) if term.fn in _BOOLEAN else EVERYTHING

    def _sum_range(self, term: Sum) -> Range:
        known = constant(term.const)
        loose: Range = (0, 0)
        for atom, factor in term.parts:
            if isinstance(atom, Var):
                known = plus(known, variable(atom.key), factor)
            else:
                loose = summed(loose, scaled(self.range(atom), factor))
        return summed(range_of(self.scope, self.facts, known), loose)

    def poly(self, term: Term) -> Poly | None:
        """The value as a polynomial, choices and remainders worked out; None where one cannot be. Raises Asked."""
        if isinstance(term, Var):
            return variable(term.key)
        if isinstance(term, Sum):
            total = constant(term.const)
            for atom, factor in term.parts:
                part = self.poly(atom)
                if part is None:
                    return None
                total = plus(total, part, factor)
            return total
        found = self._poly_of_node(term)
        value = self._one_of_few(term) if found is None and self.scope.by_cases else None
        return found if value is None else constant(value)

    def _poly_of_node(self, term: Node) -> Poly | None:
        match term.fn:
            case Fn.MUL:
                left, right = self.poly(term.args[0]), self.poly(term.args[1])
                return None if left is None or right is None else times(left, right)
            case Fn.MINS | Fn.MAXS:
                return self._extreme(term)
            case Fn.SELECT:
                return self.poly(term.args[1] if self.truth(term.args[0]) else term.args[2])
            case Fn.TRUNC | Fn.ZEXT if term.width >= _WORD:
                return self.poly(term.args[0]) if term.fn is Fn.TRUNC or self._negative(term.args[0]) is False else None
            case Fn.EQ0 | Fn.LE0 | Fn.ULT | Fn.NOT:
                return constant(int(self.truth(term)))
            case _:
                value = self._node(term)
                return None if value is None else constant(value)

    def _extreme(self, term: Node) -> Poly | None:
        chosen = self._chosen(term)
        return None if chosen is None else self.poly(chosen)

    def _chosen(self, term: Node) -> Term | None:
        """Which operand of a minimum or maximum it is; None where that cannot be known here. Raises Asked."""
        least = term.fn is Fn.MINS
        for quotient, number, most in compared_quotients(term):
            divided = self.poly(quotient.args[0]) if self._negative(quotient.args[0]) is False else None
            if divided is not None:
                below = self._at_most_zero(plus(divided, constant(-most)))
                return None if below is None else quotient if below == least else number
        left, right = self.poly(term.args[0]), self.poly(term.args[1])
        if left is None or right is None:
            return None
        below = self._at_most_zero(plus(left, right, -1))
        return None if below is None else term.args[0] if below == least else term.args[1]

    def _at_most_zero(self, poly: Poly) -> bool | None:
        """None where the scope does not follow the polynomial. Raises Asked."""
        low, high = range_of(self.scope, self.facts, poly)
        if low is not None and low > 0:
            return False
        if high is not None and high <= 0:
            return True
        if split(poly)[0] not in self.scope.forms:
            return None
        raise Asked(AtMost(poly))

    def is_at_least_zero(self, term: Term) -> bool:
        """False where it cannot be known here. Raises Asked."""
        poly = self.poly(term)
        return poly is not None and bool(self._at_most_zero(plus(constant(0), poly, -1)))

    def _is_zero(self, poly: Poly) -> bool | None:
        """None where the scope does not follow the polynomial. Raises Asked."""
        low, high = range_of(self.scope, self.facts, poly)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return False
        if low == high == 0:
            return True
        if split(poly)[0] not in self.scope.forms:
            return None
        raise Asked(Sign(poly))

    def _negative(self, term: Term) -> bool | None:
        low, high = self.range(term)
        if low is not None and low >= 0:
            return False
        if high is not None and high < 0:
            return True
        poly = self.poly(term)
        return None if poly is None else self._at_most_zero(plus(poly, constant(1)))

    # --- operators whose value needs a residue or exact operands ---

    def _one_of_few(self, term: Node) -> int | None:
        low, high = self.range(term)
        if term.fn is Fn.ELEMENT or low is None or high is None or high - low >= MOST_VALUES:
            return None
        return next((value for value in range(low, high) if self._outcome(is_value(term, value))), high)

    def _node(self, term: Node) -> int | None:
        if term.fn is Fn.ELEMENT:
            return None
        modulus = modulus_of(term)
        if modulus is not None:
            return self._remainder(term, modulus)
        mask = mask_of(term)
        if mask is not None:
            bits = self.residue(term.args[0], 1 << mask.bit_length())
            return None if bits is None else bits & mask
        values = [self.value(arg) for arg in term.args]
        known = [value for value in values if value is not None]
        if len(known) != len(values):
            return None
        try:
            return value_of(term.fn, term.width, known)
        except DivisionError:
            return None

    def _remainder(self, term: Node, modulus: int) -> int | None:
        operand = term.args[0]
        if term.fn is Fn.AND:
            return self.residue(operand, modulus)
        negative = self._negative(operand)
        residue = None if negative is None else self.residue(operand, modulus)
        if residue is None:
            return None
        if not negative:
            return residue
        if term.fn is Fn.REMU:
            return (residue + (1 << term.width)) % modulus
        return residue - modulus if residue else 0

    def residue(self, term: Term, modulus: int) -> int | None:
        """The value modulo `modulus`, never negative; None where it cannot be known here. Raises Asked."""
        if modulus == 1:
            return 0
        if isinstance(term, Var):
            return self._residue_of_variable(term.key, modulus)
        if isinstance(term, Sum):
            total = term.const
            for atom, factor in term.parts:
                part = self.residue(atom, modulus // gcd(factor, modulus))
                if part is None:
                    return None
                total += factor * part
            return total % modulus
        inner = modulus_of(term)
        if inner is not None and inner % modulus == 0 and self._negative(term.args[0]) is False:
            return self.residue(term.args[0], modulus)
        divisor = divisor_of(term)
        if divisor is not None and self._negative(term.args[0]) is False:
            residue = self.residue(term.args[0], divisor * modulus)
            return None if residue is None else residue // divisor % modulus
        if term.fn in (Fn.MINS, Fn.MAXS):
            chosen = self._chosen(term)
            if chosen is not None:
                return self.residue(chosen, modulus)
        if term.fn is Fn.MUL:
            parts = [self.residue(arg, modulus) for arg in term.args]
            return None if parts[0] is None or parts[1] is None else parts[0] * parts[1] % modulus
        poly = self.poly(term)
        if poly is None:
            return None
        residue, known = residue_of_poly(self.scope, self.facts, poly, modulus)
        if known == modulus:
            return residue
        return self._residue_of_parts(poly, modulus)

    def _residue_of_parts(self, poly: Poly, modulus: int) -> int | None:
        total = poly.const
        for mono, factor in poly.parts:
            product = factor
            for key in mono:
                part = self._residue_of_variable(key, modulus // gcd(factor, modulus))
                if part is None:
                    return None
                product *= part
            total += product
        return total % modulus

    def _residue_of_variable(self, key: int, modulus: int) -> int | None:
        if modulus == 1:
            return 0
        residue, known = residue_of(self.scope, self.facts, key)
        if known == 0 or known % modulus == 0:
            return residue % modulus
        allowed = self.scope.moduli.get(key, 1)
        if allowed % modulus:
            return None
        raise Asked(Remainder(key, modulus))

    # --- conditions ---

    def truth(self, term: Term) -> bool:
        """Whether a condition holds. Raises Asked."""
        if isinstance(term, Node):
            match term.fn:
                case Fn.NOT:
                    return not self.truth(term.args[0])
                case Fn.AND:
                    return self.truth(term.args[0]) and self.truth(term.args[1])
                case Fn.OR:
                    return self.truth(term.args[0]) or self.truth(term.args[1])
                case Fn.XOR:
                    return self.truth(term.args[0]) != self.truth(term.args[1])
                case Fn.SELECT:
                    return self.truth(term.args[1] if self.truth(term.args[0]) else term.args[2])
                case Fn.EQ0 | Fn.LE0:
                    return self._compared(term)
                case Fn.ULT:
                    return self._below(term)
                case _:
                    pass
        poly = self.poly(term)
        zero = None if poly is None else self._is_zero(poly)
        if zero is not None:
            return not zero
        return self._outcome(term if isinstance(term, Node) else Node(Fn.NOT, (Node(Fn.EQ0, (term,)),)))

    def _compared(self, term: Node) -> bool:
        poly = self.poly(term.args[0])
        if poly is not None:
            holds = self._at_most_zero(poly) if term.fn is Fn.LE0 else self._is_zero(poly)
            if holds is not None:
                return holds
        else:
            low, high = self.range(term.args[0])
            if low is not None and low > 0:
                return False
            if high is not None and (high < 0 or (high == 0 and term.fn is Fn.LE0)):
                return term.fn is Fn.LE0
        return self._outcome(term)

    def _below(self, term: Node) -> bool:
        """Unsigned comparison: negative numbers are above all others."""
        left, right = term.args
        signs = self._negative(left), self._negative(right)
        if None in signs:
            return self._outcome(term)
        if signs[0] != signs[1]:
            return bool(signs[1])
        a, b = self.poly(left), self.poly(right)
        below = None if a is None or b is None else self._at_most_zero(plus(plus(a, b, -1), constant(1)))
        return self._outcome(term) if below is None else below

    def _outcome(self, node: Node) -> bool:
        known = self.facts.outcomes.get(node)
        if known is None:
            raise Asked(Outcome(node))
        return known
