"""Functions on tensors; those whose first argument is a tensor are its methods too."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from pto_buf.sim.standins.torch.dtypes import DTYPES, dtype
from pto_buf.sim.standins.torch.tensor import OPS, Tensor, common_dtype, computed

_FLOAT = DTYPES["float32"]
_BOOL = DTYPES["bool"]
_LONG = DTYPES["int64"]


class Pair(NamedTuple):
    """Values along a dimension, and where they were."""

    values: Tensor
    indices: Tensor


def method(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def note(fn: Callable[..., Any]) -> Callable[..., Any]:
        OPS[name] = fn
        return fn

    return note


def _floating(values: Sequence[Any]) -> dtype:
    kind = common_dtype(values)
    return kind if kind.is_floating_point else _FLOAT


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[float])(x)


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


_SAME: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "bitwise_not": np.invert,
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "round": np.round,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "relu": _relu,
    "pow": np.power,
    "square": np.square,
}
"""In the common type of the operands."""
_REAL: dict[str, Callable[..., Any]] = {
    "div": np.divide,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "reciprocal": np.reciprocal,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "erf": _erf,
}
"""In a float type: integers become f32."""
_TESTS: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "isnan": np.isnan,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
}


def _elementwise(fn: Callable[..., Any], kind_of: Callable[[Sequence[Any]], dtype] | None) -> Callable[..., Tensor]:
    def op(*values: Any) -> Tensor:
        if kind_of is None:
            return Tensor(np.asarray(computed(fn, *values).array, bool))
        return computed(fn, *values, kind=kind_of(values))

    return op


OPS.update({name: _elementwise(fn, common_dtype) for name, fn in _SAME.items()})
OPS.update({name: _elementwise(fn, _floating) for name, fn in _REAL.items()})
OPS.update({name: _elementwise(fn, None) for name, fn in _TESTS.items()})


def _reflected(name: str) -> Callable[[Tensor, Any], Any]:
    def run(self: Tensor, other: Any) -> Any:
        return OPS[name](other, self)

    return run


def _direct(name: str) -> Callable[..., Any]:
    def run(self: Tensor, *others: Any) -> Any:
        return OPS[name](self, *others)

    return run


def _in_place(name: str) -> Callable[[Tensor, Any], Any]:
    def run(self: Tensor, other: Any) -> Any:
        return self.copy_(OPS[name](self, other))

    return run


_BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
for _symbol, _name in _BINARY.items():
    setattr(Tensor, f"__{_symbol}__", _direct(_name))
    setattr(Tensor, f"__r{_symbol}__", _reflected(_name))
    setattr(Tensor, f"__i{_symbol}__", _in_place(_name))
_UNARY = {"neg": "neg", "abs": "abs", "invert": "bitwise_not", "matmul": "matmul"}
for _symbol, _name in {**{name: name for name in ("eq", "ne", "lt", "le", "gt", "ge")}, **_UNARY}.items():
    setattr(Tensor, f"__{_symbol}__", _direct(_name))


@method("matmul")
def matmul(left: Tensor, right: Tensor) -> Tensor:
    """Products accumulate in f32 for narrower floats."""
    return computed(np.matmul, left, right)


for _name in ("mm", "bmm"):
    OPS[_name] = matmul


def einsum(formula: str, *operands: Any) -> Tensor:
    return computed(partial(np.einsum, formula), *operands)


# --- along dimensions ---


def _axis(dim: Any) -> Any:
    return tuple(cast(list[int], dim)) if isinstance(dim, list) else dim


def _reduction(fn: Callable[..., Any], kind_of: Callable[[Tensor], dtype]) -> Callable[..., Tensor]:
    def op(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        kind = dtype or kind_of(self)
        return computed(partial(fn, axis=_axis(dim), keepdims=keepdim), self, kind=kind)

    return op


def _summed(x: Tensor) -> dtype:
    return x.dtype if x.dtype.is_floating_point else _LONG


def _kept(x: Tensor) -> dtype:
    return x.dtype


def _tested(x: Tensor) -> dtype:
    return _BOOL


OPS["sum"] = _reduction(np.sum, _summed)
OPS["prod"] = _reduction(np.prod, _summed)
OPS["mean"] = _reduction(np.mean, _kept)
OPS["amax"] = _reduction(np.max, _kept)
OPS["amin"] = _reduction(np.min, _kept)
OPS["all"] = _reduction(np.all, _tested)
OPS["any"] = _reduction(np.any, _tested)


@method("var")
def var(self: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int = 1) -> Tensor:
    spread = partial(np.var, axis=_axis(dim), ddof=correction if unbiased else 0, keepdims=keepdim)
    return computed(spread, self, kind=_floating([self]))


@method("std")
def std(self: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int = 1) -> Tensor:
    spread = partial(np.std, axis=_axis(dim), ddof=correction if unbiased else 0, keepdims=keepdim)
    return computed(spread, self, kind=_floating([self]))


def _positions(fn: Callable[..., Any]) -> Callable[..., Tensor]:
    def op(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        found = fn(self.array.astype(np.float64), axis=dim, keepdims=keepdim)
        return Tensor(np.asarray(found).astype(np.int64))

    return op


OPS["argmax"] = _positions(np.argmax)
OPS["argmin"] = _positions(np.argmin)


def _extreme(best: str, at: str, elementwise: str) -> Callable[..., Any]:
    def op(self: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Tensor):
            return OPS[elementwise](self, dim)
        if dim is None:
            return OPS[best](self)
        return Pair(OPS[best](self, dim, keepdim), OPS[at](self, dim, keepdim))

    return op


OPS["max"] = _extreme("amax", "argmax", "maximum")
OPS["min"] = _extreme("amin", "argmin", "minimum")


@method("cumsum")
def cumsum(self: Tensor, dim: int) -> Tensor:
    return computed(partial(np.cumsum, axis=dim), self, kind=_summed(self))


@method("softmax")
def softmax(self: Tensor, dim: int = -1, dtype: Any = None) -> Tensor:
    def run(x: Any) -> Any:
        powers = np.exp(x - np.max(x, axis=dim, keepdims=True))
        return powers / np.sum(powers, axis=dim, keepdims=True)

    return computed(run, self, kind=dtype or _floating([self]))


@method("clamp")
def clamp(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    result = self
    for bound, op in ((min, "maximum"), (max, "minimum")):
        result = result if bound is None else OPS[op](result, bound).to(self.dtype)
    return result


@method("argsort")
def argsort(self: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    keys = self.array.astype(np.float64)
    return Tensor(np.argsort(-keys if descending else keys, axis=dim, kind="stable"))


@method("sort")
def sort(self: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Pair:
    order = argsort(self, dim, descending)
    return Pair(Tensor(np.take_along_axis(self.array, order.array, dim)), order)


@method("topk")
def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Pair:
    order = np.take(argsort(self, dim, largest).array, range(k), axis=dim)
    return Pair(Tensor(np.take_along_axis(self.array, order, dim)), Tensor(order))


@method("gather")
def gather(self: Tensor, dim: int, index: Tensor) -> Tensor:
    return Tensor(np.take_along_axis(self.array, index.array, dim))


@method("index_select")
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    return Tensor(np.take(self.array, index.array, axis=dim))


@method("repeat_interleave")
def repeat_interleave(self: Tensor, repeats: Any, dim: int | None = None) -> Tensor:
    times = repeats.array if isinstance(repeats, Tensor) else repeats
    return Tensor(np.repeat(self.array, times, axis=dim))


@method("expand_as")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    return self.expand(*other.shape)


# --- several tensors ---


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    kind = common_dtype(tensors)
    return Tensor(np.concatenate([one.to(kind).array for one in tensors], axis=dim))


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    kind = common_dtype(tensors)
    return Tensor(np.stack([one.to(kind).array for one in tensors], axis=dim))


def where(condition: Tensor, *choices: Any) -> Any:
    """With one argument, the positions at which it holds."""
    if not choices:
        return tuple(Tensor(found) for found in condition.array.nonzero())
    return computed(partial(np.where, condition.array), *choices)


@method("masked_fill")
def masked_fill(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    return where(mask, value, self).to(self.dtype)


@method("chunk")
def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    return split(self, -(-self.shape[dim] // chunks), dim)


@method("split")
def split(self: Tensor, size: int, dim: int = 0) -> tuple[Tensor, ...]:
    cuts = range(size, self.shape[dim], size)
    return tuple(Tensor(part) for part in np.split(self.array, list(cuts), axis=dim))


@method("roll")
def roll(self: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    return Tensor(np.roll(self.array, shifts, dims))


@method("tril")
def tril(self: Tensor, diagonal: int = 0) -> Tensor:
    return Tensor(np.tril(self.array, diagonal))


@method("triu")
def triu(self: Tensor, diagonal: int = 0) -> Tensor:
    return Tensor(np.triu(self.array, diagonal))


def outer(left: Tensor, right: Tensor) -> Tensor:
    return computed(np.outer, left, right)


# --- comparisons ---


def isclose(left: Tensor, right: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    x, y = left.array.astype(np.float64), right.array.astype(np.float64)
    return Tensor(np.isclose(x, y, rtol, atol, equal_nan))


OPS["isclose"] = isclose


@method("allclose")
def allclose(left: Tensor, right: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(isclose(left, right, rtol, atol, equal_nan).array.all())


@method("equal")
def equal(left: Tensor, right: Tensor) -> bool:
    return left.shape == right.shape and bool(np.array_equal(left.array, right.array))
