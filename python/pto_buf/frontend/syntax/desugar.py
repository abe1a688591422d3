"""`break` and `continue` as conditions: what follows them stands under an `if`, and a loop that was left does nothing.

Pure rewriting of the syntax tree; every new node has the place of the one it stands for.
"""

import ast
from collections.abc import Sequence
from typing import TypeVar

_Leave = (ast.Break, ast.Continue)
_Loop = (ast.For, ast.While)
_N = TypeVar("_N", bound=ast.AST)


class LeavesError(Exception):
    """A `break` or `continue` at a place that has none; `node` is that place."""

    def __init__(self, node: ast.AST, why: str):
        super().__init__(why)
        self.node = node
        self.why = why


def without_leaves(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements without `break` and `continue`. Raises LeavesError."""
    found: list[ast.stmt] = []
    for statement in body:
        found += _statement(statement)
    return found


def _statement(statement: ast.stmt) -> list[ast.stmt]:
    if isinstance(statement, _Loop):
        return _loop(statement)
    if isinstance(statement, _Leave):
        raise LeavesError(statement, f"'{type(statement).__name__.lower()}' stands outside of a loop")
    if isinstance(statement, ast.If):
        if not _has_loop(statement) and not _leaves(statement):
            return [statement]
        return [at(ast.If(statement.test, without_leaves(statement.body), without_leaves(statement.orelse)), statement)]
    if isinstance(statement, ast.With) and (_has_loop(statement) or _leaves(statement)):
        return [at(ast.With(statement.items, without_leaves(statement.body)), statement)]
    return [statement]


def _has_loop(statement: ast.stmt) -> bool:
    return any(isinstance(node, _Loop) for node in ast.walk(statement))


def _loop(loop: ast.For | ast.While) -> list[ast.stmt]:
    leaving = _leaving(loop.body)
    if not leaving:
        body = without_leaves(loop.body)
        if all(one is other for one, other in zip(body, loop.body, strict=False)) and len(body) == len(loop.body):
            return [loop]
        return [_with_body(loop, body)]
    _check(loop, leaving[0])
    flag = f"__on_{loop.lineno}_{loop.col_offset}"
    breaks = [one for one in leaving if isinstance(one, ast.Break)]
    body = _arm(loop.body, flag)
    if not breaks:
        return [_with_body(loop, body)]
    guarded: list[ast.stmt] = [at(ast.If(at(ast.Name(flag, ast.Load()), breaks[0]), body, []), breaks[0])]
    start = at(ast.Assign([at(ast.Name(flag, ast.Store()), loop)], at(ast.Constant(True), loop)), loop)
    if isinstance(loop, ast.For):
        return [start, _with_body(loop, guarded)]
    test = at(ast.BoolOp(ast.And(), [at(ast.Name(flag, ast.Load()), loop), loop.test]), loop)
    return [start, at(ast.While(test, body, loop.orelse), loop)]


def _check(loop: ast.For | ast.While, leave: ast.stmt) -> None:
    """`break` and `continue` are for plain `pl.range` and `while`."""
    if isinstance(loop, ast.While):
        return
    call = loop.iter
    form = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else "range"
    word = type(leave).__name__.lower()
    if form != "range":
        raise LeavesError(leave, f"'{word}' is for pl.range and while, not for pl.{form}")
    if isinstance(call, ast.Call) and any(keyword.arg == "init_values" for keyword in call.keywords):
        raise LeavesError(leave, f"'{word}' does not go with init_values: the trip would yield nothing")


def _with_body(loop: ast.For | ast.While, body: list[ast.stmt]) -> ast.stmt:
    if isinstance(loop, ast.For):
        return at(ast.For(loop.target, loop.iter, body, loop.orelse), loop)
    return at(ast.While(loop.test, body, loop.orelse), loop)


def _leaving(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The `break` and `continue` statements that belong to the loop with this body, in the order of the text."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, _Leave):
            found.append(statement)
        elif isinstance(statement, ast.If):
            found += [*_leaving(statement.body), *_leaving(statement.orelse)]
        elif isinstance(statement, ast.With):
            found += _leaving(statement.body)
    return found


def _leaves(statement: ast.stmt) -> bool:
    return bool(_leaving([statement]))


def _arm(body: Sequence[ast.stmt], flag: str) -> list[ast.stmt]:
    """A body whose rest is not reached behind a `break` or `continue`."""
    found: list[ast.stmt] = []
    for position, statement in enumerate(body):
        rest = list(body[position + 1 :])
        if isinstance(statement, ast.Break):
            off = ast.Assign([at(ast.Name(flag, ast.Store()), statement)], at(ast.Constant(False), statement))
            return [*found, at(off, statement)]
        if isinstance(statement, ast.Continue):
            return found or [at(ast.Pass(), statement)]
        if isinstance(statement, ast.If) and _leaves(statement):
            then, other = _arm([*statement.body, *rest], flag), _arm([*statement.orelse, *rest], flag)
            return [*found, at(ast.If(statement.test, then, other), statement)]
        if isinstance(statement, ast.With) and _leaves(statement):
            raise LeavesError(_leaving([statement])[0], "a 'with' cannot be left")
        found += _statement(statement)
    return found


def at(node: _N, place: ast.AST) -> _N:
    """A node with the place of another."""
    return ast.copy_location(node, place)
