"""Quantisation, histograms, partial arg-reductions and block-scaled products in numpy."""

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from pto_buf.dialect.table.row import Compute
from pto_buf.dialect.table.semantics.numbers import Array, unsigned, widened

Operands = Mapping[str, Any]
Attrs = Mapping[str, str]

_GROUP = 32
"""Elements that share one exponent."""


def _quantise(operands: Operands, attrs: Attrs) -> Array:
    """To the nearest, ties to even, within the 8 bits of the result."""
    dtype = operands["dst"].dtype
    scaled = operands["src"].astype(np.float32) * operands["fp"].astype(np.float32)[:, :1]
    if "offset" in operands:
        scaled = scaled + operands["offset"].astype(np.float32)[:, :1]
    limits = np.iinfo(dtype)
    return np.clip(np.rint(scaled), limits.min, limits.max).astype(dtype)


def _dequantise(operands: Operands, attrs: Attrs) -> Array:
    src = operands["src"].astype(np.float32)
    scale, offset = (operands[name].astype(np.float32)[:, :1] for name in ("scale", "offset"))
    return (src - offset) * scale


def _shared_exponents(largest: Array, fp4: bool, algorithm: str) -> Array:
    """The biased power of two that brings the largest of a group to the format's largest power of two."""
    bits = largest.astype(np.float32).view(np.uint32)
    if algorithm == "nv":
        scaled = (largest.astype(np.float32) * np.float32(1 / 6 if fp4 else 1 / 448)).view(np.uint32)
        exponent, mantissa = (scaled >> 23) & 0xFF, scaled & 0x7FFFFF
        up = (mantissa > 0) & (exponent != 0xFE) & ~((exponent == 0) & (mantissa <= 0x400000))
        found = exponent + up
        return np.where(exponent == 0xFF, np.where(mantissa == 0, 0xFE, 0xFF), found).astype(np.uint8)
    exponent, mantissa = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    lowered = exponent - np.minimum(exponent, 2 if fp4 else 8)
    return np.where((exponent == 0xFF) & (mantissa != 0), 0xFF, lowered).astype(np.uint8)


def _scale_of(exponents: Array) -> Array:
    """Two to the minus what the biased exponent says."""
    with np.errstate(over="ignore"):
        power = np.ldexp(np.float32(1), 127 - exponents.astype(np.int32))
    return np.where(exponents == 0xFF, np.float32(np.nan), power.astype(np.float32))


def _quantise_blocks(operands: Operands, attrs: Attrs) -> tuple[Array, ...]:
    """Each 32 elements share an exponent: the elements, the exponents, the largest of each group, and the scales."""
    down = attrs.get("grpAxis", "axis1") == "axis0"
    fp4 = attrs.get("quant_type") == "MXFP4_E2M1"
    src = widened(operands["src"])
    src = src.T if down else src
    groups: Array = src.reshape(len(src), -1, _GROUP)
    largest = np.abs(groups).max(axis=2)
    exponents = _shared_exponents(largest, fp4, attrs.get("quantScaleAlg", "ocp"))
    scales = _scale_of(exponents)
    scaled = (groups * scales[:, :, None]).reshape(src.shape)
    small = np.clip(scaled, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    if fp4:
        nibbles = np.clip(scaled, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
        small = (nibbles[..., 0::2] | (nibbles[..., 1::2] << 4)).astype(np.uint8)
    found = [part.T if down else part for part in (small, exponents, largest, scales)]
    names = ("dst", "exp", "max", "scaling")
    shaped = [_shaped(part, operands[name]) for part, name in zip(found, names, strict=True)]
    if "exp_zz" in operands:
        shaped.append(_shaped(_in_boxes(found[1]), operands["exp_zz"]))
    return tuple(shaped)


def _shaped(values: Array, room: Array) -> Array:
    """In the shape of the output, which may hold them in one row."""
    if values.shape == room.shape:
        return values
    flat = np.zeros(room.size, values.dtype)
    flat[: values.size] = values.reshape(-1)[: room.size]
    return flat.reshape(room.shape)


def _in_boxes(exponents: Array) -> Array:
    """Sixteen rows by two columns at a time, row by row of boxes."""
    rows, cols = (int(extent) for extent in exponents.shape)
    if rows % 16 or cols % 2:
        raise ValueError(f"{rows}x{cols} exponents cannot be cut into boxes of 16x2")
    boxes = exponents.reshape(rows // 16, 16, cols // 2, 2).transpose(0, 2, 1, 3)
    return boxes.reshape(rows, cols)


def _move_exponents(operands: Operands, attrs: Attrs) -> Array:
    return operands["src"].reshape(operands["dst"].shape)


def _histogram(operands: Operands, attrs: Attrs) -> Array:
    """How many elements have at most this byte, of those whose higher bytes are the given ones."""
    src: Array = unsigned(operands["src"])
    idx: Array = unsigned(operands["idx"])
    wide = operands["src"].dtype.itemsize == 4
    old = attrs.get("isMSB")
    byte = int(attrs.get("byte", "1")) if old is None else int(old == "true")
    dst: Array = operands["dst"]
    result: Array = np.zeros((dst.shape[0], dst.shape[1]), np.int64)
    for row in range(src.shape[0]):
        kept = src[row]
        for position, higher in enumerate(range(3 if wide else 1, byte, -1)):
            wanted = idx.item(position if wide else row, 0)
            kept = kept[((kept >> np.uint64(8 * higher)) & np.uint64(255)) == wanted]
        bins = np.bincount(((kept >> np.uint64(8 * byte)) & np.uint64(255)).astype(np.int64), minlength=256)
        result[row, :256] = np.cumsum(bins)[: result.shape[1]]
    return result


def _part_arg(better: Callable[[Array, Array], Array]) -> Compute:
    def compute(operands: Operands, attrs: Attrs) -> tuple[Array, Array]:
        lhs, rhs, shape = operands["lhs"], operands["rhs"], operands["dst"].shape
        values, indices = np.zeros(shape, lhs.dtype), np.zeros(shape, operands["lhsIdx"].dtype)
        for source, index in ((rhs, operands["rhsIdx"]), (lhs, operands["lhsIdx"])):
            values[: source.shape[0], : source.shape[1]] = source
            indices[: source.shape[0], : source.shape[1]] = index
        rows, cols = min(lhs.shape[0], rhs.shape[0]), min(lhs.shape[1], rhs.shape[1])
        right = better(rhs[:rows, :cols], lhs[:rows, :cols])
        values[:rows, :cols] = np.where(right, rhs[:rows, :cols], lhs[:rows, :cols])
        indices[:rows, :cols] = np.where(right, operands["rhsIdx"][:rows, :cols], operands["lhsIdx"][:rows, :cols])
        return values, indices

    return compute


def _scaled_product(operands: Operands, attrs: Attrs) -> Array:
    """Each 32 steps of the depth have one scale a row of the left and a column of the right operand."""
    lhs, rhs = operands["lhs"].astype(np.float32), operands["rhs"].astype(np.float32)
    left = np.repeat(_power_of(operands["lhs_scale"]), _GROUP, axis=1)[:, : lhs.shape[1]]
    right = np.repeat(_power_of(operands["rhs_scale"]), _GROUP, axis=0)[: rhs.shape[0], :]
    return (lhs * left) @ (rhs * right)


def _power_of(scale: Array) -> Array:
    """A scale as a number: a biased power of two where it is a byte."""
    if scale.dtype.itemsize > 1:
        return scale.astype(np.float32)
    return np.ldexp(np.float32(1), scale.view(np.uint8).astype(np.int32) - 127)


def _scaled_accumulate(operands: Operands, attrs: Attrs) -> Array:
    return operands["acc"] + _scaled_product(operands, attrs)


def _scaled_biased(operands: Operands, attrs: Attrs) -> Array:
    return operands["bias"] + _scaled_product(operands, attrs)


QUANTISE: Mapping[str, Compute] = {
    "quant": _quantise,
    "quant_mx": _quantise_blocks,
    "dequant": _dequantise,
    "move_zz": _move_exponents,
    "histogram": _histogram,
    "part_argmax": _part_arg(np.greater),
    "part_argmin": _part_arg(np.less),
    **{
        f"{name}{suffix}": compute
        for name in ("matmul_mx", "gemv_mx")
        for suffix, compute in (("", _scaled_product), ("_acc", _scaled_accumulate), ("_bias", _scaled_biased))
    },
}
