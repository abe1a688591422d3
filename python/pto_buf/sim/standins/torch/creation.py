"""Making tensors: constants, ranges, random numbers."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from pto_buf.sim.standins.torch.dtypes import DTYPES
from pto_buf.sim.standins.torch.tensor import Size, Tensor, as_device, ints, to_kind

_FLOAT, _LONG, _BOOL = DTYPES["float32"], DTYPES["int64"], DTYPES["bool"]


class Generator:
    """A source of random numbers. The numbers are not those that torch would give for the same seed."""

    def __init__(self, device: Any = "cpu"):
        as_device(device)
        self.numbers = np.random.default_rng(0)

    def manual_seed(self, seed: int) -> "Generator":
        self.numbers = np.random.default_rng(seed)
        return self


_DEFAULT = Generator()


def manual_seed(seed: int) -> Generator:
    return _DEFAULT.manual_seed(seed)


def _numbers(generator: Generator | None) -> np.random.Generator:
    return (generator or _DEFAULT).numbers


def _made(array: Any, dtype: Any, **options: Any) -> Tensor:
    """Checks what is asked besides the values: a device; the rest changes nothing here."""
    as_device(options.get("device") or "cpu")
    return Tensor(to_kind(np.asarray(array), dtype))


def _filled(value: float) -> Callable[..., Tensor]:
    def make(*size: Any, dtype: Any = None, **options: Any) -> Tensor:
        return _made(np.full(ints(size), value), dtype or _FLOAT, **options)

    return make


zeros, ones = _filled(0), _filled(1)
empty = _filled(0)
"""Zeros here, so that a run can be repeated."""


def full(size: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    kind = _BOOL if isinstance(value, bool) else _LONG if isinstance(value, int) else _FLOAT
    return _made(np.full(ints([size]), value), dtype or kind, **options)


def _like(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def like(other: Tensor, *values: Any, dtype: Any = None, **options: Any) -> Tensor:
        return make(other.shape, *values, dtype=dtype or other.dtype, **options)

    return like


def randn(*size: Any, dtype: Any = None, generator: Generator | None = None, **options: Any) -> Tensor:
    return _made(_numbers(generator).standard_normal(ints(size)), dtype or _FLOAT, **options)


def rand(*size: Any, dtype: Any = None, generator: Generator | None = None, **options: Any) -> Tensor:
    return _made(_numbers(generator).random(ints(size)), dtype or _FLOAT, **options)


def randint(
    *bounds: Any, size: Any = None, dtype: Any = None, generator: Generator | None = None, **options: Any
) -> Tensor:
    """`randint(high, size)` or `randint(low, high, size)`; `high` is not reached."""
    limits = list(bounds)
    if size is None:
        size = limits.pop()
    low, high = (0, limits[0]) if len(limits) == 1 else limits
    return _made(_numbers(generator).integers(low, high, ints([size])), dtype or _LONG, **options)


def randperm(n: int, *, dtype: Any = None, generator: Generator | None = None, **options: Any) -> Tensor:
    return _made(_numbers(generator).permutation(n), dtype or _LONG, **options)


zeros_like, ones_like, empty_like, full_like = _like(zeros), _like(ones), _like(empty), _like(full)
randn_like, rand_like = _like(randn), _like(rand)


def arange(*bounds: Any, dtype: Any = None, **options: Any) -> Tensor:
    whole = all(isinstance(bound, int) for bound in bounds)
    return _made(np.arange(*bounds), dtype or (_LONG if whole else _FLOAT), **options)


def linspace(start: float, end: float, steps: int, *, dtype: Any = None, **options: Any) -> Tensor:
    return _made(np.linspace(start, end, steps), dtype or _FLOAT, **options)


def eye(n: int, m: int | None = None, *, dtype: Any = None, **options: Any) -> Tensor:
    return _made(np.eye(n, m), dtype or _FLOAT, **options)


def tensor(data: Any, dtype: Any = None, **options: Any) -> Tensor:
    """A new tensor: floats become f32, integers i64, unless numpy or another tensor says otherwise."""
    if isinstance(data, Tensor):
        return _made(data.array.copy(), dtype or data.dtype, **options)
    plain: Any = [one.tolist() for one in data] if _of_tensors(data) else data
    array = np.array(plain)
    kind = dtype
    if kind is None and not isinstance(data, (np.ndarray, np.generic)):
        kind = {"f": _FLOAT, "i": _LONG, "u": _LONG, "b": _BOOL}.get(array.dtype.kind)
    return Tensor(array) if kind is None else _made(array, kind, **options)


def _of_tensors(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and any(isinstance(one, Tensor) for one in cast(Iterable[Any], data))


def as_tensor(data: Any, dtype: Any = None, **options: Any) -> Tensor:
    if isinstance(data, Tensor):
        return data.to(dtype) if dtype is not None else data
    return tensor(data, dtype, **options)


def from_numpy(array: Any) -> Tensor:
    """Shares the array's memory."""
    return Tensor(array)


def save(value: Any, file: Any) -> None:
    """Keeps one tensor in a file that only the `load` next to this reads."""
    if not isinstance(value, Tensor):
        raise TypeError(f"only a tensor can be saved here, found {type(value).__name__}")
    with open(file, "wb") as stream:
        np.savez(
            stream,
            bits=np.ascontiguousarray(value.array).reshape(-1).view(np.uint8),
            dtype=value.dtype.name,
            shape=np.array(value.shape, np.int64),
        )


def load(file: Any, **options: Any) -> Tensor:
    """What `save` kept."""
    del options
    with np.load(file) as kept:
        kind = DTYPES[str(kept["dtype"])]
        return Tensor(kept["bits"].view(kind.numpy).reshape(Size(int(n) for n in kept["shape"])))
