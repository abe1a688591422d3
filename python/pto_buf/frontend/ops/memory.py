"""Ops that move data: global memory to and from tiles, and tiles to tiles."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import cast

from xdsl.dialects.arith import IndexCastOp
from xdsl.ir import SSAValue

from pto_buf.dialect.kernel import GetBlockIdxOp, GetBlockNumOp, GetSubBlockIdxOp
from pto_buf.dialect.pointers import LoadScalarOp
from pto_buf.dialect.pto import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.row import ViewSpec
from pto_buf.dialect.types import PartitionViewType
from pto_buf.frontend.arguments import Arguments, require_space, sequence
from pto_buf.frontend.buffers.emission import emit
from pto_buf.frontend.buffers.geometry import padded_tile
from pto_buf.frontend.buffers.tiles import check, destination, into, new_owned, operand, store
from pto_buf.frontend.builder import INDEX, scalar_type, segments
from pto_buf.frontend.context import Context
from pto_buf.frontend.kinds import ARGUMENTS, MEMORY_SPACE, SHAPE
from pto_buf.frontend.names import Symbol, spelling
from pto_buf.frontend.scalars import binary, bounds, integer, known_int, ssa
from pto_buf.frontend.values import Number, Scalar, Static, Tensor, Tile, Value, Window, describe
from pto_buf.hw import Space
from pto_buf.tile import DTYPE_BITS, TileSpec, box_of, canonical_tile


def tile_spec(ctx: Context, node: ast.AST, space: Space, shape: Sequence[int], dtype: str) -> TileSpec:
    """The tile of this shape as `space` wants it. Raises DiagnosticError."""
    if space is Space.GM:
        raise ctx.error(
            node, "a tile lies on the chip, not in DDR", kind=MEMORY_SPACE, help="Vec, Mat, Left, Right, Acc or Bias"
        )
    if len(shape) != 2:
        raise ctx.error(node, f"a tile has two extents, found {len(shape)}", kind=SHAPE)
    if dtype not in DTYPE_BITS:
        raise ctx.error(node, f"no tile holds elements of type {dtype}", kind=SHAPE)
    return padded_tile(space, shape[0], shape[1], dtype, ctx.target)


def dest_or_new(args: Arguments, space: Space, shape: Sequence[int], dtype: str) -> Tile:
    """The destination given by `out=`, or a new tile of ours."""
    if "out" in args:
        return destination(args.ctx, args.place("out"), args.value("out"))
    return new_owned(args.ctx, args.node, tile_spec(args.ctx, args.node, space, shape, dtype), args.op)


def tensor(args: Arguments, name: str) -> Tensor:
    """The tensor given for `name`. Raises DiagnosticError."""
    value = args.value(name)
    if not isinstance(value, Tensor):
        raise args.ctx.error(
            args.place(name),
            f"{name} of '{args.op}' must be a tensor in global memory, is {describe(value)}",
            kind=MEMORY_SPACE if isinstance(value, Tile) else ARGUMENTS,
            help=_ORDER.get(args.op),
        )
    return value


_ORDER = {"load": "pl.load(tensor, offsets, shapes)", "store": "pl.store(tile, offsets, tensor)"}


def load(args: Arguments) -> Value:
    """`pl.load(tensor, offsets, shapes, valid_shape=, target_memory=Vec, out=)`."""
    ctx = args.ctx
    args.refuse("clamp", False)
    args.refuse("transpose", False)  # of pypto before pl.tile.transpose_view
    source = tensor(args, "tensor")
    shape = args.extents("shapes")
    valid: Sequence[Number] = args.numbers("valid_shape") if "valid_shape" in args else [Static(one) for one in shape]
    if len(valid) != len(shape):
        raise ctx.error(
            args.place("valid_shape"),
            f"valid_shape has {len(valid)} extents, shapes has {len(shape)}",
            kind=SHAPE,
        )
    for extent, whole in zip(valid, shape, strict=True):
        if (known := known_int(extent)) is not None and not 0 <= known <= whole:
            raise ctx.error(
                args.place("valid_shape"), f"valid extent {known} is outside 0 to {whole}, the tile's", kind=SHAPE
            )
    space = args.space("target_memory", None)
    dest = dest_or_new(args, space or Space.VEC, _folded(shape), source.dtype)
    require_space(args, space, dest.spec.space, MEMORY_SPACE)
    require_shape(args, "loads", _folded(shape), dest)
    view = partition(args, source, args.numbers("offsets"), valid)
    narrowed = None
    if any(known_int(extent) != whole for extent, whole in zip(valid, shape, strict=True)):
        narrowed = _valid_extents(args, valid)
    made = into(ctx, args.node, rows_by_dsl()["load"], {"src": view}, dest, narrowed)
    return replace(made, folded=tuple(shape)) if any(extent > 1 for extent in shape[:-2]) else made


def require_shape(args: Arguments, what: str, shape: Sequence[int], dest: Tile) -> None:
    """The shape must be that of the destination. Raises DiagnosticError."""
    held = dest.held
    if tuple(shape) != held.valid:
        raise args.ctx.error(
            args.node,
            f"{what} {_fmt(shape)} into a slot of {_fmt(held.valid)}; they must be equal",
            kind=SHAPE,
            help="a smaller part of a slot is given by valid_shape=" if args.op == "load" else None,
        )


def _folded(shape: Sequence[int]) -> list[int]:
    """Leading dimensions fold into the rows."""
    if len(shape) < 2:
        return [1, *shape]
    rows = 1
    for extent in shape[:-1]:
        rows *= extent
    return [rows, shape[-1]]


def _valid_extents(args: Arguments, valid: Sequence[Number]) -> list[SSAValue | int]:
    if len(valid) > 2 and any(known_int(extent) != 1 for extent in valid[:-2]):
        raise args.ctx.error(
            args.place("valid_shape"), "a valid extent narrower than the tile needs leading extents of 1", kind=SHAPE
        )
    pair = [Static(1), *valid] if len(valid) == 1 else list(valid[-2:])
    return [known if (known := known_int(one)) is not None else ssa(args.ctx, one) for one in pair]


def _fmt(shape: Sequence[int | None]) -> str:
    return "x".join("?" if extent is None else str(extent) for extent in shape)


def partition_all(args: Arguments, source: Tensor) -> SSAValue:
    """The whole of a tensor as a window."""
    return partition(args, source, [Static(0)] * len(source.shape), source.shape)


def partition(args: Arguments, source: Tensor, offsets: Sequence[Number], sizes: Sequence[Number]) -> SSAValue:
    """The window of a tensor. Raises DiagnosticError for a constant window that leaves it."""
    ctx, rank = args.ctx, len(source.shape)
    for what, found in (("offsets", offsets), ("shapes", sizes)):
        if len(found) != rank:
            raise ctx.error(
                args.place(what), f"'{source.name}' has {rank} dimensions, {what} has {len(found)}", kind=SHAPE
            )
    for axis, (offset, size, extent) in enumerate(zip(offsets, sizes, source.shape, strict=True)):
        low = bounds(offset)[0] if isinstance(offset, Static) else None
        length, whole = known_int(size), known_int(extent)
        if low is not None and (low < 0 or (length is not None and whole is not None and low + length > whole)):
            raise ctx.error(
                args.place("offsets"),
                f"the window [{low}, {low + (length or 0)}) of dimension {axis} leaves '{source.name}' "
                f"of extent {whole if whole is not None else 'unknown'}",
                kind=SHAPE,
            )
    spec = ViewSpec(tuple(known_int(size) for size in sizes), source.dtype)
    starts, lengths = ([ssa(ctx, one) for one in numbers] for numbers in (offsets, sizes))
    with ctx.at(args.node):
        op = PartitionViewOp.create(
            operands=[source.view, *starts, *lengths],
            result_types=[_partition_type(spec)],
            properties=dict(segments(1, rank, rank)),
        )
        return ctx.builder.add(op).results[0]


@cache
def _partition_type(spec: ViewSpec) -> PartitionViewType:
    return PartitionViewType(spec)


def store_tile(args: Arguments) -> Value:
    """`pl.store(tile, offsets, output_tensor)`: the result is the tensor, which is the same memory."""
    ctx = args.ctx
    target = tensor(args, "output_tensor")
    tile = operand(ctx, args.place("tile"), args.value("tile"), "what is stored")
    row = rows_by_dsl()["store"]
    if tile.spec.space is not Space.ACC and tile.spec.dtype != target.dtype:
        raise ctx.error(
            args.node, f"stores {tile.spec.dtype} elements into '{target.name}' of {target.dtype}", kind=SHAPE
        )
    check(ctx, args.node, row, {"src": tile.ssa}, ViewSpec(tile.spec.valid, target.dtype), {})
    sizes: list[Number] = [Static(extent) for extent in tile.spec.valid]
    unknown = iter(tile.valid)
    for axis, extent in enumerate(tile.spec.valid):
        if extent is None:
            sizes[axis] = ctx.scalar(next(unknown))
    offsets = args.numbers("offsets")
    rank = len(target.shape)
    if "shapes" in args:
        sizes = args.numbers("shapes")
    elif len(tile.folded) == rank:
        sizes = [Static(extent) for extent in tile.folded]
    elif rank > 2:
        sizes = [*([Static(1)] * (rank - 2)), *sizes]
    elif rank == 1 and known_int(sizes[0]) == 1:
        sizes = sizes[1:]
    with ctx.at(args.node):
        view = partition(args, target, offsets, sizes)
        store(ctx, args.node, row, {"src": tile.ssa}, view, _atomic(args))
    return target


def _atomic(args: Arguments) -> dict[str, str]:
    """How the store meets what is there already, as the row's attribute."""
    found = args.static("atomic", Symbol("AtomicType.None_"))
    words: dict[object, str] = {"AtomicType.None_": "atomic_none", "AtomicType.Add": "atomic_add"}
    words |= {0: "atomic_none", 1: "atomic_add"}  # as pypto's IR has them
    word = words.get(found.path if isinstance(found, Symbol) else found)
    if word is None:
        raise args.ctx.error(args.place("atomic"), "atomic is pl.AtomicType.None_ or pl.AtomicType.Add", kind=ARGUMENTS)
    return {} if word == "atomic_none" else {"atomicType": word}


def extract(args: Arguments) -> Value:
    """`pl.tile.extract(src, index_row, index_col, shape, target_memory=)`: a window of a tile."""
    ctx = args.ctx
    source = operand(ctx, args.place("src"), args.value("src"), "the source")
    row, col = (ssa(ctx, integer(ctx, args.place(name), args.value(name), name)) for name in ("row", "col"))
    space = args.space("target_memory", None)
    if "out" not in args:
        for name in ("target_memory", "shape"):
            if name not in args:
                raise ctx.error(args.node, f"'extract' lacks its argument '{name}'", kind=ARGUMENTS)
    shape = args.extents("shape") if "shape" in args else None
    dest = dest_or_new(args, space or Space.VEC, shape or (), source.spec.dtype)
    require_space(args, space, dest.spec.space, MEMORY_SPACE)
    if shape is not None:
        require_shape(args, "extracts", shape, dest)
    valid = valid_part(args, source, (args.value("row"), args.value("col")), dest)
    return into(ctx, args.node, rows_by_dsl()["extract"], {"src": source.ssa, "row": row, "col": col}, dest, valid)


def valid_part(args: Arguments, source: Tile, corner: tuple[Value, Value], dest: Tile) -> list[SSAValue | int] | None:
    """How much of a window is valid where its tile is not wholly so; None for all. Raises DiagnosticError for nothing.

    A window whose place is known only at run time counts as lying in the valid part.
    """
    places = [known_int(one) for one in corner]
    if source.spec.valid == source.spec.shape or None in places:
        return None
    held = dest.spec.valid
    found: list[int] = []
    for place, size, valid in zip(places, held, source.spec.valid, strict=True):
        if place is None or size is None or valid is None:
            return None
        found.append(max(0, min(size, valid - place)))
    if 0 in found:
        raise args.ctx.error(
            args.node,
            f"nothing of this window is valid: of the tile {_fmt(source.spec.valid)} is",
            kind=SHAPE,
            help="fill the rest by pl.fillpad first",
        )
    return None if tuple(found) == held else list(found)


def move(args: Arguments) -> Value:
    """`pl.move(tile, target_memory)`: a whole tile into another space."""
    ctx = args.ctx
    window = args.value("src")
    if isinstance(window, Window):
        return _move_window(args, window)
    source = operand(ctx, args.place("src"), window, "the source")
    space = args.space("target_memory", None)
    if space is None and "out" not in args:
        raise ctx.error(args.node, "'move' lacks its argument 'target_memory'", kind=ARGUMENTS)
    if "out" in args:
        require_space(args, space, destination(ctx, args.place("out"), args.value("out")).spec.space, MEMORY_SPACE)
    if space is not None:
        require_boxes(args, "src", source, space)
    spec = tile_spec(ctx, args.node, space or source.spec.space, source.spec.shape, source.spec.dtype)
    require_layout(args, spec)
    row = rows_by_dsl()["move"]
    return emit(args, row, {"src": source.ssa}, {"src": source}, spec.with_valid(*source.spec.valid))


def require_layout(args: Arguments, spec: TileSpec) -> None:
    """A layout that a move is asked for must be the one its space has. Raises DiagnosticError."""
    for name, held in (("blayout", spec.blayout), ("slayout", spec.slayout)):
        found = args.static(name, None)
        word = found.path.rpartition(".")[2] if isinstance(found, Symbol) else found
        if word is not None and word != held.value:
            raise args.ctx.error(
                args.place(name),
                f"{name} of 'move' is {word}; a tile of this shape in {spelling(spec.space)} is {held.value}",
                kind=ARGUMENTS,
            )


def require_boxes(args: Arguments, name: str, tile: Tile, space: Space) -> None:
    """The matrix unit reads boxes of rows; a single row in Mat lies plain. Raises DiagnosticError."""
    if space in (Space.LEFT, Space.RIGHT) and tile.spec.space is Space.MAT and not tile.spec.boxed:
        box = box_of(canonical_tile(space, 1, 1, tile.spec.dtype, args.ctx.target))[0]
        raise args.ctx.error(
            args.place(name),
            f"a single row in Mat lies plain; {spelling(space)} takes boxes of {box} rows",
            kind=SHAPE,
            help=f"load {box} rows of which one is valid: shapes [{box}, {tile.spec.cols}], "
            f"valid_shape=[1, {tile.spec.cols}]",
        )


def _move_window(args: Arguments, window: Window) -> Value:
    """A window of a tile in Mat on its way to Left or Right."""
    space = args.space("target_memory", None)
    dest = dest_or_new(args, space or Space.MAT, window.shape, window.tile.spec.dtype)
    require_space(args, space, dest.spec.space, MEMORY_SPACE)
    require_shape(args, "moves a window of", window.shape, dest)
    return _extract(args, window, dest)


def extracted(args: Arguments, window: Window, space: Space, name: str) -> Tile:
    """A window of a tile in Mat as a tile of ours in `space`. Raises DiagnosticError."""
    spec = tile_spec(args.ctx, args.node, space, window.shape, window.tile.spec.dtype)
    return _extract(args, window, new_owned(args.ctx, args.node, spec, f"{args.op}_{name}"))


def _extract(args: Arguments, window: Window, dest: Tile) -> Tile:
    ins = {"src": window.tile.ssa, "row": ssa(args.ctx, window.row), "col": ssa(args.ctx, window.col)}
    valid = valid_part(args, window.tile, (window.row, window.col), dest)
    return into(args.ctx, args.node, rows_by_dsl()["extract"], ins, dest, valid)


def block_index(args: Arguments) -> Value:
    """`pl.tile.get_block_idx()` and its kin: a number that the launch gives to this core."""
    op = args.ctx.builder.add(_BLOCK_QUERIES[args.op]())
    index = args.ctx.builder.add(IndexCastOp(op.value, INDEX)).result
    return Scalar(index, "index", 1 if args.op == "get_block_num" else 0)


def dim(args: Arguments) -> Value:
    """`pl.tensor.dim(tensor, axis)`: an extent of a tensor; a negative axis counts from the last."""
    source = tensor(args, "tensor")
    axis = known_int(args.value("axis"))
    if axis is None or not -len(source.shape) <= axis < len(source.shape):
        raise args.ctx.error(
            args.place("axis"),
            f"axis is a constant from 0 to {len(source.shape) - 1} of '{source.name}'",
            kind=ARGUMENTS,
        )
    return source.shape[axis]


def read_global(args: Arguments, source: Tensor) -> Value:
    """`pl.read(tensor, offset)`: one element of a tensor in global memory, by its indices or its flat position."""
    ctx = args.ctx
    if scalar_type(source.dtype) is None:
        raise ctx.error(args.node, f"there are no scalars of type {source.dtype}", kind=SHAPE)
    items = sequence(args.value("offset"))
    position: Number = Static(0)
    if items is None:
        position = integer(ctx, args.place("offset"), args.value("offset"), "offset")
    elif len(items) != len(source.shape):
        raise ctx.error(
            args.place("offset"), f"'{source.name}' has {len(source.shape)} dimensions, offset {len(items)}", kind=SHAPE
        )
    else:
        for index, extent in zip(args.numbers("offset"), source.shape, strict=True):
            position = binary(ctx, args.node, ast.Mult(), position, extent)
            position = binary(ctx, args.node, ast.Add(), position, index)
    pointer = cast(MakeTensorViewOp, source.view.owner).ptr
    dtype = source.dtype.lstrip("su") if source.dtype[0] in "su" else source.dtype
    op = ctx.builder.add(LoadScalarOp.build(operands=[pointer, ssa(ctx, position)], result_types=[scalar_type(dtype)]))
    return Scalar(op.results[0], dtype)


_BLOCK_QUERIES = {
    "get_block_idx": GetBlockIdxOp,
    "get_block_num": GetBlockNumOp,
    "get_subblock_idx": GetSubBlockIdxOp,
}


def alloc(args: Arguments) -> Value:
    """`pl.tile.alloc(space, size)` of printed IR: bytes that MemRefs name; the tiles bound to them make the buffers."""
    args.space("memory_space", None)
    return Static(Symbol("Ptr"))


def create(args: Arguments) -> Value:
    """`pl.create_tile(shape, dtype, target_memory=Vec)`: a tile of ours that nothing has written yet."""
    args.refuse("transpose", False)
    args.refuse("flat_layout", None)
    space = args.space("target_memory", None) or Space.VEC
    return dest_or_new(args, space, args.extents("shape"), args.dtype("dtype"))
