"""Comparing arrays within what their element types can promise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pto_buf.errors import UsageError
from pto_buf.sim.memory import Array

TOLERANCE: Mapping[int, float] = {8: 1e-9, 4: 2e-3, 2: 2e-2, 1: 2e-1}
"""Relative error allowed by the bytes of a float element; integers must be equal.

A result in f32 may come of products of 16-bit numbers that the kernel rounded on the way.
"""


@dataclass(frozen=True)
class Mismatch:
    """An array that is not as expected: how many elements, and the one that is farthest off."""

    name: str
    count: int
    size: int
    at: tuple[int, ...]
    expected: float
    found: float

    def __str__(self) -> str:
        where = ", ".join(map(str, self.at))
        return (
            f"'{self.name}' differs in {self.count} of {self.size} elements, most at [{where}]: "
            f"expected {self.expected:g}, found {self.found:g}"
        )


def compare(
    found: Mapping[str, Array], expected: Mapping[str, Any], tolerance: float | None = None
) -> tuple[Mismatch, ...]:
    """What differs of the arrays that `expected` names.

    `tolerance` is relative: to each element, and to the mean size of all.

    NaN equals only NaN. Raises UsageError for a name or shape that does not fit.
    """
    return tuple(
        mismatch
        for name, wanted in expected.items()
        if (mismatch := _compare(name, _named(found, name), np.asarray(wanted), tolerance)) is not None
    )


def _named(found: Mapping[str, Array], name: str) -> Array:
    if name not in found:
        raise UsageError(f"'{name}' is no array of the kernel", f"there is: {', '.join(found)}")
    return found[name]


def _compare(name: str, found: Array, wanted: Array, tolerance: float | None) -> Mismatch | None:
    if found.shape != wanted.shape:
        raise UsageError(f"'{name}' is {found.shape}, expected {wanted.shape}")
    if found.dtype.kind in "iub":
        wrong = found != wanted
        error = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    else:
        allowed = TOLERANCE[found.dtype.itemsize] if tolerance is None else tolerance
        left, right = found.astype(np.float64), wanted.astype(np.float64)
        with np.errstate(all="ignore"):
            error = np.abs(left - right)
            scale = np.nanmean(np.abs(right[np.isfinite(right)])) if np.isfinite(right).any() else 0.0
            near = (error <= allowed * (np.abs(right) + scale)) | (left == right) | (np.isnan(left) & np.isnan(right))
        wrong, error = ~near, np.where(np.isnan(error), np.inf, error)
    if not wrong.any():
        return None
    worst = np.unravel_index(int(np.argmax(np.where(wrong, error, -1.0))), found.shape)
    at = tuple(int(index) for index in worst)
    return Mismatch(name, int(wrong.sum()), found.size, at, float(wanted[at]), float(found[at]))
