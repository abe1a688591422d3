"""`if`: one arm where the condition is known while reading, `scf.if` with the numbers that leave it where it is not."""

import ast
from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Region

from pto_buf.frontend.context import Context
from pto_buf.frontend.control.joins import Arm, Phi, TileJoin, joined_number, phi, same, taken_up
from pto_buf.frontend.expressions import evaluate
from pto_buf.frontend.scalars import ssa, truth
from pto_buf.frontend.syntax.flow import Flow, assigned
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
    join = _Join(ctx, node, flow, scopes, blocks)
    phis = join.numbers()
    tiles = join.tiles(phis)
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
    before.bindings.update({name: taken_up(ctx, node, value) for name, value in tiles.items()})


class _Join:
    """Finds what each name that a branch binds stands for behind it."""

    def __init__(self, ctx: Context, node: ast.If, flow: Flow, scopes: Sequence[Scope], blocks: Sequence[Block]):
        self._ctx = ctx
        self._node = node
        self._scopes = scopes
        self._blocks = blocks
        self._live = flow.live_after(node)
        self._names = assigned([node])

    def numbers(self) -> list[Phi]:
        """The numbers that leave the branch. Binds the names that need nothing to leave it."""
        ctx, place = self._ctx, self._ctx.place(self._node)
        phis: list[Phi] = []
        for name in self._names:
            then, other = (scope.bindings.get(name) for scope in self._scopes)
            if name not in self._live:
                ctx.scope.bindings[name] = Unbound(place, "is bound in a branch and not read behind it")
            elif then is None or other is None:
                ctx.scope.bindings[name] = Unbound(
                    place, "is bound in only one arm of this branch", "bind it before the branch"
                )
            elif same(then, other):
                ctx.scope.bindings[name] = then
            elif (found := phi(ctx, self._node, name, then, other)) is not None:
                phis.append(found)
        return phis

    def tiles(self, phis: Sequence[Phi]) -> dict[str, Value]:
        """What the names stand for that are no numbers and differ between the arms."""
        done = {found.name for found in phis}
        differ: dict[str, tuple[Value, Value]] = {}
        for name in self._names:
            then, other = (scope.bindings.get(name) for scope in self._scopes)
            if name in self._live and name not in done and then is not None and other is not None:
                differ[name] = (then, other)
        around = [(name, value) for name, value in self._ctx.scope.bindings.items() if name in self._live]
        inside = [(name, value) for name, values in differ.items() for value in values]
        join = TileJoin(self._ctx, self._node, [*(one for one in around if one[0] not in differ), *inside])
        found: dict[str, Value] = {}
        for name, (then, other) in differ.items():
            if not same(then, other):
                found[name] = join.join(name, Arm(self._blocks[0], then), Arm(self._blocks[1], other))
        return found
