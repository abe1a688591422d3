"""Element types of the `pto` dialect as numpy types."""

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

NUMPY_DTYPES: Mapping[str, "np.dtype[Any]"] = {
    **{f"{sign}{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64) for sign in ("i", "si")},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}
"""hif8 and the packed pairs have no numpy type: kernels that use them compile, but are not simulated."""


def numpy_dtype(name: str) -> "np.dtype[Any]":
    """Raises KeyError for an element type that numpy does not have."""
    return NUMPY_DTYPES[name]
