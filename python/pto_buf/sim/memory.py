"""The bytes that a simulated kernel works on: on-chip spaces by address, global arrays by argument."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pto_buf.hw import Space, Target
from pto_buf.machine.dtypes import numpy_dtype
from pto_buf.machine.layout import Layout, layout_of
from pto_buf.machine.steps import GlobalRegion, TileRef
from pto_buf.tile import TileSpec

Array = NDArray[Any]

FILL = 0xFF
"""What memory holds before anything is written: NaN in every float type, -1 in the signed integers."""

_ABOVE = 8 * 1024
"""Bytes of UB above the usable ones: library scratch, which hand-written kernels may address."""


class BoundsError(Exception):
    """An access outside the memory that there is."""


class OnChip:
    """The memories of one core. Tiles that overlap see each other's bytes, in their true physical order."""

    def __init__(self, target: Target):
        self._bytes: dict[Space, NDArray[np.uint8]] = {}
        self._target = target
        self._views: dict[tuple[TileSpec, int], Array] = {}

    def size(self, space: Space) -> int:
        return self._target.capacity[space] + (_ABOVE if space is Space.VEC else 0)

    def read(self, ref: TileRef) -> Array:
        """The valid elements, as a copy. Raises BoundsError."""
        boxes = self._boxes(ref)
        if ref.whole and (ref.v_rows, ref.v_cols) == ref.base.shape:
            return boxes.reshape(ref.base.shape).copy()
        return boxes[self._index(ref)]

    def write(self, ref: TileRef, values: Array) -> None:
        """Set the valid elements; the others keep what they hold. Raises BoundsError."""
        boxes = self._boxes(ref)
        if ref.whole and (ref.v_rows, ref.v_cols) == ref.base.shape:
            boxes[...] = values.reshape(boxes.shape)
        else:
            boxes[self._index(ref)] = values

    def _boxes(self, ref: TileRef) -> Array:
        """The storage as (row of boxes, row in box, column of boxes, column in box)."""
        key = ref.base, ref.address
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = self._view(*key)
        return view

    def _view(self, base: TileSpec, address: int) -> Array:
        size = self.size(base.space)
        if address + base.footprint > size:
            raise BoundsError(
                f"bytes [{address}, {address + base.footprint}) of {base.space.buffer}, which has {size} bytes"
            )
        memory = self._bytes.get(base.space)
        if memory is None:
            memory = self._bytes[base.space] = np.full(size, FILL, np.uint8)
        dtype = numpy_dtype(base.dtype)
        layout = layout_of(base)
        shape = (base.rows // layout.box_rows, layout.box_rows, base.cols // layout.box_cols, layout.box_cols)
        strides = (layout.row_box, layout.row, layout.col_box, layout.col)
        return np.ndarray(shape, dtype, memory, address, tuple(stride * dtype.itemsize for stride in strides))

    @staticmethod
    def _index(ref: TileRef) -> tuple[Array, Array, Array, Array]:
        layout: Layout = layout_of(ref.base)
        rows = np.arange(ref.row, ref.row + ref.v_rows)[:, None]
        cols = np.arange(ref.col, ref.col + ref.v_cols)[None, :]
        return (
            rows // layout.box_rows,
            rows % layout.box_rows,
            cols // layout.box_cols,
            cols % layout.box_cols,
        )


class Global:
    """The arrays behind the pointer arguments, by argument number. Writes go to copies of what was given."""

    def __init__(self, arrays: Mapping[int, Array], names: Mapping[int, str]):
        self.arrays = {number: np.array(array, order="C") for number, array in arrays.items()}
        self._names = names

    def read(self, region: GlobalRegion) -> Array:
        """The window, leading extents folded into the rows, as a copy. Raises BoundsError."""
        if region.empty:
            return np.zeros(folded(region.extents), numpy_dtype(region.dtype))
        return self._window(region).reshape(folded(region.extents)).copy()

    def write(self, region: GlobalRegion, values: Array) -> None:
        """Raises BoundsError."""
        if not region.empty:
            window = self._window(region)
            window[...] = values.reshape(window.shape)

    def _window(self, region: GlobalRegion) -> Array:
        flat = self.arrays[region.argument].reshape(-1)
        first, end = region.bounds
        if first < 0 or end > flat.size:
            raise BoundsError(
                f"elements [{first}, {end}) of '{self._names[region.argument]}', which has {flat.size} elements"
            )
        strides = tuple(stride * flat.itemsize for stride in region.strides)
        return np.ndarray(region.extents, flat.dtype, flat, region.offset * flat.itemsize, strides)


def folded(extents: tuple[int, ...]) -> tuple[int, int]:
    """Extents of a window as a tile sees it: the leading ones make the rows."""
    rows = 1
    for extent in extents[:-1]:
        rows *= extent
    return rows, extents[-1]
