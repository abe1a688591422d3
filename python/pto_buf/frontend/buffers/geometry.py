"""The tile that a shape of the user's becomes: padded to what its space can hold, valid as far as was asked. Pure."""

from pto_buf.hw import Space, Target
from pto_buf.tile import TileSpec, aligned_tile, box_of, canonical_tile


def padded_tile(space: Space, rows: int, cols: int, dtype: str, target: Target) -> TileSpec:
    """The canonical tile of `space` that holds `rows` x `cols` elements.

    A line in the vector buffer is a multiple of 32 bytes; the matrix unit's buffers consist of whole boxes.
    """
    if space is Space.VEC:
        return aligned_tile(space, rows, cols, dtype, target)
    tile = canonical_tile(space, rows, cols, dtype, target)
    if not tile.boxed:
        return tile
    tall, wide = (-(-size // step) * step for size, step in zip((rows, cols), box_of(tile), strict=True))
    return canonical_tile(space, tall, wide, dtype, target).with_valid(rows, cols)
