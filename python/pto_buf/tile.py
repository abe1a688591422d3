"""Geometry of a tile: what a `!pto.tile_buf` type says, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from pto_buf.hw import Space, Target

PTO_ELEMENTS: Mapping[str, int] = {
    "hif8": 8,
    "hif8x2": 16,
    "f8E8M0": 8,
    "f4E1M2x2": 8,
    "f4E2M1x2": 8,
    "bf16x2": 32,
}
"""Bits of the element types that the `pto` dialect brings along, spelt `!pto.<name>`."""

FP8 = ("f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ")
"""The 8-bit floats that MLIR spells."""

DTYPE_BITS: Mapping[str, int] = {
    **{f"{sign}{bits}": bits for bits in (8, 16, 32, 64) for sign in ("i", "si", "ui")},
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    **dict.fromkeys(FP8, 8),
    **PTO_ELEMENTS,
}
"""Bits of one element in memory; a packed pair (`x2`) counts as one element."""

A5_DTYPES = frozenset((*FP8, *PTO_ELEMENTS))
"""Element types that only a5 has."""


class BLayout(StrEnum):
    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"


class SLayout(StrEnum):
    NONE_BOX = "none_box"
    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"


@dataclass(frozen=True)
class TileSpec:
    """Physical shape, valid extent, element type and layout of one tile.

    `v_rows`/`v_cols` are None where the valid extent is known only at run time.
    """

    space: Space
    rows: int
    cols: int
    dtype: str
    v_rows: int | None
    v_cols: int | None
    blayout: BLayout = BLayout.ROW_MAJOR
    slayout: SLayout = SLayout.NONE_BOX
    fractal: int = 512
    pad: int = 0
    compact: int = 0

    @property
    def footprint(self) -> int:
        """Bytes that the tile occupies: physical rows x columns x element size."""
        return self.rows * self.cols * DTYPE_BITS[self.dtype] // 8

    @property
    def boxed(self) -> bool:
        return self.slayout is not SLayout.NONE_BOX

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    @property
    def valid(self) -> tuple[int | None, int | None]:
        return self.v_rows, self.v_cols

    def window(self, rows: int, cols: int) -> "TileSpec":
        """The tile of `rows` x `cols` that is a part of this one, fully valid."""
        return replace(self, rows=rows, cols=cols, v_rows=rows, v_cols=cols)

    def retyped(self, dtype: str) -> "TileSpec":
        """This tile with another element type."""
        return replace(self, dtype=dtype)

    def with_valid(self, v_rows: int | None, v_cols: int | None) -> "TileSpec":
        return replace(self, v_rows=v_rows, v_cols=v_cols)


def box_of(tile: TileSpec) -> tuple[int, int]:
    """Rows and columns of the boxes that the tile is cut into; 1 x 1 for an unboxed one."""
    if not tile.boxed:
        return 1, 1
    if tile.fractal == 1024:
        return 16, 16
    if tile.fractal == 32:
        return 16, 2
    line = 32 * 8 // DTYPE_BITS[tile.dtype]
    return (16, line) if tile.slayout is SLayout.ROW_MAJOR else (line, 16)


_Layout = tuple[BLayout, SLayout, int]

_LAYOUT: Mapping[Space, _Layout] = {
    Space.MAT: (BLayout.COL_MAJOR, SLayout.ROW_MAJOR, 512),
    Space.LEFT: (BLayout.ROW_MAJOR, SLayout.ROW_MAJOR, 512),
    Space.RIGHT: (BLayout.ROW_MAJOR, SLayout.COL_MAJOR, 512),
    Space.ACC: (BLayout.COL_MAJOR, SLayout.ROW_MAJOR, 1024),
    Space.VEC: (BLayout.ROW_MAJOR, SLayout.NONE_BOX, 512),
    Space.BIAS: (BLayout.ROW_MAJOR, SLayout.NONE_BOX, 512),
    Space.SCALING: (BLayout.ROW_MAJOR, SLayout.NONE_BOX, 512),
}


def left_blayout(target: Target) -> BLayout:
    """How the left buffer orders its boxes on `target`."""
    return BLayout.COL_MAJOR if target.name == "a5" else BLayout.ROW_MAJOR


def canonical_tile(space: Space, rows: int, cols: int, dtype: str, target: Target) -> TileSpec:
    """The tile of this shape in the layout that `space` wants on `target`, fully valid.

    A column vector in `vec` is col_major, a single row in `mat` is plain (it feeds the bias and scaling tables).
    """
    blayout, slayout, fractal = _LAYOUT[space]
    if space is Space.LEFT:
        blayout = left_blayout(target)
    if space is Space.VEC and cols == 1 and rows > 1:
        blayout = BLayout.COL_MAJOR
    if space is Space.MAT and rows == 1:
        blayout, slayout = BLayout.ROW_MAJOR, SLayout.NONE_BOX
    return TileSpec(space, rows, cols, dtype, rows, cols, blayout, slayout, fractal)


def aligned_tile(space: Space, rows: int, cols: int, dtype: str, target: Target) -> TileSpec:
    """The canonical tile for `rows` x `cols` elements, its physical shape padded where a line would not fill 32 bytes.

    The valid extent is what was asked. A single column is padded in its rows, everything else in its columns.
    """
    line = 32 * 8 // DTYPE_BITS[dtype]
    tall = -(-rows // line) * line if cols == 1 else rows
    wide = cols if cols == 1 else -(-cols // line) * line
    return canonical_tile(space, tall, wide, dtype, target).with_valid(rows, cols)
