"""Element types in numpy, and the widening that the compute units do."""

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_NUMPY: Mapping[str, np.dtype[Any]] = {
    **{f"{sign}{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64) for sign in ("i", "si")},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "i1": np.dtype(bool),
    "index": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy type of an element type. Raises KeyError for one that numpy cannot hold (hif8, packed pairs)."""
    return _NUMPY[name]


def is_float(array: Array) -> bool:
    """Whether the elements are floating-point numbers, those that numpy does not know itself included."""
    return array.dtype.kind not in "iub"


def widened(value: Any) -> Array:
    """As an array, and in f32 where it is a narrower float, as the compute units do."""
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.itemsize < 4 and is_float(array) else array
