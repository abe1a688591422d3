"""Reading tiles and slots as operands, and emitting the ops that write them."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue

from pto_buf.dialect.attributes import attr_of
from pto_buf.dialect.ptobuf import INTO_BY_DSL, STORE_BY_DSL, AllocSlotsOp, SlotSelectOp
from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.row import OpRow, Role, TableError, Use
from pto_buf.dialect.table.row import Value as TableValue
from pto_buf.dialect.tile_op import constant_of, spec_of
from pto_buf.dialect.types import SlotType, TileBufType, tile_of
from pto_buf.errors import DiagnosticError, Note
from pto_buf.frontend.buffers.held import Extent
from pto_buf.frontend.buffers.interference import writers
from pto_buf.frontend.buffers.placement import OwnedSet
from pto_buf.frontend.builder import segments
from pto_buf.frontend.context import Context
from pto_buf.frontend.kinds import CLOBBER, MEMORY_SPACE, SET_MISUSE, SHAPE
from pto_buf.frontend.levers import of_use
from pto_buf.frontend.names import spelling
from pto_buf.frontend.refusals import LOAD_FIRST
from pto_buf.frontend.values import Poison, PoisonedError, Slot, SlotSet, Static, Tensor, Tile, Unbound, Value, describe
from pto_buf.hw import Space
from pto_buf.tile import TileSpec


@cache
def _tile_type(spec: TileSpec) -> TileBufType:
    return TileBufType(spec)


@cache
def _slot_type(spec: TileSpec) -> SlotType:
    return SlotType(spec)


def operand(ctx: Context, node: ast.AST, value: Value, what: str) -> Tile:
    """`value` as a tile that is read. A slot stands for whatever it holds. Raises DiagnosticError."""
    match value:
        case Tile():
            return value
        case Slot():
            return _content(ctx, node, value)
        case _:
            raise not_a_tile(ctx, node, value, what)


def _content(ctx: Context, node: ast.AST, slot: Slot, unwritten: Extent | None = None) -> Tile:
    """What a slot holds: a value where it is known, else whatever it is, with the extent that is known."""
    place = ctx.place(node)
    whole = Tile(slot.ssa, slot.ssa, slot, None, place=place)
    found = ctx.held.content(slot, place, unwritten or whole.held.valid)
    if isinstance(found, Tile):
        return found
    return whole if found == whole.held.valid else seen_as(ctx, node, whole, whole.held.with_valid(*found))


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
        return ctx.error(node, value.why, kind="undefined-name", help=value.lever)
    lever = LOAD_FIRST if isinstance(value, Tensor) else None
    return ctx.error(node, f"{what} must be a tile or slot, is {describe(value)}", kind=SHAPE, help=lever)


def new_owned(ctx: Context, node: ast.AST, spec: TileSpec, name: str) -> Tile:
    """A tile of ours: a slot set of one, until placement gives it more; nothing is written yet."""
    full = spec.with_valid(*(extent or whole for extent, whole in zip(spec.valid, spec.shape, strict=True)))
    alloc = ctx.builder.slot_set(AllocSlotsOp(name, 1, full, owned=True))
    owned = OwnedSet(full, alloc, ctx.pipeline, ctx.place(node))
    ctx.owned[owned] = None
    return owned_tile(ctx, owned, full)


def owned_tile(
    ctx: Context, owned: OwnedSet, seen: TileSpec, index: SSAValue | None = None, folded: tuple[int, ...] = ()
) -> Tile:
    """A tile of ours, its slot selected here and seen as `seen`, standing for whatever it holds.

    `index` is given where it is not the usual one, `folded` where dimensions are folded into the rows.
    """
    operands = (owned.alloc.slots, index or ctx.builder.constant(0))
    select = ctx.builder.add(SlotSelectOp.create(operands=operands, result_types=[_slot_type(seen)]))
    owned.selects[select] = index
    return Tile(select.slot, select.slot, None, owned, place=owned.place, folded=folded)


def whatever(tile: Tile) -> Tile:
    """A tile as seen where its last writer is not known: no longer one op's value but what its slot holds."""
    return replace(tile, ssa=tile.slot, valid=())


def seen_as(ctx: Context, node: ast.AST, tile: Tile, spec: TileSpec) -> Tile:
    """The bytes where a tile lies, seen as another tile: whatever they hold. Raises DiagnosticError."""
    if None in tile.spec.valid or None in spec.valid:
        raise ctx.error(
            node, "a tile whose valid extent is known only at run time cannot be seen in another shape", kind=SHAPE
        )
    with ctx.at(node):
        held = tile.owned is None  # the compiler's own tiles are kept apart where that is needed
        select = ctx.builder.add(SlotSelectOp(tile.select.slots, tile.select.index, spec, held=held))
    if tile.owned is not None:
        root = tile.owned.root
        root.selects[select] = root.selects[tile.select]
    return Tile(select.slot, select.slot, tile.home, tile.owned, place=ctx.place(node))


def left(ctx: Context, node: ast.AST, dest: Tile, valid: Extent) -> Tile:
    """What ops have left in the slot of `dest`, whichever wrote it, or saw it otherwise; `valid` is how much of it."""
    spec = dest.held.with_valid(*valid)
    tile = replace(whatever(dest), folded=()) if spec == dest.held else seen_as(ctx, node, dest, spec)
    ctx.held.wrote(tile)
    return tile


def copied(ctx: Context, node: ast.AST, tile: Tile, name: str) -> Tile:
    """The tile in a buffer of its own. Raises DiagnosticError for a space in which nothing can be copied."""
    spec = tile.spec
    if spec.space is not Space.VEC:
        raise _no_copy(ctx, node, tile, f"'{name}'")
    with ctx.at(node):
        fresh = new_owned(ctx, node, spec, name)
        valid = None if spec.valid == spec.shape else valid_extents(tile)
        made = into(ctx, node, rows_by_dsl()["move"], {"src": tile.ssa}, fresh, valid)
    return replace(made, folded=tile.folded)


def into_place(ctx: Context, node: ast.AST, tile: Tile, dest: Tile) -> None:
    """Copy a tile to where another lies. Raises DiagnosticError for a space in which nothing can be copied."""
    if tile.spec.space is not Space.VEC:
        raise _no_copy(ctx, node, tile, "a carried tile")
    with ctx.at(node):
        into(ctx, node, rows_by_dsl()["move"], {"src": tile.ssa}, dest)


def _no_copy(ctx: Context, node: ast.AST, tile: Tile, what: str) -> DiagnosticError:
    return ctx.error(
        node,
        f"two values of {what} would have to live in {spelling(tile.spec.space)} at once, and nothing copies a tile "
        "there",
        kind=MEMORY_SPACE,
        help="update it in place, or name two slots with pl.create_tile_buffers",
    )


def valid_extents(tile: Tile) -> list[SSAValue | int]:
    """The valid extent of a tile, rows and columns."""
    unknown = iter(tile.valid)
    return [next(unknown) if extent is None else extent for extent in tile.spec.valid]


def merge(ctx: Context, one: OwnedSet, other: OwnedSet, at: Tile | None = None) -> OwnedSet:
    """Make two sets of ours one: tiles that take turns under one name. `other` comes to lie where `at` lies.

    The set is as large as the larger of the two.
    """
    one, other = one.root, other.root
    if one is other:
        return one
    if other.tile.footprint > one.tile.footprint:
        widened = AllocSlotsOp(one.alloc.set_name.data, 1, other.tile, owned=True)
        ctx.builder.replace(one.alloc, widened)
        for select in one.selects:
            select.operands = (widened.slots, select.index)
        one.alloc, one.tile = widened, other.tile
    index = None if at is None else one.selects[at.select]
    for select, old in other.selects.items():
        select.operands = (one.alloc.slots, select.index)
        one.selects[select] = index if old is None else old
    one.count = max(one.count, other.count)
    other.merged = one
    del ctx.owned[other]
    ctx.builder.drop(other.alloc)
    return one


def destination(ctx: Context, node: ast.AST, value: Value, what: str = "the destination") -> Tile:
    """`value` as a slot that is written. Raises DiagnosticError."""
    match value:
        case Slot():
            return Tile(value.ssa, value.ssa, value, None, place=ctx.place(node))
        case Tile():
            return value
        case _:
            raise not_a_tile(ctx, node, value, what)


def updated(ctx: Context, node: ast.AST, value: Value, unwritten: Extent | None = None) -> Tile:
    """`value` as a slot that an op changes in place, valid as far as what it holds. Raises DiagnosticError.

    `unwritten` is the extent that counts where nothing was written yet, if it is not the whole slot.
    """
    if isinstance(value, Slot):
        return _content(ctx, node, value, unwritten)
    tile = destination(ctx, node, value)
    if unwritten is None or unwritten == tile.held.valid or None in unwritten or not is_unfilled(tile):
        return tile
    return seen_as(ctx, node, tile, tile.held.with_valid(*unwritten))


def is_unfilled(tile: Tile) -> bool:
    """Whether no op so far writes the buffer of ours in which a tile lies."""
    return tile.owned is not None and tile.ssa is tile.slot and not writers(tile.owned.root.slots)


def into(
    ctx: Context,
    node: ast.AST,
    row: OpRow,
    ins: Mapping[str, SSAValue],
    dest: Tile,
    valid: Sequence[SSAValue | int] | None = None,
    words: Mapping[str, str] | None = None,
) -> Tile:
    """Write `dest` by the op of `row`; inputs and attributes by their names in it.

    `valid` is the extent of the result where it is not the whole slot. Raises DiagnosticError for a use that the table
    does not allow.
    """
    held = dest.held
    if dest.home is not None and row.out.role is not Role.UPDATE:
        _require_turns(ctx, node, row, dest.home)
    spec, extents = _narrowed(held, valid)
    words = words or {}
    check(ctx, node, row, ins, spec, words)
    operands = _in_order(row, ins)
    op = INTO_BY_DSL[row.dsl].create(
        operands=[*operands, dest.slot, *extents],
        result_types=[_tile_type(spec)],
        properties=dict(segments(len(operands), 1, len(extents))),
        attributes=_attributes(row, words),
    )
    result = ctx.builder.add(op).results[0]
    tile = Tile(result, dest.slot, dest.home, dest.owned, tuple(extents), ctx.place(node))
    ctx.held.wrote(tile)
    return tile


def _require_turns(ctx: Context, node: ast.AST, row: OpRow, slot: Slot) -> None:
    """Trips of a pipeline that are in flight together do not all fill one slot of several. Raises DiagnosticError."""
    frame = ctx.pipeline
    if frame is None or (frame.stage or 1) < 2 or ctx.builder.block is not frame.block:
        return
    index, count = slot.index, slot.slots.count
    if isinstance(index, Static) and count > 1:
        raise ctx.error(
            node,
            f"'{row.dsl}' fills slot {index.value} of '{slot.slots.name}' in every trip of a pl.pipeline that has "
            f"{frame.stage} in flight: the next trip overwrites what this one still reads",
            Note(slot.slots.place, f"'{slot.slots.name}' has {count} slots"),
            help=f"let the trips take turns, as {slot.slots.name}[i % {count}] does, or use pl.range",
            kind=CLOBBER,
        )


def into_many(
    ctx: Context,
    node: ast.AST,
    row: OpRow,
    ins: Mapping[str, SSAValue],
    outs: Mapping[str, Tile | SSAValue],
    words: Mapping[str, str] | None = None,
) -> list[Tile]:
    """Write several tiles, each as a whole, by the op of `row`, and whatever else it has for outputs.

    Raises DiagnosticError for a use that the table does not allow.
    """
    words = words or {}
    values = {name: out.slot if isinstance(out, Tile) else out for name, out in outs.items()}
    tiles = [out for out in outs.values() if isinstance(out, Tile)]
    specs = {name: tile_of(value.type) or spec_of(value.type) for name, value in values.items()}
    main = row.out.name
    check(ctx, node, row, ins, specs.pop(main), words, specs)
    operands = [*_in_order(row, ins), *values.values()]
    op = INTO_BY_DSL[row.dsl].create(
        operands=operands,
        result_types=[_tile_type(tile.held) for tile in tiles],
        properties=dict(segments(len(operands) - len(values), len(values), 0)),
        attributes=_attributes(row, words),
    )
    results = ctx.builder.add(op).results
    made = [
        Tile(result, tile.slot, tile.home, tile.owned, (), ctx.place(node))
        for result, tile in zip(results, tiles, strict=True)
    ]
    for tile in made:
        ctx.held.wrote(tile)
    return made


def _narrowed(held: TileSpec, valid: Sequence[SSAValue | int] | None) -> tuple[TileSpec, list[SSAValue]]:
    if valid is None:
        return held, []
    rows, cols = (extent if isinstance(extent, int) else None for extent in valid)
    return held.with_valid(rows, cols), [extent for extent in valid if isinstance(extent, SSAValue)]


def _in_order(row: OpRow, ins: Mapping[str, SSAValue]) -> list[SSAValue]:
    return [ins[one.name] for one in row.into_ins if one.name in ins]


def _attributes(row: OpRow, words: Mapping[str, str]) -> dict[str, Attribute]:
    return {one.name: attr_of(one.type, words[one.name]) for one in row.attrs if one.name in words}


def store(
    ctx: Context,
    node: ast.AST,
    row: OpRow,
    ins: Mapping[str, SSAValue],
    view: SSAValue,
    words: Mapping[str, str] | None = None,
) -> None:
    """Write global memory by the op of `row`. Raises DiagnosticError."""
    words = words or {}
    check(ctx, node, row, ins, spec_of(view.type), words)
    operands = _in_order(row, ins)
    op = STORE_BY_DSL[row.dsl].create(
        operands=[*operands, view],
        properties=dict(segments(len(operands), 1)),
        attributes=_attributes(row, words),
    )
    ctx.builder.add(op)


def check(
    ctx: Context,
    node: ast.AST,
    row: OpRow,
    ins: Mapping[str, SSAValue],
    out: TableValue,
    words: Mapping[str, str],
    more: Mapping[str, TableValue] | None = None,
) -> None:
    """Raise DiagnosticError at `node` unless the op table allows the use; `more` are outputs beside the main one."""
    operands: dict[str, TableValue] = {name: spec_of(value.type) for name, value in ins.items()}
    known = {name: number for name, value in ins.items() if (number := constant_of(value)) is not None}
    operands[row.out.name] = out
    operands.update(more or {})
    if row.accumulates is not None:
        operands[row.accumulates] = out
    try:
        row.form(Use(row, operands, words, ctx.target, known))
    except TableError as err:
        raise ctx.error(node, err.message, kind=err.kind, help=of_use(row, operands)) from None


def rename(value: Value, name: str) -> None:
    """Give a set that was just made the name of the variable it is bound to."""
    if isinstance(value, Tile) and value.owned is not None:
        value.owned.rename(name)
    elif isinstance(value, SlotSet) and not value.name:
        value.name = name
        cast(AllocSlotsOp, value.ssa.owner).properties["set_name"] = StringAttr(name)
