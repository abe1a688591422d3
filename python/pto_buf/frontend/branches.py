"""`if`: one arm where the condition is known while reading, `scf.if` with the numbers that leave it where it is not."""

import ast
from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Region

from pto_buf.frontend.context import Context
from pto_buf.frontend.expressions import evaluate
from pto_buf.frontend.flow import Flow, assigned
from pto_buf.frontend.joins import Phi, joined_number, joined_tile, phi, same
from pto_buf.frontend.scalars import ssa, truth
from pto_buf.frontend.values import Scope, Static, Unbound, Value

Run = Callable[[Context, Sequence[ast.stmt]], None]


def branch(ctx: Context, node: ast.If, flow: Flow, run: Run) -> None:
    """Read an `if` statement. Raises DiagnosticError for a condition that is none."""
    condition = truth(ctx, node.test, evaluate(ctx, node.test))
    if isinstance(condition, Static):
        run(ctx, node.body if condition.value else node.orelse)
        return
    before = ctx.scope
    blocks: list[Block] = []
    scopes: list[Scope] = []
    for body in (node.body, node.orelse):
        block = Block()
        ctx.scope = before.copy()
        with ctx.region(block, loop=False):
            run(ctx, body)
        blocks.append(block)
        scopes.append(ctx.scope)
    ctx.scope = before
    phis = _join(ctx, node, flow, before, scopes)
    types: list[Attribute] = []
    for number, block in enumerate(blocks):
        with ctx.at(node), ctx.builder.inside(block):
            values = [ssa(ctx, found.other if number else found.then, found.dtype) for found in phis]
            types = [value.type for value in values]
            if values or number == 0 or block.first_op is not None:
                ctx.builder.add(scf.YieldOp(*values))
    then, other = blocks
    regions = [Region(then), Region(other) if other.first_op is not None else Region()]
    with ctx.at(node):
        op = ctx.builder.add(scf.IfOp.build(operands=[condition.ssa], result_types=[types], regions=regions))
    for found, result in zip(phis, op.results, strict=True):
        result.name_hint = found.name
        before.bindings[found.name] = joined_number(ctx, node, found, result)
    for name, then_value, other_value in _tiles(flow.live_after(node), node, scopes, {p.name for p in phis}):
        before.bindings[name] = joined_tile(ctx, node, name, then_value, other_value)


def _join(ctx: Context, node: ast.If, flow: Flow, before: Scope, scopes: Sequence[Scope]) -> list[Phi]:
    """The numbers that leave the branch."""
    live = flow.live_after(node)
    phis: list[Phi] = []
    for name in assigned([node]):
        then, other = (scope.bindings.get(name) for scope in scopes)
        if name not in live:
            before.bindings[name] = Unbound(ctx.place(node), "is bound in a branch and not read behind it")
        elif then is None or other is None:
            before.bindings[name] = Unbound(ctx.place(node), "is bound in only one arm of this branch")
        elif same(then, other):
            before.bindings[name] = then
        elif (found := phi(ctx, node, name, then, other)) is not None:
            phis.append(found)
    return phis


def _tiles(
    live: frozenset[str], node: ast.If, scopes: Sequence[Scope], done: set[str]
) -> list[tuple[str, Value, Value]]:
    """Names that both arms bind to different things other than numbers."""
    found: list[tuple[str, Value, Value]] = []
    for name in assigned([node]):
        then, other = (scope.bindings.get(name) for scope in scopes)
        if name in live and name not in done and then is not None and other is not None and not same(then, other):
            found.append((name, then, other))
    return found
