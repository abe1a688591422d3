"""Emitting an op that yields a tile: where it goes, how much of it is valid, and the scratch it works in."""

from collections.abc import Mapping
from dataclasses import replace

from xdsl.ir import SSAValue

from pto_buf.dialect.table.row import OpRow, Request, TableError, Use
from pto_buf.dialect.table.row import Value as TableValue
from pto_buf.dialect.tile_op import spec_of
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.buffers.tiles import destination, into, new_owned, valid_extents
from pto_buf.frontend.levers import of_use
from pto_buf.frontend.values import Tile
from pto_buf.tile import TileSpec

Inputs = Mapping[str, SSAValue]
Words = Mapping[str, str]


def valid_of(tile: Tile) -> list[SSAValue | int] | None:
    """The valid extent of a tile where it is not the whole of it."""
    return None if tile.spec.valid == tile.spec.shape else valid_extents(tile)


def emit(
    args: Arguments,
    row: OpRow,
    ins: Inputs,
    tiles: Mapping[str, Tile],
    result: TileSpec | None = None,
    words: Words | None = None,
) -> Tile:
    """The op, into `out=` or a new tile of ours. Its geometry is `result`, or what the row deduces.

    `tiles` are the inputs that run-time extents come from. Scratch that the row wants and the user does not give is
    ours. Raises DiagnosticError.
    """
    ctx, words = args.ctx, words or {}
    if result is None:
        result = deduced(args, row, ins, words)
    if "out" in args:
        dest = destination(ctx, args.place("out"), args.value("out"))
    else:
        dest = new_owned(ctx, args.node, result, args.op)
    if row.scratch is not None and not row.scratch_optional and "tmp" not in ins:
        ins = {**ins, **_scratch(args, row, ins, result, words)}
    made = into(ctx, args.node, row, ins, dest, _valid(result, dest, tiles), words)
    return replace(made, folded=_folded(made, tiles))


def deduced(args: Arguments, row: OpRow, ins: Inputs, words: Words, request: Request | None = None) -> TileSpec:
    """The tile that an op yields for its inputs. Raises DiagnosticError."""
    operands = _operands(ins)
    try:
        return row.result(operands, args.ctx.target, request or Request(), words)
    except TableError as err:
        raise args.ctx.error(args.node, err.message, kind=err.kind, help=of_use(row, operands)) from None


def _operands(ins: Inputs) -> dict[str, TableValue]:
    return {name: spec_of(value.type) for name, value in ins.items()}


def _scratch(args: Arguments, row: OpRow, ins: Inputs, result: TileSpec, words: Words) -> dict[str, SSAValue]:
    """The scratch tile that the row wants for this use, if it wants one."""
    assert row.scratch is not None
    operands: dict[str, TableValue] = {**_operands(ins), row.out.name: result}
    spec = row.scratch(Use(row, operands, words, args.ctx.target))
    if spec is None:
        return {}
    return {"tmp": new_owned(args.ctx, args.node, spec, f"{args.op}_tmp").slot}


def _valid(result: TileSpec, dest: Tile, tiles: Mapping[str, Tile]) -> list[SSAValue | int] | None:
    """The extent of the result where it is not the whole of the destination; run-time extents come from the inputs."""
    if result.valid == dest.held.valid:
        return None
    extents: list[SSAValue | int] = []
    for axis, extent in enumerate(result.valid):
        extents.append(_runtime(axis, tiles) if extent is None else extent)
    return extents


def _folded(made: Tile, tiles: Mapping[str, Tile]) -> tuple[int, ...]:
    """The extents of a result with the rows of an input whose dimensions are folded into them."""
    rows, cols = made.spec.valid
    for tile in tiles.values():
        if tile.folded and tile.spec.v_rows == rows and cols is not None:
            return (*tile.folded[:-1], cols)
    return ()


def _runtime(axis: int, tiles: Mapping[str, Tile]) -> SSAValue:
    """The first run-time extent along an axis among the inputs."""
    for tile in tiles.values():
        valid = valid_of(tile)
        if valid is not None and isinstance(found := valid[axis], SSAValue):
            return found
    raise AssertionError("a run-time extent that no input has")
