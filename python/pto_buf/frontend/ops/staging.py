"""Operands of the matrix unit that still lie in Mat: moved to the buffer that the unit reads, as pypto moves them.

pypto's own ops leave the way from Mat to Left, Right and Bias out where the whole tile is meant; so do kernels here.
The tile moved into is ours, made once in a region for each tile moved. An `_into` form says where everything lies, so
it moves nothing.
"""

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.row import OpRow
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.buffers.emission import valid_of
from pto_buf.frontend.buffers.tiles import into, new_owned
from pto_buf.frontend.kinds import COUNT, MEMORY_SPACE
from pto_buf.frontend.names import spelling
from pto_buf.frontend.ops.compute import tile_of
from pto_buf.frontend.ops.memory import extracted, require_boxes, tile_spec
from pto_buf.frontend.values import Tile, Window
from pto_buf.hw import Space
from pto_buf.memory.footprint import slot_stride
from pto_buf.tile import TileSpec


def staged(args: Arguments, name: str, row: OpRow) -> Tile:
    """The operand `name` of a product, in the buffer that `row` reads it from. Raises DiagnosticError."""
    wanted = row.forms[0].spaces[name]
    value = args.value(name)
    if isinstance(value, Window) and not args.explicit:
        _require_room(args, name, tile_spec(args.ctx, args.place(name), wanted, value.shape, value.tile.spec.dtype))
        return extracted(args, value, wanted, name)
    tile = tile_of(args, name)
    if tile.spec.space is Space.VEC and wanted is not Space.VEC:
        raise args.ctx.error(
            args.place(name),
            f"{name} of '{args.op}' is in Vec, which the matrix unit does not reach",
            kind=MEMORY_SPACE,
            help="load it with target_memory=pl.Mem.Mat; what the vector unit made is handed over through a tensor",
        )
    if tile.spec.space is not Space.MAT or wanted is Space.MAT:
        return tile
    if args.explicit:
        raise args.ctx.error(
            args.place(name),
            f"'{args.op}_into' reads {name} from {spelling(wanted)}, it is in Mat",
            kind=MEMORY_SPACE,
            help=f"move it with pl.tile.move_into or extract_into; pl.tile.{args.op}(..., out=slot) does so by itself",
        )
    return _moved(args, tile, wanted, name)


def _moved(args: Arguments, tile: Tile, space: Space, name: str) -> Tile:
    ctx = args.ctx
    found = ctx.moved.get(tile.ssa, space)
    if found is not None:
        return found
    require_boxes(args, name, tile, space)
    spec = tile_spec(ctx, args.node, space, tile.spec.shape, tile.spec.dtype).with_valid(*tile.spec.valid)
    _require_room(args, name, spec)
    dest = new_owned(ctx, args.node, spec, f"{_name(tile) or args.op}_{space.value}")
    result = into(ctx, args.node, rows_by_dsl()["move"], {"src": tile.ssa}, dest, valid_of(tile))
    if tile.ssa is not tile.slot:  # else it stands for whatever its slot holds by then
        ctx.moved.put(tile.ssa, space, result)
    return result


def _name(tile: Tile) -> str:
    return tile.home.slots.name if tile.home is not None else tile.owned.alloc.set_name.data if tile.owned else ""


def _require_room(args: Arguments, name: str, spec: TileSpec) -> None:
    """A tile that the buffer cannot hold is cut by the user: how, nobody else can say. Raises DiagnosticError."""
    size, room = slot_stride(spec, args.ctx.target), args.ctx.target.capacity[spec.space]
    if size > room:
        raise args.ctx.error(
            args.place(name),
            f"{name} of '{args.op}' takes {size:,} B in {spelling(spec.space)}, which holds {room:,}",
            kind=COUNT,
            help="multiply in parts: pl.tile.extract a part in a loop, and add up with pl.tile.matmul_acc",
        )
