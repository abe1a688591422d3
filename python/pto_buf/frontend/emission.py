"""Emitting an op that yields a tile: where it goes, and how much of it is valid."""

from collections.abc import Mapping

from xdsl.ir import SSAValue

from pto_buf.dialect.table.row import OpRow, Request, TableError
from pto_buf.dialect.table.row import Value as TableValue
from pto_buf.dialect.tile_op import spec_of
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.tiles import destination, into, new_owned, valid_extents
from pto_buf.frontend.values import Tile
from pto_buf.tile import TileSpec


def valid_of(tile: Tile) -> list[SSAValue | int] | None:
    """The valid extent of a tile where it is not the whole of it."""
    return None if tile.spec.valid == tile.spec.shape else valid_extents(tile)


def emit(
    args: Arguments,
    row: OpRow,
    ins: Mapping[str, SSAValue],
    tiles: Mapping[str, Tile],
    result: TileSpec | None = None,
    words: Mapping[str, str] | None = None,
) -> Tile:
    """The op, into `out=` or a new tile of ours. Its geometry is `result`, or what the row deduces.

    `tiles` are the inputs that run-time extents come from. Raises DiagnosticError.
    """
    ctx = args.ctx
    if result is None:
        result = deduced(args, row, ins, words or {})
    if "out" in args:
        dest = destination(ctx, args.place("out"), args.value("out"))
    else:
        dest = new_owned(ctx, args.node, result, args.op)
    return into(ctx, args.node, row, ins, dest, _valid(result, dest, tiles), words)


def deduced(
    args: Arguments, row: OpRow, ins: Mapping[str, SSAValue], words: Mapping[str, str], request: Request | None = None
) -> TileSpec:
    """The tile that an op yields for its inputs. Raises DiagnosticError."""
    operands: dict[str, TableValue] = {name: spec_of(value.type) for name, value in ins.items()}
    try:
        return row.result(operands, args.ctx.target, request or Request(), words)
    except TableError as err:
        raise args.ctx.error(args.node, err.message, kind=err.kind) from None


def _valid(result: TileSpec, dest: Tile, tiles: Mapping[str, Tile]) -> list[SSAValue | int] | None:
    """The extent of the result where it is not the whole of the destination; run-time extents come from the inputs."""
    held = spec_of(dest.slot.type)
    assert isinstance(held, TileSpec)
    if result.valid == held.valid:
        return None
    extents: list[SSAValue | int] = []
    for axis, extent in enumerate(result.valid):
        extents.append(_runtime(axis, tiles) if extent is None else extent)
    return extents


def _runtime(axis: int, tiles: Mapping[str, Tile]) -> SSAValue:
    """The first run-time extent along an axis among the inputs."""
    for tile in tiles.values():
        valid = valid_of(tile)
        if valid is not None and isinstance(found := valid[axis], SSAValue):
            return found
    raise AssertionError("a run-time extent that no input has")
