"""Further functions on tensors: what they hold, where, and how they are put together."""

from typing import Any

import numpy as np

from pto_buf.sim.standins.torch.dtypes import DTYPES
from pto_buf.sim.standins.torch.functions import method
from pto_buf.sim.standins.torch.tensor import OPS, Tensor, computed, ints

_FLOAT = DTYPES["float32"]


def _real(value: Tensor) -> Any:
    return value.dtype if value.dtype.is_floating_point else _FLOAT


@method("nonzero")
def nonzero(self: Tensor, *, as_tuple: bool = False) -> Any:
    """The positions of what is not zero: one row each, or a tensor for each dimension."""
    found = self.array.nonzero()
    return tuple(Tensor(one) for one in found) if as_tuple else Tensor(np.stack(found, axis=-1))


@method("count_nonzero")
def count_nonzero(self: Tensor, dim: int | None = None) -> Tensor:
    return Tensor(np.asarray(np.count_nonzero(self.array, axis=dim)).astype(np.int64))


@method("unique")
def unique(self: Tensor, sorted: bool = True, return_counts: bool = False) -> Any:
    found, counts = np.unique(self.array, return_counts=True)
    return (Tensor(found), Tensor(counts)) if return_counts else Tensor(found)


@method("bincount")
def bincount(self: Tensor, minlength: int = 0) -> Tensor:
    return Tensor(np.bincount(self.array, minlength=minlength))


@method("logsumexp")
def logsumexp(self: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    def run(x: Any) -> Any:
        top = np.max(x, axis=dim, keepdims=True)
        total = top + np.log(np.sum(np.exp(x - top), axis=dim, keepdims=True))
        return total if keepdim else np.squeeze(total, dim)

    return computed(run, self, kind=_real(self))


@method("log_softmax")
def log_softmax(self: Tensor, dim: int = -1, dtype: Any = None) -> Tensor:
    wide = self if dtype is None else self.to(dtype)
    return OPS["sub"](wide, logsumexp(wide, dim, True))


@method("norm")
def norm(self: Tensor, p: float = 2, dim: int | None = None, keepdim: bool = False) -> Tensor:
    def run(x: Any) -> Any:
        return np.sum(np.abs(x) ** p, axis=dim, keepdims=keepdim) ** (1 / p)

    return computed(run, self, kind=_real(self))


@method("diag")
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    return Tensor(np.diag(self.array, diagonal))


@method("diagonal")
def diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return Tensor(np.diagonal(self.array, offset, dim1, dim2))


@method("scatter")
def scatter(self: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    """A copy with src[i][j] at [index[i][j]][j] along `dim`."""
    result = self.clone()
    values = src.array[tuple(slice(0, extent) for extent in index.shape)] if isinstance(src, Tensor) else src
    np.put_along_axis(result.array, index.array, values, dim)
    return result


@method("index_copy")
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    result = self.clone()
    np.swapaxes(result.array, 0, dim)[index.array] = np.swapaxes(source.array, 0, dim)
    return result


@method("index_fill")
def index_fill(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    result = self.clone()
    np.swapaxes(result.array, 0, dim)[index.array] = value
    return result


@method("narrow")
def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    return Tensor(np.swapaxes(np.swapaxes(self.array, 0, dim)[start : start + length], 0, dim))


@method("unbind")
def unbind(self: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(Tensor(one) for one in np.moveaxis(self.array, dim, 0))


@method("flip")
def flip(self: Tensor, *dims: Any) -> Tensor:
    return Tensor(np.flip(self.array, ints(dims)))


@method("movedim")
def movedim(self: Tensor, source: Any, destination: Any) -> Tensor:
    return Tensor(np.moveaxis(self.array, source, destination))


@method("addmm")
def addmm(self: Tensor, left: Tensor, right: Tensor) -> Tensor:
    return OPS["add"](self, OPS["matmul"](left, right))


@method("lerp")
def lerp(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    return OPS["add"](self, OPS["mul"](OPS["sub"](end, self), weight))


@method("isin")
def isin(self: Tensor, values: Any) -> Tensor:
    return Tensor(np.isin(self.array, values.array if isinstance(values, Tensor) else values))


@method("searchsorted")
def searchsorted(self: Tensor, values: Tensor, right: bool = False) -> Tensor:
    return Tensor(np.searchsorted(self.array, values.array, "right" if right else "left"))


OPS["swapaxes"] = OPS["swapdims"] = Tensor.transpose
