"""Largest and smallest values of element types."""

from typing import Any

import ml_dtypes
import numpy as np

from pto_buf.sim.standins.torch.dtypes import DTYPES, dtype


class _Limits:
    """Largest and smallest values of an element type."""

    def __init__(self, kind: Any, limits: Any):
        self.dtype = repr(kind)
        self.max, self.min = float(limits.max), float(limits.min)
        self.bits = kind.itemsize * 8
        if kind.is_floating_point:
            self.eps, self.tiny = float(limits.eps), float(limits.tiny)
        else:
            self.max, self.min = int(limits.max), int(limits.min)


def finfo(kind: dtype = DTYPES["float32"]) -> _Limits:
    """Of a float type."""
    return _Limits(kind, ml_dtypes.finfo(kind.numpy))


def iinfo(kind: dtype) -> _Limits:
    """Of an integer type."""
    return _Limits(kind, np.iinfo(kind.numpy))
