"""Tiles seen differently: in another shape, with another element type, transposed, or a window of them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.row import Request
from pto_buf.frontend.arguments import Arguments, sequence
from pto_buf.frontend.buffers.emission import deduced, emit
from pto_buf.frontend.buffers.geometry import padded_tile
from pto_buf.frontend.buffers.tiles import destination, into, new_owned, operand, seen_as, whatever
from pto_buf.frontend.kinds import ARGUMENTS, MEMORY_SPACE, SHAPE
from pto_buf.frontend.names import Symbol
from pto_buf.frontend.ops.compute import scratch_of
from pto_buf.frontend.ops.memory import valid_part
from pto_buf.frontend.scalars import known_int, ssa
from pto_buf.frontend.values import Number, Tile, Value, Window
from pto_buf.hw import Space
from pto_buf.tile import DTYPE_BITS, BLayout, SLayout

_T = TypeVar("_T")


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
    vector = 1 in spec.valid and 1 in (rows, cols)  # padding then stands behind the last element
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
        args.refuse(name, None)
    args.refuse("clamp", False)
    rows, cols = _pair(args, "shape", args.extents("shape"))
    row, col = corner(args, "offset")
    valid = _narrowed(args, (rows, cols))
    if valid is not None and tile.spec.space is Space.MAT:
        raise ctx.error(args.place("valid_shape"), "a window of a tile in Mat is valid as a whole", kind=ARGUMENTS)
    if tile.spec.space is Space.MAT:
        return Window(tile, row, col, (rows, cols), ctx.place(args.node))
    dtype, bits = tile.spec.dtype, _AS_BITS.get(tile.spec.dtype)
    if bits is not None:
        tile = seen_as(ctx, args.node, tile, replace(tile.spec, dtype=bits))
    spec = padded_tile(tile.spec.space, rows, cols, dtype, ctx.target)
    ins = {"src": tile.ssa, "row": ssa(ctx, row), "col": ssa(ctx, col)}
    dest = destination(ctx, args.place("out"), args.value("out")) if "out" in args else None
    dest = dest or new_owned(ctx, args.node, spec, args.op)
    held = dest.spec
    if bits is not None:
        dest = seen_as(ctx, args.node, dest, replace(held, dtype=bits))
    part = valid_part(args, tile, (row, col), dest)
    window = into(ctx, args.node, rows_by_dsl()["extract"], ins, dest, part)
    if bits is None and valid is None:
        return window
    if valid is not None and any(asked > (there or 0) for asked, there in zip(valid, window.spec.valid, strict=True)):
        raise ctx.error(args.place("valid_shape"), "more of the window is asked for than is valid", kind=SHAPE)
    return seen_as(ctx, args.node, window, held.with_valid(*(valid or window.spec.valid)))


_AS_BITS = {f"{sign}i{width}": f"f{width}" for sign in ("", "s", "u") for width in (16, 32)}
"""Integers whose windows are copied as numbers of the same width: the op that copies has no integers so wide."""


def _narrowed(args: Arguments, shape: tuple[int, int]) -> tuple[int, int] | None:
    """The part of a window that is valid, None for all of it. Raises DiagnosticError."""
    if "valid_shape" not in args or not sequence(args.value("valid_shape")):
        return None
    found = _pair(args, "valid_shape", args.numbers("valid_shape"))
    known = [known_int(one) for one in found]
    if None in known:
        raise args.ctx.error(
            args.place("valid_shape"),
            "the valid part of a window is constant",
            kind=ARGUMENTS,
            help="load that part as a tile of its own: pl.load(..., valid_shape=[rows, cols])",
        )
    for extent, whole in zip(known, shape, strict=True):
        if extent is None or not 0 <= extent <= whole:
            raise args.ctx.error(
                args.place("valid_shape"), f"valid extent {extent} is outside 0 to {whole}", kind=SHAPE
            )
    rows, cols = known
    return None if tuple(known) == shape or rows is None or cols is None else (rows, cols)


def corner(args: Arguments, name: str) -> tuple[Number, Number]:
    """The first row and column of a window."""
    found = args.numbers(name)
    return _pair(args, name, found)


def _pair(args: Arguments, name: str, found: Sequence[_T]) -> tuple[_T, _T]:
    if len(found) != 2:
        raise args.ctx.error(args.place(name), f"{name} of '{args.op}' has two numbers, found {len(found)}", kind=SHAPE)
    return found[0], found[1]


def transpose(args: Arguments) -> Value:
    """`pl.transpose(tile, axis1, axis2)`: rows and columns exchanged, in a buffer of its own."""
    axes = [args.static(name, default) for name, default in (("axis1", 0), ("axis2", 1))]
    if sorted(axis % 2 if isinstance(axis, int) else -1 for axis in axes) != [0, 1]:
        raise args.ctx.error(args.node, "'transpose' exchanges the axes 0 and 1", kind=ARGUMENTS)
    tile = _tile(args, "src")
    if tile.folded:
        raise args.ctx.error(
            args.place("src"), f"a tile with {len(tile.folded)} extents is transposed part by part", kind=SHAPE
        )
    ins = {"src": tile.ssa}
    if "tmp" in args:
        ins["tmp"] = scratch_of(args, "tmp").ssa
    return emit(args, rows_by_dsl()["transpose"], ins, {"src": tile})


_PADS = {"zero": 1, "max": 2, "min": 3}


def fillpad(args: Arguments) -> Value:
    """`pl.fillpad(tile, pad_value=)`: what is not valid filled with zero, the least or the greatest value."""
    tile = _tile(args, "src")
    pad = _pad(args)
    row = rows_by_dsl()["fillpad"]
    shape = args.extents("shape") if "shape" in args else None
    request = Request() if shape is None else Request(shape=_pair(args, "shape", shape))
    result = replace(deduced(args, row, {"src": tile.ssa}, {}, request), pad=pad)
    if "out" not in args:
        return emit(args, row, {"src": tile.ssa}, {"src": tile}, result)
    dest = destination(args.ctx, args.place("out"), args.value("out"))
    seen = seen_as(args.ctx, args.node, dest, replace(dest.spec, pad=pad))
    emit(args.with_value("out", seen), row, {"src": tile.ssa}, {"src": tile}, result)
    return whatever(dest)


def _pad(args: Arguments) -> int:
    """The filling by its number in a tile's type. Raises DiagnosticError."""
    found = args.static("pad_value", 0)
    if isinstance(found, Symbol):
        found = found.path.rpartition(".")[2]
    if isinstance(found, (int, float)):
        found = {0.0: "zero", math.inf: "max", -math.inf: "min"}.get(float(found))
    if found not in _PADS:
        raise args.ctx.error(args.place("pad_value"), "pad_value is zero, max or min (0, inf, -inf)", kind=ARGUMENTS)
    return _PADS[str(found)]


def set_validshape(args: Arguments) -> Value:
    """`pl.set_validshape(tile, rows, cols)`: the same tile with another valid extent, known while reading."""
    tile = _tile(args, "tile")
    extents: list[int] = []
    for name, whole in (("valid_rows", tile.spec.rows), ("valid_cols", tile.spec.cols)):
        extent = known_int(args.value(name))
        if extent is None:
            raise args.ctx.error(
                args.place(name),
                "a valid extent known only at run time is given to the op that makes the tile",
                kind=SHAPE,
                help="pl.load(..., valid_shape=[rows, cols])",
            )
        if not 0 <= extent <= whole:
            raise args.ctx.error(args.place(name), f"valid extent {extent} is outside 0 to {whole}", kind=SHAPE)
        extents.append(extent)
    return seen_as(args.ctx, args.node, tile, tile.spec.with_valid(*extents))


def _tile(args: Arguments, name: str) -> Tile:
    return operand(args.ctx, args.place(name), args.value(name), name)
