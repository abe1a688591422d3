"""Ops of the scalar unit on what it holds: extents of views and tiles, small arrays, numbers of the launch."""

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import Operation

from pto_buf.dialect import scalars
from pto_buf.machine.scalar import ScalarError
from pto_buf.machine.steps import CoreId, GlobalRegion, TileRef
from pto_buf.machine.values import Pointer, View

_LAUNCH: Mapping[str, Callable[[CoreId], int]] = {
    "pto.get_block_idx": lambda core: core.block,
    "pto.get_block_num": lambda core: core.blocks,
    "pto.get_subblock_idx": lambda core: core.subblock,
    "pto.get_subblock_num": lambda core: core.subblocks,
}


def _dim(view: View | GlobalRegion, number: int) -> int:
    return _at(view.shape if isinstance(view, View) else view.extents, number)


def _stride(view: View | GlobalRegion, number: int) -> int:
    return _at(view.strides, number)


def _at(values: Any, index: int) -> Any:
    if not 0 <= index < len(values):
        raise ScalarError(f"index {index} is outside 0 to {len(values) - 1}")
    if values[index] is None:
        raise ScalarError(f"element {index} was never set")
    return values[index]


def _put(values: list[Any], index: int, value: Any) -> list[Any]:
    _at([0] * len(values), index)
    values[index] = value
    return values


def _rows(tile: TileRef) -> int:
    return tile.v_rows


def _cols(tile: TileRef) -> int:
    return tile.v_cols


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "pto.addptr": Pointer.plus,
    "pto.get_tensor_view_dim": _dim,
    "pto.get_tensor_view_stride": _stride,
    "pto.tile_valid_rows": _rows,
    "pto.tile_valid_cols": _cols,
    "pto.eventid_array_get": _at,
}
SETTERS: Mapping[str, Callable[..., Any]] = {"pto.eventid_array_set": _put}
"""Ops without a result that change their first operand."""

SPLIT: Mapping[str, tuple[Callable[..., Any], ...]] = {"pto.get_validshape": (_rows, _cols)}
"""Ops with several results, each of its own."""


def query_function(op: Operation, core: CoreId) -> Callable[..., Any] | None:
    """What the op computes from its operands; None if it is none of these."""
    if (number := _LAUNCH.get(op.name)) is not None:
        value = number(core)
        return lambda: value
    if isinstance(op, scalars.DeclareEventIdArrayOp):
        size = op.array.type.data
        return lambda: [None] * size
    return _FUNCTIONS.get(op.name)
