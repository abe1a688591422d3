"""The widening that the compute units do, and looking at elements as bits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def is_float(array: Array) -> bool:
    """Whether the elements are floating-point numbers, those that numpy does not know itself included."""
    return array.dtype.kind not in "iub"


def widened(value: Any) -> Array:
    """As an array, and in f32 where it is a narrower float, as the compute units do."""
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.itemsize < 4 and is_float(array) else array


def as_bits(array: Array, dtype: np.dtype[Any]) -> Array:
    """The same bits as elements of another type of the same width."""
    return np.ascontiguousarray(array).view(dtype)


def unsigned(array: Array) -> Array:
    """Integers by their bits, as unsigned 64-bit ones."""
    contiguous = np.ascontiguousarray(array)
    return contiguous.view(f"u{contiguous.dtype.itemsize}").astype(np.uint64)
