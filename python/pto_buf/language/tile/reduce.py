"""Reductions along rows and along columns, in Vec."""

from pto_buf.language.values import Slot, Tile, outside

__all__ = [
    "col_argmax",
    "col_argmin",
    "col_max",
    "col_min",
    "col_prod",
    "col_sum",
    "row_argmax",
    "row_argmin",
    "row_max",
    "row_min",
    "row_prod",
    "row_sum",
]


def row_max(tile: Tile | Slot, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The greatest of each row, as [M, 1]; `tmp_tile` is scratch of the tile's shape, ours where it is left out."""
    outside("row_max")


def row_min(tile: Tile | Slot, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The least of each row, as [M, 1]; `tmp_tile` is scratch of the tile's shape, ours where it is left out."""
    outside("row_min")


def row_sum(tile: Tile | Slot, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The sum of each row, as [M, 1]; `tmp_tile` is scratch of the tile's shape, ours where it is left out."""
    outside("row_sum")


def row_prod(tile: Tile | Slot, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The product of each row, as [M, 1]; `tmp_tile` is scratch of the tile's shape, ours where it is left out."""
    outside("row_prod")


def col_max(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """The greatest of each column, as [1, N]."""
    outside("col_max")


def col_min(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """The least of each column, as [1, N]."""
    outside("col_min")


def col_prod(tile: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """The product of each column, as [1, N]."""
    outside("col_prod")


def col_sum(tile: Tile | Slot, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The sum of each column, as [1, N]; with scratch, summed in pairs."""
    outside("col_sum")


def row_argmax(tile: Tile | Slot, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The index of the greatest of each row, as [M, 1], int32."""
    outside("row_argmax")


def row_argmin(tile: Tile | Slot, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The index of the least of each row, as [M, 1], int32."""
    outside("row_argmin")


def col_argmax(tile: Tile | Slot, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The index of the greatest of each column, as [1, N], int32."""
    outside("col_argmax")


def col_argmin(tile: Tile | Slot, tmp_tile: Tile | Slot | None = None, *, out: Slot | None = None) -> Tile:
    """The index of the least of each column, as [1, N], int32."""
    outside("col_argmin")
