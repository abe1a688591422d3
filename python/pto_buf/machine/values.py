"""What the scalar unit holds besides numbers: pointers, views of global memory and tiles. No IR."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pto_buf.machine.scalar import ScalarError
from pto_buf.machine.steps import GlobalRegion, TileRef
from pto_buf.tile import DTYPE_BITS, BLayout, TileSpec


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
    _verify_valid(spec.rows, spec.cols, v_rows, v_cols)
    return TileRef(spec, address, 0, 0, spec.rows, spec.cols, v_rows, v_cols)


def subtile(source: TileRef, spec: TileSpec, row: int, col: int, *valid: int) -> TileRef:
    """A window of `spec`'s extent in a tile. Raises ScalarError if it leaves the tile."""
    if row < 0 or col < 0 or row + spec.rows > source.rows or col + spec.cols > source.cols:
        raise ScalarError(
            f"a window of {spec.rows}x{spec.cols} at ({row}, {col}) leaves a tile of {source.rows}x{source.cols}"
        )
    v_rows, v_cols = _extents(spec, (spec.rows, spec.cols), valid)
    _verify_valid(spec.rows, spec.cols, v_rows, v_cols)
    return TileRef(
        source.base, source.address, source.row + row, source.col + col, spec.rows, spec.cols, v_rows, v_cols
    )


def retiled(source: TileRef, spec: TileSpec, *valid: int) -> TileRef:
    """The same bytes as a tile of `spec`; `valid` gives the valid extents that the type leaves open.

    Raises ScalarError for a source that is not one run of bytes.
    """
    base = source.base
    address = source.address
    if not source.whole:
        if base.boxed or base.blayout is not BLayout.ROW_MAJOR or source.cols != base.cols:
            raise ScalarError("sees a window of a tile, which is not one run of bytes, as another tile")
        address += source.row * base.cols * DTYPE_BITS[base.dtype] // 8
    return tile(spec, address, *_extents(spec, (source.v_rows, source.v_cols), valid))


def _extents(spec: TileSpec, inherited: Sequence[int], given: Sequence[int]) -> tuple[int, int]:
    """The valid extent: from the type, else as given, else as the source has it."""
    rows, cols = (
        known if known is not None else given[axis] if given else inherited[axis]
        for axis, known in enumerate(spec.valid)
    )
    return rows, cols


def moved(source: TileRef, address: int) -> TileRef:
    """`tassign`. Raises ScalarError for an address below 0."""
    if address < 0:
        raise ScalarError(f"a tile at address {address} of {source.space}; addresses start at 0")
    return replace(source, address=address)


def with_valid(source: TileRef, v_rows: int, v_cols: int) -> TileRef:
    """`set_validshape`. Raises ScalarError for an extent outside the tile."""
    _verify_valid(source.rows, source.cols, v_rows, v_cols)
    return replace(source, v_rows=v_rows, v_cols=v_cols)


def _verify_valid(rows: int, cols: int, v_rows: int, v_cols: int) -> None:
    for name, extent, size in (("rows", v_rows, rows), ("columns", v_cols, cols)):
        if not 0 <= extent <= size:
            raise ScalarError(f"{extent} valid {name} of a tile with {size}")


def chosen(condition: int, if_true: Any, if_false: Any) -> Any:
    """`arith.select`."""
    return if_true if condition else if_false
