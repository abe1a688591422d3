"""Readies a program for reasoning about all its runs. Pure.

A long loop to a constant, or to the least or greatest of one and something else, is followed like one whose end is an
argument, except that the residues of its end are known. Quotients of arguments are arguments of their own, but for
those of which only remainders are looked at, which follow from remainders of what is divided; what the bound of a loop
divides, an argument or a sum of several, is spelt as a multiple of its quotient and a rest, so that guards that compare
with it and loops that count quotients are related.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import lcm

from pto_buf.check.operators import divisor_of, modulus_of
from pto_buf.check.program import Branch, Code, Enter, Kind, Loop, Program, VarInfo
from pto_buf.check.rewrite import Rewriter
from pto_buf.check.terms import Fn, Node, Sum, Term, Var, add, apply, as_sum, const, constant_of, substitute, variables

LONGEST_COUNTED = 16
"""Trips of a loop between constants that is followed trip by trip."""

_NEAR = 16
_LARGEST_DIVISOR = 16
_QUOTIENTS = frozenset({Fn.DIVS, Fn.DIVU, Fn.FLOORDIV, Fn.CEILDIV, Fn.CEILDIVU, Fn.SHRS, Fn.SHRU})


@dataclass(frozen=True)
class Prepared:
    """`known` are variables that stand for a number, `defined` those that stand for a quotient of arguments or what it
    leaves."""

    program: Program
    known: dict[int, int]
    defined: dict[int, Term]


def prepare(program: Program) -> Prepared:
    return _Preparer(program).done()


class _Preparer:
    def __init__(self, program: Program):
        self._program = program
        self._variables = list(program.variables)
        self._known: dict[int, int] = {}
        self._defined: dict[int, Term] = {}
        self._quotients: dict[Node, Var] = {}
        self._counted: set[Node] = set()
        """Quotients of which more than remainders is looked at."""
        self._ends: dict[int, tuple[Var, int]] = {}
        self._numbers: dict[int, Var] = {}
        """The variables that stand for numbers."""
        self._limits: set[Node] = set()
        """Least and greatest numbers that loops compare with, of which one operand is a large constant."""
        self._split: dict[Term, _Split] = {}
        """Of what bounds of loops divide."""
        self._spelt: dict[int, Term] = {}
        """For the key of an argument in it, one of each, how it is spelt."""
        self._taken: set[int] = set()
        """All arguments in what is split."""

    def done(self) -> Prepared:
        for code in self._program.codes:
            Rewriter(self._seen).code(code)
        codes = tuple(self._code(code) for code in self._program.codes)
        program = replace(self._program, variables=tuple(self._variables), codes=codes)
        return Prepared(program, self._known, self._defined)

    def _new(self, name: str, kind: Kind) -> Var:
        var = Var(len(self._variables), name)
        self._variables.append(VarInfo(var, kind))
        return var

    def _code(self, code: Code) -> Code:
        divisors: dict[Term, int] = {}
        for one in code.instructions:
            if isinstance(one, Enter):
                self._find_end(one.loop)
                for what, divisor in () if one.loop.upper is None else _divided(one.loop.upper):
                    divisors[what] = lcm(divisors.get(what, 1), divisor)
            elif isinstance(one, Branch) and one.loop is not None:
                self._find_limits(one.condition)
        for what, divisor in divisors.items():
            if 1 < divisor <= _LARGEST_DIVISOR:
                self._divide(what, divisor)
        return Rewriter(self._term, self._end).code(code)

    def _seen(self, term: Term, remainder: bool = False) -> Term:
        """Finds quotients. `remainder`: whether only that of the term is looked at."""
        if isinstance(term, Sum):
            for atom, _ in term.parts:
                self._seen(atom, remainder)
        elif isinstance(term, Node):
            if term.fn in _QUOTIENTS and not (remainder and divisor_of(term) is not None):
                self._counted.add(term)
            for arg in term.args:
                self._seen(arg, modulus_of(term) is not None)
        return term

    def _find_end(self, loop: Loop) -> None:
        if loop.counter is None or loop.lower is None or loop.upper is None or loop.step is None:
            return
        lower, upper, step = (constant_of(term) for term in (loop.lower, loop.upper, loop.step))
        if lower is None or upper is None or (upper - lower) // max(step or 1, 1) <= LONGEST_COUNTED:
            return
        self._ends[loop.counter.key] = (self._number(upper), upper)

    def _number(self, value: int) -> Var:
        if value not in self._numbers:
            var = self._numbers[value] = self._new(f"{value}", Kind.FIXED)
            self._known[var.key] = value
        return self._numbers[value]

    def _numbered(self, term: Term) -> Term:
        value = constant_of(term)
        return term if value is None or value <= LONGEST_COUNTED else self._number(value)

    def _find_limits(self, term: Term) -> None:
        if isinstance(term, Sum):
            for atom, _ in term.parts:
                self._find_limits(atom)
        elif isinstance(term, Node):
            if term.fn in (Fn.MINS, Fn.MAXS) and any((constant_of(arg) or 0) > LONGEST_COUNTED for arg in term.args):
                self._limits.add(term)
            for arg in term.args:
                self._find_limits(arg)

    # --- terms ---

    def _term(self, term: Term) -> Term:
        if isinstance(term, Var):
            return self._spelt.get(term.key, term)
        if isinstance(term, Sum):
            if all(isinstance(atom, Var) and atom.key not in self._spelt for atom, _ in term.parts):
                return term
            total: Term = const(term.const)
            for atom, factor in term.parts:
                total = add(total, self._term(atom), factor)
            return total
        if term.fn in _QUOTIENTS and self._fixed(term):
            whole = self._whole_quotient(term)
            if whole is not None or term in self._counted:
                return self._quotient(term) if whole is None else whole
        args = [self._term(arg) for arg in term.args]
        if term in self._limits:
            args = [self._numbered(arg) for arg in args]
        if term.fn in (Fn.EQ0, Fn.LE0):
            args = [self._against_end(args[0])]
        return apply(term.fn, *args, width=term.width)

    def _fixed(self, term: Node) -> bool:
        kinds = [self._variables[var.key].kind for var in variables(term)]
        return all(kind in (Kind.ARGUMENT, Kind.FIXED) for kind in kinds)

    def _divide(self, what: Term, divisor: int) -> None:
        """Spells what is divided as a multiple of its quotient and a rest, unless parts of it are spelt already."""
        own = variables(what)
        if any(self._variables[var.key].kind is not Kind.ARGUMENT or var.key in self._taken for var in own):
            return
        last = next((atom for atom, factor in reversed(as_sum(what).parts) if factor == 1), None)
        if not isinstance(last, Var):
            return
        if what == last:
            quotient, counted = self._quotient(Node(Fn.DIVU, (last, const(divisor)))), last
        else:  # it may be negative, and then so is the quotient, rounded down
            kind = Kind.ARGUMENT if _not_negative(what) else Kind.FIXED
            quotient, counted = self._new("quotient", kind), self._new("rest", Kind.ARGUMENT)
            self._defined[quotient.key] = Node(Fn.FLOORDIV, (what, const(divisor)))
            self._defined[counted.key] = add(what, self._defined[quotient.key], -divisor)
        rest = apply(Fn.REMU, counted, const(divisor))
        self._split[what] = _Split(quotient, divisor, rest)
        self._spelt[last.key] = add(add(add(last, what, -1), rest), quotient, divisor)
        self._taken.update(var.key for var in own)

    def _whole_quotient(self, term: Node) -> Term | None:
        """A quotient in quotients of arguments that are spelt so; None for any other."""
        by = divisor_of(term)
        return None if by is None or not _not_negative(term.args[0]) else self._floor(term.args[0], by)

    def _floor(self, term: Term, by: int) -> Term | None:
        """The term divided by a number, rounded down."""
        known, parts = constant_of(term), _parts(term, by)
        if known is not None:
            return const(known // by)
        if isinstance(parts, _Divided):
            return self._part(parts)
        floors = [floor for part, divisor in parts if (floor := self._floor(part, divisor)) is not None]
        if not parts or len(floors) < len(parts):
            return None
        return floors[0] if len(floors) == 1 else apply(Fn.MAXS, *floors)

    def _part(self, what: "_Divided") -> Term | None:
        if what.by == 1:
            return self._term(add(what.what, const(what.more)))
        split = self._split.get(what.what)
        if split is None or split.divisor % what.by:
            return None
        whole = add(const(what.more // what.by), split.quotient, split.divisor // what.by)
        if split.divisor == what.by and what.more % what.by == 0:
            return whole
        return add(whole, apply(Fn.FLOORDIV, add(split.rest, const(what.more % what.by)), const(what.by)))

    def _quotient(self, term: Node) -> Var:
        if term not in self._quotients:
            plain = all(self._variables[var.key].kind is Kind.ARGUMENT for var in variables(term))
            kind = Kind.ARGUMENT if plain and _not_negative(term.args[0]) else Kind.FIXED
            var = self._quotients[term] = self._new("quotient", kind)
            self._defined[var.key] = term
        return self._quotients[term]

    def _against_end(self, term: Term) -> Term:
        """A counter compared with a number near the end of its loop is compared with the end."""
        if not isinstance(term, Sum) or len(term.parts) != 1:
            return term
        atom, factor = term.parts[0]
        end = self._ends.get(atom.key) if isinstance(atom, Var) else None
        if end is None or abs(factor) != 1 or abs(-factor * term.const - end[1]) > _NEAR:
            return term
        return add(add(term, end[0], -factor), const(factor * end[1]))

    def _end(self, loop: Loop) -> Term:
        assert loop.counter is not None and loop.upper is not None
        end = self._ends.get(loop.counter.key)
        return self._term(loop.upper) if end is None else end[0]


def _not_negative(term: Term) -> bool:
    """Whether a term over arguments, which are not negative, cannot be."""
    if isinstance(term, Var):
        return True
    if isinstance(term, Sum):
        return term.const >= 0 and all(factor > 0 and _not_negative(atom) for atom, factor in term.parts)
    if term.fn is Fn.MAXS:
        return any(_not_negative(arg) for arg in term.args)
    return term.fn in (Fn.MUL, Fn.MINS, *_QUOTIENTS) and all(_not_negative(arg) for arg in term.args)


@dataclass(frozen=True)
class _Split:
    """What is divided is `divisor` times the quotient, and the rest."""

    quotient: Var
    divisor: int
    rest: Term


@dataclass(frozen=True)
class _Divided:
    """`(what + more) // by`, where `what` is a sum of variables."""

    what: Term
    more: int
    by: int


def _parts(term: Term, by: int) -> "_Divided | list[tuple[Term, int]]":
    """A term that is divided by a number, or of what parts, divided by what, it is the largest."""
    total = as_sum(term)
    if total.parts and all(isinstance(atom, Var) for atom, _ in total.parts):
        return _Divided(add(term, const(-total.const)), total.const, by)
    if len(total.parts) != 1 or total.parts[0][1] != 1:
        return []
    atom = total.parts[0][0]
    assert isinstance(atom, Node)
    if atom.fn is Fn.MAXS:
        return [(add(arg, const(total.const)), by) for arg in atom.args]
    divisor = divisor_of(atom)
    if divisor is None or not _not_negative(atom.args[0]):
        return []
    return [(add(atom.args[0], const(total.const * divisor)), by * divisor)]


def _divided(term: Term, by: int = 1) -> Iterator[tuple[Term, int]]:
    """The sums of variables that a term divides by a number, and by how much all in all."""
    parts = _parts(term, by)
    if isinstance(parts, _Divided):
        yield parts.what, by
        return
    if not parts:
        parts = [(atom, 1) for atom, _ in as_sum(term).parts] if not isinstance(term, Node) else []
        parts += [(arg, 1) for arg in term.args] if isinstance(term, Node) else []
    for part, divisor in parts:
        yield from _divided(part, divisor)


def undefined(prepared: Prepared, term: Term) -> Term:
    """A term over the variables of the program as it was."""
    by: dict[int, Term] = {key: const(value) for key, value in prepared.known.items()}
    by.update(prepared.defined)
    return substitute(substitute(term, by), by)
