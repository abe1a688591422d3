"""Comparison, selection, and putting elements elsewhere, in numpy."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pto_buf.dialect.table.row import Compute
from pto_buf.dialect.table.semantics.numbers import Array, as_bits, unsigned, widened

Operands = Mapping[str, Any]
Attrs = Mapping[str, str]

_COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _compare(operands: Operands, attrs: Attrs) -> Array:
    """Bit j of a row, counted from the lowest bit of its first byte, says what holds in column j."""
    lhs = widened(operands["lhs"])
    rhs = widened(operands["rhs"]).astype(lhs.dtype)
    holds = _COMPARE[attrs.get("cmpMode", "eq")](lhs, rhs)
    packed = np.packbits(holds, axis=1, bitorder="little")
    shape = operands["dst"].shape
    mask = np.zeros((shape[0], max(shape[1], packed.shape[1])), np.uint8)
    mask[: packed.shape[0], : packed.shape[1]] = packed
    return mask[:, : shape[1]].view(np.uint8)


def _bits_of(mask: Array, shape: tuple[int, ...]) -> Array:
    bytes_ = as_bits(mask, np.dtype(np.uint8))
    bits = np.unpackbits(bytes_, axis=1, bitorder="little").astype(bool)
    return bits[: shape[0], : shape[1]]


def _select(operands: Operands, attrs: Attrs) -> Array:
    lhs: Array = operands["lhs"]
    rhs: Array = operands["rhs"]
    return np.where(_bits_of(operands["mask"], lhs.shape), lhs, rhs)


def _select_number(operands: Operands, attrs: Attrs) -> Array:
    src: Array = operands["src"]
    number = np.asarray(operands["value"]).astype(src.dtype)
    return np.where(_bits_of(operands["mask"], src.shape), src, number)


def _transpose(operands: Operands, attrs: Attrs) -> Array:
    return operands["src"].T


def _pad(operands: Operands, attrs: Attrs) -> Array:
    """The new elements are zero, the greatest or the least number. Which one is the destination's `pad`."""
    src, old = operands["src"], operands["dst"]
    dtype = old.dtype
    result = np.full(old.shape, _pad_value(attrs.get("dst.pad", "1"), dtype), dtype)
    result[: src.shape[0], : src.shape[1]] = as_bits(src, dtype)
    return result


def _pad_value(pad: str, dtype: np.dtype[Any]) -> Any:
    if pad == "1":
        return 0
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if pad == "2" else np.iinfo(dtype).min
    return np.inf if pad == "2" else -np.inf


def _concat(operands: Operands, attrs: Attrs) -> Array:
    return np.concatenate([operands["lhs"], operands["rhs"]], axis=1)


def _concat_indices(operands: Operands, attrs: Attrs) -> Array:
    """The index tiles say, in bytes of their own type, how much of each row is taken."""
    lhs, rhs, result = operands["lhs"], operands["rhs"], operands["dst"].copy()
    size = operands["lhsIdx"].dtype.itemsize
    for row in range(result.shape[0]):
        left, right = (int(operands[name][row, 0]) // size for name in ("lhsIdx", "rhsIdx"))
        taken = np.concatenate([lhs[row, :left], rhs[row, :right]])[: result.shape[1]]
        result[row, : len(taken)] = taken
    return result


def _ramp(operands: Operands, attrs: Attrs) -> Array:
    """The first row only; the others keep what they held."""
    result = operands["dst"].copy()
    steps = np.arange(result.shape[1], dtype=np.int64)
    start = np.int64(operands["start"])
    result[0] = (start - steps if attrs.get("descending") == "true" else start + steps).astype(result.dtype)
    return result


def _triangle(operands: Operands, attrs: Attrs) -> Array:
    room: Array = operands["dst"]
    fill = np.triu if attrs.get("upperOrLower") == "1" else np.tril
    return fill(np.ones(room.shape, np.int32), int(operands["diagonal"]))


def _random(operands: Operands, attrs: Attrs) -> Array:
    """Philox, four words a counter; lane l of 64 takes counter + l, its words stand 64 columns apart."""
    rows, cols = operands["dst"].shape
    width = int(attrs.get("dst.cols", str(cols)))
    key = [int(operands[name]) & _WORD for name in ("key0", "key1")]
    counter = sum((int(operands[f"counter{k}"]) & _WORD) << (32 * k) for k in range(4))
    result = np.zeros((rows, -(-cols // 256) * 256), np.uint32)
    for row in range(rows):
        for block in range(result.shape[1] // 256):
            for lane in range(64):
                words = _philox((counter + lane) & ((1 << 128) - 1), key, int(attrs.get("rounds", "10")))
                result[row, 256 * block + lane : 256 * block + 256 : 64] = words
            counter = (counter + width // 4) & ((1 << 128) - 1)
    return result[:, :cols]


_WORD = 0xFFFFFFFF


def _philox(counter: int, key: list[int], rounds: int) -> list[int]:
    words = [(counter >> (32 * k)) & _WORD for k in range(4)]
    first, second = key
    for _ in range(rounds):
        low, high = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [
            (high >> 32) ^ words[1] ^ first,
            high & _WORD,
            (low >> 32) ^ words[3] ^ second,
            low & _WORD,
        ]
        first, second = (first + 0x9E3779B9) & _WORD, (second + 0xBB67AE85) & _WORD
    return words


def _set_element(operands: Operands, attrs: Attrs) -> Array:
    result = operands["dst"].copy()
    flat = result.reshape(-1)
    flat[int(operands["offset"])] = np.asarray(operands["value"]).astype(result.dtype)
    return result


def _get_element(operands: Operands, attrs: Attrs) -> Array:
    return operands["src"].reshape(-1)[int(operands["offset"])]


# --- sorting -----------------------------------------------------------------------------------------------------


def _pairs(values: Array, indices: Array) -> Array:
    """Value and index side by side in eight bytes, as elements of the value's type."""
    size = values.dtype.itemsize
    found = np.zeros((len(values), 8 // size), values.dtype)
    found[:, 0] = values
    index_bytes = np.ascontiguousarray(unsigned(indices).astype(np.uint32)).view(values.dtype)
    found[:, 8 // size - 4 // size :] = index_bytes.reshape(len(values), -1)
    return found


def _sort(operands: Operands, attrs: Attrs) -> Array:
    """Each 32 elements, the greatest first, equal ones by index; values with their indices."""
    src, idx, result = operands["src"], operands["idx"], operands["dst"].copy()
    span = 8 // src.dtype.itemsize
    for row in range(src.shape[0]):
        for start in range(0, src.shape[1], 32):
            values, indices = src[row, start : start + 32], idx[row, start : start + 32]
            order = np.lexsort((unsigned(indices), -values.astype(np.float64)))
            flat = _pairs(values[order], indices[order]).reshape(-1)
            result[row, start * span : start * span + len(flat)] = flat
    return result


def _merged(lists: list[Array], until_one_ends: bool) -> tuple[Array, list[int]]:
    """Sorted lists of pairs as one, the greatest value first, and how many of each list were taken."""
    taken = [0] * len(lists)
    found: list[Array] = []
    while any(taken[k] < len(lists[k]) for k in range(len(lists))):
        open_lists = [k for k in range(len(lists)) if taken[k] < len(lists[k])]
        pick = max(open_lists, key=lambda k: (float(lists[k][taken[k], 0]), -k))
        found.append(lists[pick][taken[pick]])
        taken[pick] += 1
        if until_one_ends and taken[pick] == len(lists[pick]):
            break
    return np.array(found), taken


def _merge_blocks(operands: Operands, attrs: Attrs) -> Array:
    """Four blocks of `blockLen` elements after one another become one, group by group."""
    src, result = operands["src"], operands["dst"].copy()
    span, block = 8 // src.dtype.itemsize, int(operands["blockLen"])
    for start in range(0, src.shape[1] - 4 * block + 1, 4 * block):
        lists = [src[0, start + k * block : start + (k + 1) * block].reshape(-1, span) for k in range(4)]
        flat = _merged(lists, until_one_ends=False)[0].reshape(-1)
        result[0, start : start + len(flat)] = flat
    return result


def _merge_lists(operands: Operands, attrs: Attrs) -> tuple[Array, Array]:
    sources = [operands[f"src{k}"] for k in range(4) if f"src{k}" in operands]
    span = 8 // sources[0].dtype.itemsize
    lists = [source[0].reshape(-1, span) for source in sources]
    merged, taken = _merged(lists, until_one_ends=attrs.get("exhausted") == "true")
    result = operands["dst"].copy()
    flat = merged.reshape(-1)[: result.shape[1]]
    result[0, : len(flat)] = flat
    return result, np.array([*taken, 0, 0][:4], np.int16)


ARRANGE: Mapping[str, Compute] = {
    "cmp": _compare,
    "cmps": _compare,
    "sel": _select,
    "sels": _select_number,
    "transpose": _transpose,
    "fillpad": _pad,
    "concat": _concat,
    "concat_idx": _concat_indices,
    "ci": _ramp,
    "tri": _triangle,
    "random": _random,
    "write": _set_element,
    "read": _get_element,
    "sort32": _sort,
    "mrgsort": _merge_blocks,
    **{f"mrgsort{count}{suffix}": _merge_lists for count in (2, 3, 4) for suffix in ("", "_no_tmp")},
}
