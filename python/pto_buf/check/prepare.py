"""Readies a program for reasoning about all its runs. Pure.

A long loop between constants is followed like one whose end is an argument, except that the residues of its end are
known. Quotients of arguments are arguments of their own.
"""

from dataclasses import dataclass, replace

from pto_buf.check.program import Code, Enter, Kind, Loop, Program, VarInfo
from pto_buf.check.rewrite import Rewriter
from pto_buf.check.terms import Fn, Node, Sum, Term, Var, add, apply, const, constant_of, substitute, variables

LONGEST_COUNTED = 16
"""Trips of a loop between constants that is followed trip by trip."""

_NEAR = 16
_QUOTIENTS = frozenset({Fn.DIVS, Fn.DIVU, Fn.FLOORDIV, Fn.CEILDIV, Fn.CEILDIVU, Fn.SHRS, Fn.SHRU})


@dataclass(frozen=True)
class Prepared:
    """`known` are variables that stand for a number, `defined` those that stand for a quotient of arguments."""

    program: Program
    known: dict[int, int]
    defined: dict[int, Node]


def prepare(program: Program) -> Prepared:
    return _Preparer(program).done()


class _Preparer:
    def __init__(self, program: Program):
        self._program = program
        self._variables = list(program.variables)
        self._known: dict[int, int] = {}
        self._defined: dict[int, Node] = {}
        self._quotients: dict[Node, Var] = {}
        self._ends: dict[int, tuple[Var, int]] = {}

    def done(self) -> Prepared:
        codes = tuple(self._code(code) for code in self._program.codes)
        program = replace(self._program, variables=tuple(self._variables), codes=codes)
        return Prepared(program, self._known, self._defined)

    def _new(self, name: str, kind: Kind) -> Var:
        var = Var(len(self._variables), name)
        self._variables.append(VarInfo(var, kind))
        return var

    def _code(self, code: Code) -> Code:
        for one in code.instructions:
            if isinstance(one, Enter):
                self._find_end(one.loop)
        return Rewriter(self._term, self._end).code(code)

    def _find_end(self, loop: Loop) -> None:
        if loop.counter is None or loop.lower is None or loop.upper is None or loop.step is None:
            return
        lower, upper, step = (constant_of(term) for term in (loop.lower, loop.upper, loop.step))
        if lower is None or upper is None or (upper - lower) // max(step or 1, 1) <= LONGEST_COUNTED:
            return
        end = self._new(f"{upper}", Kind.FIXED)
        self._known[end.key] = upper
        self._ends[loop.counter.key] = (end, upper)

    # --- terms ---

    def _term(self, term: Term) -> Term:
        if isinstance(term, Var):
            return term
        if isinstance(term, Sum):
            if all(isinstance(atom, Var) for atom, _ in term.parts):
                return term
            total: Term = const(term.const)
            for atom, factor in term.parts:
                total = add(total, self._term(atom), factor)
            return total
        if term.fn in _QUOTIENTS and self._fixed(term):
            return self._quotient(term)
        args = [self._term(arg) for arg in term.args]
        if term.fn in (Fn.EQ0, Fn.LE0):
            args = [self._against_end(args[0])]
        return apply(term.fn, *args, width=term.width)

    def _fixed(self, term: Node) -> bool:
        kinds = [self._variables[var.key].kind for var in variables(term)]
        return all(kind in (Kind.ARGUMENT, Kind.FIXED) for kind in kinds)

    def _quotient(self, term: Node) -> Term:
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
    return term.fn in (Fn.MUL, Fn.MINS, Fn.MAXS, *_QUOTIENTS) and all(_not_negative(arg) for arg in term.args)


def undefined(prepared: Prepared, term: Term) -> Term:
    """A term over the variables of the program as it was."""
    by: dict[int, Term] = {key: const(value) for key, value in prepared.known.items()}
    by.update(prepared.defined)
    return substitute(substitute(term, by), by)
