"""Tiles that an op makes out of numbers, and vectors spread over a shape."""

from dataclasses import replace

from xdsl.ir import SSAValue

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.buffers.emission import Inputs, Words, emit
from pto_buf.frontend.buffers.tiles import left, seen_as
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.ops.columns import is_column, turned
from pto_buf.frontend.ops.compute import tile_of, typed_number
from pto_buf.frontend.ops.memory import dest_or_new, tile_spec
from pto_buf.frontend.scalars import number
from pto_buf.frontend.values import Tile, Value
from pto_buf.hw import Space
from pto_buf.tile import TileSpec


def full(args: Arguments) -> Value:
    """`pl.full(shape, dtype, value)`: one number in every element."""
    return _filled(args, _asked(args, args.dtype("dtype")), "value")


def expands(args: Arguments) -> Value:
    """`pl.expands(target, scalar)`: a number in every element of the target's shape."""
    return _filled(args, tile_of(args, "target").spec, "scalar")


def _asked(args: Arguments, dtype: str) -> TileSpec:
    spec = tile_spec(args.ctx, args.node, Space.VEC, args.extents("shape"), dtype)
    if "valid_shape" in args:
        rows, cols = args.extents("valid_shape")
        if rows > spec.rows or cols > spec.cols:
            raise args.ctx.error(args.place("valid_shape"), "the valid extent is larger than the tile", kind=SHAPE)
        spec = spec.with_valid(rows, cols)
    return spec


def _filled(args: Arguments, spec: TileSpec, name: str) -> Value:
    ins = {"value": _number(args, name, spec.dtype)}
    return _emit_seen_as(args, "expands", ins, spec, turned(spec) if is_column(spec) else spec)


def _emit_seen_as(
    args: Arguments, op: str, ins: Inputs, result: TileSpec, seen: TileSpec, words: Words | None = None
) -> Tile:
    """A tile that an op makes of numbers, in the shape and type `seen` in which the op can."""
    row = rows_by_dsl()[op]
    if seen == result:
        return emit(args, row, ins, {}, result, words)
    dest = dest_or_new(args, result.space, (result.rows, result.cols), result.dtype)
    emit(args.with_value("out", seen_as(args.ctx, args.node, dest, seen)), row, ins, {}, seen, words)
    return left(args.ctx, args.node, dest, result.valid)


def _number(args: Arguments, name: str, dtype: str) -> SSAValue:
    return typed_number(args, name, number(args.ctx, args.place(name), args.value(name), name), dtype)


def spread(args: Arguments) -> Value:
    """`row_expand(target, row_vec)`, `col_expand(target, col_vec)`: a vector repeated over the target's shape."""
    target, vector = tile_of(args, "target"), tile_of(args, "src")
    return emit(args, rows_by_dsl()[args.op], {"src": vector.ssa}, {"target": target}, target.spec)


def ramp(args: Arguments) -> Value:
    """`ci(start, shape, dtype=INT32, descending=False)`, also called `arange`: start, start + 1, ... along a row."""
    dtype = args.dtype("dtype") if "dtype" in args else "i32"
    words = {"descending": "true" if args.static("descending", False) is True else "false"}
    result = _asked(args, dtype)
    plain = replace(result, dtype=dtype.removeprefix("u"))  # numbers have no sign of their own: the bits are the same
    return _emit_seen_as(args, "ci", {"start": _number(args, "start", dtype)}, result, plain, words)


def triangle(args: Arguments) -> Value:
    """`tri(diagonal, shape, dtype=INT32, upper=False)`: ones on one side of a diagonal, zeros on the other."""
    dtype = args.dtype("dtype") if "dtype" in args else "i32"
    words = {"upperOrLower": "1" if args.static("upper", False) is True else "0"}
    ins = {"diagonal": _number(args, "diagonal", "i32")}
    return emit(args, rows_by_dsl()["tri"], ins, {}, _asked(args, dtype), words)


def random(args: Arguments) -> Value:
    """`random(key0, key1, counter0..3, shape, dtype=UINT32, rounds=10)`: counter-based random numbers."""
    dtype = args.dtype("dtype") if "dtype" in args else "ui32"
    row = rows_by_dsl()["random"]
    ins = {spelt.name: _number(args, spelt.name, "i32") for spelt in row.into_ins}
    words = {"rounds": str(args.static("rounds", 10))}
    return emit(args, row, ins, {}, _asked(args, dtype), words)
