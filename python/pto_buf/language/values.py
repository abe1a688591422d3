"""What the names of a kernel stand for. Kernels are read, not run: outside the reader these are only types."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = [
    "DynVar",
    "InOut",
    "MemRef",
    "Out",
    "OutsideKernelError",
    "Scalar",
    "Slot",
    "SlotSet",
    "Tensor",
    "Tile",
    "const",
    "dynamic",
]


class OutsideKernelError(RuntimeError):
    """An op of the DSL was called by Python. Kernels are read from their source; `pto_buf.compile` does that."""


def outside(what: str) -> NoReturn:
    """The end of every op: Python does not run kernels."""
    raise OutsideKernelError(f"pl.{what} is read in the source of a kernel, never run by python; see pto_buf.compile")


class Scalar:
    """A number of the kernel: `pl.Scalar[pl.INDEX]` as a parameter or local name."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def _scalar(self, other: object = None) -> Any:
        outside("Scalar arithmetic")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _scalar
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __rand__ = __or__ = __ror__ = _scalar
    __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __neg__ = __invert__ = _scalar
    __lt__ = __le__ = __gt__ = __ge__ = _scalar


class Tensor:
    """A tensor in global memory: `pl.Tensor[[64, 128], pl.FP16]`; `pl.dynamic` extents are known at run time."""

    shape: Sequence[Any]
    dtype: Any

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


class Tile:
    """A tile on the chip: `pl.Tile[[16, 128], pl.FP32, pl.Mem.Acc]`.

    The annotation may name a slot as well:
    `pl.Tile[[16, 128], pl.FP32, pl.MemRef("sums", slots=2)[i % 2], pl.Mem.Acc]`.
    """

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


class Slot(Tile):
    """One slot of a set. Ops write it through `out=` or an `_into` form; `pl.tile.release` gives it back."""


class SlotSet:
    """Equal buffers under one identity, made by `pl.create_tile_buffers`; `slots[i % len(slots)]` is one of them."""

    def __getitem__(self, index: Any) -> Slot:
        outside("create_tile_buffers(...)[i]")

    def __len__(self) -> int:
        return outside("create_tile_buffers(...)")

    def __iter__(self) -> Iterator[Slot]:
        outside("create_tile_buffers(...)")


class Out:
    """A tensor parameter that the kernel writes: `pl.Out[pl.Tensor[...]]`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return item


class InOut(Out):
    """A tensor parameter that the kernel reads and writes."""


@dataclass(frozen=True)
class DynVar:
    """An extent known only at run time; the same object in two parameters is the same extent."""

    name: str


def dynamic(name: str) -> DynVar:
    """An extent known only at run time: `M = pl.dynamic("M")`, then `pl.Tensor[[M, 64], pl.FP16]`."""
    return DynVar(name)


@dataclass(frozen=True)
class MemRef:
    """A named allocation of `slots` buffers, in a tile annotation: `pl.MemRef("ring", slots=2)[i % 2]`.

    Printed IR has bytes of an allocation instead: `pl.MemRef(mem_vec_3, 0, 16384)`.
    """

    name: Any = None
    offset: Any = None
    size: int | None = None
    slots: int = 1

    def __getitem__(self, index: Any) -> "MemRef":
        return self


def const(value: float, dtype: Any) -> Any:
    """A literal of a given element type."""
    return value
