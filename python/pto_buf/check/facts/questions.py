"""Questions that the facts at hand do not answer, and the cases to go on with. Pure.

Evaluation raises one as late as it needs the answer; whoever runs the program goes on once for each case.
"""

from dataclasses import dataclass
from typing import TypeAlias

from pto_buf.check.facts.facts import Facts, Scope, with_range, with_residue
from pto_buf.check.facts.poly import Form, Poly, form_poly
from pto_buf.check.terms import Fn, Node, Term, Var, add, apply, at_most, const, equal, negate


@dataclass(frozen=True)
class Case:
    """`condition` is what holds in it, a boolean term over the variables as they are now."""

    facts: Facts
    condition: Term


@dataclass(frozen=True)
class Sign:
    """Is the value below, at or above 0?"""

    poly: Poly


@dataclass(frozen=True)
class AtMost:
    """Is the value at most 0?"""

    poly: Poly


@dataclass(frozen=True)
class Remainder:
    """What is the variable modulo a number?"""

    key: int
    modulus: int


@dataclass(frozen=True)
class Exactly:
    """Which value of a small range is it?"""

    form: Form
    low: int
    high: int


@dataclass(frozen=True)
class Outcome:
    """Does a condition hold of which nothing is known?"""

    node: Node


Question: TypeAlias = Sign | AtMost | Remainder | Exactly | Outcome


class Asked(Exception):
    """Evaluation cannot go on without an answer."""

    def __init__(self, question: Question):
        super().__init__(question)
        self.question = question


def cases(scope: Scope, facts: Facts, question: Question) -> list[Case]:
    """The possible answers, those left out that contradict the facts."""
    match question:
        case Sign(poly):
            term = term_of(poly)
            found = [
                (with_range(scope, facts, poly, (0, 0)), equal(term, const(0))),
                (with_range(scope, facts, poly, (None, -1)), at_most(term, const(-1))),
                (with_range(scope, facts, poly, (1, None)), at_most(const(1), term)),
            ]
        case AtMost(poly):
            term = term_of(poly)
            found = [
                (with_range(scope, facts, poly, (None, 0)), at_most(term, const(0))),
                (with_range(scope, facts, poly, (1, None)), at_most(const(1), term)),
            ]
        case Remainder(key, modulus):
            var = Var(key, "")
            found = [
                (
                    with_residue(scope, facts, key, residue, modulus),
                    equal(_floor_remainder(var, modulus), const(residue)),
                )
                for residue in range(modulus)
            ]
        case Exactly(form, low, high):
            poly = form_poly(form)
            found = [
                (with_range(scope, facts, poly, (value, value)), equal(term_of(poly), const(value)))
                for value in range(low, high + 1)
            ]
        case Outcome(node):
            found = [
                (Facts(facts.ranges, facts.residues, {**facts.outcomes, node: outcome}), condition)
                for outcome, condition in ((True, node), (False, negate(node)))
            ]
    return [Case(after, condition) for after, condition in found if after is not None]


def _floor_remainder(term: Term, modulus: int) -> Term:
    """`term mod modulus`, never negative."""
    quotient = apply(Fn.FLOORDIV, term, const(modulus))
    return add(term, quotient, -modulus)


def term_of(poly: Poly) -> Term:
    """The polynomial as a term; its variables have no names."""
    total: Term = const(poly.const)
    for mono, factor in poly.parts:
        product: Term = const(1)
        for key in mono:
            product = apply(Fn.MUL, product, Var(key, ""))
        total = add(total, product, factor)
    return total
