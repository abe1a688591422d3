"""What the scalar unit holds besides numbers: pointers, views of global memory and tiles. No IR."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pto_buf.machine.scalar import ScalarError
from pto_buf.machine.steps import GlobalRegion, TileRef
from pto_buf.tile import TileSpec


@dataclass(frozen=True, slots=True)
class Pointer:
    """Element `offset` of the array behind pointer argument number `argument`."""

    argument: int
    offset: int
    dtype: str

    def plus(self, elements: int) -> "Pointer":
        return replace(self, offset=self.offset + elements)


@dataclass(frozen=True, slots=True)
class View:
    """A global tensor: where it starts, its extents and strides in elements."""

    start: Pointer
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def view(pointer: Pointer, *numbers: int) -> View:
    """`make_tensor_view`: extents, then as many strides."""
    rank = len(numbers) // 2
    return View(pointer, numbers[:rank], numbers[rank:])


def window(source: View, *numbers: int) -> GlobalRegion:
    """`partition_view`: offsets, then as many sizes. Raises ScalarError for a negative size."""
    rank = len(numbers) // 2
    offsets, sizes = numbers[:rank], numbers[rank:]
    if any(size < 0 for size in sizes):
        raise ScalarError(f"a window of {'x'.join(map(str, sizes))} elements; no extent may be negative")
    start = source.start
    offset = start.offset + sum(o * s for o, s in zip(offsets, source.strides, strict=True))
    return GlobalRegion(start.argument, offset, sizes, source.strides, start.dtype)


def tile(spec: TileSpec, address: int, v_rows: int, v_cols: int) -> TileRef:
    """`alloc_tile` with its valid extent. Raises ScalarError for an address below 0 or an extent outside the tile."""
    if address < 0:
        raise ScalarError(f"a tile at address {address} of {spec.space}; addresses start at 0")
    for name, extent, size in (("rows", v_rows, spec.rows), ("columns", v_cols, spec.cols)):
        if not 0 <= extent <= size:
            raise ScalarError(f"{extent} valid {name} of a tile with {size}")
    return TileRef(spec, address, 0, 0, spec.rows, spec.cols, v_rows, v_cols)


def subtile(source: TileRef, spec: TileSpec, row: int, col: int, valid: Sequence[int]) -> TileRef:
    """A window of `spec`'s extent in a tile. Raises ScalarError if it leaves the tile."""
    if row < 0 or col < 0 or row + spec.rows > source.rows or col + spec.cols > source.cols:
        raise ScalarError(
            f"a window of {spec.rows}x{spec.cols} at ({row}, {col}) leaves a tile of {source.rows}x{source.cols}"
        )
    v_rows, v_cols = valid
    return replace(
        source,
        row=source.row + row,
        col=source.col + col,
        rows=spec.rows,
        cols=spec.cols,
        v_rows=v_rows,
        v_cols=v_cols,
    )


def chosen(condition: int, if_true: Any, if_false: Any) -> Any:
    """`arith.select`."""
    return if_true if condition else if_false
