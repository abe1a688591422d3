"""Slot sets of the user's: making them, selecting a slot, giving it back."""

import ast

from pto_buf.dialect.ptobuf import AllocSlotsOp, ReleaseOp, SlotSelectOp
from pto_buf.errors import Note
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.context import Context
from pto_buf.frontend.kinds import COUNT, INDEX_RANGE, MEMORY_SPACE, RELEASE, SET_MISUSE
from pto_buf.frontend.ops.memory import tile_spec
from pto_buf.frontend.scalars import integer, known_int, ssa
from pto_buf.frontend.values import Nothing, Poison, PoisonedError, Scalar, Slot, SlotSet, Static, Tile, Value, describe
from pto_buf.hw import MAX_SLOTS, Space
from pto_buf.tile import TileSpec


def create_tile_buffers(args: Arguments) -> Value:
    """`pl.create_tile_buffers(count, shape, dtype, mem)`: `count` equal slots. Stands outside loops."""
    ctx = args.ctx
    if ctx.depth:
        raise ctx.error(
            args.node,
            "a slot set is made outside loops and branches: one made again in each trip would lose its identity",
            kind=SET_MISUSE,
            help="move it to the top of the kernel",
        )
    count = known_int(args.value("count"))
    if count is None:
        raise ctx.error(
            args.place("count"),
            f"the number of slots must be a constant integer, found {describe(args.value('count'))}"
            + (", known only at run time" if isinstance(args.value("count"), Scalar) else ""),
            kind=COUNT,
            help="slots are laid out when the kernel is compiled: take a number, or a global of the file that is one",
        )
    if not 1 <= count <= MAX_SLOTS:
        raise ctx.error(
            args.place("count"),
            f"a slot set has 1 to {MAX_SLOTS} slots, not {count}",
            kind=COUNT,
            help="two or three are enough to let a load go on while the slot before is read",
        )
    space = args.space("memory_space", None)
    if space is None or space is Space.GM:
        raise ctx.error(
            args.place("memory_space"),
            "slots lie on the chip, not in DDR",
            kind=MEMORY_SPACE,
            help="Vec, Mat, Left, Right, Acc or Bias",
        )
    tile = tile_spec(ctx, args.node, space, args.extents("shape"), args.dtype("dtype"))
    slots = declare(ctx, args.node, "", count, tile)
    return slots


def declare(ctx: Context, node: ast.AST, name: str, count: int, tile: TileSpec) -> SlotSet:
    """A new set of the user's; an empty name is filled in when it is bound to a variable."""
    alloc = ctx.builder.slot_set(AllocSlotsOp(name, count, tile))
    slots = SlotSet(name, count, tile, alloc.slots, ctx.place(node))
    ctx.declared.append(slots)
    return slots


def select_index(ctx: Context, node: ast.expr, slots: SlotSet, index_value: Value) -> Slot:
    """`slots[index]`. Raises DiagnosticError for a constant outside [0, count)."""
    index = integer(ctx, node.slice if isinstance(node, ast.Subscript) else node, index_value, "a slot index")
    constant = known_int(index)
    if constant is not None and not 0 <= constant < slots.count:
        raise ctx.error(
            node,
            f"slot index {constant} is outside [0, {slots.count}) of '{slots.name}'",
            Note(slots.place, f"'{slots.name}' has {slots.count} slots"),
            kind=INDEX_RANGE,
            help=f"% {slots.count} keeps an index in range",
        )
    with ctx.at(node):
        op = ctx.builder.add(SlotSelectOp(slots.ssa, ssa(ctx, index)))
    return Slot(slots, index, op.slot)


def subscript(ctx: Context, node: ast.Subscript, slots: SlotSet, index: Value) -> Value:
    """`slots[...]` in whatever form. Raises DiagnosticError for a slice or several indices."""
    if isinstance(index, Poison):
        raise PoisonedError
    if isinstance(node.slice, (ast.Slice, ast.Tuple)):
        raise ctx.error(
            node,
            f"the slot set '{slots.name}' takes one index; it has no slices",
            kind=SET_MISUSE,
            help=f"select one slot: {slots.name}[i % {slots.count}]",
        )
    return select_index(ctx, node, slots, index)


def release(args: Arguments) -> Value:
    """`pl.release(x)` / `pl.tile.release(x)`: x is a slot or the result of an op that wrote it."""
    ctx, value = args.ctx, args.value("tile")
    match value:
        case Slot() | Tile(home=Slot()):
            ctx.builder.add(ReleaseOp(value.ssa))
            return Nothing("release")
        case Tile():
            message = "only a slot can be released; this tile has a buffer of the compiler's own"
        case SlotSet():
            message = f"releases the slot set '{value.name}'; a release ends the lease of one slot"
        case _:
            message = f"only a slot can be released, this is {describe(value)}"
    raise ctx.error(args.node, message, kind=RELEASE, help="name the slot, or what an op has left in it")


def length(slots: SlotSet) -> Static:
    """`len(slots)`."""
    return Static(slots.count)
