"""Index terms: integer expressions over loop counters, arguments and unknowns, as plain data."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Fn(StrEnum):
    """Operators, named and defined as MLIR's arith ops on 64-bit `index` (the unsigned ones read the bits so)."""

    ADD = "addi"
    SUB = "subi"
    MUL = "muli"
    DIVS = "divsi"
    FLOORDIVS = "floordivsi"
    CEILDIVS = "ceildivsi"
    DIVU = "divui"
    CEILDIVU = "ceildivui"
    REMS = "remsi"
    REMU = "remui"
    AND = "andi"
    OR = "ori"
    XOR = "xori"
    SHL = "shli"
    SHRS = "shrsi"
    SHRU = "shrui"
    MINS = "minsi"
    MAXS = "maxsi"
    MINU = "minui"
    MAXU = "maxui"
    EQ = "eq"
    NE = "ne"
    SLT = "slt"
    SLE = "sle"
    SGT = "sgt"
    SGE = "sge"
    ULT = "ult"
    ULE = "ule"
    UGT = "ugt"
    UGE = "uge"


COMPARISONS = frozenset(
    {Fn.EQ, Fn.NE, Fn.SLT, Fn.SLE, Fn.SGT, Fn.SGE, Fn.ULT, Fn.ULE, Fn.UGT, Fn.UGE},
)
"""Operators that yield 0 or 1."""

DIVISIONS = frozenset({Fn.DIVS, Fn.FLOORDIVS, Fn.CEILDIVS, Fn.DIVU, Fn.CEILDIVU})

COUNT_LIMIT = (1 << 31) - 1
"""An index argument is assumed to lie within [0, COUNT_LIMIT]: it counts elements or trips of something."""


TRIP_LIMIT = (1 << 48) - 1
"""No run of a `while` lasts for more trips: it would take weeks. So counting trips does not wrap around."""


@dataclass(frozen=True)
class Const:
    value: int


@dataclass(frozen=True)
class Var:
    """A loop counter or carried value (its loop says what it is), or a value fixed for the whole run (an argument).

    `key` is unique in the program; `name` is only for people. `low` and `high`, both included, bound a fixed value;
    for a value that a loop owns the loop decides.
    """

    key: int
    name: str
    low: int = 0
    high: int = COUNT_LIMIT


@dataclass(frozen=True)
class Opaque:
    """A value within [low, high] about which nothing else is known; equal keys in one trip are one value.

    `loop` is the key of the innermost loop in whose trips it is worked out anew; None if it is fixed for the run.
    """

    key: int
    name: str
    loop: int | None = None
    low: int = -(1 << 63)
    high: int = (1 << 63) - 1


@dataclass(frozen=True)
class Apply:
    fn: Fn
    left: "Term"
    right: "Term"


@dataclass(frozen=True)
class Select:
    condition: "Term"
    if_true: "Term"
    if_false: "Term"


Term: TypeAlias = Const | Var | Opaque | Apply | Select


def subterms(term: Term) -> Iterator[Term]:
    """The term and all that it is made of, each before its parts, from left to right."""
    pending = [term]
    while pending:
        one = pending.pop()
        yield one
        match one:
            case Apply(_, left, right):
                pending += right, left
            case Select(condition, if_true, if_false):
                pending += if_false, if_true, condition
            case Const() | Var() | Opaque():
                pass


def leaves(term: Term) -> Iterator[Var | Opaque]:
    """The variables and unknowns in a term, from left to right, as often as they stand there."""
    return (one for one in subterms(term) if isinstance(one, Var | Opaque))
