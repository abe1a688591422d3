"""Loads, stores, moves, windows and conversions in numpy."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pto_buf.dialect.table.row import Compute
from pto_buf.dialect.table.semantics.numbers import Array, is_float

Operands = Mapping[str, Any]
Attrs = Mapping[str, str]


def round_to(array: Array, dtype: np.dtype[Any], mode: str, saturate: bool) -> Array:
    """`array` in another element type. `mode` is a word of `round_mode`; without saturation integers wrap around.

    NONE, RINT and CAST_RINT round to the nearest, ties to even; ODD sets the last bit where anything is lost.
    """
    to_float = dtype.kind not in "iub"
    if not is_float(array):
        if to_float:
            return _narrow(array.astype(np.float64), dtype, mode)
        return _to_integer(
            array.astype(object) if array.dtype == np.uint64 else array.astype(np.int64), dtype, saturate
        )
    wide = array.astype(np.float64)
    if to_float:
        return _narrow(wide, dtype, mode)
    with np.errstate(invalid="ignore"):
        whole = _ROUND[mode](wide)
        whole = np.where(np.isnan(whole), 0.0, whole)
        low, high = (
            (float(np.iinfo(np.int64).min), float(2**63 - 1024)) if dtype != np.uint64 else (0.0, float(2**64 - 2048))
        )
        return _to_integer(np.clip(whole, low, high).astype(np.int64), dtype, saturate)


def _half_away(x: Array) -> Array:
    return np.trunc(x + np.copysign(0.5, x))


_ROUND = {
    "NONE": np.rint,
    "RINT": np.rint,
    "CAST_RINT": np.rint,
    "ROUND": _half_away,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "TRUNC": np.trunc,
    "ODD": np.rint,
}


def _to_integer(array: Array, dtype: np.dtype[Any], saturate: bool) -> Array:
    if saturate:
        limits = np.iinfo(dtype)
        array = np.clip(array, limits.min, limits.max)
    return array.astype(dtype)


def _narrow(wide: Array, dtype: np.dtype[Any], mode: str) -> Array:
    """To a narrower float: to the nearest, then one step on where the mode wants the other side."""
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = wide.astype(dtype)
    if mode in ("NONE", "RINT", "CAST_RINT"):
        return nearest
    back = nearest.astype(np.float64)
    above, below = _next(nearest, upward=True), _next(nearest, upward=False)
    too_low, too_high = back < wide, back > wide
    if mode == "ROUND":  # a tie goes away from zero
        outer = np.where(wide >= 0, above, below)
        tie = (np.abs(outer.astype(np.float64) - wide) == np.abs(back - wide)) & (back != wide)
        return np.where(tie, outer, nearest)
    if mode == "FLOOR":
        return np.where(too_high, below, nearest)
    if mode == "CEIL":
        return np.where(too_low, above, nearest)
    if mode == "TRUNC":
        return np.where(too_high & (wide > 0), below, np.where(too_low & (wide < 0), above, nearest))
    toward_zero = np.where(too_high & (wide > 0), below, np.where(too_low & (wide < 0), above, nearest))
    bits = toward_zero.view(f"u{dtype.itemsize}") | (toward_zero.astype(np.float64) != wide).astype(
        f"u{dtype.itemsize}"
    )
    return bits.view(dtype)


def _next(array: Array, *, upward: bool) -> Array:
    """The neighbour of each element towards plus or minus infinity; zeros step to the smallest number."""
    signed = f"i{array.dtype.itemsize}"
    bits = array.view(signed).astype(np.int64)
    least = np.iinfo(signed).min
    order = np.where(bits >= 0, bits, least - bits)  # numbers in order, both zeros at 0
    moved = order + (1 if upward else -1)
    back = np.where(moved >= 0, moved, least - moved).astype(signed).view(array.dtype)
    return np.where(np.isfinite(array.astype(np.float64)), back, array)


_WRAPS = frozenset(
    (np.dtype(src), np.dtype(dst))
    for src, dst in (
        (np.float16, np.uint8),
        (np.float16, np.int8),
        (np.float32, np.int16),
        (np.float16, np.int16),
        (np.int64, np.int32),
        (np.int32, np.int16),
    )
)
"""Conversions that do not saturate unless they are told to."""


def _cast(operands: Operands, attrs: Attrs) -> Array:
    src, dtype = operands["src"], operands["dst"].dtype
    chosen = attrs.get("satmode")
    saturate = chosen == "ON" if chosen is not None else (src.dtype, dtype) not in _WRAPS
    return round_to(src, dtype, attrs.get("rmode", "CAST_RINT"), saturate)


def _copy(operands: Operands, attrs: Attrs) -> Array:
    return operands["src"]


def _leave(src: Array, operands: Operands, attrs: Attrs) -> Array:
    """What an accumulator becomes on its way out: scaled, clipped at zero, in the type of the destination."""
    dtype = operands["dst"].dtype
    if "fp" in operands:
        scales = (np.asarray(operands["fp"]).astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        src = src.astype(np.float32) * scales.view(np.float32)[:1, : src.shape[1]]
    elif "preQuantScalar" in operands:
        bits = np.array(int(operands["preQuantScalar"]) & 0xFFFFFFFF, np.uint32)
        src = src.astype(np.float32) * bits.view(np.float32)
    if attrs.get("reluPreMode", "no_relu") == "normal_relu":
        src = np.maximum(src, src.dtype.type(0))
    return src if src.dtype == dtype else round_to(src, dtype, "CAST_RINT", saturate=True)


def _move(operands: Operands, attrs: Attrs) -> Array:
    return _leave(operands["src"], operands, attrs)


def _store(operands: Operands, attrs: Attrs) -> Array:
    src, old = _leave(operands["src"], operands, attrs), operands["dst"]
    if attrs.get("atomicType", "atomic_none") == "atomic_add":
        return old + src.reshape(old.shape)
    return src


def _window(operands: Operands, attrs: Attrs) -> Array:
    """What lies right of and below the corner, cut to the output's extent."""
    rows, cols = operands["dst"].shape
    row, col = int(operands["row"]), int(operands["col"])
    return _leave(operands["src"][row : row + rows, col : col + cols], operands, attrs)


def _insert(operands: Operands, attrs: Attrs) -> Array:
    src = _leave(operands["src"], operands, attrs)
    row, col = int(operands["row"]), int(operands["col"])
    result = operands["dst"].copy()
    result[row : row + src.shape[0], col : col + src.shape[1]] = src
    return result


MOVEMENT: Mapping[str, Compute] = {
    "load": _copy,
    "prefetch": _copy,
    "store": _store,
    "move": _move,
    "extract": _window,
    "insert": _insert,
    "cast": _cast,
}
