"""Reading tiles and slots as operands, and emitting the ops that write them."""

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue

from pto_buf.dialect.ptobuf import INTO_OPS, STORE_OPS, AllocSlotsOp, SlotSelectOp
from pto_buf.dialect.table.row import OpRow, TableError, Use
from pto_buf.dialect.table.row import Value as TableValue
from pto_buf.dialect.tile_op import constant_of, spec_of
from pto_buf.dialect.types import TileBufType
from pto_buf.errors import DiagnosticError
from pto_buf.frontend.context import Context
from pto_buf.frontend.kinds import SET_MISUSE, SHAPE
from pto_buf.frontend.placement import OwnedSet
from pto_buf.frontend.values import Poison, PoisonedError, Slot, SlotSet, Tile, Unbound, Value, describe
from pto_buf.tile import TileSpec


@cache
def _tile_type(spec: TileSpec) -> TileBufType:
    return TileBufType(spec)


def operand(ctx: Context, node: ast.AST, value: Value, what: str) -> Tile:
    """`value` as a tile that is read. A slot stands for whatever it holds. Raises DiagnosticError."""
    match value:
        case Tile():
            return value
        case Slot():
            return ctx.held.reading(value, ctx.place(node))
        case _:
            raise not_a_tile(ctx, node, value, what)


def not_a_tile(ctx: Context, node: ast.AST, value: Value, what: str) -> DiagnosticError:
    """The error for a value where a tile or slot must be."""
    if isinstance(value, Poison):
        raise PoisonedError
    if isinstance(value, SlotSet):
        return ctx.error(
            node,
            f"{what} is the slot set '{value.name}'; a set is not a tile",
            kind=SET_MISUSE,
            help=f"select a slot: {value.name}[i % {value.count}]",
        )
    if isinstance(value, Unbound):
        return ctx.error(node, value.why, kind="undefined-name")
    return ctx.error(node, f"{what} must be a tile or slot, is {describe(value)}", kind=SHAPE)


def new_owned(ctx: Context, node: ast.AST, spec: TileSpec, name: str) -> Tile:
    """A tile of ours: a slot set of one, until placement gives it more; nothing is written yet."""
    full = spec.with_valid(spec.rows, spec.cols)
    alloc = ctx.builder.slot_set(AllocSlotsOp(name, 1, full, owned=True))
    owned = OwnedSet(full, alloc, ctx.pipelines[-1] if ctx.pipelines else None, ctx.place(node))
    ctx.owned.append(owned)
    slot = select_owned(ctx, owned)
    return Tile(slot, slot, None, owned, place=owned.place)


def select_owned(ctx: Context, owned: OwnedSet) -> SSAValue:
    """The slot of a set of ours, selected here."""
    select = ctx.builder.add(SlotSelectOp(owned.alloc.slots, ctx.builder.constant(0)))
    owned.selects.append(select)
    return select.slot


def destination(ctx: Context, node: ast.AST, value: Value) -> Tile:
    """`value` as a slot that is written. Raises DiagnosticError."""
    match value:
        case Slot():
            return Tile(value.ssa, value.ssa, value, None, place=ctx.place(node))
        case Tile():
            return value
        case _:
            raise not_a_tile(ctx, node, value, "the destination")


def into(
    ctx: Context,
    node: ast.AST,
    row: OpRow,
    ins: Sequence[SSAValue],
    dest: Tile,
    valid: Sequence[SSAValue | int] | None = None,
    attrs: Mapping[str, Attribute] | None = None,
) -> Tile:
    """Write `dest` by the op of `row`. `valid` is the extent of the result where it is not the whole slot.

    Raises DiagnosticError for a use that the table does not allow.
    """
    held = spec_of(dest.slot.type)
    assert isinstance(held, TileSpec)
    spec, extents = _narrowed(held, valid)
    check(ctx, node, row, ins, spec, attrs)
    op = INTO_OPS[row.mnemonic].build(
        operands=[list(ins), [dest.slot], extents], result_types=[_tile_type(spec)], attributes=dict(attrs or {})
    )
    result = ctx.builder.add(op).results[0]
    tile = Tile(result, dest.slot, dest.home, dest.owned, tuple(extents), ctx.place(node))
    ctx.held.wrote(tile)
    return tile


def _narrowed(held: TileSpec, valid: Sequence[SSAValue | int] | None) -> tuple[TileSpec, list[SSAValue]]:
    if valid is None:
        return held, []
    rows, cols = (extent if isinstance(extent, int) else None for extent in valid)
    return held.with_valid(rows, cols), [extent for extent in valid if isinstance(extent, SSAValue)]


def store(
    ctx: Context,
    node: ast.AST,
    row: OpRow,
    ins: Sequence[SSAValue],
    view: SSAValue,
    attrs: Mapping[str, Attribute] | None = None,
) -> None:
    """Write global memory by the op of `row`. Raises DiagnosticError."""
    check(ctx, node, row, ins, spec_of(view.type), attrs)
    ctx.builder.add(STORE_OPS[row.mnemonic].build(operands=[list(ins), [view]], attributes=dict(attrs or {})))


def check(
    ctx: Context,
    node: ast.AST,
    row: OpRow,
    ins: Sequence[SSAValue],
    out: TableValue,
    attrs: Mapping[str, Attribute] | None = None,
) -> None:
    """Raise DiagnosticError at `node` unless the op table allows the use."""
    operands: dict[str, TableValue] = {}
    known: dict[str, int] = {}
    for named, value in zip(row.into_ins, ins, strict=False):
        operands[named.name] = spec_of(value.type)
        if (number := constant_of(value)) is not None:
            known[named.name] = number
    operands[row.out.name] = out
    if row.accumulates is not None:
        operands[row.accumulates] = out
    texts = {name: str(attr) for name, attr in (attrs or {}).items()}
    try:
        row.form(Use(row, operands, texts, ctx.target, known))
    except TableError as err:
        raise ctx.error(node, err.message, kind=err.kind) from None


def rename(value: Value, name: str) -> None:
    """Give a set that was just made the name of the variable it is bound to."""
    if isinstance(value, Tile) and value.owned is not None:
        value.owned.rename(name)
    elif isinstance(value, SlotSet) and not value.name:
        value.name = name
        cast(AllocSlotsOp, value.ssa.owner).properties["set_name"] = StringAttr(name)
