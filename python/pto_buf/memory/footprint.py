"""Bytes that one slot occupies, and the distance between neighbouring slots of a set.

A tile has no implicit row padding, except where the hardware works on whole boxes: the cube writes an accumulator in
blocks of 16 rows (32 for i32 on a2a3), and the matrix spaces hold whole 16-row fractals. A single row is the operand
of a matrix-vector product; it is kept in contiguous fractals of 512 bytes.
"""

from pto_buf.hw import Space, Target
from pto_buf.tile import DTYPE_BITS, BLayout, SLayout, TileSpec

_ROW_PLUS_ONE = 2
"""`compact` of a tile with one block of 32 bytes behind each line of its major dimension."""

_BLOCK = 32
_FRACTAL = 512
_MATRIX_SPACES = (Space.MAT, Space.LEFT, Space.RIGHT, Space.ACC)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def slot_bytes(tile: TileSpec, target: Target) -> int:
    """Bytes from the first to the last byte that a slot of `tile` may touch; at least those of its shape."""
    size = DTYPE_BITS[tile.dtype] // 8
    if tile.compact == _ROW_PLUS_ONE:
        lines, length = (tile.rows, tile.cols) if tile.blayout is BLayout.ROW_MAJOR else (tile.cols, tile.rows)
        return lines * (length * size + _BLOCK)
    if not tile.boxed or tile.space not in _MATRIX_SPACES:
        return tile.rows * tile.cols * size
    if tile.space is Space.ACC:
        return _up(tile.rows, _acc_rows(tile, target)) * _up(tile.cols, 16) * size
    if tile.rows == 1:
        return _up(tile.cols * size, _FRACTAL)
    box_rows, box_cols = _box(tile, size)
    return _up(tile.rows, box_rows) * _up(tile.cols, box_cols) * size


def _acc_rows(tile: TileSpec, target: Target) -> int:
    """Rows that the cube writes at once. (pypto reserves 32 for i32 on 910B; neither assembler nor library says so.)"""
    return 32 if target.name == "a2a3" and tile.dtype.endswith("i32") else 16


def why_larger(tile: TileSpec, target: Target) -> str | None:
    """Why a slot has more bytes than its shape says; None if it has not."""
    if slot_stride(tile, target) == tile.footprint:
        return None
    if slot_bytes(tile, target) == tile.footprint:
        return f"slots start at multiples of {target.alignment[tile.space]}"
    if tile.compact == _ROW_PLUS_ONE:
        return "each line has a block behind it"
    if tile.space is Space.ACC:
        return f"the cube writes {_acc_rows(tile, target)} rows at once"
    return "the space holds whole boxes"


def _box(tile: TileSpec, size: int) -> tuple[int, int]:
    if tile.fractal == 32:  # scale factors, in boxes of 16x2, need not fill a box
        return 1, 2
    if tile.fractal == 1024:
        return 16, 16
    along = max(1, _BLOCK // size)
    return (16, along) if tile.slayout is SLayout.ROW_MAJOR else (along, 16)


def slot_stride(tile: TileSpec, target: Target) -> int:
    """Bytes from one slot of a set to the next: the footprint rounded up to the alignment of its space."""
    return target.stride(tile.space, slot_bytes(tile, target))


def set_bytes(count: int, tile: TileSpec, target: Target) -> int:
    """Bytes from the first byte of slot 0 to the last byte of slot `count - 1`."""
    return (count - 1) * slot_stride(tile, target) + slot_bytes(tile, target)
