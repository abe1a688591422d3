"""A tensor on numpy: the methods that kernel scripts use to make inputs and to compute golden results."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pto_buf.sim.standins.missing import Missing
from pto_buf.sim.standins.torch.dtypes import ALL, DTYPES, dtype, of_numpy, promoted

Array = NDArray[Any]
OPS: dict[str, Callable[..., Any]] = {}
"""Functions that are methods too, by name; filled by `functions`."""


class Size(tuple[int, ...]):
    """A shape."""

    def numel(self) -> int:
        return int(np.prod(self, dtype=np.int64))

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class device:
    """Everything is on the CPU here."""

    def __init__(self, name: Any = "cpu"):
        self.type = str(name).partition(":")[0]
        if self.type != "cpu":
            raise Missing("torch", f"device '{name}'")

    def __repr__(self) -> str:
        return "device(type='cpu')"


class Tensor:
    """An n-dimensional array of one element type. Indexing gives views where numpy's indexing does."""

    __array_priority__ = 100

    def __init__(self, array: Array):
        self.array = array
        of_numpy(array.dtype)

    # --- what it is ---

    @property
    def shape(self) -> Size:
        return Size(self.array.shape)

    @property
    def dtype(self) -> dtype:
        return of_numpy(self.array.dtype)

    @property
    def device(self) -> device:
        return device()

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def T(self) -> "Tensor":
        return Tensor(self.array.T)

    @property
    def data(self) -> "Tensor":
        return self

    requires_grad = False

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return self.array.size

    def element_size(self) -> int:
        return self.array.itemsize

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    def item(self) -> Any:
        if self.array.size != 1:
            raise RuntimeError(f"a tensor with {self.array.size} elements is no number")
        return self.tolist() if self.ndim == 0 else self.array.reshape(-1)[0].item()

    def tolist(self) -> Any:
        wide = self.array.astype(np.float64) if self.array.dtype.kind not in "iubf" else self.array
        return wide.tolist()

    def numpy(self) -> Array:
        return self.array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.array if dtype is None else self.array.astype(dtype)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator["Tensor"]:
        return (self[number] for number in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 and spec else repr(self)

    def __repr__(self) -> str:
        return f"tensor({np.array2string(self.array, separator=', ', threshold=64)}, dtype={self.dtype})"

    __hash__ = object.__hash__

    # --- conversions ---

    def to(self, *what: Any, dtype: Any = None, device: Any = None, **options: Any) -> "Tensor":
        """Another element type; every device is this one."""
        del options
        for one in what:
            if isinstance(one, Tensor):
                dtype = one.dtype
            elif one in DTYPES.values():
                dtype = one
            else:
                device = one
        if device is not None:
            as_device(device)
        return self if dtype is None or dtype == self.dtype else Tensor(to_kind(self.array, dtype))

    def type(self, kind: Any = None) -> Any:
        return repr(self.dtype) if kind is None else self.to(kind)

    def type_as(self, other: "Tensor") -> "Tensor":
        return self.to(other.dtype)

    def cpu(self) -> "Tensor":
        return self

    def detach(self) -> "Tensor":
        return self

    def contiguous(self) -> "Tensor":
        return Tensor(np.ascontiguousarray(self.array).reshape(self.array.shape))

    def clone(self) -> "Tensor":
        return Tensor(self.array.copy())

    # --- shape ---

    def reshape(self, *shape: Any) -> "Tensor":
        return Tensor(self.array.reshape(ints(shape)))

    def view(self, *shape: Any) -> "Tensor":
        """Another shape, or the same bits as another element type."""
        if len(shape) == 1 and isinstance(shape[0], dtype):
            return Tensor(self.array.view(shape[0].numpy))
        return self.reshape(*shape)

    def view_as(self, other: "Tensor") -> "Tensor":
        return self.reshape(other.shape)

    def permute(self, *dims: Any) -> "Tensor":
        return Tensor(self.array.transpose(ints(dims)))

    def transpose(self, dim0: int, dim1: int) -> "Tensor":
        return Tensor(np.swapaxes(self.array, dim0, dim1))

    def t(self) -> "Tensor":
        return Tensor(self.array.T)

    def expand(self, *shape: Any) -> "Tensor":
        wanted = list(ints(shape))
        have = [1] * (len(wanted) - self.ndim) + list(self.shape)
        return Tensor(np.broadcast_to(self.array, [h if w == -1 else w for w, h in zip(wanted, have, strict=True)]))

    def repeat(self, *times: Any) -> "Tensor":
        return Tensor(np.tile(self.array, ints(times)))

    def unsqueeze(self, dim: int) -> "Tensor":
        return Tensor(np.expand_dims(self.array, dim))

    def squeeze(self, dim: int | None = None) -> "Tensor":
        if dim is not None and self.shape[dim] != 1:
            return self
        return Tensor(np.squeeze(self.array, dim))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> "Tensor":
        shape, end = list(self.shape), end_dim % max(self.ndim, 1)
        middle = int(np.prod(shape[start_dim : end + 1], dtype=np.int64))
        return Tensor(self.array.reshape([*shape[:start_dim], middle, *shape[end + 1 :]]))

    # --- elements ---

    def __getitem__(self, index: Any) -> "Tensor":
        return Tensor(np.asarray(self.array[_index(index)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[_index(index)] = to_kind(np.asarray(_raw(value)), self.dtype)

    def copy_(self, other: "Tensor") -> "Tensor":
        self.array[...] = to_kind(other.array, self.dtype)
        return self

    def fill_(self, value: float) -> "Tensor":
        self.array[...] = value
        return self

    def zero_(self) -> "Tensor":
        return self.fill_(0)

    def __getattr__(self, name: str) -> Any:
        if name in OPS:
            return partial(OPS[name], self)
        if name in ALL:
            return partial(self.to, ALL[name])
        if name.endswith("_") and name[:-1] in OPS and not name.startswith("_"):
            return partial(self._in_place, OPS[name[:-1]])
        if name.startswith("__"):
            raise AttributeError(name)
        raise Missing("torch", f"Tensor.{name}")

    def _in_place(self, op: Callable[..., Any], *args: Any, **options: Any) -> "Tensor":
        return self.copy_(op(self, *args, **options))


def as_device(name: Any) -> device:
    return name if isinstance(name, device) else device(name)


def ints(values: Sequence[Any]) -> tuple[int, ...]:
    """Extents given one by one or as one sequence."""
    flat = cast(Sequence[Any], values[0]) if len(values) == 1 and isinstance(values[0], (tuple, list)) else values
    return tuple(int(value) for value in flat)


def _raw(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value


def _index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_index(one) for one in cast(tuple[Any, ...], index))
    if isinstance(index, Tensor):
        return index.array if index.ndim else index.item()
    return index


def to_kind(array: Array, kind: dtype) -> Array:
    with np.errstate(all="ignore"):
        return array.astype(kind.numpy)


def computed(fn: Callable[..., Any], *values: Any, kind: dtype | None = None) -> Tensor:
    """`fn` on tensors and numbers, in f32 where they are narrower floats, rounded to the type that torch yields."""
    result = kind or common_dtype(values)
    wide = DTYPES["float32"] if result.is_floating_point and result.itemsize < 4 else result
    with np.errstate(all="ignore"):
        out = np.asarray(fn(*(np.asarray(_raw(value)).astype(wide.numpy) for value in values)))
        return Tensor(out if out.dtype == np.bool_ and kind is None else out.astype(result.numpy))


def common_dtype(values: Sequence[Any]) -> dtype:
    """What an operation on these tensors and Python numbers yields."""
    kind, weak = _kind(values[0])
    for value in values[1:]:
        other, other_weak = _kind(value)
        kind = promoted(kind, other, left_weak=weak, right_weak=other_weak)
        weak = weak and other_weak
    return kind


def _kind(value: Any) -> tuple[dtype, bool]:
    if isinstance(value, Tensor):
        return value.dtype, value.ndim == 0
    if isinstance(value, bool):
        return DTYPES["bool"], True
    return DTYPES["int64" if isinstance(value, int) else "float32"], True
