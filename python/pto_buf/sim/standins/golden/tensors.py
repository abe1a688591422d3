"""Between numpy and tensors, real ones or ours. `torch` is whatever the script imports under that name."""

import importlib
from typing import Any

import ml_dtypes
import numpy as np

_BY_BITS = {
    "bfloat16": (ml_dtypes.bfloat16, "int16"),
    "float8_e4m3fn": (ml_dtypes.float8_e4m3fn, "uint8"),
    "float8_e5m2": (ml_dtypes.float8_e5m2, "uint8"),
}
"""Types that torch does not hand to numpy: what they are there, and the type whose bits are handed over instead."""


def torch() -> Any:
    return importlib.import_module("torch")


def dtype_name(dtype: Any) -> str:
    return repr(dtype).removeprefix("torch.")


def to_numpy(tensor: Any) -> Any:
    """The tensor's values as an array of their own."""
    kept = tensor.detach().cpu().contiguous()
    name = dtype_name(kept.dtype)
    if name in _BY_BITS:
        kind, bits = _BY_BITS[name]
        return np.array(kept.view(getattr(torch(), bits)).numpy().view(kind))
    return np.array(kept.numpy())


def put(tensor: Any, array: Any) -> None:
    """Overwrite the tensor's values with those of an array of its type."""
    name = dtype_name(tensor.dtype)
    source = array.view(_BY_BITS[name][1]) if name in _BY_BITS else array
    found = torch().from_numpy(np.ascontiguousarray(source))
    tensor.copy_((found.view(tensor.dtype) if name in _BY_BITS else found).reshape(tuple(tensor.shape)))
