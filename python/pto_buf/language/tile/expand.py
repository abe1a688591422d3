"""Broadcasts of one value a row, one value a column, or one number, in Vec."""

from pto_buf.language.values import Scalar, Slot, Tile, outside

__all__ = [
    "col_expand",
    "col_expand_add",
    "col_expand_div",
    "col_expand_expdif",
    "col_expand_max",
    "col_expand_min",
    "col_expand_mul",
    "col_expand_sub",
    "expands",
    "row_expand",
    "row_expand_add",
    "row_expand_div",
    "row_expand_expdif",
    "row_expand_max",
    "row_expand_min",
    "row_expand_mul",
    "row_expand_sub",
]


def row_expand_add(
    tile: Tile | Slot, row_vec: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None
) -> Tile:
    """Each element plus the value of its row in a [M, 1] tile."""
    outside("row_expand_add")


def col_expand_add(tile: Tile | Slot, col_vec: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """Each element plus the value of its column in a [1, N] tile."""
    outside("col_expand_add")


def row_expand_sub(
    tile: Tile | Slot, row_vec: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None
) -> Tile:
    """Each element minus the value of its row in a [M, 1] tile."""
    outside("row_expand_sub")


def col_expand_sub(tile: Tile | Slot, col_vec: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """Each element minus the value of its column in a [1, N] tile."""
    outside("col_expand_sub")


def row_expand_mul(
    tile: Tile | Slot, row_vec: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None
) -> Tile:
    """Each element times the value of its row in a [M, 1] tile."""
    outside("row_expand_mul")


def col_expand_mul(tile: Tile | Slot, col_vec: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """Each element times the value of its column in a [1, N] tile."""
    outside("col_expand_mul")


def row_expand_div(
    tile: Tile | Slot, row_vec: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None
) -> Tile:
    """Each element divided by the value of its row in a [M, 1] tile."""
    outside("row_expand_div")


def col_expand_div(tile: Tile | Slot, col_vec: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """Each element divided by the value of its column in a [1, N] tile."""
    outside("col_expand_div")


def row_expand_max(
    tile: Tile | Slot, row_vec: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None
) -> Tile:
    """Each element or, if greater, the value of its row in a [M, 1] tile."""
    outside("row_expand_max")


def col_expand_max(tile: Tile | Slot, col_vec: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """Each element or, if greater, the value of its column in a [1, N] tile."""
    outside("col_expand_max")


def row_expand_min(
    tile: Tile | Slot, row_vec: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None
) -> Tile:
    """Each element or, if less, the value of its row in a [M, 1] tile."""
    outside("row_expand_min")


def col_expand_min(tile: Tile | Slot, col_vec: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """Each element or, if less, the value of its column in a [1, N] tile."""
    outside("col_expand_min")


def row_expand_expdif(
    tile: Tile | Slot, row_vec: Tile | Slot, tmp: Tile | Slot | None = None, *, out: Slot | None = None
) -> Tile:
    """exp of each element minus the value of its row."""
    outside("row_expand_expdif")


def col_expand_expdif(tile: Tile | Slot, col_vec: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """exp of each element minus the value of its column."""
    outside("col_expand_expdif")


def row_expand(target: Tile | Slot, row_vec: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """A [M, 1] tile repeated along the rows of `target`'s shape."""
    outside("row_expand")


def col_expand(target: Tile | Slot, col_vec: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """A [1, N] tile repeated along the columns of `target`'s shape."""
    outside("col_expand")


def expands(target: Tile | Slot, scalar: Scalar | float, *, out: Slot | None = None) -> Tile:
    """A number in every element of `target`'s shape."""
    outside("expands")
