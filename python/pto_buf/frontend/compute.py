"""Ops that compute: the matrix unit and the vector unit, all through their rows of the op table."""

from collections.abc import Mapping

from xdsl.ir import SSAValue

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.row import Kind, Operand, OpRow, Request, Role
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.builder import scalar_type
from pto_buf.frontend.columns import with_rows
from pto_buf.frontend.emission import deduced, emit, valid_of
from pto_buf.frontend.joins import is_number
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.memory import tile_spec
from pto_buf.frontend.scalars import convert, integer, number, ssa
from pto_buf.frontend.signatures import NEEDS_SCRATCH
from pto_buf.frontend.tiles import destination, into, new_owned, operand
from pto_buf.frontend.values import Number, Scalar, Static, Tile, Value
from pto_buf.hw import A2A3, Space
from pto_buf.tile import TileSpec, canonical_tile

Inputs = Mapping[str, SSAValue]


def compute(args: Arguments) -> Value:
    """Any op whose parameters are the inputs of its row."""
    row = rows_by_dsl()[args.op]
    tiles = {one.name: _tile(args, one.name) for one in row.into_ins if one.kind is Kind.TILE and one.name in args}
    return with_rows(args, tiles, _compute)


def _compute(tiles: Mapping[str, Tile], args: Arguments) -> Tile:
    row = rows_by_dsl()[args.op]
    first = next(iter(tiles.values()))
    ins: dict[str, SSAValue] = {}
    for spelt in row.into_ins:
        if spelt.name in tiles:
            ins[spelt.name] = tiles[spelt.name].ssa
        elif spelt.kind is not Kind.TILE:
            ins[spelt.name] = scalar_operand(args, spelt, first.spec.dtype)
        elif spelt.role is Role.SCRATCH and args.op in NEEDS_SCRATCH:
            ins[spelt.name] = scratch(args, first.spec).slot
    return emit(args, row, ins, tiles, words=attributes(args, row))


def _tile(args: Arguments, name: str) -> Tile:
    return operand(args.ctx, args.place(name), args.value(name), name)


def scratch(args: Arguments, like: TileSpec) -> Tile:
    """A scratch tile of ours, as large as `like`."""
    spec = canonical_tile(Space.VEC, like.rows, like.cols, like.dtype, args.ctx.target)
    if args.op == "prelu":
        spec = canonical_tile(Space.VEC, like.rows + 1, like.cols, "ui8", args.ctx.target)
    return new_owned(args.ctx, args.node, spec, f"{args.op}_tmp")


def scalar_operand(args: Arguments, spelt: Operand, dtype: str) -> SSAValue:
    """A number as the row wants it: an index, i64, or of the element type `dtype`."""
    ctx, name = args.ctx, spelt.name
    if spelt.kind is not Kind.SCALAR:
        return ssa(ctx, integer(ctx, args.place(name), args.value(name), name), spelt.kind.value)
    return typed_number(args, name, number(ctx, args.place(name), args.value(name), name), dtype)


def typed_number(args: Arguments, name: str, value: Number, dtype: str) -> SSAValue:
    """A number of an element type. Raises DiagnosticError for a type without scalars and for what does not fit."""
    dtype = dtype.lstrip("su") if dtype[0] in "su" else dtype  # a number of the assembler's has no sign of its own
    if scalar_type(dtype) is None:
        raise args.ctx.error(args.place(name), f"there are no scalars of type {dtype}", kind=SHAPE)
    if dtype.startswith("i") and isinstance(value, Static) and isinstance(value.value, float):
        raise args.ctx.error(
            args.place(name), f"{name} of '{args.op}' is {value.value}, the tile holds {dtype}", kind=SHAPE
        )
    return ssa(args.ctx, value, dtype)


def attributes(args: Arguments, row: OpRow) -> dict[str, str]:
    """Attributes that follow from the arguments, as plain words."""
    words: dict[str, str] = {}
    if args.static("high_precision", False) is True:
        words["precisionType"] = "high_precision"
    if row.dsl == "col_sum" and "tmp" in args:
        words["isBinary"] = "true"
    return words


def matmul(args: Arguments) -> Value:
    """`matmul`, `matmul_bias` and their gemv kin."""
    row = rows_by_dsl()[args.op]
    for name in ("a_trans", "b_trans", "c_matrix_nz"):
        if args.static(name, False) is not False:
            raise args.ctx.error(args.place(name), f"{name} of '{args.op}' is for tensors; move the tile transposed")
    tiles = {one.name: _tile(args, one.name) for one in row.into_ins}
    return emit(args, row, {name: tile.ssa for name, tile in tiles.items()}, tiles, words=_phase(args))


def _phase(args: Arguments) -> dict[str, str]:
    found = args.static("acc_phase", None)
    return {} if found is None else {"accPhase": str(found)}


def matmul_acc(args: Arguments) -> Value:
    """`matmul_acc`: adds a product to an accumulator, in place."""
    ctx, row = args.ctx, rows_by_dsl()[args.op]
    tiles = {name: _tile(args, name) for name in ("lhs", "rhs")}
    acc = destination(ctx, args.place("acc"), args.value("acc"))
    if "out" in args and not _same_slot(destination(ctx, args.place("out"), args.value("out")), acc):
        raise ctx.error(
            args.place("out"),
            "the matrix unit accumulates in place: out= must be the slot of the accumulator itself",
            kind=SHAPE,
        )
    ins = {name: tile.ssa for name, tile in tiles.items()}
    return into(ctx, args.node, row, ins, acc, valid_of(acc), _phase(args))


def _same_slot(one: Tile, other: Tile) -> bool:
    if one.slot is other.slot:
        return True
    if one.home is None or other.home is None:
        return False
    return one.home.slots is other.home.slots and one.home.index == other.home.index


_ROUND = ("none", "rint", "round", "floor", "ceil", "trunc", "odd")
_WRAPS = (("f32", "i16"), ("f16", "i16"), ("f16", "i8"))
"""Conversions that need scratch on a2a3 unless they saturate, and have no operand for it in older assemblers."""


def cast(args: Arguments) -> Value:
    """`pl.cast(tile, dtype, mode='round')`; of a scalar, a conversion of its type."""
    ctx = args.ctx
    dtype = args.dtype("target_type")
    value = args.value("src")
    if is_number(value):
        found = number(ctx, args.place("src"), value, "what is cast")
        return cast_scalar(args, found, dtype)
    mode = str(args.static("mode", "round"))
    if mode not in _ROUND:
        raise ctx.error(args.place("mode"), f"mode '{mode}' of 'cast' is none of {', '.join(_ROUND)}", kind=SHAPE)
    return with_rows(args, {"src": _tile(args, "src")}, _cast)


def _cast(tiles: Mapping[str, Tile], args: Arguments) -> Tile:
    tile, dtype = tiles["src"], args.dtype("target_type")
    words = {"rmode": str(args.static("mode", "round")).upper()}
    if args.ctx.target is A2A3 and (tile.spec.dtype, dtype) in _WRAPS:
        words["satmode"] = "ON"
    row = rows_by_dsl()["cast"]
    ins = {"src": tile.ssa}
    return emit(args, row, ins, tiles, deduced(args, row, ins, words, Request(dtype=dtype)), words)


def cast_scalar(args: Arguments, value: Number, dtype: str) -> Value:
    """A number as another type."""
    if isinstance(value, Scalar):
        if scalar_type(dtype) is None:
            raise args.ctx.error(args.node, f"there are no scalars of type {dtype}", kind=SHAPE)
        return convert(args.ctx, value, dtype)
    assert isinstance(value.value, (int, float))
    return Static(float(value.value) if dtype.startswith(("f", "b")) else int(value.value))


def full(args: Arguments) -> Value:
    """`pl.full(shape, dtype, value)`: one number in every element."""
    spec = tile_spec(args.ctx, args.node, Space.VEC, args.extents("shape"), args.dtype("dtype"))
    return _filled(args, spec, "value")


def expands(args: Arguments) -> Value:
    """`pl.expands(target, scalar)`: a number in every element of the target's shape."""
    return _filled(args, _tile(args, "target").spec, "scalar")


def _filled(args: Arguments, spec: TileSpec, name: str) -> Value:
    value = number(args.ctx, args.place(name), args.value(name), name)
    ins = {"value": typed_number(args, name, value, spec.dtype)}
    return emit(args, rows_by_dsl()["expands"], ins, {}, spec)


def spread(args: Arguments) -> Value:
    """`row_expand(target, row_vec)`, `col_expand(target, col_vec)`: a vector repeated over the target's shape."""
    target, vector = _tile(args, "target"), _tile(args, "src")
    return emit(args, rows_by_dsl()[args.op], {"src": vector.ssa}, {"target": target}, target.spec)
