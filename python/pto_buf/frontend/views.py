"""Tiles seen differently: in another shape, with another element type, transposed, or a window of them."""

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.frontend.arguments import Arguments, sequence
from pto_buf.frontend.columns import seen_as
from pto_buf.frontend.geometry import padded_tile
from pto_buf.frontend.kinds import ARGUMENTS, MEMORY_SPACE, SHAPE
from pto_buf.frontend.scalars import known_int, ssa
from pto_buf.frontend.tiles import copied, destination, into, new_owned, operand, whatever
from pto_buf.frontend.values import Number, Slot, Static, Tile, Tuple, Unbound, Value, Window
from pto_buf.hw import Space
from pto_buf.tile import DTYPE_BITS, BLayout, SLayout, TileSpec


def reshape(args: Arguments) -> Value:
    """`pl.reshape(tile, shape)`: the same elements, row by row, in another shape; nothing moves."""
    tile = _tile(args, "tile")
    shape = args.extents("shape")
    if len(shape) == 1:
        shape = [1, *shape]
    if len(shape) != 2:
        raise args.ctx.error(args.place("shape"), f"a tile has two extents, found {len(shape)}", kind=SHAPE)
    return _seen(args, tile, shape[0], shape[1], tile.spec.dtype)


def reinterpret_view(args: Arguments) -> Value:
    """`pl.reinterpret_view(tile, dtype, shape=)`: the same bytes with another element type."""
    tile = _tile(args, "data")
    dtype = args.dtype("dtype")
    if dtype not in DTYPE_BITS:
        raise args.ctx.error(args.place("dtype"), f"no tile holds elements of type {dtype}", kind=SHAPE)
    if "shape" in args:
        rows, cols = args.extents("shape")
    else:
        bits = tile.spec.cols * DTYPE_BITS[tile.spec.dtype]
        rows, cols = tile.spec.rows, bits // DTYPE_BITS[dtype]
    return _seen(args, tile, rows, cols, dtype)


def _seen(args: Arguments, tile: Tile, rows: int, cols: int, dtype: str) -> Value:
    spec = tile.spec
    held = _bytes(spec.rows, spec.cols, spec.dtype) if spec.valid == spec.shape else None
    if spec.boxed:
        raise args.ctx.error(
            args.node, f"a tile in {spec.space} consists of boxes; it has no other shape", kind=MEMORY_SPACE
        )
    vector = min(spec.valid, default=None) == 1 and min(rows, cols) == 1  # padding stands behind the last element
    if held is None and not vector:
        raise args.ctx.error(args.node, "a tile of which only a part is valid has no other shape", kind=SHAPE)
    elements = _bytes(spec.v_rows or 0, spec.v_cols or 0, spec.dtype)
    if _bytes(rows, cols, dtype) != elements:
        raise args.ctx.error(
            args.node, f"{elements} bytes are asked to be {_bytes(rows, cols, dtype)}; they must be equal", kind=SHAPE
        )
    return seen_as(args.ctx, args.node, tile, padded_tile(spec.space, rows, cols, dtype, args.ctx.target))


def _bytes(rows: int, cols: int, dtype: str) -> int:
    return rows * cols * DTYPE_BITS[dtype] // 8


def transpose_view(args: Arguments) -> Value:
    """`pl.tile.transpose_view(tile)`: a tile in Mat with rows and columns exchanged; nothing moves."""
    tile = _tile(args, "tile")
    spec = tile.spec
    if spec.space is not Space.MAT or not spec.boxed:
        raise args.ctx.error(
            args.node, f"only a matrix in Mat can be seen transposed, this tile is in {spec.space}", kind=MEMORY_SPACE
        )
    blayout = BLayout.ROW_MAJOR if spec.blayout is BLayout.COL_MAJOR else BLayout.COL_MAJOR
    slayout = SLayout.ROW_MAJOR if spec.slayout is SLayout.COL_MAJOR else SLayout.COL_MAJOR
    turned = replace(
        spec, rows=spec.cols, cols=spec.rows, v_rows=spec.v_cols, v_cols=spec.v_rows, blayout=blayout, slayout=slayout
    )
    return seen_as(args.ctx, args.node, tile, turned)


def slice_tile(args: Arguments) -> Value:
    """`pl.slice(tile, shape, offset)`: a window. In Vec a copy of it; in Mat it is read by the move that takes it."""
    ctx = args.ctx
    tile = _tile(args, "tile")
    for name in ("drop_dims", "pad_value"):
        if name in args:
            raise ctx.error(args.place(name), f"{name} of 'slice' is not supported", kind=ARGUMENTS)
    if "valid_shape" in args:
        raise ctx.error(args.place("valid_shape"), "valid_shape of 'slice' is not supported", kind=ARGUMENTS)
    rows, cols = _pair(args, "shape", args.extents("shape"))
    row, col = _corner(args, "offset")
    if tile.spec.space is Space.MAT:
        return Window(tile, row, col, (rows, cols), ctx.place(args.node))
    spec = padded_tile(tile.spec.space, rows, cols, tile.spec.dtype, ctx.target)
    ins = {"src": tile.ssa, "row": ssa(ctx, row), "col": ssa(ctx, col)}
    dest = destination(ctx, args.place("out"), args.value("out")) if "out" in args else None
    return into(ctx, args.node, rows_by_dsl()["extract"], ins, dest or new_owned(ctx, args.node, spec, args.op))


def _corner(args: Arguments, name: str) -> tuple[Number, Number]:
    """The first row and column of a window."""
    found = args.numbers(name)
    return _pair(args, name, found)


def _pair[T](args: Arguments, name: str, found: Sequence[T]) -> tuple[T, T]:
    if len(found) != 2:
        raise args.ctx.error(args.place(name), f"{name} of '{args.op}' has two numbers, found {len(found)}", kind=SHAPE)
    return found[0], found[1]


def assemble(args: Arguments) -> Value:
    """`pl.tile.assemble(target, source, offset)`: the target with a window overwritten. The target is updated in place."""
    ctx = args.ctx
    target = args.value("target")
    source = _tile(args, "source")
    row, col = _corner(args, "offset")
    dest = destination(ctx, args.place("target"), target)
    if isinstance(target, Tile) and dest.home is None and _is_argument(target, args):
        dest = copied(ctx, args.node, target, args.op)
    ins = {"src": source.ssa, "row": ssa(ctx, row), "col": ssa(ctx, col)}
    result = into(ctx, args.node, rows_by_dsl()["insert"], ins, dest)
    if isinstance(target, Tile):
        _expire(args, target)
    return result


def _is_argument(tile: Tile, args: Arguments) -> bool:
    """Whether the tile to update is also what it is updated with."""
    source = args.value("source")
    return isinstance(source, Tile) and source.slot is tile.slot


def _expire(args: Arguments, tile: Tile) -> None:
    """Names for the tile as it was before it was updated: reading them would give what it is now."""
    place = args.ctx.place(args.node)
    for name, value in args.ctx.scope.bindings.items():
        if isinstance(value, Tile) and value.slot is tile.slot:
            args.ctx.scope.bindings[name] = Unbound(place, "was updated in place here; use the result of the update")


def _tile(args: Arguments, name: str) -> Tile:
    return operand(args.ctx, args.place(name), args.value(name), name)
