"""Statements that change a tile without naming what comes of it: `pl.tile.write(t, [0, 1], x)` and `t[0, 1] = x`.

They are read as `t = pl.tile.write(t, [0, 1], x)`, so that loops and branches see that `t` changes. Pure rewriting of
the syntax tree; every new node has the place of the one it stands for.
"""

import ast
from collections.abc import Sequence

from pto_buf.frontend.syntax.desugar import at

_UPDATES = ("write", "scatter", "scatter_mask", "assemble", "fillpad_inplace")
"""Ops whose result is their first operand, changed in place."""


class Changed(ast.expr):
    """`target` with the part named by `where` set to `value`."""

    _fields = ("target", "where", "value")

    def __init__(self, target: ast.expr, where: ast.expr, value: ast.expr):
        super().__init__()
        self.target = target
        self.where = where
        self.value = value


def rebound(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements with a name for each tile that is changed."""
    return [_statement(one) for one in body]


def _statement(statement: ast.stmt) -> ast.stmt:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=op), args=[ast.Name(id=name), *_]) as call) if (
            op in _UPDATES
        ):
            return at(ast.Assign([at(ast.Name(name, ast.Store()), call)], call), statement)
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name)) as part], value=value):
            changed = at(Changed(at(ast.Name(name, ast.Load()), part), part.slice, value), part)
            return at(ast.Assign([at(ast.Name(name, ast.Store()), part)], changed), statement)
        case ast.If(test=test, body=body, orelse=orelse):
            then, other = rebound(body), rebound(orelse)
            return statement if _same(then, body) and _same(other, orelse) else at(ast.If(test, then, other), statement)
        case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
            inner = rebound(body)
            return statement if _same(inner, body) else at(ast.For(target, iterated, inner, orelse), statement)
        case ast.While(test=test, body=body, orelse=orelse):
            inner = rebound(body)
            return statement if _same(inner, body) else at(ast.While(test, inner, orelse), statement)
        case ast.With(items=items, body=body):
            inner = rebound(body)
            return statement if _same(inner, body) else at(ast.With(items, inner), statement)
        case _:
            return statement


def _same(found: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> bool:
    return all(one is other for one, other in zip(found, body, strict=True))
