"""Element types of tensors, and which one comes of two."""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class dtype:
    """An element type: its name in torch and what numpy calls it."""

    name: str
    numpy: "np.dtype[Any]"

    @property
    def is_floating_point(self) -> bool:
        return self.numpy.kind not in "iub"

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"


_NAMES: tuple[tuple[str, Any], ...] = (
    ("float64", np.float64),
    ("float32", np.float32),
    ("float16", np.float16),
    ("bfloat16", ml_dtypes.bfloat16),
    ("float8_e4m3fn", ml_dtypes.float8_e4m3fn),
    ("float8_e5m2", ml_dtypes.float8_e5m2),
    ("int64", np.int64),
    ("int32", np.int32),
    ("int16", np.int16),
    ("int8", np.int8),
    ("uint8", np.uint8),
    ("bool", np.bool_),
)
DTYPES: dict[str, dtype] = {name: dtype(name, np.dtype(kind)) for name, kind in _NAMES}
_ALIASES = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}
ALL: dict[str, dtype] = {**DTYPES, **{alias: DTYPES[name] for alias, name in _ALIASES.items()}}
_BY_NUMPY = {one.numpy: one for one in DTYPES.values()}


def of_numpy(kind: "np.dtype[Any]") -> dtype:
    """The element type of a numpy array. Raises TypeError for one that torch does not have."""
    found = _BY_NUMPY.get(kind)
    if found is None:
        raise TypeError(f"a tensor cannot hold {kind}")
    return found


def _category(kind: dtype) -> int:
    if kind.name == "bool":
        return 0
    return 2 if kind.is_floating_point else 1


def promoted(left: dtype, right: dtype, *, left_weak: bool = False, right_weak: bool = False) -> dtype:
    """What an operation on two types yields. A weak one (a Python number, a tensor without dimensions) only counts
    where it is of a higher category: bool below integers below floats."""
    if left_weak != right_weak:
        weak, strong = (left, right) if left_weak else (right, left)
        if _category(weak) <= _category(strong):
            return strong
        return DTYPES["float32"] if _category(weak) == 2 and left_weak != right_weak else weak
    if left == right:
        return left
    if _category(left) != _category(right):
        return left if _category(left) > _category(right) else right
    try:
        return of_numpy(np.promote_types(left.numpy, right.numpy))
    except TypeError:  # f16 with bf16, of which neither holds the other
        return DTYPES["float32"]
