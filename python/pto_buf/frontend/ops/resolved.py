"""Buffers in printed pypto IR behind InitMemRef: `pl.MemRef(mem_vec_3, 0, 16384)`, several names on one buffer.

A buffer is a range of bytes of an allocation. Names bound to one range are values that lie there one after the other;
a name is only good until the next one is written, which the slot rules then hold every reader to.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from pto_buf.errors import DiagnosticError, Note, Place
from pto_buf.frontend.buffers.tiles import seen_as
from pto_buf.frontend.context import Context
from pto_buf.frontend.expressions import evaluate
from pto_buf.frontend.kinds import ARGUMENTS, COUNT, MEMORY_SPACE, SHAPE
from pto_buf.frontend.ops.memory import tile_spec
from pto_buf.frontend.ops.slots import declare, select_index
from pto_buf.frontend.scalars import known_int
from pto_buf.frontend.syntax.annotations import TileType, annotation
from pto_buf.frontend.values import SlotSet, Static, Tile, Value
from pto_buf.hw import MAX_SLOTS, Space
from pto_buf.tile import TileSpec


@dataclass(frozen=True)
class Resolved:
    """The parts of `pl.MemRef(base, offset, size, slots=N)[index]`."""

    base: str
    offset: ast.expr
    size: int
    slots: int
    index: ast.expr | None


@dataclass
class _Buffer:
    """A range of an allocation that tiles are bound to."""

    start: int
    size: int
    tile: TileSpec
    place: Place
    slots: SlotSet | None = None


@dataclass
class Buffers:
    """The allocations of one kernel, by the name of the variable that holds them."""

    _by_base: dict[str, list[_Buffer]] = field(default_factory=dict[str, list[_Buffer]])

    def scan(self, ctx: Context, body: Sequence[ast.stmt]) -> None:
        """Find the largest tile bound to each buffer, before anything is bound."""
        for statement in body:
            for node in ast.walk(statement):
                if not isinstance(node, ast.AnnAssign) or not isinstance(node.annotation, ast.Subscript):
                    continue
                try:
                    declared = annotation(ctx, node.annotation)
                    parts = parse(declared.memref) if isinstance(declared, TileType) and declared.memref else None
                    if parts is not None and isinstance(declared, TileType):
                        self._note(ctx, node, declared, parts)
                except DiagnosticError:
                    continue  # reported where the statement is read

    def _note(self, ctx: Context, node: ast.AnnAssign, declared: TileType, parts: Resolved) -> None:
        start = 0 if parts.slots > 1 else _constant(parts.offset)
        if start is None:
            return
        tile = _tile(ctx, declared, node)
        buffers = self._by_base.setdefault(parts.base, [])
        for buffer in buffers:
            if buffer.start == start:
                if tile.footprint > buffer.tile.footprint:
                    buffer.tile, buffer.size = tile, max(buffer.size, parts.size)
                return
        buffers.append(_Buffer(start, parts.size, tile, ctx.place(node)))

    def slot(self, ctx: Context, declared: TileType, parts: Resolved) -> Tile:
        """The slot that an annotation binds. Raises DiagnosticError."""
        node = declared.memref
        assert node is not None
        if parts.base not in ctx.scope.bindings:
            raise ctx.error(node, f"'{parts.base}' is no allocation of this kernel", kind=ARGUMENTS)
        if not 1 <= parts.slots <= MAX_SLOTS:
            raise ctx.error(node, f"a declaration has 1 to {MAX_SLOTS} slots, found {parts.slots}", kind=COUNT)
        buffer = self._buffer(ctx, node, declared, parts)
        if buffer.slots is None:
            name = parts.base if buffer.start == 0 else f"{parts.base}_{buffer.start}"
            with ctx.at(node):
                buffer.slots = declare(ctx, node, name, parts.slots, buffer.tile)
        if buffer.slots.count != parts.slots:
            first = Note(buffer.place, "declared here first")
            raise ctx.error(
                node, f"'{parts.base}' has {buffer.slots.count} slots elsewhere, here {parts.slots}", first, kind=COUNT
            )
        index: Value = Static(0) if parts.index is None else evaluate(ctx, parts.index)
        slot = select_index(ctx, node, buffer.slots, index)
        whole = Tile(slot.ssa, slot.ssa, slot, None, place=ctx.place(node))
        tile = _tile(ctx, declared, node)
        return whole if tile == buffer.tile else seen_as(ctx, node, whole, tile)

    def _buffer(self, ctx: Context, node: ast.expr, declared: TileType, parts: Resolved) -> _Buffer:
        """The range that is bound. Raises DiagnosticError for one that overlaps another without being it."""
        start = 0 if parts.slots > 1 else known_int(evaluate(ctx, parts.offset))
        if start is None:
            raise ctx.error(node, "an offset known only at run time needs slots= and an index", kind=ARGUMENTS)
        for buffer in self._by_base.get(parts.base, []):
            if buffer.start == start:
                return buffer
            if buffer.start < start + parts.size and start < buffer.start + buffer.size:
                raise ctx.error(
                    node,
                    f"bytes [{start}, {start + parts.size}) of '{parts.base}' overlap [{buffer.start}, "
                    f"{buffer.start + buffer.size}) and are not they",
                    Note(buffer.place, "bound here"),
                    kind=SHAPE,
                )
        found = _Buffer(start, parts.size, _tile(ctx, declared, node), ctx.place(node))
        self._by_base.setdefault(parts.base, []).append(found)
        return found


def parse(node: ast.expr) -> Resolved | None:
    """The parts of a resolved MemRef; None for a declaration by name."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    call = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(call, ast.Call) or len(call.args) < 3 or not isinstance(call.args[0], ast.Name):
        return None
    slots = [_constant(keyword.value) for keyword in call.keywords if keyword.arg == "slots"]
    size = _constant(call.args[2])
    return Resolved(call.args[0].id, call.args[1], size or 0, (slots[0] or 0) if slots else 1, index)


def _constant(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _tile(ctx: Context, declared: TileType, node: ast.AST) -> TileSpec:
    if declared.space is None or declared.space is Space.GM:
        raise ctx.error(
            node, "pl.MemRef needs an on-chip memory space beside it", kind=MEMORY_SPACE, help="add pl.Mem.Vec"
        )
    return tile_spec(ctx, node, declared.space, declared.shape, declared.dtype)
