"""Choosing one of two whole tiles by a number."""

import ast

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.buffers.emission import valid_of
from pto_buf.frontend.buffers.tiles import destination, into, left, new_owned
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.ops.compute import tile_of
from pto_buf.frontend.scalars import compare, integer
from pto_buf.frontend.values import Static, Tile, Value


def sels(args: Arguments) -> Value:
    """`sels(lhs, rhs, select_mode)` of older pypto: a copy of `lhs` where the mode is 1, else of `rhs`.

    No instruction of today's does that. Raises DiagnosticError for tiles that are not alike.
    """
    ctx = args.ctx
    lhs, rhs = tile_of(args, "lhs"), tile_of(args, "rhs")
    if lhs.spec != rhs.spec or None in lhs.spec.valid:
        raise ctx.error(args.node, "'sels' chooses between two tiles of one type and a constant extent", kind=SHAPE)
    mode = integer(ctx, args.place("select_mode"), args.value("select_mode"), "select_mode")
    if "out" in args:
        dest = destination(ctx, args.place("out"), args.value("out"))
    else:
        dest = new_owned(ctx, args.node, lhs.spec, "sels")
    condition = compare(ctx, args.node, ast.Eq(), mode, Static(1))
    if isinstance(condition, Static):
        return _copied(args, lhs if condition.value else rhs, dest)
    blocks = [Block(), Block()]
    for block, tile in zip(blocks, (lhs, rhs), strict=True):
        with ctx.region(block, loop=False):
            _copied(args, tile, dest)
            ctx.builder.add(scf.YieldOp())
    regions = [Region(block) for block in blocks]
    ctx.builder.add(scf.IfOp.build(operands=[condition.ssa], result_types=[[]], regions=regions))
    return left(ctx, args.node, dest, lhs.spec.valid)


def _copied(args: Arguments, tile: Tile, dest: Tile) -> Tile:
    return into(args.ctx, args.node, rows_by_dsl()["move"], {"src": tile.ssa}, dest, valid_of(tile))
