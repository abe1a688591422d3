"""Tiles seen differently, windows of tiles, fillings, ramps and permutations."""

from collections.abc import Sequence

from pto_buf.language.kinds import AtomicType, DataType, PadValue
from pto_buf.language.values import Scalar, Slot, Tile, outside

__all__ = [
    "arange",
    "assemble",
    "ci",
    "fillpad",
    "fillpad_expand",
    "fillpad_inplace",
    "random",
    "reinterpret_view",
    "reshape",
    "set_validshape",
    "slice",
    "transpose_view",
    "tri",
]

Index = int | Scalar


def reshape(tile: Tile | Slot, shape: Sequence[int]) -> Tile:
    """The same elements, row by row, in another shape; nothing moves. Mistakes: `shape-or-dtype`."""
    outside("reshape")


def reinterpret_view(data: Tile | Slot, dtype: DataType, *, shape: Sequence[int] | None = None) -> Tile:
    """The same bytes with another element type; nothing moves."""
    outside("reinterpret_view")


def transpose_view(tile: Tile | Slot) -> Tile:
    """A matrix in Mat with rows and columns exchanged; nothing moves."""
    outside("transpose_view")


def set_validshape(tile: Tile | Slot, valid_rows: int, valid_cols: int) -> Tile:
    """The same tile with another valid extent, in elements."""
    outside("set_validshape")


def slice(tile: Tile | Slot, shape: Sequence[int], offset: Sequence[Index], *, out: Slot | None = None) -> Tile:
    """A window of a tile: a copy in Vec; in Mat it is for `move`, which reads it from there."""
    outside("slice")


def assemble(
    target: Tile | Slot,
    source: Tile | Slot,
    offset: Sequence[Index],
    *,
    atomic: AtomicType = AtomicType.None_,
) -> Tile:
    """The target, a window of it overwritten in place."""
    outside("assemble")


def fillpad(tile: Tile | Slot, pad_value: PadValue | float = PadValue.zero, *, out: Slot | None = None) -> Tile:
    """The tile, what is not valid filled with zero, the greatest or the least value."""
    outside("fillpad")


def fillpad_inplace(tile: Tile | Slot, pad_value: PadValue | float = PadValue.zero, *, out: Slot | None = None) -> Tile:
    """Another name of `fillpad`."""
    outside("fillpad_inplace")


def fillpad_expand(
    tile: Tile | Slot,
    shape: Sequence[int],
    pad_value: PadValue | float = PadValue.zero,
    *,
    out: Slot | None = None,
) -> Tile:
    """`fillpad` into a larger tile."""
    outside("fillpad_expand")


def ci(
    start: Index,
    shape: Sequence[int],
    dtype: DataType | None = None,
    descending: bool = False,
    *,
    out: Slot | None = None,
) -> Tile:
    """start, start + 1, ... along one row (downwards with `descending`); int32 unless `dtype` is int16."""
    outside("ci")


def arange(
    start: Index,
    shape: Sequence[int],
    dtype: DataType | None = None,
    descending: bool = False,
    *,
    out: Slot | None = None,
) -> Tile:
    """Another name of `ci`."""
    outside("arange")


def tri(
    diagonal: Index,
    shape: Sequence[int],
    valid_shape: Sequence[int] | None = None,
    dtype: DataType | None = None,
    upper: bool = False,
    *,
    out: Slot | None = None,
) -> Tile:
    """Ones on one side of a diagonal, zeros on the other."""
    outside("tri")


def random(
    key0: Index,
    key1: Index,
    counter0: Index,
    counter1: Index,
    counter2: Index,
    counter3: Index,
    shape: Sequence[int],
    valid_shape: Sequence[int] | None = None,
    dtype: DataType | None = None,
    rounds: int = 10,
    *,
    out: Slot | None = None,
) -> Tile:
    """Counter-based random numbers (a5)."""
    outside("random")
