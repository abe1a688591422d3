"""`while`, and `pl.while_` with its carried values: loops whose trips nobody counts."""

import ast
from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from pto_buf.frontend.arguments import sequence
from pto_buf.frontend.context import Context
from pto_buf.frontend.control.carries import Numbers, Tiles
from pto_buf.frontend.control.loops import bind_behind, bind_tensors, carried_names, live_values
from pto_buf.frontend.expressions import evaluate
from pto_buf.frontend.kinds import ARGUMENTS
from pto_buf.frontend.scalars import ssa, truth
from pto_buf.frontend.syntax.flow import Flow, assigned
from pto_buf.frontend.values import Poison, Static, Value

Run = Callable[[Context, Sequence[ast.stmt]], None]


def while_loop(ctx: Context, node: ast.While, flow: Flow, run: Run) -> None:
    """Read `while condition:`. Raises DiagnosticError."""
    if node.orelse:
        raise ctx.error(node.orelse[0], "'else' after a loop is not part of the DSL")
    _loop(ctx, node, node.test, node.body, (), flow, run)


def explicit_while(ctx: Context, node: ast.For, flow: Flow, run: Run) -> None:
    """Read `for (x,) in pl.while_(init_values=(x0,)):`, whose body begins with `pl.cond(...)`."""
    call = node.iter
    assert isinstance(call, ast.Call)
    first = node.body[0]
    test = _condition(first)
    if test is None:
        raise ctx.error(first, "the body of pl.while_ begins with pl.cond(condition)")
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if call.args or set(keywords) != {"init_values"}:
        raise ctx.error(call, "pl.while_ takes init_values= and nothing else", kind=ARGUMENTS)
    parts = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else []
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    values = sequence(evaluate(ctx, keywords["init_values"]))
    if values is None or len(values) != len(names) or len(names) != len(parts):
        raise ctx.error(call, "init_values and the loop's names do not go together: for (a, b) in ...", kind=ARGUMENTS)
    _loop(ctx, node, test, node.body[1:], tuple(zip(names, values, strict=True)), flow, run)


def _condition(statement: ast.stmt) -> ast.expr | None:
    """What stands in `pl.cond(...)`; None for another statement."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "cond" and call.args:
        return call.args[0]
    return None


def _loop(
    ctx: Context,
    node: ast.For | ast.While,
    test: ast.expr,
    body: Sequence[ast.stmt],
    explicit: Sequence[tuple[str, Value]],
    flow: Flow,
    run: Run,
) -> None:
    carries = carried_names(ctx, node, flow, explicit, None)
    numbers = Numbers(ctx, node, body, carries)
    tiles = Tiles(ctx, node, carries, live_values(ctx, node, flow, carries))
    with ctx.at(node):
        inits = numbers.inits()
    types = [init.type for init in inits]
    before, after = Block(arg_types=types), Block(arg_types=types)
    outer = ctx.scope
    ctx.scope = outer.copy()
    try:
        with ctx.region(before, loop=True):
            numbers.bind(before.args)
            bind_tensors(ctx, carries)
            condition = truth(ctx, test, evaluate(ctx, test))
            if condition == Static(True):
                raise ctx.error(test, "this loop never ends: its condition is always true")
            with ctx.at(node):
                ctx.builder.add(scf.ConditionOp(ssa(ctx, condition, "i1"), *before.args))
        ctx.scope = outer.copy()
        with ctx.region(after, loop=True):
            numbers.bind(after.args)
            tiles.bind()
            bind_tensors(ctx, carries)
            run(ctx, body)
            left = {carry.outer: ctx.scope.bindings.get(carry.outer, Poison()) for carry in carries}
            tiles.next(left, after, None)
            with ctx.at(node):
                ctx.builder.add(scf.YieldOp(*numbers.next(left, inits)))
    finally:
        inner, ctx.scope = ctx.scope, outer
    with ctx.at(node):
        op = ctx.builder.add(scf.WhileOp(inits, types, Region(before), Region(after)))
    numbers.bind_after(op.results, left)
    tiles.bind_after(left, lambda: Static(0))
    bind_behind(ctx, node, flow, carries, inner.bindings, left, assigned(body))
