"""Gathering and scattering in numpy, within the vector buffer and against global memory."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pto_buf.dialect.table.row import Compute
from pto_buf.dialect.table.semantics.numbers import Array, as_bits, unsigned, widened

Operands = Mapping[str, Any]
Attrs = Mapping[str, str]

_TAKEN: Mapping[str, tuple[int, int]] = {
    "P0101": (0, 2),
    "P1010": (1, 2),
    "P0001": (0, 4),
    "P0010": (1, 4),
    "P0100": (2, 4),
    "P1000": (3, 4),
    "P1111": (0, 1),
}
"""First element and step of a mask pattern."""


def _by_mask(attrs: Attrs) -> tuple[slice, slice]:
    start, step = _TAKEN[attrs["maskPattern"]]
    picked, whole = slice(start, None, step), slice(None)
    return (whole, picked) if attrs["axis"] == "row" else (picked, whole)


def _gather_mask(operands: Operands, attrs: Attrs) -> Array:
    return as_bits(operands["src"][_by_mask(attrs)], operands["dst"].dtype)


def _scatter_mask(operands: Operands, attrs: Attrs) -> Array:
    """What the mask leaves out becomes zero."""
    result = np.zeros_like(operands["dst"])
    result[_by_mask(attrs)] = operands["src"]
    return result


def _gather(operands: Operands, attrs: Attrs) -> Array:
    """Indices count the elements of the whole source; those outside give zero."""
    flat: Array = operands["src"].reshape(-1)
    where: Array = operands["indices"].astype(np.int64)
    inside = (where >= 0) & (where < flat.size)
    return np.where(inside, flat[np.where(inside, where, 0)], flat.dtype.type(0))


def _gather_blocks(operands: Operands, attrs: Attrs) -> Array:
    """Offsets count bytes; each fetches a block of 32."""
    result = operands["dst"].copy()
    source = np.ascontiguousarray(operands["src"]).reshape(-1).view(np.uint8)
    block = 32 // result.dtype.itemsize
    offsets = unsigned(operands["offsets"])
    for row in range(result.shape[0]):
        for number in range(result.shape[1] // block):
            start = int(offsets[row, number])
            if start + 32 <= source.size:
                values = source[start : start + 32].view(result.dtype)
                result[row, number * block : (number + 1) * block] = values
    return result


def _gather_compare(operands: Operands, attrs: Attrs) -> tuple[Array, Array]:
    """The positions in each row where the source equals (or exceeds) the number, and how many there are."""
    src = widened(operands["src"])
    number = widened(operands["kValue"]).astype(src.dtype)
    holds = src > number if attrs.get("cmpMode") == "gt" else src == number
    result, counts = operands["dst"].copy(), operands["cdst"].copy()
    offset = int(attrs.get("offset", "0"))
    found = counts.reshape(-1)
    for row in range(src.shape[0]):
        positions = np.flatnonzero(holds[row])
        kept = positions[: result.shape[1]]
        result[row, : len(kept)] = (kept + offset).astype(result.dtype)
        found[row] = len(positions)
    return result, counts


def _scatter(operands: Operands, attrs: Attrs) -> Array:
    """Indices count the elements of the whole destination; of equal ones the last stays."""
    result = operands["dst"].copy()
    flat = result.reshape(-1)
    for where, value in zip(operands["indexes"].reshape(-1), operands["src"].reshape(-1), strict=True):
        if 0 <= int(where) < flat.size:
            flat[int(where)] = value
    return result


def _bounded(where: Array, size: int, rule: str) -> tuple[Array, Array]:
    """Indices made to lie within `size`, and which of them count. `undefined` is taken as out of bounds is zero."""
    inside = (where >= 0) & (where < size)
    if rule == "clamp":
        return np.clip(where, 0, size - 1), np.ones_like(inside)
    if rule == "wrap":
        return where % size, np.ones_like(inside)
    return np.where(inside, where, 0), inside


def _gather_global(operands: Operands, attrs: Attrs) -> Array:
    memory: Array = operands["mem"]
    shape: tuple[int, int] = operands["dst"].shape
    rule = attrs.get("gatherOob", "undefined")
    if attrs.get("coalesce", "row") == "elem":
        flat: Array = memory.reshape(-1)
        where, counts = _bounded(operands["idx"].astype(np.int64).reshape(shape), flat.size, rule)
        return np.where(counts, flat[where], flat.dtype.type(0))
    rows: Array = memory.reshape(-1, memory.shape[-1])
    where, counts = _bounded(operands["idx"].astype(np.int64).reshape(-1)[: shape[0]], len(rows), rule)
    return np.where(counts[:, None], rows[where][:, : shape[1]], rows.dtype.type(0))


def _scatter_global(operands: Operands, attrs: Attrs) -> Array:
    src, memory = operands["src"], operands["mem"].copy()
    rule, atomic = attrs.get("scatterOob", "undefined"), attrs.get("scatterAtomicOp", "none")
    by_element = attrs.get("coalesce", "row") == "elem"
    target = memory.reshape(-1) if by_element else memory.reshape(-1, memory.shape[-1])
    values = src.reshape(-1) if by_element else src
    where, counts = _bounded(operands["idx"].astype(np.int64).reshape(-1)[: len(values)], len(target), rule)
    for place, value, valid in zip(where, values, counts, strict=True):
        if not valid:
            continue
        room = target[place] if by_element else target[place][: src.shape[1]]
        changed = {"none": value, "add": room + value, "max": np.maximum(room, value), "min": np.minimum(room, value)}
        if by_element:
            target[place] = changed[atomic]
        else:
            target[place][: src.shape[1]] = changed[atomic]
    return memory


GATHER: Mapping[str, Compute] = {
    "gather_mask": _gather_mask,
    "scatter_mask": _scatter_mask,
    "gather": _gather,
    "gatherb": _gather_blocks,
    "gather_compare": _gather_compare,
    "scatter": _scatter,
    "mgather": _gather_global,
    "mgather_mat": _gather_global,
    "mscatter": _scatter_global,
}
