"""Rules over single tiles: what a layout asks of a shape, where a tile may lie, which element types a target has."""

from pto_buf.dialect.table.checks import LAYOUT, element_bytes, fmt
from pto_buf.dialect.table.row import TableError
from pto_buf.hw import Space, Target
from pto_buf.tile import A5_DTYPES, BLayout, TileSpec, box_of

_CAPACITY = "capacity-or-count"


def check_tile(tile: TileSpec, target: Target) -> None:
    """Raises TableError for a tile that no memory of `target` can hold in this layout."""
    if tile.dtype in A5_DTYPES and target.name != "a5":
        raise TableError(f"element type {tile.dtype} exists on a5, not on {target.name}", "shape-or-dtype")
    size = element_bytes(tile)
    if not tile.boxed:
        name, extent = ("row", tile.cols) if tile.blayout is BLayout.ROW_MAJOR else ("column", tile.rows)
        line = 16 if tile.dtype.startswith("f4") else 32
        if extent * size % line:
            raise TableError(
                f"a {name} of {extent} {tile.dtype} is {extent * size} bytes, must be a multiple of {line}", LAYOUT
            )
        return
    rows, cols = box_of(tile)
    if tile.cols % cols:
        raise TableError(f"{tile.cols} columns cannot be cut into boxes of {cols}", LAYOUT)
    free = tile.space is Space.VEC or tile.fractal == 32 or tile.rows == 1
    if not free and tile.rows % rows:
        raise TableError(f"{tile.rows} rows cannot be cut into boxes of {rows}", LAYOUT)


def check_address(tile: TileSpec, address: int, count: int, target: Target) -> None:
    """Raises TableError if `count` tiles from byte `address` on leave their memory, or start off its boundaries."""
    step = target.address_step(tile.space)
    if address < 0 or address % step:
        raise TableError(f"address {address} in {tile.space} must be a multiple of {step}", _CAPACITY)
    end = address + (count - 1) * (-(-tile.footprint // step) * step) + tile.footprint
    room = target.physical[tile.space]
    if end > room:
        many = f"{count} tiles of {fmt(tile.shape)}" if count > 1 else f"a tile of {fmt(tile.shape)}"
        raise TableError(f"{many} {tile.dtype} at {address} ends at {end}, {tile.space} has {room} bytes", _CAPACITY)
