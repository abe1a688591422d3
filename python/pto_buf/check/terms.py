"""Integers of a kernel as terms over its variables, and their values. Pure.

Sums are kept in one normal form, so that a difference of two terms tells whether they are equal. Arithmetic is that of
MLIR's `arith`; sums and products are taken not to leave 64 bits, unsigned operators read the bits of their width.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Fn(StrEnum):
    """Operators beyond sums. EQ0 and LE0 compare a term with 0; booleans are 0 and 1."""

    MUL = "mul"
    DIVS = "divs"
    DIVU = "divu"
    FLOORDIV = "floordiv"
    CEILDIV = "ceildiv"
    CEILDIVU = "ceildivu"
    REMS = "rems"
    REMU = "remu"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHL = "shl"
    SHRS = "shrs"
    SHRU = "shru"
    MINS = "mins"
    MAXS = "maxs"
    MINU = "minu"
    MAXU = "maxu"
    EQ0 = "eq0"
    LE0 = "le0"
    ULT = "ult"
    NOT = "not"
    SELECT = "select"
    TRUNC = "trunc"
    ZEXT = "zext"
    ELEMENT = "element"
    """Of the table with a number, at some numbers: whatever it holds, and always the same. Never worked out."""


class DivisionError(Exception):
    """A division or remainder by zero, or a shift out of range: the run has no meaning."""


@dataclass(frozen=True, slots=True)
class Var:
    """A variable of the kernel: `key` is its number in the program, `name` is for people."""

    key: int
    name: str


@dataclass(frozen=True, slots=True)
class Node:
    """An operator applied; `width` is the number of bits that it reads."""

    fn: Fn
    args: "tuple[Term, ...]"
    width: int = 64


Atom: TypeAlias = Var | Node


@dataclass(frozen=True, slots=True)
class Sum:
    """`const` plus each atom times its coefficient; no coefficient is 0, no atom occurs twice."""

    parts: tuple[tuple[Atom, int], ...]
    const: int


Term: TypeAlias = Var | Node | Sum
Env: TypeAlias = Mapping[int, int]
"""Values of variables by key."""


def const(value: int) -> Term:
    return Sum((), value)


def constant_of(term: Term) -> int | None:
    return term.const if isinstance(term, Sum) and not term.parts else None


def as_sum(term: Term) -> Sum:
    return term if isinstance(term, Sum) else Sum(((term, 1),), 0)


def _normal(parts: Mapping[Atom, int], constant: int) -> Term:
    kept = [(atom, factor) for atom, factor in parts.items() if factor]
    if len(kept) == 1 and kept[0][1] == 1 and constant == 0:
        return kept[0][0]
    kept.sort(key=_atom_order)
    return Sum(tuple(kept), constant)


def _atom_order(part: tuple[Atom, int]) -> tuple[int, int, str]:
    atom = part[0]
    return (0, atom.key, "") if isinstance(atom, Var) else (1, 0, repr(atom))


def add(left: Term, right: Term, factor: int = 1) -> Term:
    """`left + factor * right`."""
    a, b = as_sum(left), as_sum(right)
    if not b.parts:
        return _normal(dict(a.parts), a.const + factor * b.const)
    parts = dict(a.parts)
    for atom, coefficient in b.parts:
        parts[atom] = parts.get(atom, 0) + factor * coefficient
    return _normal(parts, a.const + factor * b.const)


def sub(left: Term, right: Term) -> Term:
    return add(left, right, -1)


def scale(term: Term, factor: int) -> Term:
    return add(const(0), term, factor)


_COMMUTE = frozenset({Fn.AND, Fn.OR, Fn.XOR, Fn.MINS, Fn.MAXS, Fn.MINU, Fn.MAXU})


def apply(fn: Fn, *args: Term, width: int = 64) -> Term:
    """The operator applied, folded where all operands are constants or the result is one of them."""
    if fn is Fn.MUL:
        return _product(*args)
    if fn is Fn.ELEMENT:
        return Node(fn, args, width)
    if fn in _COMMUTE and constant_of(args[0]) is not None:
        args = tuple(reversed(args))
    values = [constant_of(arg) for arg in args]
    if fn is Fn.SELECT and values[0] is not None:
        return args[1] if values[0] else args[2]
    known = [value for value in values if value is not None]
    if len(known) == len(values):
        try:
            return const(value_of(fn, width, known))
        except DivisionError:
            return Node(fn, args, width)  # only a run that gets here is at fault
    if fn is Fn.NOT and isinstance(args[0], Node) and args[0].fn is Fn.NOT:
        return args[0].args[0]
    return Node(fn, args, width)


def _product(left: Term, right: Term) -> Term:
    for one, other in ((left, right), (right, left)):
        value = constant_of(one)
        if value is not None:
            return scale(other, value)
    return Node(Fn.MUL, (left, right))


def equal(left: Term, right: Term) -> Term:
    return apply(Fn.EQ0, sub(left, right))


def at_most(left: Term, right: Term) -> Term:
    """`left <= right`, signed."""
    return apply(Fn.LE0, sub(left, right))


def less(left: Term, right: Term) -> Term:
    return apply(Fn.LE0, add(sub(left, right), const(1)))


def negate(condition: Term) -> Term:
    return apply(Fn.NOT, condition)


# --- values ------------------------------------------------------------------------------------------------------


def unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def signed(value: int, width: int) -> int:
    value = unsigned(value, width)
    return value - (1 << width) if value >> (width - 1) else value


def _divide(a: int, b: int) -> int:
    """Rounded towards zero."""
    if b == 0:
        raise DivisionError
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _floor(a: int, b: int) -> int:
    if b == 0:
        raise DivisionError
    return a // b


def _shift(amount: int, width: int) -> int:
    if not 0 <= amount < width:
        raise DivisionError
    return amount


_Binary: TypeAlias = Callable[[int, int, int], int]
"""A width and two values to a value."""


def _on_bits(fn: Callable[[int, int], int]) -> _Binary:
    def run(width: int, a: int, b: int) -> int:
        return signed(fn(unsigned(a, width), unsigned(b, width)), width)

    return run


_UNARY: Mapping[Fn, Callable[[int, int], int]] = {
    Fn.EQ0: lambda width, a: int(a == 0),
    Fn.LE0: lambda width, a: int(a <= 0),
    Fn.NOT: lambda width, a: 1 - a,
    Fn.TRUNC: lambda width, a: signed(a, width),
    Fn.ZEXT: lambda width, a: unsigned(a, width),
}

_BINARY: Mapping[Fn, _Binary] = {
    Fn.MUL: lambda width, a, b: a * b,
    Fn.DIVS: lambda width, a, b: _divide(a, b),
    Fn.DIVU: _on_bits(_floor),
    Fn.FLOORDIV: lambda width, a, b: _floor(a, b),
    Fn.CEILDIV: lambda width, a, b: -_floor(-a, b),
    Fn.CEILDIVU: _on_bits(lambda a, b: -_floor(-a, b)),
    Fn.REMS: lambda width, a, b: a - b * _divide(a, b),
    Fn.REMU: _on_bits(lambda a, b: a - b * _floor(a, b)),
    Fn.AND: lambda width, a, b: a & b,
    Fn.OR: lambda width, a, b: a | b,
    Fn.XOR: lambda width, a, b: a ^ b,
    Fn.SHL: lambda width, a, b: a << _shift(b, width),
    Fn.SHRS: lambda width, a, b: a >> _shift(b, width),
    Fn.SHRU: lambda width, a, b: signed(unsigned(a, width) >> _shift(b, width), width),
    Fn.MINS: lambda width, a, b: min(a, b),
    Fn.MAXS: lambda width, a, b: max(a, b),
    Fn.MINU: _on_bits(min),
    Fn.MAXU: _on_bits(max),
    Fn.ULT: lambda width, a, b: int(unsigned(a, width) < unsigned(b, width)),
}


def value_of(fn: Fn, width: int, values: Sequence[int]) -> int:
    """What the operator yields for these values. Raises DivisionError."""
    if fn is Fn.SELECT:
        return values[1] if values[0] else values[2]
    if len(values) == 1:
        return _UNARY[fn](width, values[0])
    return _BINARY[fn](width, values[0], values[1])


def evaluate(term: Term, env: Env) -> int:
    """The value under `env`, which holds every variable of the term. Raises DivisionError."""
    if isinstance(term, Var):
        return env[term.key]
    if isinstance(term, Sum):
        total = term.const
        for atom, factor in term.parts:
            total += factor * evaluate(atom, env)
        return total
    if term.fn is Fn.SELECT:
        condition, yes, no = term.args
        return evaluate(yes if evaluate(condition, env) else no, env)
    return value_of(term.fn, term.width, [evaluate(arg, env) for arg in term.args])


def variables(term: Term) -> tuple[Var, ...]:
    """The variables of a term, each once, in a fixed order."""
    found: dict[Var, None] = {}
    stack: list[Term] = [term]
    while stack:
        top = stack.pop()
        if isinstance(top, Var):
            found[top] = None
        elif isinstance(top, Sum):
            stack.extend(atom for atom, _ in top.parts)
        else:
            stack.extend(top.args)
    return tuple(sorted(found, key=lambda var: var.key))


def substitute(term: Term, by: Mapping[int, Term]) -> Term:
    """The term with variables (by key) replaced."""
    if isinstance(term, Var):
        return by.get(term.key, term)
    if isinstance(term, Sum):
        total: Term = const(term.const)
        for atom, factor in term.parts:
            total = add(total, substitute(atom, by), factor)
        return total
    return apply(term.fn, *[substitute(arg, by) for arg in term.args], width=term.width)
