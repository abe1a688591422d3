"""Index terms: integer expressions over loop counters, arguments and unknowns, as plain data."""

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


@dataclass(frozen=True)
class Const:
    value: int


@dataclass(frozen=True)
class Var:
    """A loop counter (its loop says the range) or a value fixed for the whole run (an argument).

    `key` is unique in the program; `name` is only for people.
    """

    key: int
    name: str


@dataclass(frozen=True)
class Opaque:
    """A value about which nothing is known, but which is the same wherever `key` is the same in one trip."""

    key: int
    name: str


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
