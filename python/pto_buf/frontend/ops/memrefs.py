"""Slots declared in tile annotations: `pl.Tile[[16, 128], pl.FP32, pl.MemRef("sums", slots=2)[i % 2], pl.Mem.Acc]`.

A declaration is one by its name, or by the variable that holds it. Its slots are as large as the largest tile bound to
any of them. Every binding of a name has to agree on the count and the memory space.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from pto_buf.errors import DiagnosticError, Note, Place
from pto_buf.frontend.buffers.tiles import seen_as
from pto_buf.frontend.context import Context
from pto_buf.frontend.expressions import evaluate
from pto_buf.frontend.given import Given
from pto_buf.frontend.kinds import ARGUMENTS, COUNT, MEMORY_SPACE, SHAPE
from pto_buf.frontend.names import MemRefDecl, Symbol
from pto_buf.frontend.ops.memory import tile_spec
from pto_buf.frontend.ops.resolved import Buffers, parse
from pto_buf.frontend.ops.slots import declare, select_index
from pto_buf.frontend.syntax.annotations import TileType, annotation, constant
from pto_buf.frontend.values import SlotSet, Static, Tile, Value
from pto_buf.hw import MAX_SLOTS, Space
from pto_buf.tile import TileSpec


@dataclass
class _Declared:
    """What all bindings of one declaration say together."""

    decl: MemRefDecl
    tile: TileSpec
    place: Place
    slots: SlotSet | None = None


@dataclass
class MemRefs:
    """The declarations of one kernel."""

    _by_key: dict[object, _Declared] = field(default_factory=dict[object, _Declared])
    _buffers: Buffers = field(default_factory=Buffers)

    def scan(self, ctx: Context, body: Sequence[ast.stmt]) -> None:
        """Find the size of each declaration's slots, before anything is bound."""
        if ctx.source.text and "MemRef" not in ctx.source.text:
            return
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Assign):
                    self._named(ctx, node)
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.AnnAssign) and _may_declare(node.annotation):
                    try:
                        declared = annotation(ctx, node.annotation)
                    except DiagnosticError:
                        continue  # reported where the statement is read
                    if isinstance(declared, TileType) and declared.memref is not None and not is_resolved(declared):
                        self._note(ctx, declared, declared.memref)
        self._buffers.scan(ctx, body)

    @staticmethod
    def _named(ctx: Context, node: ast.Assign) -> None:
        """`ring = pl.MemRef(slots=2)`: known from the start, so that all its bindings are."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if declares(ctx, value):
                pass
            case _:
                return
        try:
            if isinstance(ctx.scope.bindings.get(name), Static):
                raise ctx.error(node, f"'{name}' names a declaration already", kind=ARGUMENTS, help="a name for each")
            decl = constant(ctx, value)
        except DiagnosticError as err:
            ctx.collector.add(err)
            return
        assert isinstance(decl, MemRefDecl)
        ctx.memrefs[value] = decl
        ctx.scope.bindings[name] = Static(decl)

    def _note(self, ctx: Context, declared: TileType, node: ast.expr) -> None:
        try:
            decl, _ = _parts(ctx, node)
            tile = _tile(ctx, declared, node)
        except DiagnosticError:
            return
        found = self._by_key.setdefault(_key(ctx, decl, node), _Declared(decl, tile, ctx.place(node)))
        if found.tile.space is tile.space and tile.footprint > found.tile.footprint:
            found.tile = tile

    def slot(self, ctx: Context, declared: TileType) -> Tile:
        """The slot that an annotation binds. Raises DiagnosticError."""
        node = declared.memref
        assert node is not None
        parts = parse(node)
        if parts is not None:
            return self._buffers.slot(ctx, declared, parts)
        decl, index_node = _parts(ctx, node)
        tile = _tile(ctx, declared, node)
        found = self._by_key.setdefault(_key(ctx, decl, node), _Declared(decl, tile, ctx.place(node)))
        self._agree(ctx, node, decl, tile, found)
        if found.slots is None:
            with ctx.at(node):
                found.slots = declare(ctx, node, decl.name or "memref", decl.slots, found.tile)
        index: Value = Static(0) if index_node is None else evaluate(ctx, index_node)
        slot = select_index(ctx, node, found.slots, index)
        whole = Tile(slot.ssa, slot.ssa, slot, None, place=ctx.place(node))
        return whole if tile == found.tile else seen_as(ctx, node, whole, tile)

    @staticmethod
    def _agree(ctx: Context, node: ast.expr, decl: MemRefDecl, tile: TileSpec, found: _Declared) -> None:
        first = Note(found.place, "declared here first")
        if decl.slots != found.decl.slots:
            raise ctx.error(
                node, f"'{decl.name}' has {found.decl.slots} slots elsewhere, here {decl.slots}", first, kind=COUNT
            )
        if tile.space is not found.tile.space:
            raise ctx.error(
                node,
                f"'{decl.name}' lies in {found.tile.space} elsewhere, here in {tile.space}",
                first,
                kind=MEMORY_SPACE,
            )


def declares(ctx: Context, node: ast.Call) -> bool:
    """Whether a call is `pl.MemRef(...)`."""
    if not isinstance(node.func, ast.Attribute):
        return False
    try:
        return constant(ctx, node.func) == Symbol("MemRef")
    except DiagnosticError:
        return False


def is_resolved(declared: TileType) -> bool:
    """Whether a MemRef names bytes of an allocation, as printed IR does, rather than declaring slots."""
    return declared.memref is not None and parse(declared.memref) is not None


def _may_declare(node: ast.expr) -> bool:
    """Whether an annotation has more than shape, type and space."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 2


def _key(ctx: Context, decl: MemRefDecl, node: ast.expr) -> object:
    """What tells declarations apart: the name, else the variable, else the place where it is written."""
    if decl.name is not None:
        return decl.name
    written = node.value if isinstance(node, ast.Subscript) else node
    return ctx.place(written) if isinstance(written, ast.Call) else decl


def _parts(ctx: Context, node: ast.expr) -> tuple[MemRefDecl, ast.expr | None]:
    """The declaration and the index. Raises DiagnosticError."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    decl = constant(ctx, node.value if isinstance(node, ast.Subscript) else node)
    assert isinstance(decl, MemRefDecl)
    if not 1 <= decl.slots <= MAX_SLOTS:
        raise ctx.error(node, f"a declaration has 1 to {MAX_SLOTS} slots, found {decl.slots}", kind=COUNT)
    if decl.slots > 1 and index is None:
        raise ctx.error(
            node, f"which of the {decl.slots} slots?", kind=ARGUMENTS, help=f"pl.MemRef(...)[i % {decl.slots}]"
        )
    if decl.slots == 1 and index is not None:
        raise ctx.error(node, "a declaration of a single slot is not indexed", kind=ARGUMENTS, help="slots=2")
    return decl, index


def _tile(ctx: Context, declared: TileType, node: ast.expr) -> TileSpec:
    if declared.space is None or declared.space is Space.GM:
        raise ctx.error(
            node, "pl.MemRef needs an on-chip memory space beside it", kind=MEMORY_SPACE, help="add pl.Mem.Vec"
        )
    return tile_spec(ctx, node, declared.space, declared.shape, declared.dtype)


def bound_call(ctx: Context, node: ast.expr, slot: Tile) -> ast.Call:
    """The call that makes a tile, told to make it in the slot. Raises DiagnosticError where nothing is made."""
    if not isinstance(node, ast.Call):
        raise ctx.error(node, "pl.MemRef is bound to the op that makes a tile, not to a name for one", kind=SHAPE)
    given = ast.copy_location(Given(slot), node)
    return ast.copy_location(ast.Call(node.func, node.args, [*node.keywords, ast.keyword("out", given)]), node)
