"""Expressions of a kernel's body."""

import ast
from collections.abc import Callable, Mapping
from typing import Any

from pto_buf.frontend import scalars
from pto_buf.frontend.arguments import sequence
from pto_buf.frontend.context import Context
from pto_buf.frontend.control.rebinding import Changed
from pto_buf.frontend.given import Given
from pto_buf.frontend.kinds import SHAPE, UNDEFINED, UNKNOWN_OP
from pto_buf.frontend.levers import of_operator
from pto_buf.frontend.names import Applied, DType, MemRefDecl, Symbol
from pto_buf.frontend.ops import slots, subscripts
from pto_buf.frontend.ops.calls import call
from pto_buf.frontend.syntax import constants
from pto_buf.frontend.syntax.annotations import constant
from pto_buf.frontend.syntax.module import Function
from pto_buf.frontend.values import (
    Poison,
    PoisonedError,
    Scalar,
    Slot,
    SlotSet,
    Static,
    Tensor,
    Tile,
    Tuple,
    Unbound,
    Value,
    describe,
)


def evaluate(ctx: Context, node: ast.expr) -> Value:
    """The value of an expression. Raises DiagnosticError at the part that is wrong."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        what = _UNSUPPORTED.get(type(node), f"{type(node).__name__} expressions")
        raise ctx.error(node, f"{what} are not part of the DSL", help=_INSTEAD.get(type(node)))
    builder = ctx.builder
    outer, builder.where = builder.where, node
    try:
        return handler(ctx, node)
    finally:
        builder.where = outer


_UNSUPPORTED: Mapping[type[ast.expr], str] = {
    ast.IfExp: "conditional expressions",
    ast.ListComp: "comprehensions",
    ast.SetComp: "comprehensions",
    ast.DictComp: "comprehensions",
    ast.GeneratorExp: "comprehensions",
    ast.Lambda: "lambdas",
    ast.NamedExpr: "assignments inside an expression",
    ast.JoinedStr: "formatted strings",
    ast.Starred: "unpackings with '*'",
    ast.Dict: "dictionaries",
    ast.Set: "sets",
    ast.Await: "await expressions",
    ast.Yield: "yield expressions",
}


_INSTEAD: Mapping[type[ast.expr], str] = {
    ast.IfExp: "bind the name in both arms of an if statement, or use pl.min and pl.max",
    ast.ListComp: "write a loop: pl.unroll has a number of trips that is known",
    ast.Lambda: "write a function under @pl.inline",
    ast.NamedExpr: "bind the name in a statement of its own",
    ast.JoinedStr: "pl.static_print takes the parts one by one",
}


def _constant(ctx: Context, node: ast.Constant) -> Value:
    return Static(node.value)


def _name(ctx: Context, node: ast.Name) -> Value:
    value = ctx.scope.bindings.get(node.id)
    if value is None:
        if node.id in ctx.globals:
            return Static(ctx.globals[node.id])
        raise ctx.error(
            node, f"'{node.id}' is neither a name of this kernel nor a constant of its file", kind=UNDEFINED
        )
    if isinstance(value, Poison):
        raise PoisonedError
    if isinstance(value, Unbound):
        raise ctx.error(node, f"'{node.id}' {value.why}", kind=UNDEFINED, help=value.lever)
    return value


def _attribute(ctx: Context, node: ast.Attribute) -> Value:
    value = evaluate(ctx, node.value)
    if isinstance(value, Tensor):
        if node.attr == "shape":
            return Tuple(value.shape)
        if node.attr == "dtype":
            return Static(DType(value.dtype))
    if isinstance(value, Static):
        try:
            return Static(constants.attribute(value.value, node.attr))
        except TypeError:
            pass
    raise ctx.error(node, f"{describe(value)} has no attribute '{node.attr}'")


def _binary(ctx: Context, node: ast.BinOp) -> Value:
    left, right = evaluate(ctx, node.left), evaluate(ctx, node.right)
    for value in (left, right):
        if isinstance(value, (Tile, Slot)):
            words = f"the operator '{scalars.symbol(node.op)}' is for numbers, this is {describe(value)}"
            raise ctx.error(node, words, kind=SHAPE, help=of_operator(node.op))
    one = scalars.number(ctx, node.left, left, f"the left of '{scalars.symbol(node.op)}'")
    other = scalars.number(ctx, node.right, right, f"the right of '{scalars.symbol(node.op)}'")
    return scalars.binary(ctx, node, node.op, one, other)


def _unary(ctx: Context, node: ast.UnaryOp) -> Value:
    return scalars.unary(ctx, node, node.op, evaluate(ctx, node.operand))


def _compare(ctx: Context, node: ast.Compare) -> Value:
    if len(node.ops) != 1:
        raise ctx.error(node, "chained comparisons are not part of the DSL", help="write a < b and b < c")
    left, right = evaluate(ctx, node.left), evaluate(ctx, node.comparators[0])
    if isinstance(left, Static) and isinstance(right, Static):
        try:
            return Static(constants.compare(node.ops[0], left.value, right.value))
        except TypeError as err:
            raise ctx.error(node, str(err)) from None
    one = scalars.number(ctx, node.left, left, "what is compared")
    other = scalars.number(ctx, node.comparators[0], right, "what is compared")
    return scalars.compare(ctx, node, node.ops[0], one, other)


def _logical(ctx: Context, node: ast.BoolOp) -> Value:
    values = [scalars.truth(ctx, part, evaluate(ctx, part)) for part in node.values]
    return scalars.logical(ctx, node, values)


def _sequence(ctx: Context, node: ast.Tuple | ast.List) -> Value:
    items = tuple(evaluate(ctx, item) for item in node.elts)
    if all(isinstance(item, Static) for item in items):
        return Static(tuple(item.value for item in items if isinstance(item, Static)))
    return Tuple(items)


def _subscript(ctx: Context, node: ast.Subscript) -> Value:
    value = evaluate(ctx, node.value)
    if isinstance(value, SlotSet):
        index: Value = Static(None)
        if not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            index = evaluate(ctx, node.slice)
        return slots.subscript(ctx, node, value, index)
    if isinstance(value, (Tile, Slot, Tensor)):
        return subscripts.part(ctx, node, value, lambda one: evaluate(ctx, one))
    if isinstance(value, Static) and isinstance(value.value, MemRefDecl):
        raise ctx.error(
            node,
            "a slot of a pl.MemRef is named in the annotation of the tile that is made there",
            help="t: pl.Tile[shape, dtype, ring[i % 2], pl.Mem.Vec] = ..., or use pl.create_tile_buffers",
        )
    items = sequence(value)
    if items is None:
        raise ctx.error(node, f"{describe(value)} cannot be indexed here")
    position = scalars.known_int(evaluate(ctx, node.slice)) if not isinstance(node.slice, ast.Slice) else None
    if position is None:
        raise ctx.error(node, "a tuple is indexed by a constant integer", kind=SHAPE)
    if not -len(items) <= position < len(items):
        raise ctx.error(node, f"index {position} is outside the tuple's {len(items)} items", kind=SHAPE)
    return items[position]


def _changed(ctx: Context, node: Changed) -> Value:
    target = evaluate(ctx, node.target)
    return subscripts.changed(ctx, node, node.where, target, node.value, lambda one: evaluate(ctx, one))


def _call(ctx: Context, node: ast.Call) -> Value:
    def argument(part: ast.expr) -> Value:
        return evaluate(ctx, part)

    helper = _helper(ctx, node.func)
    if helper is not None and ctx.splice is not None:
        return ctx.splice(ctx, helper, node, argument)
    if isinstance(node.func, ast.Name) and node.func.id not in ctx.scope.bindings and node.func.id not in ctx.globals:
        return _builtin(ctx, node, node.func.id)
    callee = evaluate(ctx, node.func)
    if isinstance(callee, Static) and isinstance(callee.value, Applied):
        return _applied(ctx, node, callee.value)
    if not isinstance(callee, Static) or not isinstance(callee.value, Symbol):
        raise ctx.error(node, f"{describe(callee)} cannot be called", kind=UNKNOWN_OP)
    path = callee.value.path
    if path == "MemRef":
        return Static(ctx.memrefs[node] if node in ctx.memrefs else constant(ctx, node))
    if path == "const" and node.args:
        return scalars.number(ctx, node.args[0], argument(node.args[0]), "a constant")
    return call(ctx, node, path, argument)


def _applied(ctx: Context, node: ast.Call, callee: Applied) -> Value:
    """A call of a plain function of the file: evaluated here where its arguments are constants."""
    arguments = [evaluate(ctx, one) for one in node.args]
    keywords = {keyword.arg or "": evaluate(ctx, keyword.value) for keyword in node.keywords}
    known = [value.value for value in arguments if isinstance(value, Static)]
    named = {name: value.value for name, value in keywords.items() if isinstance(value, Static)}
    if len(known) != len(arguments) or len(named) != len(keywords) or "" in named:
        raise ctx.error(
            node,
            f"{callee.what} is no function of the DSL: only a call with constants is evaluated while reading",
            help="decorate it with @pl.inline",
        )
    try:
        return Static(callee.call(known, named))
    except (TypeError, ValueError, OverflowError) as err:
        raise ctx.error(node, f"{callee.what}: {err}") from None


def _helper(ctx: Context, node: ast.expr) -> Function | None:
    """The inline helper that a call names: by its name, or as a method of the same class."""
    match node:
        case ast.Name(id=name) if name not in ctx.scope.bindings:
            return ctx.helpers.get(name)
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if "self" not in ctx.scope.bindings:
            return ctx.helpers.get(f"self.{name}")
        case _:
            return None


def _builtin(ctx: Context, node: ast.Call, name: str) -> Value:
    """Harmless built-ins over what is known while reading; `len` of a slot set; `min` and `max` of scalars."""
    if not constants.is_builtin(name):
        hint = {"range": "use pl.range", "print": "pl.static_print says what is known while reading"}.get(name)
        raise ctx.error(node, f"'{name}' is no function of the DSL", help=hint)
    if node.keywords:
        raise ctx.error(node, f"'{name}' takes no keywords here")
    values = [evaluate(ctx, one) for one in node.args]
    if name == "len" and len(values) == 1:
        if isinstance(values[0], SlotSet):
            return slots.length(values[0])
        if isinstance(values[0], Tuple):
            return Static(len(values[0].items))
    if name in ("min", "max") and any(isinstance(value, Scalar) for value in values):
        numbers = [scalars.number(ctx, one, v, name) for one, v in zip(node.args, values, strict=True)]
        return scalars.extremum(ctx, node, numbers, name == "max")
    known = [value.value for value in values if isinstance(value, Static)]
    if len(known) != len(values):
        raise ctx.error(node, f"'{name}' is evaluated while reading, its arguments must be constants")
    try:
        return Static(constants.call_builtin(name, known))
    except (TypeError, ValueError) as err:
        raise ctx.error(node, f"'{name}': {err}", kind=SHAPE) from None


def _given(ctx: Context, node: Given) -> Value:
    del ctx
    return node.value


def _known(ctx: Context, node: constants.Known) -> Value:
    del ctx
    return Static(node.value)


_HANDLERS: Mapping[type[ast.expr], Callable[[Context, Any], Value]] = {
    constants.Known: _known,
    Given: _given,
    Changed: _changed,
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logical,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
