"""Ops that change a part of a tile in place: an element, a window, scattered elements; and reading an element."""

import ast

from pto_buf.dialect.ptobuf import ELEMENT_BY_DSL
from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.row import OpRow
from pto_buf.frontend.arguments import Arguments, sequence
from pto_buf.frontend.buffers.emission import Inputs, Words, valid_of
from pto_buf.frontend.buffers.tiles import check, copied, destination, into, operand, updated
from pto_buf.frontend.builder import scalar_type, segments
from pto_buf.frontend.context import Context
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.names import Symbol
from pto_buf.frontend.ops.compute import attributes, tile_of, typed_number
from pto_buf.frontend.ops.memory import read_global
from pto_buf.frontend.ops.views import corner
from pto_buf.frontend.scalars import binary, integer, known_int, number, ssa
from pto_buf.frontend.values import Number, Scalar, Static, Tensor, Tile, Unbound, Value
from pto_buf.tile import BLayout


def assemble(args: Arguments) -> Value:
    """`pl.tile.assemble(target, source, offset)`: the target, a window of it overwritten in place."""
    args.refuse("atomic", Symbol("AtomicType.None_"))
    source = tile_of(args, "source")
    row, col = corner(args, "offset")
    ins = {"src": source.ssa, "row": ssa(args.ctx, row), "col": ssa(args.ctx, col)}
    return _updated(args, rows_by_dsl()["insert"], "target", ins, (source,))


def write(args: Arguments) -> Value:
    """`pl.tile.write(tile, indices, value)`: the tile, one element of it set."""
    tile = destination(args.ctx, args.place("tile"), args.value("tile"))
    value = number(args.ctx, args.place("value"), args.value("value"), "value")
    ins = {"offset": ssa(args.ctx, _position(args, tile)), "value": typed_number(args, "value", value, tile.spec.dtype)}
    return _updated(args, rows_by_dsl()["write"], "tile", ins, ())


def scatter(args: Arguments) -> Value:
    """`pl.tile.scatter(dst, src, indexes)` and `scatter_mask(dst, src, mask_pattern)`: the destination, updated."""
    row = rows_by_dsl()[args.op]
    sources = {one.name: tile_of(args, one.name) for one in row.into_ins}
    ins = {name: tile.ssa for name, tile in sources.items()}
    return _updated(args, row, "dst", ins, tuple(sources.values()), attributes(args, row))


def _updated(
    args: Arguments, row: OpRow, name: str, ins: Inputs, sources: tuple[Tile, ...], words: Words | None = None
) -> Value:
    """The tile given for `name`, changed by the op of `row` where it lies; its other names are good no more."""
    ctx, target = args.ctx, args.value(name)
    dest = updated(ctx, args.place(name), target)
    if isinstance(target, Tile) and dest.home is None and any(source.slot is target.slot for source in sources):
        dest = copied(ctx, args.node, target, args.op)
    result = into(ctx, args.node, row, ins, dest, valid_of(dest), words)
    if isinstance(target, Tile):
        _expire(ctx, args.node, target)
    return result


def _expire(ctx: Context, node: ast.AST, tile: Tile) -> None:
    """Names for the tile as it was before it was updated: reading them would give what it is now."""
    place = ctx.place(node)
    for name, value in ctx.scope.bindings.items():
        if isinstance(value, Tile) and value.slot is tile.slot:
            ctx.scope.bindings[name] = Unbound(place, "was updated in place here; use the result of the update")


def read(args: Arguments) -> Value:
    """`pl.read(src, offset)`: one element of a tile in Vec or of a tensor, by its indices or its place in the rows."""
    ctx, source = args.ctx, args.value("src")
    if isinstance(source, Tensor):
        return read_global(args, source)
    tile = operand(ctx, args.place("src"), args.value("src"), "what is read")
    dtype = tile.spec.dtype.lstrip("su") if tile.spec.dtype[0] in "su" else tile.spec.dtype
    type = scalar_type(dtype)
    if type is None or dtype != tile.spec.dtype:
        raise ctx.error(args.node, f"there are no scalars of type {tile.spec.dtype}", kind=SHAPE)
    ins = {"src": tile.ssa, "offset": ssa(ctx, _position(args, tile))}
    row = rows_by_dsl()["read"]
    check(ctx, args.node, row, ins, dtype, {})
    op = ELEMENT_BY_DSL["read"].create(
        operands=[*ins.values()], result_types=[type], properties=dict(segments(len(ins), 0))
    )
    return Scalar(ctx.builder.add(op).results[0], dtype)


def _position(args: Arguments, tile: Tile) -> Number:
    """Which element of the tile's bytes the indices name. Raises DiagnosticError for one outside of the tile."""
    ctx, node = args.ctx, args.place("offset")
    rows, cols = tile.held.valid
    assert rows is not None and cols is not None
    items = sequence(args.value("offset")) or (args.value("offset"),)
    found = [integer(ctx, node, item, "an index") for item in items]
    if len(found) == 1:
        _check_index(args, found[0], rows * cols, "elements")
        if 1 in (rows, cols) or tile.spec.cols == cols:
            return found[0]
        found = [binary(ctx, args.node, op, found[0], Static(cols)) for op in (ast.FloorDiv(), ast.Mod())]
    if len(found) != 2:
        raise ctx.error(node, f"a tile is indexed by row and column, found {len(found)} indices", kind=SHAPE)
    _check_index(args, found[0], rows, "rows")
    _check_index(args, found[1], cols, "columns")
    if tile.spec.blayout is BLayout.ROW_MAJOR:
        major, minor, width = found[0], found[1], tile.spec.cols
    else:
        major, minor, width = found[1], found[0], tile.spec.rows
    return binary(ctx, args.node, ast.Add(), binary(ctx, args.node, ast.Mult(), major, Static(width)), minor)


def _check_index(args: Arguments, index: Number, count: int, what: str) -> None:
    known = known_int(index)
    if known is not None and not 0 <= known < count:
        raise args.ctx.error(args.place("offset"), f"index {known} is outside the tile's {count} {what}", kind=SHAPE)
