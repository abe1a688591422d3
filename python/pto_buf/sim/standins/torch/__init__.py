"""Stands in for torch where it is not installed: tensors on numpy, as far as kernel scripts need them."""

import math
from contextlib import nullcontext
from typing import Any

from pto_buf.sim.standins.missing import Missing
from pto_buf.sim.standins.torch import creation, dtypes, functions
from pto_buf.sim.standins.torch import nn as nn
from pto_buf.sim.standins.torch import testing as testing
from pto_buf.sim.standins.torch.dtypes import dtype as dtype
from pto_buf.sim.standins.torch.limits import finfo, iinfo
from pto_buf.sim.standins.torch.tensor import OPS, Size, Tensor, device

__version__ = "0+numpy"
__all__ = ["Size", "Tensor", "device", "dtype", "finfo", "iinfo"]

_CREATION = (
    *("Generator", "manual_seed", "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like"),
    *("full_like", "randn", "rand", "randint", "randperm", "randn_like", "rand_like", "arange", "linspace", "eye"),
    *("tensor", "as_tensor", "from_numpy", "save", "load"),
)
_SEVERAL = ("einsum", "cat", "stack", "where", "outer")


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def is_floating_point(value: Tensor) -> bool:
    return value.is_floating_point()


def no_grad() -> Any:
    """Nothing here computes gradients."""
    return nullcontext()


inference_mode = no_grad


def set_num_threads(count: int) -> None:
    """Changes nothing here."""


def _names() -> dict[str, Any]:
    found: dict[str, Any] = dict(dtypes.ALL)
    found.update(OPS)
    found["numel"] = Tensor.numel
    found.update({name: getattr(creation, name) for name in _CREATION})
    found.update({name: getattr(functions, name) for name in _SEVERAL})
    found.update({"inf": math.inf, "nan": math.nan, "pi": math.pi, "concat": functions.cat})
    found.update({"subtract": OPS["sub"], "multiply": OPS["mul"], "divide": OPS["div"], "true_divide": OPS["div"]})
    found.update({"absolute": OPS["abs"], "negative": OPS["neg"], "clip": OPS["clamp"]})
    found.update({"transpose": Tensor.transpose, "reshape": Tensor.reshape, "flatten": Tensor.flatten})
    found.update({"squeeze": Tensor.squeeze, "unsqueeze": Tensor.unsqueeze, "permute": Tensor.permute})
    return found


globals().update(_names())


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise Missing("torch", f"torch.{name}")
