"""Column vectors under elementwise ops.

The vector unit wants rows that lie one behind the other, a column vector of the user's is a single column: its bytes
are those of a single row, and so the op sees it as one.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.buffers.tiles import destination, left, seen_as
from pto_buf.frontend.values import Tile
from pto_buf.hw import Space
from pto_buf.tile import BLayout, TileSpec

KEEPS_COLUMNS = ("row_", "col_", "transpose")
"""Ops that know what a column is, by the start of their names."""


def is_column(spec: TileSpec) -> bool:
    """Whether a tile is a column vector in the vector buffer."""
    return spec.space is Space.VEC and spec.cols == 1 and spec.blayout is BLayout.COL_MAJOR


def turned(spec: TileSpec) -> TileSpec:
    """A column as the row of the same bytes, or a row as the column."""
    blayout = BLayout.ROW_MAJOR if spec.blayout is BLayout.COL_MAJOR else BLayout.COL_MAJOR
    return replace(spec, rows=spec.cols, cols=spec.rows, v_rows=spec.v_cols, v_cols=spec.v_rows, blayout=blayout)


def with_rows(
    args: Arguments, tiles: Mapping[str, Tile], compute: Callable[[Mapping[str, Tile], Arguments], Tile]
) -> Tile:
    """`compute` on the tiles, columns turned into rows, its result turned back."""
    first = next(iter(tiles.values()), None)
    if first is None or not is_column(first.spec) or args.op.startswith(KEEPS_COLUMNS):
        return compute(tiles, args)
    ctx, node = args.ctx, args.node
    rows = {
        name: seen_as(ctx, node, tile, turned(tile.spec)) if is_column(tile.spec) else tile
        for name, tile in tiles.items()
    }
    if "out" in args:
        column = destination(ctx, args.place("out"), args.value("out"))
        row = compute(rows, args.with_value("out", seen_as(ctx, node, column, turned(column.spec))))
        made = left(ctx, node, column, turned(row.spec).valid)
    else:
        row = compute(rows, args)
        made = seen_as(ctx, node, row, turned(row.spec))
    return replace(made, folded=first.folded)
