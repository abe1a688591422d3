"""The vector ops in numpy: elementwise, with a number, reductions and broadcasts.

Floats narrower than f32 are computed in f32 and rounded once, at the end; integers wrap around at their width.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pto_buf.dialect.table.row import Compute
from pto_buf.dialect.table.semantics.numbers import Array, is_float, widened

Operands = Mapping[str, Any]
Attrs = Mapping[str, str]


def _one(fn: Callable[[Array], Array], name: str = "src") -> Compute:
    def compute(operands: Operands, attrs: Attrs) -> Array:
        with np.errstate(all="ignore"):
            return fn(widened(operands[name]))

    return compute


def _two(fn: Callable[[Array, Array], Array], left: str = "lhs", right: str = "rhs") -> Compute:
    def compute(operands: Operands, attrs: Attrs) -> Array:
        with np.errstate(all="ignore"):
            lhs, rhs = widened(operands[left]), widened(operands[right])
            if lhs.ndim == 0 or rhs.ndim == 0:  # a number is of the tile's type
                tile = rhs if lhs.ndim == 0 else lhs
                lhs, rhs = lhs.astype(tile.dtype), rhs.astype(tile.dtype)
            return fn(lhs, rhs)

    return compute


def _three(fn: Callable[[Array, Array], Array]) -> Compute:
    """The third operand is added, whatever is done with the first two."""

    def compute(operands: Operands, attrs: Attrs) -> Array:
        with np.errstate(all="ignore"):
            lhs = widened(operands["lhs"])
            return fn(lhs, widened(operands["rhs"]).astype(lhs.dtype)) + widened(operands["rhs2"])

    return compute


def _divide(lhs: Array, rhs: Array) -> Array:
    """Integers are cut towards zero; by zero they give all ones, as the hardware's divider does."""
    if is_float(lhs):
        return lhs / rhs
    safe = np.where(rhs == 0, 1, rhs)
    quotient = np.abs(lhs.astype(np.int64)) // np.abs(safe.astype(np.int64))
    signed = quotient * np.sign(lhs.astype(np.int64)) * np.sign(safe.astype(np.int64))
    return np.where(rhs == 0, -1, signed)


def _shift_left(lhs: Array, rhs: Array) -> Array:
    return np.left_shift(lhs, rhs.astype(lhs.dtype))


def _shift_right(lhs: Array, rhs: Array) -> Array:
    return np.right_shift(lhs, rhs.astype(lhs.dtype))


def _power(lhs: Array, rhs: Array) -> Array:
    if is_float(lhs):
        return np.power(lhs, rhs)
    wide = np.power(lhs.astype(np.float64), rhs.astype(np.float64))
    return np.trunc(wide).astype(np.int64).astype(lhs.dtype)


def _axpy(operands: Operands, attrs: Attrs) -> Array:
    return widened(operands["dst"]) + widened(operands["lhs"]) * widened(operands["rhs"]).astype(np.float32)


def _leaky(operands: Operands, attrs: Attrs) -> Array:
    lhs = widened(operands["lhs"])
    return np.where(lhs > 0, lhs, lhs * widened(operands["rhs"]).astype(np.float32))


def _parametric(operands: Operands, attrs: Attrs) -> Array:
    lhs = widened(operands["lhs"])
    return np.where(lhs > 0, lhs, lhs * widened(operands["rhs"]))


def _fill(operands: Operands, attrs: Attrs) -> Array:
    return np.broadcast_to(widened(operands["value"]), operands["dst"].shape)


def _partial(fn: Callable[[Array, Array], Array]) -> Compute:
    """Where only one source is valid, its element is the result."""

    def compute(operands: Operands, attrs: Attrs) -> Array:
        lhs, rhs, shape = widened(operands["lhs"]), widened(operands["rhs"]), operands["dst"].shape
        result = np.zeros(shape, lhs.dtype)
        result[: lhs.shape[0], : lhs.shape[1]] = lhs
        result[: rhs.shape[0], : rhs.shape[1]] = rhs
        rows, cols = min(lhs.shape[0], rhs.shape[0]), min(lhs.shape[1], rhs.shape[1])
        with np.errstate(all="ignore"):
            result[:rows, :cols] = fn(lhs[:rows, :cols], rhs[:rows, :cols])
        if lhs.shape[0] > rows or lhs.shape[1] > cols:
            outside = np.ones(lhs.shape, bool)
            outside[:rows, :cols] = False
            result[: lhs.shape[0], : lhs.shape[1]][outside] = lhs[outside]
        return result

    return compute


def _along(axis: int, fn: Callable[..., Array]) -> Compute:
    def compute(operands: Operands, attrs: Attrs) -> Array:
        return fn(widened(operands["src"]), axis=axis, keepdims=True)

    return compute


def _total(array: Array, axis: int, keepdims: bool) -> Array:
    return np.sum(array, axis=axis, keepdims=keepdims, dtype=array.dtype)


def _product(array: Array, axis: int, keepdims: bool) -> Array:
    return np.prod(array, axis=axis, keepdims=keepdims, dtype=array.dtype)


def _exp_of_difference(lhs: Array, rhs: Array) -> Array:
    return np.exp(lhs - rhs)


_EXPANDING: Mapping[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "max": np.maximum,
    "min": np.minimum,
    "expdif": _exp_of_difference,
}


def _row_against(fn: Callable[[Array, Array], Array]) -> Compute:
    """One operand holds a value for each row, in its first column."""

    def compute(operands: Operands, attrs: Attrs) -> Array:
        lhs, rhs, shape = widened(operands["lhs"]), widened(operands["rhs"]), operands["dst"].shape
        if lhs.shape != shape:
            lhs = lhs[:, :1]
        else:
            rhs = rhs[:, :1]
        with np.errstate(all="ignore"):
            return np.broadcast_to(fn(lhs, rhs), shape)

    return compute


def _column_against(fn: Callable[[Array, Array], Array]) -> Compute:
    """`rhs` holds a value for each column, in its first row."""

    def compute(operands: Operands, attrs: Attrs) -> Array:
        with np.errstate(all="ignore"):
            return fn(widened(operands["lhs"]), widened(operands["rhs"])[:1, :])

    return compute


def _spread_rows(operands: Operands, attrs: Attrs) -> Array:
    return np.broadcast_to(operands["src"][:, :1], operands["dst"].shape)


def _spread_columns(operands: Operands, attrs: Attrs) -> Array:
    return np.broadcast_to(operands["src"][:1, :], operands["dst"].shape)


VECTOR: Mapping[str, Compute] = {
    "abs": _one(np.abs),
    "exp": _one(np.exp),
    "log": _one(np.log),
    "sqrt": _one(np.sqrt),
    "rsqrt": _one(lambda x: 1 / np.sqrt(x)),
    "recip": _one(lambda x: 1 / x),
    "neg": _one(np.negative),
    "not_": _one(np.invert),
    "relu": _one(lambda x: np.maximum(x, x.dtype.type(0))),
    "add": _two(np.add),
    "sub": _two(np.subtract),
    "mul": _two(np.multiply),
    "div": _two(_divide),
    "maximum": _two(np.maximum),
    "minimum": _two(np.minimum),
    "and_": _two(np.bitwise_and),
    "or_": _two(np.bitwise_or),
    "xor": _two(np.bitwise_xor),
    "shl": _two(_shift_left),
    "shr": _two(_shift_right),
    "fmod": _two(np.fmod),
    "rem": _two(np.remainder),
    "pow": _two(_power),
    "prelu": _parametric,
    "part_add": _partial(np.add),
    "part_mul": _partial(np.multiply),
    "part_max": _partial(np.maximum),
    "part_min": _partial(np.minimum),
    "add_relu": _two(lambda x, y: np.maximum(x + y, x.dtype.type(0))),
    "addc": _three(np.add),
    "subc": _three(np.subtract),
    "adds": _two(np.add),
    "subs": _two(np.subtract),
    "muls": _two(np.multiply),
    "divs": _two(_divide),
    "rdivs": _two(_divide),
    "maximums": _two(np.maximum),
    "minimums": _two(np.minimum),
    "ands": _two(np.bitwise_and),
    "ors": _two(np.bitwise_or),
    "xors": _two(np.bitwise_xor),
    "shls": _two(_shift_left),
    "shrs": _two(_shift_right),
    "fmods": _two(np.fmod),
    "rems": _two(np.remainder),
    "pows": _two(_power),
    "lrelu": _leaky,
    "addsc": _three(np.add),
    "subsc": _three(np.subtract),
    "axpy": _axpy,
    "expands": _fill,
    "row_max": _along(1, np.max),
    "row_min": _along(1, np.min),
    "row_sum": _along(1, _total),
    "row_prod": _along(1, _product),
    "row_argmax": _along(1, np.argmax),
    "row_argmin": _along(1, np.argmin),
    "col_max": _along(0, np.max),
    "col_min": _along(0, np.min),
    "col_sum": _along(0, _total),
    "col_prod": _along(0, _product),
    "col_argmax": _along(0, np.argmax),
    "col_argmin": _along(0, np.argmin),
    **{f"row_expand_{name}": _row_against(fn) for name, fn in _EXPANDING.items()},
    **{f"col_expand_{name}": _column_against(fn) for name, fn in _EXPANDING.items()},
    "row_expand": _spread_rows,
    "col_expand": _spread_columns,
}
