"""Ops that move data between global memory and the chip, and between the chip's buffers."""

from collections.abc import Sequence
from typing import Any

from pto_buf.language.kinds import AtomicType, DataType, MemorySpace
from pto_buf.language.values import Scalar, Slot, Tensor, Tile, outside

__all__ = [
    "create",
    "create_tile",
    "extract",
    "extract_into",
    "get_block_idx",
    "get_block_num",
    "get_subblock_idx",
    "load",
    "load_into",
    "move",
    "move_into",
    "read",
    "store",
    "write",
]

Index = int | Scalar


def load(
    tensor: Tensor,
    offsets: Sequence[Index],
    shapes: Sequence[int],
    valid_shape: Sequence[Index] | None = None,
    target_memory: MemorySpace = MemorySpace.Vec,
    *,
    out: Slot | None = None,
) -> Tile:
    """A window of a tensor, in Vec or Mat: `shapes` elements from `offsets`, both in elements.

    `valid_shape` loads less than the tile holds; what lies beyond is not defined. Mistakes: `memory-space` for another
    space, `shape-or-dtype` where the slot given by `out` differs.
    """
    outside("load")


def store(
    tile: Tile | Slot,
    offsets: Sequence[Index],
    output_tensor: Tensor,
    shapes: Sequence[int] | None = None,
    *,
    atomic: AtomicType = AtomicType.None_,
) -> Tensor:
    """Write a tile in Vec or Acc to a tensor at `offsets` (elements). The result is the same tensor.

    From Acc, fp32 narrows to the tensor's element type. Mistakes: `memory-space`, `shape-or-dtype`.
    """
    outside("store")


def create(shape: Sequence[int], dtype: DataType, target_memory: MemorySpace = MemorySpace.Vec) -> Tile:
    """A tile that nothing has written yet: scratch for another op, or filled by branches."""
    outside("create")


def create_tile(shape: Sequence[int], dtype: DataType, target_memory: MemorySpace = MemorySpace.Vec) -> Tile:
    """Another name of `create`."""
    outside("create_tile")


def extract(
    src: Tile | Slot,
    index_row: Index,
    index_col: Index,
    shape: Sequence[int],
    *,
    target_memory: MemorySpace,
    out: Slot | None = None,
) -> Tile:
    """A window of a tile in another space, usually Mat to Left or Right; the corner is in elements.

    Mistakes: `shape-or-dtype` for a window that leaves the source, `memory-space` for a path that is not there.
    """
    outside("extract")


def move(tile: Tile | Slot, target_memory: MemorySpace, *, out: Slot | None = None) -> Tile:
    """A whole tile in another space: Mat to Left, Right or Bias, Vec to Vec, Acc to Mat (narrowed by the slot's type).

    Mistakes: `memory-space` for a path that the chip does not have.
    """
    outside("move")


def load_into(
    dst: Slot,
    tensor: Tensor,
    offsets: Sequence[Index],
    shapes: Sequence[int],
    valid_shape: Sequence[Index] | None = None,
) -> Tile:
    """`load` into a slot, whose shape is `shapes`."""
    outside("load_into")


def extract_into(
    dst: Slot, src: Tile | Slot, index_row: Index, index_col: Index, shape: Sequence[int] | None = None
) -> Tile:
    """`extract` into a slot."""
    outside("extract_into")


def move_into(dst: Slot, tile: Tile | Slot) -> Tile:
    """`move` into a slot."""
    outside("move_into")


def get_block_idx() -> Scalar:
    """The index of this block, from 0."""
    outside("get_block_idx")


def get_block_num() -> Scalar:
    """The number of blocks that run this kernel."""
    outside("get_block_num")


def get_subblock_idx() -> Scalar:
    """Which of the two vector cores beside a cube core this is."""
    outside("get_subblock_idx")


def read(tile: Tile | Slot, indices: Sequence[Index]) -> Any:
    """One element of a tile in Vec, as a scalar. `tile[i, j]` is the same. Mistakes: `shape-or-dtype`."""
    outside("read")


def write(tile: Tile | Slot, indices: Sequence[Index], value: Any) -> Tile:
    """The tile, in Vec, one element of it set in place. `tile[i, j] = value` does the same."""
    outside("write")
