"""Statements of a kernel's body."""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pto_buf.frontend.arguments import sequence
from pto_buf.frontend.buffers.tiles import not_a_tile, rename
from pto_buf.frontend.context import Context
from pto_buf.frontend.control.branches import branch
from pto_buf.frontend.control.headers import form_of
from pto_buf.frontend.control.loops import is_yield, loop
from pto_buf.frontend.control.whiles import explicit_while, while_loop
from pto_buf.frontend.expressions import evaluate
from pto_buf.frontend.kinds import MEMORY_SPACE, SHAPE
from pto_buf.frontend.names import Symbol, spelling
from pto_buf.frontend.ops.memrefs import MemRefs, bound_call, is_resolved
from pto_buf.frontend.scalars import convert, known_int, number
from pto_buf.frontend.syntax.annotations import ScalarType, TensorType, TileType, annotation, constant
from pto_buf.frontend.syntax.flow import Flow, assigned
from pto_buf.frontend.values import (
    Nothing,
    Poison,
    Scalar,
    Slot,
    SlotSet,
    Static,
    Tensor,
    Tile,
    Tuple,
    Value,
    Window,
    describe,
)
from pto_buf.tile import TileSpec


class Reader:
    """Reads the statements of one function body."""

    def __init__(self, flow: Flow, memrefs: MemRefs, *, helper: bool = False):
        self._flow = flow
        self._memrefs = memrefs
        self._helper = helper
        self._depth: int | None = None
        self.result: Value | None = None
        """What a helper returned."""
        self._handlers: Mapping[type[ast.stmt], Callable[[Context, Any], None]] = {
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.Expr: self._expression,
            ast.For: self._for,
            ast.If: self._if,
            ast.While: self._while,
            ast.With: self._with,
            ast.Return: self._return,
            ast.Pass: self._pass,
        }

    def run(self, ctx: Context, body: Sequence[ast.stmt]) -> None:
        """Read statements one by one; a wrong one is remembered, and what it would have bound is poison."""
        if self._depth is None:
            self._depth = ctx.depth
        for statement in body:
            ctx.count(statement)

            def poison(statement: ast.stmt = statement) -> None:
                for name in assigned([statement]):
                    ctx.scope.bindings[name] = Poison()

            def read(statement: ast.stmt = statement) -> None:
                handler = self._handlers.get(type(statement))
                if handler is None:
                    what = _UNSUPPORTED.get(type(statement), f"'{type(statement).__name__.lower()}'")
                    raise ctx.error(statement, f"{what} is not part of the DSL", help=_HELP.get(type(statement)))
                with ctx.at(statement):
                    handler(ctx, statement)

            ctx.attempt(read, poison)

    def _assign(self, ctx: Context, node: ast.Assign) -> None:
        value = self._value(ctx, node.value)
        for target in node.targets:
            if is_yield(node) and isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == 1:
                target = target.elts[0]
            _bind(ctx, target, value)

    def _annotated(self, ctx: Context, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise ctx.error(node, "a declaration without a value is not part of the DSL")
        declared = annotation(ctx, node.annotation)
        expression = node.value
        renames = isinstance(declared, TileType) and not isinstance(node.value, ast.Call) and is_resolved(declared)
        if isinstance(declared, TileType) and _binds(node.value, declared) and not renames:
            expression = bound_call(ctx, node.value, self._memrefs.slot(ctx, declared))
        value = self._value(ctx, expression)
        if isinstance(declared, TileType) and renames:
            self._lies_there(ctx, node, declared, value)
        match declared:
            case TileType():
                _agree(ctx, node, declared, value)
            case ScalarType():
                value = _typed(ctx, node, declared, value)
            case TensorType() if not isinstance(value, Tensor):
                raise ctx.error(node, f"declared a tensor, is {describe(value)}", kind=SHAPE)
            case _:
                pass
        _bind(ctx, node.target, value)

    def _lies_there(self, ctx: Context, node: ast.AnnAssign, declared: TileType, value: Value) -> None:
        """Another name for a tile repeats where the tile lies. Raises DiagnosticError where it says otherwise."""
        home = value.home if isinstance(value, Tile) else value if isinstance(value, Slot) else None
        said = self._memrefs.slot(ctx, declared).home
        if home is None or said is None or said.slots is not home.slots:
            raise ctx.error(node, f"declared to lie elsewhere than {describe(value)}", kind=SHAPE)

    def _value(self, ctx: Context, node: ast.expr) -> Value:
        value = _yielded(ctx, node) if is_yield(ast.Assign([], node)) else evaluate(ctx, node)
        if isinstance(value, Nothing):
            raise ctx.error(node, f"'{value.what}' yields no value", kind=SHAPE)
        return value

    def _expression(self, ctx: Context, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, ast.Call) and is_yield(ast.Assign([], node.value)):
            raise ctx.error(node, "what pl.yield_ yields must be bound to names", help="a = pl.yield_(x)")
        evaluate(ctx, node.value)

    def _for(self, ctx: Context, node: ast.For) -> None:
        if form_of(ctx, node.iter) == "while_":
            explicit_while(ctx, node, self._flow, self.run)
        else:
            loop(ctx, node, self._flow, self.run)

    def _while(self, ctx: Context, node: ast.While) -> None:
        while_loop(ctx, node, self._flow, self.run)

    def _with(self, ctx: Context, node: ast.With) -> None:
        """A scope of the DSL says where its body runs; here that is decided."""
        for item in node.items:
            if item.optional_vars is not None or not _is_scope(ctx, item.context_expr):
                raise ctx.error(node, f"{_UNSUPPORTED[ast.With]} is not part of the DSL", help=_HELP[ast.With])
        self.run(ctx, node.body)

    def _if(self, ctx: Context, node: ast.If) -> None:
        branch(ctx, node, self._flow, self.run)

    def _return(self, ctx: Context, node: ast.Return) -> None:
        """A kernel returns handles of tensors that it has stored to: nothing to do. A helper returns what it made."""
        if ctx.depth != self._depth:
            raise ctx.error(node, "'return' inside a loop or branch is not part of the DSL")
        if node.value is None:
            return
        if self._helper:
            self.result = evaluate(ctx, node.value)
            return
        value = evaluate(ctx, node.value)
        items = sequence(value) or (value,)
        for item in items:
            if not isinstance(item, Tensor):
                raise ctx.error(node, f"a kernel returns tensors of its own, this is {describe(item)}", kind=SHAPE)

    def _pass(self, ctx: Context, node: ast.Pass) -> None:
        del ctx, node


_UNSUPPORTED: Mapping[type[ast.stmt], str] = {
    ast.AugAssign: "augmented assignment",
    ast.With: "a 'with' over anything but a device scope",
    ast.FunctionDef: "a nested function",
    ast.ClassDef: "a nested class",
    ast.Try: "'try'",
    ast.Assert: "'assert'",
    ast.Delete: "'del'",
    ast.Import: "an import inside a kernel",
    ast.ImportFrom: "an import inside a kernel",
}

_HELP: Mapping[type[ast.stmt], str] = {
    ast.AugAssign: "write k = k + 1",
    ast.With: "slots are no context managers: select one and use its name",
    ast.Assert: "use pl.static_assert for what is known while reading",
}


_CONTINUES = ("reshape", "transpose_view", "reinterpret_view", "set_validshape", "slice", "assemble", "matmul_acc")
"""Ops whose result lies where an operand lies: printed IR says so on both."""


def _binds(node: ast.expr, declared: TileType) -> bool:
    """Whether an annotation tells the op where to make its tile."""
    if declared.memref is None:
        return False
    name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return name != "yield_" and not (is_resolved(declared) and name in _CONTINUES)


_SCOPES = ("at", "scope", "auto_scope", "manual_scope", "cluster")


def _is_scope(ctx: Context, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    callee = evaluate(ctx, node.func)
    return isinstance(callee, Static) and callee.value in [Symbol(name) for name in _SCOPES]


def _yielded(ctx: Context, node: ast.expr) -> Value:
    """The values of `pl.yield_(x, y)`: one value as itself, several as a tuple."""
    assert isinstance(node, ast.Call)
    if node.keywords:
        raise ctx.error(node, "pl.yield_ takes no keywords")
    values = tuple(evaluate(ctx, one) for one in node.args)
    return values[0] if len(values) == 1 else Tuple(values)


def _bind(ctx: Context, target: ast.expr, value: Value) -> None:
    """Bind a name, or several to the parts of a tuple. Raises DiagnosticError."""
    match target:
        case ast.Name():
            _check_rebinding(ctx, target, value)
            rename(value, target.id)
            _hint(value, target.id)
            ctx.scope.bindings[target.id] = value
        case ast.Tuple() | ast.List():
            items = sequence(value)
            if items is None or len(items) != len(target.elts):
                found = describe(value) if items is None else f"{len(items)} values"
                lever = f"a slot each: {value.name}[0]" if isinstance(value, SlotSet) else None
                raise ctx.error(target, f"{len(target.elts)} names cannot be bound to {found}", kind=SHAPE, help=lever)
            for part, item in zip(target.elts, items, strict=True):
                _bind(ctx, part, item)
        case ast.Subscript():
            raise ctx.error(target, "an element or slot is not assigned to", help="write it with an _into op or out=")
        case _:
            raise ctx.error(target, "only names are assigned to")


def _check_rebinding(ctx: Context, target: ast.Name, value: Value) -> None:
    before = ctx.scope.bindings.get(target.id)
    if isinstance(before, SlotSet) and not (isinstance(value, SlotSet) and value is before):
        raise ctx.error(
            target,
            f"'{target.id}' names a slot set and keeps naming it: it cannot be bound to {describe(value)}",
            kind=SHAPE,
        )


def _hint(value: Value, name: str) -> None:
    if isinstance(value, (Scalar, Tile, Slot, SlotSet)) and value.ssa.name_hint is None:
        value.ssa.name_hint = name


def _typed(ctx: Context, node: ast.AnnAssign, declared: ScalarType, value: Value) -> Value:
    assert node.value is not None
    found = number(ctx, node.value, value, "what is declared a scalar")
    if isinstance(found, Scalar):
        return convert(ctx, found, declared.dtype)
    if declared.dtype == "index" and known_int(found) is None:
        raise ctx.error(node, f"declared an index, is {found.value!r}", kind=SHAPE)
    return found


def _agree(ctx: Context, node: ast.AnnAssign, declared: TileType, value: Value) -> None:
    """The annotation of a tile must not contradict what it is. Raises DiagnosticError."""
    match value:
        case Slot():
            found = value.slots.tile
        case Tile():
            found = value.spec
        case Window():
            found = value.tile.spec.window(*value.shape)
        case _:
            raise not_a_tile(ctx, node, value, "what is declared a tile")
    logical = value.held.valid if isinstance(value, Tile) else found.valid
    if declared.shape not in (found.shape, logical) or declared.dtype != found.dtype:
        raise ctx.error(
            node,
            f"declared {list(declared.shape)} {declared.dtype}, the tile is {list(found.shape)} {found.dtype}",
            kind=SHAPE,
        )
    if declared.space is not None and declared.space is not found.space:
        raise ctx.error(
            node, f"declared in {spelling(declared.space)}, the tile is in {spelling(found.space)}", kind=MEMORY_SPACE
        )
    if declared.view is not None:
        _agree_view(ctx, declared.view, found)


_SAID_BY_THE_OP = ("valid_shape", "pad")
"""What a view repeats of the op that makes the tile."""


def _agree_view(ctx: Context, view: ast.Call, found: TileSpec) -> None:
    """What `pl.TileView(...)` says must be what the tile is. Raises DiagnosticError."""
    for keyword in view.keywords:
        value: object = None if keyword.arg in _SAID_BY_THE_OP else constant(ctx, keyword.value)
        word = value.path.rpartition(".")[2] if isinstance(value, Symbol) else value
        is_so: dict[str, object] = {
            "blayout": found.blayout.value,
            "slayout": found.slayout.value,
            "fractal": found.fractal,
        }
        if keyword.arg in _SAID_BY_THE_OP:
            continue
        if keyword.arg not in is_so:
            raise ctx.error(keyword.value, f"'{keyword.arg}' of pl.TileView is not supported")
        if word != is_so[keyword.arg]:
            raise ctx.error(
                keyword.value,
                f"declared with {keyword.arg} {word}, the tile has {is_so[keyword.arg]}",
                kind=SHAPE,
                help="each space has one layout here",
            )
