"""Where the elements of a tile lie: the physical order of boxes and of elements in a box."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pto_buf.machine.steps import Region, TileRef
from pto_buf.tile import DTYPE_BITS, BLayout, SLayout, TileSpec, box_of


@dataclass(frozen=True, slots=True)
class Layout:
    """Element (r, c) lies at `(r//box_rows)*row_box + (r%box_rows)*row + (c//box_cols)*col_box + (c%box_cols)*col`.

    An unboxed tile is one box.
    """

    box_rows: int
    box_cols: int
    row_box: int
    row: int
    col_box: int
    col: int


def layout_of(tile: TileSpec) -> Layout:
    """The layout that the tile's keys name. A box that does not divide the rows is as high as what is left."""
    rows, cols = tile.shape
    if not tile.boxed:
        if tile.blayout is BLayout.ROW_MAJOR:
            return Layout(rows, cols, 0, cols, 0, 1)
        return Layout(rows, cols, 0, 1, 0, rows)
    high, wide = box_of(tile)
    box_rows, box_cols = (high if rows % high == 0 else rows), (wide if cols % wide == 0 else cols)
    inner_rows = tile.slayout is SLayout.ROW_MAJOR
    row, col = (box_cols, 1) if inner_rows else (1, box_rows)
    box = box_rows * box_cols
    if tile.blayout is BLayout.ROW_MAJOR:
        return Layout(box_rows, box_cols, box * (cols // box_cols), row, box, col)
    return Layout(box_rows, box_cols, box, row, box * (rows // box_rows), col)


def regions_of(ref: TileRef) -> tuple[Region, ...]:
    """The bytes of the tile's window: exactly, unless it cuts boxes in two; then all bytes of the storage."""
    base = ref.base
    layout, size = layout_of(base), DTYPE_BITS[base.dtype] // 8
    high, wide = (layout.box_rows, layout.box_cols) if base.boxed else (1, 1)
    cuts = any(v % high for v in (ref.row, ref.rows)) or any(v % wide for v in (ref.col, ref.cols))
    if ref.whole or cuts:
        return (Region(base.space, ref.address, ref.address + base.footprint),)
    if base.boxed:
        starts = _box_starts(ref, layout)
        length = high * wide
    elif layout.col == 1:
        starts = [row * layout.row + ref.col for row in range(ref.row, ref.row + ref.rows)]
        length = ref.cols
    else:
        starts = [col * layout.col + ref.row for col in range(ref.col, ref.col + ref.cols)]
        length = ref.rows
    return tuple(
        Region(base.space, ref.address + start * size, ref.address + end * size)
        for start, end in _merged(starts, length)
    )


def _box_starts(ref: TileRef, layout: Layout) -> list[int]:
    return sorted(
        row // layout.box_rows * layout.row_box + col // layout.box_cols * layout.col_box
        for row in range(ref.row, ref.row + ref.rows, layout.box_rows)
        for col in range(ref.col, ref.col + ref.cols, layout.box_cols)
    )


def _merged(starts: Sequence[int], length: int) -> Iterator[tuple[int, int]]:
    """Runs of `length` from rising starts, neighbours joined."""
    first = None
    end = 0
    for start in starts:
        if first is None:
            first = start
        elif start > end:
            yield first, end
            first = start
        end = start + length
    if first is not None:
        yield first, end
