"""Elementwise ops of the vector unit: tiles in Vec of one shape and element type, or a tile and a number.

Mistakes of all: `memory-space` outside Vec, `shape-or-dtype` where tiles differ.
"""

from pto_buf.language.values import Scalar, Slot, Tile, outside

__all__ = [
    "abs",
    "add",
    "addc",
    "adds",
    "addsc",
    "and_",
    "ands",
    "div",
    "divs",
    "exp",
    "fmod",
    "fmods",
    "log",
    "lrelu",
    "maximum",
    "maximums",
    "minimum",
    "minimums",
    "mul",
    "muls",
    "neg",
    "not_",
    "or_",
    "ors",
    "part_add",
    "part_max",
    "part_min",
    "part_mul",
    "prelu",
    "recip",
    "relu",
    "rem",
    "rems",
    "rsqrt",
    "shl",
    "shls",
    "shr",
    "shrs",
    "sqrt",
    "sub",
    "subc",
    "subs",
    "subsc",
    "xor",
    "xors",
]


def neg(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """Each element negated."""
    outside("neg")


def exp(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """e to the power of each element."""
    outside("exp")


def sqrt(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """The square root of each element."""
    outside("sqrt")


def log(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """The natural logarithm of each element."""
    outside("log")


def recip(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """One divided by each element."""
    outside("recip")


def abs(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """The magnitude of each element."""
    outside("abs")


def relu(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """The elements below zero set to zero."""
    outside("relu")


def not_(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """The bits of each element inverted."""
    outside("not_")


def rsqrt(tile: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """One divided by the square root of each element."""
    outside("rsqrt")


def add(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """The sum of two tiles, or of a tile and a number."""
    outside("add")


def sub(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """The difference."""
    outside("sub")


def mul(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """The product, element by element."""
    outside("mul")


def div(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """The quotient."""
    outside("div")


def maximum(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """The greater, element by element."""
    outside("maximum")


def minimum(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """The lesser, element by element."""
    outside("minimum")


def fmod(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """The remainder with the sign of the dividend."""
    outside("fmod")


def and_(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """The bits that both have."""
    outside("and_")


def or_(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """The bits that either has."""
    outside("or_")


def shl(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """Bits shifted to the left."""
    outside("shl")


def shr(lhs: Tile | Slot, rhs: Tile | Slot | Scalar | float, *, out: Slot | None = None) -> Tile:
    """Bits shifted to the right."""
    outside("shr")


def adds(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """A number added to each element."""
    outside("adds")


def subs(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """A number taken from each element."""
    outside("subs")


def muls(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """Each element times a number."""
    outside("muls")


def divs(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """Each element divided by a number."""
    outside("divs")


def maximums(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """The greater of each element and a number."""
    outside("maximums")


def minimums(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """The lesser of each element and a number."""
    outside("minimums")


def fmods(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """The remainder by a number."""
    outside("fmods")


def ands(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """The bits shared with a number."""
    outside("ands")


def ors(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """The bits joined with a number's."""
    outside("ors")


def shls(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """Bits shifted to the left by a number."""
    outside("shls")


def shrs(lhs: Tile | Slot, rhs: Scalar | float, *, out: Slot | None = None) -> Tile:
    """Bits shifted to the right by a number."""
    outside("shrs")


def xor(lhs: Tile | Slot, rhs: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The bits in which two tiles differ."""
    outside("xor")


def xors(lhs: Tile | Slot, rhs: Scalar | float, tmp: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The bits in which each element differs from a number."""
    outside("xors")


def rem(lhs: Tile | Slot, rhs: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The remainder with the sign of the divisor."""
    outside("rem")


def rems(lhs: Tile | Slot, rhs: Scalar | float, tmp: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The remainder by a number, with its sign."""
    outside("rems")


def prelu(tile: Tile | Slot, slope: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """Elements below zero times their slope."""
    outside("prelu")


def lrelu(tile: Tile | Slot, slope: Scalar | float, *, out: Slot | None = None) -> Tile:
    """Elements below zero times one slope."""
    outside("lrelu")


def part_add(src0: Tile | Slot, src1: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """`add` where both tiles are valid; the valid one elsewhere."""
    outside("part_add")


def part_mul(src0: Tile | Slot, src1: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """`mul` where both tiles are valid; the valid one elsewhere."""
    outside("part_mul")


def part_max(src0: Tile | Slot, src1: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """`max` where both tiles are valid; the valid one elsewhere."""
    outside("part_max")


def part_min(src0: Tile | Slot, src1: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """`min` where both tiles are valid; the valid one elsewhere."""
    outside("part_min")


def addc(lhs: Tile | Slot, rhs: Tile | Slot, rhs2: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """lhs + rhs + rhs2."""
    outside("addc")


def subc(lhs: Tile | Slot, rhs: Tile | Slot, rhs2: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """lhs - rhs + rhs2."""
    outside("subc")


def addsc(lhs: Tile | Slot, rhs: Scalar | float, rhs2: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """lhs + number + rhs2."""
    outside("addsc")


def subsc(lhs: Tile | Slot, rhs: Scalar | float, rhs2: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """lhs - number + rhs2."""
    outside("subsc")
