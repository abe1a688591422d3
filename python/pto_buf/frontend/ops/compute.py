"""Ops of the vector unit whose parameters are the inputs of their row of the op table."""

from collections.abc import Mapping
from dataclasses import replace

from xdsl.ir import SSAValue

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.row import Kind, Operand, OpRow, Request
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.buffers.emission import deduced, emit
from pto_buf.frontend.buffers.tiles import destination, operand, seen_as, whatever
from pto_buf.frontend.builder import scalar_type
from pto_buf.frontend.control.joins import is_number
from pto_buf.frontend.kinds import ARGUMENTS, SHAPE
from pto_buf.frontend.names import Symbol
from pto_buf.frontend.ops.casts import chain
from pto_buf.frontend.ops.columns import with_rows
from pto_buf.frontend.scalars import convert, integer, number, ssa
from pto_buf.frontend.values import Number, Scalar, Static, Tile, Value
from pto_buf.hw import A2A3
from pto_buf.tile import DTYPE_BITS


def compute(args: Arguments) -> Value:
    """Any op whose parameters are the inputs of its row."""
    row = rows_by_dsl()[args.op]
    given = [one for one in row.into_ins if one.kind is Kind.TILE and one.name in args]
    tiles = {one.name: (tile_of if one.role.reads else scratch_of)(args, one.name) for one in given}
    return with_rows(args, tiles, _compute)


def _compute(tiles: Mapping[str, Tile], args: Arguments) -> Tile:
    row = rows_by_dsl()[args.op]
    if row.dsl == "sel" and "tmp" in tiles:
        tiles = {**tiles, "tmp": _of_words(args, tiles["tmp"])}
    first = next(tile for name, tile in tiles.items() if name != "mask")
    ins: dict[str, SSAValue] = {}
    for spelt in row.into_ins:
        if spelt.name in tiles:
            ins[spelt.name] = tiles[spelt.name].ssa
        elif spelt.kind is not Kind.TILE:
            ins[spelt.name] = scalar_operand(args, spelt, first.spec.dtype)
    words = attributes(args, row)
    result = None
    if "output_dtype" in args:
        result = deduced(args, row, ins, words, Request(dtype=args.dtype("output_dtype")))
    return emit(args, row, ins, tiles, result, words)


def _of_words(args: Arguments, tmp: Tile) -> Tile:
    """Scratch as the assembler wants it on a2a3, of elements of four bytes, whatever the user made it of."""
    size = DTYPE_BITS[tmp.spec.dtype] // 8
    if args.ctx.target is not A2A3 or size == 4 or tmp.spec.cols * size % 4 or tmp.spec.valid != tmp.spec.shape:
        return tmp
    cols = tmp.spec.cols * size // 4
    return seen_as(args.ctx, args.node, tmp, replace(tmp.spec, cols=cols, v_cols=cols, dtype="i32"))


def tile_of(args: Arguments, name: str) -> Tile:
    """The tile given for `name`. Raises DiagnosticError."""
    return operand(args.ctx, args.place(name), args.value(name), name)


def scratch_of(args: Arguments, name: str) -> Tile:
    """The tile given for `name` to work in: what it holds does not matter. Raises DiagnosticError."""
    return whatever(destination(args.ctx, args.place(name), args.value(name), name))


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


_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_PATTERNS = ("P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111")


def attributes(args: Arguments, row: OpRow) -> dict[str, str]:
    """Attributes that follow from the arguments, as plain words. Raises DiagnosticError."""
    words: dict[str, str] = {}
    if args.static("high_precision", False) is True:
        if not any(attr.name == "precisionType" for attr in row.attrs):
            raise args.ctx.error(
                args.place("high_precision"), f"'{args.op}' of tiles has no high precision", kind=ARGUMENTS
            )
        words["precisionType"] = "high_precision"
    if row.dsl == "col_sum" and "tmp" in args:
        words["isBinary"] = "true"
    if "cmp_type" in args:
        words["cmpMode"] = choice(args, "cmp_type", _COMPARISONS, 0)
    if "mask_pattern" in args:
        words["maskPattern"] = choice(args, "mask_pattern", _PATTERNS, 1)
        words["axis"] = "row"
    return words


def choice(args: Arguments, name: str, words: tuple[str, ...], first: int, default: str | None = None) -> str:
    """One of some words, given by itself, by its number from `first` on, or as a name of an enumeration."""
    found = args.static(name, default)
    if isinstance(found, Symbol):
        found = found.path.rpartition(".")[2]
    if isinstance(found, int) and first <= found < first + len(words):
        return words[found - first]
    for word in words:
        if isinstance(found, str) and found.lower() == word.lower():
            return word
    raise args.ctx.error(args.place(name), f"{name} of '{args.op}' is none of {', '.join(words)}", kind=ARGUMENTS)


_ROUND = ("none", "rint", "round", "floor", "ceil", "trunc", "odd")
_WRAPS = (("f32", "i16"), ("f16", "i16"), ("f16", "i8"))
"""Conversions that need scratch on a2a3 unless they saturate, and have no operand for it in older assemblers."""


def cast(args: Arguments) -> Value:
    """`pl.cast(tile, dtype, mode='round')`; of a scalar, a conversion of its type."""
    ctx = args.ctx
    dtype = args.dtype("target_type")
    value = args.value("src")
    if is_number(value):
        return cast_scalar(args, number(ctx, args.place("src"), value, "what is cast"), dtype)
    choice(args, "mode", _ROUND, 0, "round")
    return with_rows(args, {"src": tile_of(args, "src")}, _cast)


def _cast(tiles: Mapping[str, Tile], args: Arguments) -> Tile:
    """The conversion, by way of other element types where the table does not have it: each rounds as asked."""
    tile, row = tiles["src"], rows_by_dsl()["cast"]
    *between, last = chain(tile.spec.dtype, args.dtype("target_type"), args.ctx.target.name)
    for dtype in between:
        tile = _cast_once(args.with_value("out", Static(None)), row, tile, dtype)
    return _cast_once(args, row, tile, last)


def _cast_once(args: Arguments, row: OpRow, tile: Tile, dtype: str) -> Tile:
    words = {"rmode": choice(args, "mode", _ROUND, 0, "round").upper()}
    if args.ctx.target is A2A3 and (tile.spec.dtype, dtype) in _WRAPS:
        words["satmode"] = "ON"
    ins = {"src": tile.ssa}
    return emit(args, row, ins, {"src": tile}, deduced(args, row, ins, words, Request(dtype=dtype)), words)


def cast_scalar(args: Arguments, value: Number, dtype: str) -> Value:
    """A number as another type."""
    if isinstance(value, Scalar):
        if scalar_type(dtype) is None:
            raise args.ctx.error(args.node, f"there are no scalars of type {dtype}", kind=SHAPE)
        return convert(args.ctx, value, dtype)
    assert isinstance(value.value, (int, float))
    return Static(float(value.value) if dtype.startswith(("f", "b")) else int(value.value))
