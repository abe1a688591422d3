"""Scalar arithmetic: folded where it is known, IR where it is not, with the bounds of integers kept on the way.

`//` and `%` are Python's: they round towards minus infinity. Where the dividend is known not to be negative they are
the unsigned ops that the assembler's own loop counters want.
"""

import ast
from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from pto_buf.frontend.builder import scalar_type
from pto_buf.frontend.context import Context
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.syntax import constants
from pto_buf.frontend.values import Number, Scalar, Static, Value, describe

_INT_OPS: Mapping[type[ast.operator], type[Operation]] = {
    ast.Add: arith.AddiOp,
    ast.Sub: arith.SubiOp,
    ast.Mult: arith.MuliOp,
    ast.BitAnd: arith.AndIOp,
    ast.BitOr: arith.OrIOp,
    ast.BitXor: arith.XOrIOp,
    ast.LShift: arith.ShLIOp,
    ast.RShift: arith.ShRSIOp,
}
_FLOAT_OPS: Mapping[type[ast.operator], type[Operation]] = {
    ast.Add: arith.AddfOp,
    ast.Sub: arith.SubfOp,
    ast.Mult: arith.MulfOp,
    ast.Div: arith.DivfOp,
}
_PREDICATES: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "slt",
    ast.LtE: "sle",
    ast.Gt: "sgt",
    ast.GtE: "sge",
}


_BITS = 63
"""Of the widest integer, the sign left out."""


def number(ctx: Context, node: ast.AST, value: Value, what: str) -> Number:
    """`value` as a number. Raises DiagnosticError."""
    if isinstance(value, Scalar):
        return value
    if isinstance(value, Static) and isinstance(value.value, (bool, int, float)):
        if isinstance(value.value, int) and value.value.bit_length() > _BITS:
            found = value.value.bit_length()
            raise ctx.error(node, f"{what} is an integer of {found} bits; there are {_BITS} and a sign", kind=SHAPE)
        return value
    raise ctx.error(node, f"{what} must be a scalar, is {describe(value)}", kind=SHAPE)


def integer(ctx: Context, node: ast.AST, value: Value, what: str) -> Number:
    """`value` as an integer. Raises DiagnosticError."""
    found = number(ctx, node, value, what)
    whole = isinstance(found.value, int) if isinstance(found, Static) else not _is_float(found.dtype)
    if not whole:
        lever = "// divides integers" if isinstance(node, ast.BinOp | ast.Name) and _type_of(found) == "float" else None
        raise ctx.error(node, f"{what} must be an integer, is {_type_of(found)}", kind=SHAPE, help=lever)
    return found


def known_int(value: Value) -> int | None:
    """The integer that `value` is known to be."""
    if isinstance(value, Static) and isinstance(value.value, int):
        return int(value.value)
    return None


def bounds(value: Number) -> tuple[int | None, int | None]:
    """The least and the greatest value of an integer, both included, where they are known."""
    if isinstance(value, Static):
        assert isinstance(value.value, (int, float))
        return int(value.value), int(value.value)
    return value.lo, value.hi


def ssa(ctx: Context, value: Number, dtype: str = "index") -> SSAValue:
    """`value` as an IR value of the given type, converted where that loses nothing of an integer."""
    if isinstance(value, Static):
        assert isinstance(value.value, (int, float))
        return ctx.builder.constant(value.value, dtype)
    return value.ssa if value.dtype == dtype else convert(ctx, value, dtype).ssa


def convert(ctx: Context, value: Scalar, dtype: str) -> Scalar:
    """A scalar as another type."""
    if value.dtype == dtype:
        return value
    if "index" in (value.dtype, dtype) and (_is_float(value.dtype) or _is_float(dtype)):
        value = convert(ctx, value, "i64")  # no op does both
    target = scalar_type(dtype)
    assert target is not None
    return Scalar(ctx.builder.pure(_conversion(value.dtype, dtype), (value.ssa,), target), dtype, value.lo, value.hi)


def _conversion(source: str, target: str) -> type[Operation]:
    if _is_float(source) or _is_float(target):
        if _is_float(source) and _is_float(target):
            return arith.ExtFOp if _bits(target) > _bits(source) else arith.TruncFOp
        return arith.SIToFPOp if _is_float(target) else arith.FPToSIOp
    if "index" in (source, target):
        return arith.IndexCastOp
    if _bits(target) < _bits(source):
        return arith.TruncIOp
    return arith.ExtUIOp if source == "i1" or source.startswith("u") else arith.ExtSIOp


def _bits(dtype: str) -> int:
    return {"index": 64, "bf16": 16}.get(dtype) or int(dtype.lstrip("isuf"))


def _is_float(dtype: str) -> bool:
    return dtype in ("f16", "bf16", "f32")


def _type_of(value: Number) -> str:
    return type(value.value).__name__ if isinstance(value, Static) else value.dtype


def common_type(ctx: Context, node: ast.AST, left: Number, right: Number) -> str:
    """The type in which two numbers meet; a constant takes the other's type. At least one is not constant."""
    if isinstance(left, Static) or isinstance(right, Static):
        one, other = (left, right) if isinstance(left, Static) else (right, left)
        assert isinstance(other, Scalar) and isinstance(one, Static)
        if isinstance(one.value, float) and not _is_float(other.dtype):
            raise ctx.error(node, f"a {other.dtype} and the float {one.value} do not go together", kind=SHAPE)
        return other.dtype
    if left.dtype == right.dtype:
        return left.dtype
    if _is_float(left.dtype) != _is_float(right.dtype):
        raise ctx.error(node, f"{left.dtype} and {right.dtype} do not go together", kind=SHAPE)
    if "index" in (left.dtype, right.dtype):
        return "index"
    return max(left.dtype, right.dtype, key=_bits)


def binary(ctx: Context, node: ast.AST, op: ast.operator, left: Number, right: Number) -> Number:
    """`left op right`. Raises DiagnosticError."""
    if isinstance(left, Static) and isinstance(right, Static):
        try:
            return Static(constants.binary(op, left.value, right.value))
        except (TypeError, ValueError, OverflowError) as err:
            raise ctx.error(node, str(err), kind=SHAPE) from None
    dtype = common_type(ctx, node, left, right)
    if _is_float(dtype):
        if type(op) not in _FLOAT_OPS:
            raise ctx.error(node, f"floats have no operator '{symbol(op)}'")
        return Scalar(ctx.builder.pure(_FLOAT_OPS[type(op)], (ssa(ctx, left, dtype), ssa(ctx, right, dtype))), dtype)
    if (same := _identity(op, left, right)) is not None:
        return same
    if isinstance(op, (ast.FloorDiv, ast.Mod)):
        return _divide(ctx, node, op, left, right, dtype)
    if type(op) not in _INT_OPS:
        hint = "use // for integers" if isinstance(op, ast.Div) else None
        raise ctx.error(node, f"run-time integers have no operator '{symbol(op)}'", help=hint)
    lo, hi = _BOUNDS.get(type(op), _unknown)(bounds(left), bounds(right))
    value = ctx.builder.pure(_INT_OPS[type(op)], (ssa(ctx, left, dtype), ssa(ctx, right, dtype)))
    return Scalar(value, dtype, lo, hi)


def _identity(op: ast.operator, left: Number, right: Number) -> Number | None:
    """The operand that the result equals, where one is neutral."""
    match op, known_int(left), known_int(right):
        case ((ast.Add() | ast.Sub() | ast.LShift() | ast.RShift() | ast.BitOr() | ast.BitXor()), _, 0):
            return left
        case ((ast.Add() | ast.BitOr() | ast.BitXor()), 0, _):
            return right
        case ((ast.Mult() | ast.FloorDiv()), _, 1):
            return left
        case ast.Mult(), 1, _:
            return right
        case ast.Mult(), _, 0:
            return right
        case ast.Mult(), 0, _:
            return left
        case ast.Mod(), _, 1:
            return Static(0)
        case _:
            return None


def _divide(ctx: Context, node: ast.AST, op: ast.operator, left: Number, right: Number, dtype: str) -> Number:
    (lo, hi), divisor = bounds(left), known_int(right)
    least = bounds(right)[0]
    if (divisor is not None and divisor <= 0) or (divisor is None and (least is None or least < 0)):
        found = divisor if divisor is not None else "a value that may be negative"
        raise ctx.error(node, f"'{symbol(op)}' needs a positive divisor, found {found}", kind=SHAPE)
    a, b = ssa(ctx, left, dtype), ssa(ctx, right, dtype)
    pure = ctx.builder.pure
    not_negative = lo is not None and lo >= 0
    if isinstance(op, ast.Mod):
        top = None if divisor is None else divisor - 1
        if hi is not None and top is not None and not_negative:
            top = min(top, hi)
        return Scalar(_modulus(ctx, a, b, divisor, not_negative, dtype), dtype, 0, top)
    if not_negative:
        low, high = (None, None) if divisor is None else (_floor(lo, divisor), _floor(hi, divisor))
        return Scalar(pure(arith.DivUIOp, (a, b)), dtype, low or 0, high)
    exact = pure(arith.SubiOp, (a, _modulus(ctx, a, b, divisor, False, dtype)))
    low, high = (None, None) if divisor is None else (_floor(lo, divisor), _floor(hi, divisor))
    return Scalar(pure(arith.DivSIOp, (exact, b)), dtype, low, high)


def _modulus(ctx: Context, a: SSAValue, b: SSAValue, divisor: int | None, not_negative: bool, dtype: str) -> SSAValue:
    """The remainder that is never negative. A power of two is a mask in two's complement, whatever the sign."""
    pure = ctx.builder.pure
    if not_negative:
        return pure(arith.RemUIOp, (a, b))
    if divisor is not None and divisor & (divisor - 1) == 0:
        return pure(arith.AndIOp, (a, ctx.builder.constant(divisor - 1, dtype)))
    return pure(arith.RemUIOp, (pure(arith.AddiOp, (pure(arith.RemSIOp, (a, b)), b)), b))


def _floor(value: int | None, divisor: int) -> int | None:
    return None if value is None else value // divisor


_Bounds = tuple[int | None, int | None]


def _unknown(left: _Bounds, right: _Bounds) -> _Bounds:
    return None, None


def _add(left: _Bounds, right: _Bounds) -> _Bounds:
    return (
        None if left[0] is None or right[0] is None else left[0] + right[0],
        None if left[1] is None or right[1] is None else left[1] + right[1],
    )


def _subtract(left: _Bounds, right: _Bounds) -> _Bounds:
    negated = (None if right[1] is None else -right[1], None if right[0] is None else -right[0])
    return _add(left, negated)


def _multiply(left: _Bounds, right: _Bounds) -> _Bounds:
    (a, b), (c, d) = left, right
    if a is not None and b is not None and c is not None and d is not None:
        products = (a * c, a * d, b * c, b * d)
        return min(products), max(products)
    if a is not None and c is not None and a >= 0 and c >= 0:
        return a * c, None
    return None, None


def _mask(left: _Bounds, right: _Bounds) -> _Bounds:
    """`&` with something that is not negative lies between 0 and it."""
    tops = [hi for lo, hi in (left, right) if lo is not None and lo >= 0 and hi is not None]
    if tops:
        return 0, min(tops)
    return (0, None) if any(lo is not None and lo >= 0 for lo, _ in (left, right)) else (None, None)


_BOUNDS: Mapping[type[ast.operator], Callable[[_Bounds, _Bounds], _Bounds]] = {
    ast.Add: _add,
    ast.Sub: _subtract,
    ast.Mult: _multiply,
    ast.BitAnd: _mask,
}


def compare(ctx: Context, node: ast.AST, op: ast.cmpop, left: Number, right: Number) -> Number:
    """`left op right`, folded where the bounds decide it. Raises DiagnosticError."""
    if type(op) not in _PREDICATES:
        raise ctx.error(node, f"scalars have no comparison '{type(op).__name__.lower()}'")
    if isinstance(left, Static) and isinstance(right, Static):
        return Static(constants.compare(op, left.value, right.value))
    dtype = common_type(ctx, node, left, right)
    a, b = ssa(ctx, left, dtype), ssa(ctx, right, dtype)
    predicate = _PREDICATES[type(op)]
    if _is_float(dtype):
        name = {"ne": "une"}.get(predicate, "o" + predicate.removeprefix("s"))
        return Scalar(ctx.builder.pure(arith.CmpfOp, (a, b), name), "i1", 0, 1)
    return Scalar(ctx.builder.pure(arith.CmpiOp, (a, b), predicate), "i1", 0, 1)


def truth(ctx: Context, node: ast.AST, value: Value) -> Number:
    """`value` as a condition. Raises DiagnosticError for anything but a truth value."""
    found = number(ctx, node, value, "a condition")
    if isinstance(found, Static):
        if not isinstance(found.value, bool):
            raise ctx.error(node, f"a condition must be a comparison or bool, is {found.value!r}", kind=SHAPE)
        return found
    if found.dtype != "i1":
        raise ctx.error(
            node, f"a condition must be a comparison or bool, is {found.dtype}", kind=SHAPE, help="compare it: x != 0"
        )
    return found


def logical(ctx: Context, node: ast.BoolOp, values: list[Number]) -> Number:
    """`and` / `or`: both sides are evaluated, as pypto does."""
    decisive = isinstance(node.op, ast.Or)
    if any(isinstance(value, Static) and value.value is decisive for value in values):
        return Static(decisive)
    rest = [value for value in values if isinstance(value, Scalar)]
    if not rest:
        return Static(not decisive)
    kind = arith.OrIOp if decisive else arith.AndIOp
    result = rest[0].ssa
    for value in rest[1:]:
        result = ctx.builder.pure(kind, (result, value.ssa))
    return Scalar(result, "i1", 0, 1)


def unary(ctx: Context, node: ast.AST, op: ast.unaryop, value: Value) -> Number:
    """`-x`, `~x`, `not x`. Raises DiagnosticError."""
    if isinstance(op, ast.Not):
        found = truth(ctx, node, value)
        if isinstance(found, Static):
            return Static(not found.value)
        return Scalar(ctx.builder.pure(arith.XOrIOp, (found.ssa, ctx.builder.constant(True, "i1"))), "i1", 0, 1)
    found = number(ctx, node, value, "the operand")
    if isinstance(found, Static):
        try:
            return Static(constants.unary(op, found.value))
        except TypeError as err:
            raise ctx.error(node, str(err), kind=SHAPE) from None
    if isinstance(op, ast.USub):
        zero = Static(0.0 if _is_float(found.dtype) else 0)
        return binary(ctx, node, ast.Sub(), zero, found)
    if isinstance(op, ast.Invert):
        return binary(ctx, node, ast.BitXor(), found, Static(-1))
    return found


def extremum(ctx: Context, node: ast.AST, values: list[Number], greatest: bool) -> Number:
    """`pl.min` / `pl.max` of scalars."""
    result = values[0]
    for value in values[1:]:
        result = _extremum(ctx, node, result, value, greatest)
    return result


def _extremum(ctx: Context, node: ast.AST, left: Number, right: Number, greatest: bool) -> Number:
    if isinstance(left, Static) and isinstance(right, Static):
        assert isinstance(left.value, (int, float)) and isinstance(right.value, (int, float))
        return Static(max(left.value, right.value) if greatest else min(left.value, right.value))
    dtype = common_type(ctx, node, left, right)
    operands = (ssa(ctx, left, dtype), ssa(ctx, right, dtype))
    if _is_float(dtype):
        return Scalar(ctx.builder.pure(arith.MaximumfOp if greatest else arith.MinimumfOp, operands), dtype)
    (a, b), (c, d) = bounds(left), bounds(right)
    lows, highs = [x for x in (a, c) if x is not None], [x for x in (b, d) if x is not None]
    if greatest:
        lo, hi = max(lows, default=None), max(highs) if len(highs) == 2 else None
    else:
        lo, hi = min(lows) if len(lows) == 2 else None, min(highs, default=None)
    return Scalar(ctx.builder.pure(arith.MaxSIOp if greatest else arith.MinSIOp, operands), dtype, lo, hi)


_SYMBOLS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Pow: "**",
    ast.MatMult: "@",
}


def symbol(op: ast.operator) -> str:
    """How an operator is written."""
    return _SYMBOLS[type(op)]
