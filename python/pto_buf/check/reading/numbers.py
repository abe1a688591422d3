"""Scalar ops of the IR as terms."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.arith import CmpiOp, ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from pto_buf.check.terms import Fn, Term, add, apply, at_most, const, constant_of, equal, less, negate, scale, sub

_SAME_VALUE = frozenset({"arith.index_cast", "arith.index_castui", "arith.extsi"})

_BINARY: Mapping[str, Fn] = {
    "arith.muli": Fn.MUL,
    "arith.divsi": Fn.DIVS,
    "arith.divui": Fn.DIVU,
    "arith.floordivsi": Fn.FLOORDIV,
    "arith.ceildivsi": Fn.CEILDIV,
    "arith.ceildivui": Fn.CEILDIVU,
    "arith.remsi": Fn.REMS,
    "arith.remui": Fn.REMU,
    "arith.andi": Fn.AND,
    "arith.ori": Fn.OR,
    "arith.xori": Fn.XOR,
    "arith.shrsi": Fn.SHRS,
    "arith.shrui": Fn.SHRU,
    "arith.minsi": Fn.MINS,
    "arith.maxsi": Fn.MAXS,
    "arith.minui": Fn.MINU,
    "arith.maxui": Fn.MAXU,
}


def width_of(type: Attribute) -> int | None:
    """Bits of an integer type; None for everything that is no integer."""
    if isinstance(type, IndexType):
        return 64
    return type.bitwidth if isinstance(type, IntegerType) else None


def term_of(op: Operation, args: Sequence[Term | None]) -> Term | None:
    """The value of a scalar op, given its operands (None for one that is no integer); None where it is unknown."""
    width = width_of(op.results[0].type)
    if width is None:
        return None
    if isinstance(op, ConstantOp):
        return _constant(op, width)
    known = [arg for arg in args if arg is not None]
    if len(known) != len(args) or not known:
        return None
    if isinstance(op, CmpiOp):
        operand_width = width_of(op.lhs.type)
        return None if operand_width is None else _compared(op.predicate.value.data, known[0], known[1], operand_width)
    if width == 1:
        return _boolean(op, known)
    if op.name in _SAME_VALUE:
        return _extended(op, known[0])
    if op.name in ("arith.extui", "arith.trunci"):
        source = width_of(op.operands[0].type)
        assert source is not None
        return apply(Fn.ZEXT, known[0], width=source) if op.name == "arith.extui" else _truncated(known[0], width)
    if op.name == "arith.addi":
        return add(known[0], known[1])
    if op.name == "arith.subi":
        return sub(known[0], known[1])
    if op.name == "arith.shli":
        return _shifted(known[0], known[1], width)
    if op.name == "arith.select":
        return apply(Fn.SELECT, *known)
    fn = _BINARY.get(op.name)
    return None if fn is None else apply(fn, *known, width=width)


def _constant(op: ConstantOp, width: int) -> Term | None:
    if not isinstance(op.value, IntegerAttr):
        return None
    value = op.value.value.data
    return const(value & 1 if width == 1 else value)


def _extended(op: Operation, value: Term) -> Term:
    """Sign extension; a boolean that is set becomes -1."""
    signed = op.name in ("arith.extsi", "arith.index_cast")
    return scale(value, -1) if width_of(op.operands[0].type) == 1 and signed else value


def _truncated(value: Term, width: int) -> Term:
    return apply(Fn.TRUNC, value, width=width)


def _shifted(value: Term, by: Term, width: int) -> Term:
    amount = constant_of(by)
    if amount is None or not 0 <= amount < width:
        return apply(Fn.SHL, value, by, width=width)
    return scale(value, 1 << amount)


def _boolean(op: Operation, args: Sequence[Term]) -> Term | None:
    """Operators whose result is 0 or 1."""
    match op.name:
        case "arith.andi" | "arith.ori" | "arith.xori":
            for one, other in ((args[0], args[1]), (args[1], args[0])):
                if op.name == "arith.xori" and constant_of(one) == 1:
                    return negate(other)
            return apply(_BINARY[op.name], *args)
        case "arith.select":
            return apply(Fn.SELECT, *args)
        case "arith.trunci":
            return apply(Fn.ZEXT, args[0], width=1)
        case "arith.addi" | "arith.subi":
            return apply(Fn.XOR, *args)
        case _:
            return None


_PREDICATES: Mapping[int, Callable[[Term, Term], Term]] = {
    0: equal,
    1: lambda a, b: negate(equal(a, b)),
    2: less,
    3: at_most,
    4: lambda a, b: less(b, a),
    5: lambda a, b: at_most(b, a),
}
"""The signed predicates of arith.cmpi by number; the unsigned ones follow."""


def _compared(predicate: int, left: Term, right: Term, width: int) -> Term | None:
    if width == 1 and predicate > 1:
        return None
    if predicate in _PREDICATES:
        return _PREDICATES[predicate](left, right)
    swapped = predicate in (7, 8)  # ule, ugt
    below = apply(Fn.ULT, *((right, left) if swapped else (left, right)), width=width)
    return negate(below) if predicate in (7, 9) else below
