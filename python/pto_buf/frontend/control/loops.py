"""`for` loops over `pl.range` and its kin, and what the names they rebind stand for inside and behind them."""

import ast
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import scf
from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Region

from pto_buf.dialect.kernel import GetBlockIdxOp
from pto_buf.frontend.buffers.tiles import owned_tile
from pto_buf.frontend.builder import INDEX
from pto_buf.frontend.context import Context
from pto_buf.frontend.control.carries import Carry, Numbers, Tiles, same_tensor
from pto_buf.frontend.control.headers import Header, read_header
from pto_buf.frontend.frames import Frame
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.scalars import binary, bounds, extremum, known_int, ssa
from pto_buf.frontend.syntax.flow import Flow, assigned
from pto_buf.frontend.values import Number, Poison, Scalar, Static, Tensor, Tile, Unbound, Value

Run = Callable[[Context, Sequence[ast.stmt]], None]


def loop(ctx: Context, node: ast.For, flow: Flow, run: Run) -> None:
    """Read a `for` statement. Raises DiagnosticError."""
    header = read_header(ctx, node)
    match header.form:
        case "spmd":
            _spmd(ctx, node, header, run)
        case "unroll":
            _unroll(ctx, node, header, run)
        case _:
            _counted(ctx, node, header, flow, run)


def _spmd(ctx: Context, node: ast.For, header: Header, run: Run) -> None:
    """The device scope: no loop, its variable is the index of the block."""
    if header.counter is not None:
        last = known_int(header.upper)
        with ctx.at(node):
            ctx.scope.bindings[header.counter] = Static(0) if last == 1 else block_index(ctx, last)
    run(ctx, node.body)


def block_index(ctx: Context, blocks: int | None) -> Scalar:
    """The index of the block that runs the kernel, of `blocks` in all."""
    number = ctx.builder.add(GetBlockIdxOp()).value
    index = ctx.builder.add(IndexCastOp(number, INDEX)).result
    return Scalar(index, "index", 0, None if blocks is None else blocks - 1)


def _unroll(ctx: Context, node: ast.For, header: Header, run: Run) -> None:
    lower, upper, step = (known_int(value) for value in (header.lower, header.upper, header.step))
    if lower is None or upper is None or step is None:
        raise ctx.error(node.iter, "the bounds of pl.unroll are constants", help="use pl.range")
    for trip in range(lower, upper, step):
        ctx.count(node)
        if header.counter is not None:
            ctx.scope.bindings[header.counter] = Static(trip)
        run(ctx, node.body)


def _counted(ctx: Context, node: ast.For, header: Header, flow: Flow, run: Run) -> None:
    carries = carried_names(ctx, node, flow, header.carried, header.counter)
    numbers = Numbers(ctx, node, node.body, carries)
    tiles = Tiles(ctx, node, carries, live_values(ctx, node, flow, carries))
    with ctx.at(node):
        lower, upper, step = (ssa(ctx, value) for value in (header.lower, header.upper, header.step))
        inits = numbers.inits()
    block = Block(arg_types=[INDEX, *(init.type for init in inits)])
    counter, *arguments = block.args
    low, high = bounds(header.lower)[0], bounds(header.upper)[1]
    frame = Frame(
        block,
        counter,
        lower if (known := known_int(header.lower)) is None else known,
        step if (known := known_int(header.step)) is None else known,
        ctx.source.location(node),
        header.stage,
    )
    outer = ctx.scope
    ctx.scope = outer.copy()
    ctx.frames.append(frame)
    try:
        with ctx.region(block, loop=True):
            if header.counter is not None:
                counter.name_hint = header.counter
                top = None if high is None else high - 1
                ctx.scope.bindings[header.counter] = Scalar(counter, "index", low, top)
            numbers.bind(arguments)
            tiles.bind()
            bind_tensors(ctx, carries)
            run(ctx, node.body)
            after = {carry.outer: ctx.scope.bindings.get(carry.outer, Poison()) for carry in carries}
            tiles.next(after, block, frame)
            with ctx.at(node):
                ctx.builder.add(scf.YieldOp(*numbers.next(after, inits)))
    finally:
        inner, ctx.scope = ctx.scope, outer
        ctx.frames.pop()
    with ctx.at(node):
        op = ctx.builder.add(scf.ForOp(lower, upper, step, inits, Region(block)))
    if header.stage is not None:
        op.attributes["ptobuf.stage"] = IntegerAttr(header.stage, 64)
    numbers.bind_after(op.results, after)
    tiles.bind_after(after, lambda: _trips(ctx, node, header))
    counters = [header.counter] if header.counter is not None else []
    bind_behind(ctx, node, flow, carries, inner.bindings, after, [*counters, *assigned(node.body)])


def bind_tensors(ctx: Context, carries: Sequence[Carry]) -> None:
    """Bind the carried tensors at the start of a trip."""
    for carry in carries:
        if isinstance(carry.before, Tensor):
            ctx.scope.bindings[carry.inner] = carry.before


def _trips(ctx: Context, node: ast.For, header: Header) -> Number:
    """How often the loop runs."""
    span = binary(ctx, node, ast.Sub(), header.upper, header.lower)
    low = bounds(span)[0]
    if low is None or low < 0:
        span = extremum(ctx, node, [span, Static(0)], greatest=True)
    rounded = binary(ctx, node, ast.Add(), span, binary(ctx, node, ast.Sub(), header.step, Static(1)))
    return binary(ctx, node, ast.FloorDiv(), rounded, header.step)


def live_values(ctx: Context, node: ast.For | ast.While, flow: Flow, carries: Sequence[Carry]) -> dict[str, Value]:
    """The names that are read inside the loop before they are bound there, or behind it, with what they are now.

    A name that only the loop's yield binds is another thing behind it.
    """
    inside = flow.reads_in(node)
    live = (flow.live_after(node) - {carry.outer for carry in carries}) | inside
    return {name: value for name, value in ctx.scope.bindings.items() if name in live}


def carried_names(
    ctx: Context,
    node: ast.For | ast.While,
    flow: Flow,
    explicit: Sequence[tuple[str, Value]],
    counter: str | None,
) -> list[Carry]:
    """The carries written as `init_values`, then the names that the body rebinds and somebody reads later."""
    found: list[Carry] = []
    if explicit:
        targets = _yield_targets(ctx, node, len(explicit))
        found += [Carry(name, target, init) for (name, init), target in zip(explicit, targets, strict=True)]
    taken = {name for carry in found for name in (carry.inner, carry.outer)}
    live = flow.live_after(node) | flow.reads_in(node)
    for name in assigned(node.body):
        before = ctx.scope.bindings.get(name)
        if name in taken or name == counter or name not in live:
            continue
        if before is not None and not isinstance(before, (Poison, Unbound)):
            found.append(Carry(name, name, before))
    return found


def _yield_targets(ctx: Context, node: ast.For | ast.While, count: int) -> list[str]:
    """The names that the body's last statement binds to what it yields. Raises DiagnosticError."""
    last = node.body[-1]
    targets: list[str] = []
    if isinstance(last, ast.Assign) and len(last.targets) == 1:
        target = last.targets[0]
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        targets = [part.id for part in parts if isinstance(part, ast.Name)]
    elif isinstance(last, ast.AnnAssign) and isinstance(last.target, ast.Name):
        targets = [last.target.id]
    if len(targets) != count or not is_yield(last):
        raise ctx.error(
            last,
            f"a loop with {count} init_values ends in an assignment of {count} names from pl.yield_",
            help="a, b = pl.yield_(x, y)",
        )
    return targets


def is_yield(statement: ast.stmt) -> bool:
    """Whether a statement is an assignment from `pl.yield_(...)`."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "yield_"


def bind_behind(
    ctx: Context,
    node: ast.For | ast.While,
    flow: Flow,
    carries: Sequence[Carry],
    inner: Mapping[str, Value],
    after: Mapping[str, Value],
    names: Sequence[str],
) -> None:
    """Bind the names that the loop leaves, but for carried numbers and tiles."""
    bindings = ctx.scope.bindings
    for carry in carries:
        value = after[carry.outer]
        if isinstance(carry.before, Tensor):
            if not same_tensor(value, carry.before) and not isinstance(value, Poison):
                raise ctx.error(
                    node, f"'{carry.inner}' is one tensor before this loop and another after a trip", kind=SHAPE
                )
            bindings[carry.outer] = carry.before
    done = {carry.outer for carry in carries}
    live = flow.live_after(node)
    for name in names:
        if name not in done:
            bindings[name] = _leaves(ctx, node, inner.get(name), name in live)


def _leaves(ctx: Context, node: ast.stmt, value: Value | None, live: bool) -> Value:
    """What a name stands for behind the loop that bound it anew in each trip."""
    match value:
        case Poison():
            return value
        case Static() | Tensor() if live:
            return value
        case Tile(owned=owned) if live and owned is not None and value.spec == value.held and owned.root.is_plain:
            return owned_tile(ctx, owned.root, value.held, folded=value.folded)
        case _:
            return Unbound(ctx.place(node), "is bound in a loop that may not run; bind it before the loop")
