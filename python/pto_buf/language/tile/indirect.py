"""Sorting, and gathering and scattering by indices or by a mask. All but the global forms work in Vec."""

from typing import Any

from pto_buf.language.kinds import DataType
from pto_buf.language.values import Scalar, Slot, Tensor, Tile, outside

__all__ = [
    "gather",
    "gather_compare",
    "gather_mask",
    "gatherb",
    "mgather",
    "mrgsort",
    "mscatter",
    "scatter",
    "scatter_mask",
    "sort32",
]


def sort32(src: Tile | Slot, idx: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """Blocks of 32 elements sorted, each value beside its index: twice as wide as the source."""
    outside("sort32")


def gather(src: Tile | Slot, indices: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """src[indices[i, j]] at each [i, j]; indices count elements from the start of src."""
    outside("gather")


def gatherb(
    src: Tile | Slot, offset: Tile | Slot, *, output_dtype: DataType | None = None, out: Slot | None = None
) -> Tile:
    """Blocks of 32 bytes by their offsets in bytes."""
    outside("gatherb")


def gather_mask(
    src: Tile | Slot, mask_pattern: int, *, output_dtype: DataType | None = None, out: Slot | None = None
) -> Tile:
    """The elements that one of the hardware's seven patterns picks."""
    outside("gather_mask")


def gather_compare(
    src: Tile | Slot,
    kvalue: Scalar | float,
    tmp: Tile | Slot,
    *,
    cmp_mode: str | int = "eq",
    offset: int = 0,
    out_cols: int,
    count_dtype: DataType | None = None,
) -> tuple[Tile, Tile]:
    """Where each row holds a number (or, with "gt", more): [M, out_cols] of positions, int32, and [1, M] of counts."""
    outside("gather_compare")


def mrgsort(
    src: Tile | Slot,
    src1: Tile | Slot | None = None,
    src2: Tile | Slot | None = None,
    src3: Tile | Slot | None = None,
    tmp: Tile | Slot | None = None,
    exhausted: bool = False,
    *,
    block_len: Any = None,
    out: Slot | None = None,
) -> Tile:
    """Sorted runs of `block_len` elements (a multiple of 64) of one row merged by fours, the greatest first.

    The row holds a multiple of four runs. Or two to four sorted tiles of one row each merged into one as wide as all;
    with `exhausted`, until one of them ends.
    """
    outside("mrgsort")


def mgather(
    mem: Tensor,
    idx: Tile | Slot,
    coalesce: str | int = "row",
    *,
    gather_oob: str | int = "undefined",
    target_memory: Any = None,
    scratch: None = None,
    valid_shape: None = None,
    out: Slot | None = None,
) -> Tile:
    """Rows of a tensor, or with `coalesce="elem"` single elements by their flat place, named by int32 indices.

    `gather_oob` says what an index outside of the tensor yields: "undefined", "clamp", "wrap" or "zero".
    """
    outside("mgather")


def scatter(dst: Tile | Slot, src: Tile | Slot, indexes: Tile | Slot) -> Tile:
    """The destination with dst[indexes[i, j]] = src[i, j], in place; indices count elements from its start."""
    outside("scatter")


def scatter_mask(dst: Tile | Slot, src: Tile | Slot, mask_pattern: int) -> Tile:
    """The destination, the elements that a pattern picks replaced by those of `src`, in place."""
    outside("scatter_mask")


def mscatter(src: Tile | Slot, idx: Tile | Slot, output_tensor: Tensor) -> Tensor:
    """Each element of `src` to the flat place in the tensor that its int32 index names. The result is the tensor."""
    outside("mscatter")
