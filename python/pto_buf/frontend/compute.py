"""Ops that compute: the matrix unit and the vector unit, all through their rows of the op table."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.row import Kind, Operand, OpRow
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.builder import scalar_type
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.memory import tile_spec, valid_of
from pto_buf.frontend.scalars import integer, number, ssa
from pto_buf.frontend.tiles import destination, into, new_owned, operand
from pto_buf.frontend.values import Tile, Value
from pto_buf.hw import Space
from pto_buf.tile import TileSpec, canonical_tile


def matmul(args: Arguments) -> Value:
    """`matmul`, `matmul_bias`: a product into an accumulator."""
    ctx, row = args.ctx, rows_by_dsl()[args.op]
    names = [one.name for one in row.into_ins]
    tiles = [operand(ctx, args.place(name), args.value(name), name) for name in names]
    lhs, rhs = tiles[0].spec, tiles[1].spec
    dtype = "i32" if lhs.dtype.lstrip("su").startswith("i") else "f32"
    if "out" in args:
        dest = destination(ctx, args.place("out"), args.value("out"))
    else:
        spec = tile_spec(ctx, args.node, Space.ACC, (lhs.rows, rhs.cols), dtype)
        dest = new_owned(ctx, args.node, spec, args.op)
    valid: list[SSAValue | int] | None = None
    if lhs.valid[0] != lhs.rows or rhs.valid[1] != rhs.cols:
        rows, cols = valid_of(tiles[0]), valid_of(tiles[1])
        valid = [lhs.rows if rows is None else rows[0], rhs.cols if cols is None else cols[1]]
    return into(ctx, args.node, row, [tile.ssa for tile in tiles], dest, valid)


def matmul_acc(args: Arguments) -> Value:
    """`matmul_acc`: adds a product to an accumulator, in place."""
    ctx, row = args.ctx, rows_by_dsl()[args.op]
    tiles = [operand(ctx, args.place(name), args.value(name), name) for name in ("lhs", "rhs")]
    acc = destination(ctx, args.place("acc"), args.value("acc"))
    if "out" in args:
        out = destination(ctx, args.place("out"), args.value("out"))
        same = out.slot is acc.slot or (
            out.home is not None
            and acc.home is not None
            and out.home.slots is acc.home.slots
            and out.home.index == acc.home.index
        )
        if not same:
            raise ctx.error(
                args.place("out"),
                "the matrix unit accumulates in place: out= must be the slot of the accumulator itself",
                kind=SHAPE,
            )
    return into(ctx, args.node, row, [tile.ssa for tile in tiles], acc, valid_of(acc))


def elementwise(args: Arguments) -> Value:
    """An op whose result has the shape and element type of its first tile."""
    ctx, row = args.ctx, rows_by_dsl()[args.op]
    first: Tile | None = None
    ins: list[SSAValue] = []
    for name, spelt in zip(args.nodes_in_order(), row.into_ins, strict=False):
        if spelt.kind is Kind.TILE:
            tile = operand(ctx, args.place(name), args.value(name), name)
            first = first or tile
            ins.append(tile.ssa)
        else:
            ins.append(scalar_operand(args, name, spelt, first))
    assert first is not None
    return into_result(args, row, ins, first.spec, valid_of(first))


def scalar_operand(args: Arguments, name: str, spelt: Operand, first: Tile | None) -> SSAValue:
    """A number as the row wants it: of the element type of the first tile, an index, or i64."""
    ctx = args.ctx
    if spelt.kind is not Kind.SCALAR:
        return ssa(ctx, integer(ctx, args.place(name), args.value(name), name), spelt.kind.value)
    found = number(ctx, args.place(name), args.value(name), name)
    assert first is not None
    dtype = first.spec.dtype
    if scalar_type(dtype) is None:
        raise ctx.error(args.place(name), f"there are no scalars of type {dtype}", kind=SHAPE)
    return ssa(ctx, found, dtype)


def into_result(
    args: Arguments, row: OpRow, ins: Sequence[SSAValue], like: TileSpec, valid: Sequence[SSAValue | int] | None
) -> Tile:
    """Emit into `out=` or a new tile of ours with the geometry `like`."""
    ctx = args.ctx
    if "out" in args:
        dest = destination(ctx, args.place("out"), args.value("out"))
    else:
        spec = canonical_tile(like.space, like.rows, like.cols, like.dtype, ctx.target)
        dest = new_owned(ctx, args.node, spec, args.op)
    return into(ctx, args.node, row, ins, dest, valid)
