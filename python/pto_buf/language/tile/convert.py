"""Conversions, comparisons, selections and layout changes, in Vec."""

from collections.abc import Sequence

from pto_buf.language.kinds import DataType
from pto_buf.language.values import Scalar, Slot, Tile, outside

__all__ = ["cast", "cmp", "cmps", "concat", "full", "sel", "sels", "transpose"]


def cast(tile: Tile | Slot, target_type: DataType, mode: str = "round", *, out: Slot | None = None) -> Tile:
    """Each element as another type; `mode` is none, rint, round, floor, ceil, trunc or odd."""
    outside("cast")


def full(shape: Sequence[int], dtype: DataType, value: Scalar | float, *, out: Slot | None = None) -> Tile:
    """A tile with one number in every element."""
    outside("full")


def cmp(lhs: Tile | Slot, rhs: Tile | Slot, cmp_type: int | str = 0, *, out: Slot | None = None) -> Tile:
    """A mask of the elements for which lhs eq (0), ne, lt, le, gt or ge (5) rhs."""
    outside("cmp")


def cmps(lhs: Tile | Slot, rhs: Scalar | float, cmp_type: int | str = 0, *, out: Slot | None = None) -> Tile:
    """`cmp` against a number."""
    outside("cmps")


def sel(
    mask: Tile | Slot, lhs: Tile | Slot, rhs: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None
) -> Tile:
    """lhs where the mask is set, else rhs."""
    outside("sel")


def sels(
    mask: Tile | Slot, src: Tile | Slot, tmp: Tile | Slot, scalar: Scalar | float, *, out: Slot | None = None
) -> Tile:
    """src where the mask is set, else a number."""
    outside("sels")


def transpose(
    tile: Tile | Slot, axis1: int, axis2: int, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None
) -> Tile:
    """Rows and columns exchanged, in a buffer of its own."""
    outside("transpose")


def concat(src0: Tile | Slot, src1: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """Two tiles side by side."""
    outside("concat")
