"""`for` loops over `pl.range` and its kin, and what the names they rebind stand for inside and behind them."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Region, SSAValue

from pto_buf.frontend.builder import INDEX, scalar_type
from pto_buf.frontend.context import Context
from pto_buf.frontend.flow import Flow, assigned, never_negative
from pto_buf.frontend.headers import Header, read_header
from pto_buf.frontend.joins import owned_tile, reselected, same
from pto_buf.frontend.kinds import SHAPE, UNDEFINED
from pto_buf.frontend.placement import Pipeline
from pto_buf.frontend.scalars import bounds, convert, known_int, ssa
from pto_buf.frontend.values import (
    Poison,
    PoisonedError,
    Scalar,
    Slot,
    SlotSet,
    Static,
    Tensor,
    Tile,
    Unbound,
    Value,
    describe,
)

Run = Callable[[Context, Sequence[ast.stmt]], None]


@dataclass
class Carry:
    """A name whose value passes from trip to trip: `inner` names it in the body, `outer` what the trip leaves."""

    inner: str
    outer: str
    before: Value


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
        if known_int(header.upper) == 1:
            ctx.scope.bindings[header.counter] = Static(0)
        else:
            ctx.scope.bindings[header.counter] = Unbound(
                ctx.place(node), "is the block index of pl.spmd with several blocks, which is not supported"
            )
    run(ctx, node.body)


def _unroll(ctx: Context, node: ast.For, header: Header, run: Run) -> None:
    lower, upper, step = (known_int(value) for value in (header.lower, header.upper, header.step))
    if lower is None or upper is None or step is None:
        raise ctx.error(node.iter, "the bounds of pl.unroll are constants", help="use pl.range")
    for trip in range(lower, upper, step):
        if header.counter is not None:
            ctx.scope.bindings[header.counter] = Static(trip)
        run(ctx, node.body)


def _counted(ctx: Context, node: ast.For, header: Header, flow: Flow, run: Run) -> None:
    carries = _carries(ctx, node, header, flow)
    numbers = [carry for carry in carries if isinstance(carry.before, (Static, Scalar)) or _slot_of(carry) is not None]
    with ctx.at(node):
        lower, upper, step = (ssa(ctx, value) for value in (header.lower, header.upper, header.step))
        inits = [_init(ctx, node, carry) for carry in numbers]
    block = Block(arg_types=[INDEX, *(init.type for init in inits)])
    counter, *arguments = block.args
    if header.counter is not None:
        counter.name_hint = header.counter
    low, high = bounds(header.lower)[0], bounds(header.upper)[1]
    iv = Scalar(counter, "index", low, None if high is None else high - 1)
    outer = ctx.scope
    ctx.scope = outer.copy()
    pipeline: Pipeline | None = None
    if header.stage is not None:
        base = known_int(header.lower)
        first = ssa(ctx, header.lower) if base is None else base
        pipeline = Pipeline(header.stage, block, counter, first, header.known_step, ctx.source.location(node))
        ctx.pipelines.append(pipeline)
    try:
        with ctx.region(block, loop=True):
            if header.counter is not None:
                ctx.scope.bindings[header.counter] = iv
            for carry, argument in zip(numbers, arguments, strict=True):
                argument.name_hint = carry.inner
                ctx.scope.bindings[carry.inner] = _inside(ctx, node, carry, argument)
            for carry in carries:
                if isinstance(carry.before, Tile):
                    ctx.scope.bindings[carry.inner] = _whatever(carry.before)
                elif isinstance(carry.before, Tensor):
                    ctx.scope.bindings[carry.inner] = carry.before
            run(ctx, node.body)
            after = {carry.outer: ctx.scope.bindings.get(carry.outer, Poison()) for carry in carries}
            with ctx.at(node):
                pairs = zip(numbers, inits, strict=True)
                values = [_next(ctx, node, carry, after[carry.outer], init) for carry, init in pairs]
                ctx.builder.add(scf.YieldOp(*values))
    finally:
        inner, ctx.scope = ctx.scope, outer
        if pipeline is not None:
            ctx.pipelines.pop()
    with ctx.at(node):
        op = ctx.builder.add(scf.ForOp(lower, upper, step, inits, Region(block)))
    if header.stage is not None:
        op.attributes["ptobuf.stage"] = IntegerAttr(header.stage, 64)
    _behind(ctx, node, header, flow, carries, inner.bindings, after)
    for carry, result in zip(numbers, op.results, strict=True):
        result.name_hint = carry.outer
        if not isinstance(after[carry.outer], Poison):
            ctx.scope.bindings[carry.outer] = _outside(ctx, node, carry, result)


def _carries(ctx: Context, node: ast.For, header: Header, flow: Flow) -> list[Carry]:
    """The carries written as `init_values`, then the names that the body rebinds and somebody reads later."""
    found: list[Carry] = []
    if header.carried:
        targets = _yield_targets(ctx, node, len(header.carried))
        found += [Carry(name, target, init) for (name, init), target in zip(header.carried, targets, strict=True)]
    taken = {name for carry in found for name in (carry.inner, carry.outer)}
    live = flow.live_after(node) | flow.reads_first(node.body)
    for name in assigned(node.body):
        before = ctx.scope.bindings.get(name)
        if name in taken or name == header.counter or name not in live or before is None:
            continue
        if isinstance(before, Poison):
            continue
        if isinstance(before, Unbound):
            continue
        found.append(Carry(name, name, before))
    return found


def _yield_targets(ctx: Context, node: ast.For, count: int) -> list[str]:
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


def _slot_of(carry: Carry) -> SlotSet | None:
    """The set of a carried slot: its index is what is carried."""
    return carry.before.slots if isinstance(carry.before, Slot) else None


def _init(ctx: Context, node: ast.For, carry: Carry) -> SSAValue:
    match carry.before:
        case Slot():
            return ssa(ctx, carry.before.index)
        case Scalar():
            return carry.before.ssa
        case Static(value=bool()):
            return ssa(ctx, carry.before, "i1")
        case Static(value=int()):
            return ssa(ctx, carry.before)
        case Static(value=float()):
            return ssa(ctx, carry.before, "f32")
        case _:
            raise ctx.error(node, f"'{carry.inner}' cannot be carried: it is {describe(carry.before)}", kind=SHAPE)


def _dtype(carry: Carry) -> str:
    match carry.before:
        case Scalar():
            return carry.before.dtype
        case Static(value=bool()):
            return "i1"
        case Static(value=float()):
            return "f32"
        case _:
            return "index"


def _inside(ctx: Context, node: ast.For, carry: Carry, argument: SSAValue) -> Value:
    """What a carried number or slot stands for at the start of a trip."""
    number = Scalar(argument, _dtype(carry), *_bounds_inside(ctx, node, carry))
    slots = _slot_of(carry)
    return number if slots is None else reselected(ctx, node, slots, number)


def _bounds_inside(ctx: Context, node: ast.For, carry: Carry) -> tuple[int | None, int | None]:
    if not isinstance(carry.before, (Static, Scalar)) or _dtype(carry) == "f32":
        return None, None
    low = bounds(carry.before)[0]
    known = frozenset(
        name
        for name, value in {**{k: Static(v) for k, v in ctx.globals.items()}, **ctx.scope.bindings}.items()
        if _positive(value)
    )
    if low is not None and low >= 0 and carry.inner == carry.outer and never_negative(node.body, carry.inner, known):
        return 0, None
    return None, None


def _positive(value: Value) -> bool:
    if isinstance(value, Static):
        return isinstance(value.value, int) and value.value >= 0
    return isinstance(value, Scalar) and value.lo is not None and value.lo >= 0


def _whatever(tile: Tile) -> Tile:
    """A tile as a later trip sees it: no longer one op's value but what its slot holds."""
    return Tile(tile.slot, tile.slot, tile.home, tile.owned, place=tile.place)


def _next(ctx: Context, node: ast.For, carry: Carry, value: Value, init: SSAValue) -> SSAValue:
    """What a trip hands to the next. Raises DiagnosticError for something of another kind."""
    if isinstance(value, Poison):
        return init
    dtype = _dtype(carry)
    if isinstance(carry.before, Slot):
        if isinstance(value, Slot) and value.slots is carry.before.slots:
            return ssa(ctx, value.index)
    elif isinstance(value, Static) and isinstance(value.value, (int, float)):
        if scalar_type(dtype) is not None and (dtype == "f32" or not isinstance(value.value, float)):
            return ssa(ctx, value, dtype)
    elif isinstance(value, Scalar) and (value.dtype == "f32") == (dtype == "f32"):
        return convert(ctx, value, dtype).ssa
    raise ctx.error(
        node,
        f"'{carry.inner}' is {describe(carry.before)} before this loop and {describe(value)} after a trip",
        kind=SHAPE,
    )


def _outside(ctx: Context, node: ast.For, carry: Carry, result: SSAValue) -> Value:
    number = Scalar(result, _dtype(carry), *_bounds_inside(ctx, node, carry))
    slots = _slot_of(carry)
    return number if slots is None else reselected(ctx, node, slots, number)


def _behind(
    ctx: Context,
    node: ast.For,
    header: Header,
    flow: Flow,
    carries: Sequence[Carry],
    inner: dict[str, Value],
    after: dict[str, Value],
) -> None:
    """Bind the names that the loop leaves, but for carried numbers."""
    live = flow.live_after(node)
    for carry in carries:
        value = after[carry.outer]
        if isinstance(carry.before, Tensor):
            if not same(carry.before, value) and not isinstance(value, Poison):
                raise ctx.error(
                    node, f"'{carry.inner}' is one tensor before this loop and another after a trip", kind=SHAPE
                )
            ctx.scope.bindings[carry.outer] = carry.before
        elif isinstance(carry.before, Tile):
            ctx.scope.bindings[carry.outer] = _carried_tile(ctx, node, carry, value)
    names = {carry.outer for carry in carries}
    counters = [header.counter] if header.counter is not None else []
    for name in [*counters, *assigned(node.body)]:
        if name in names:
            continue
        value = inner.get(name)
        if isinstance(value, Poison):
            ctx.scope.bindings[name] = Poison()
        elif name in live and isinstance(value, Tile) and value.owned is not None and value.spec == value.owned.tile:
            ctx.scope.bindings[name] = owned_tile(ctx, value.owned)
        elif name in live and isinstance(value, (Static, Tensor)):
            ctx.scope.bindings[name] = value
        else:
            ctx.scope.bindings[name] = Unbound(ctx.place(node), "is bound in a loop that may not run; bind it before")


def _carried_tile(ctx: Context, node: ast.For, carry: Carry, value: Value) -> Value:
    before = carry.before
    assert isinstance(before, Tile)
    if isinstance(value, Poison):
        raise PoisonedError
    if isinstance(value, Tile) and value.slot is before.slot:
        return _whatever(before)
    if isinstance(value, Tile) and _one_set(value, before):
        return _whatever(before)
    raise ctx.error(
        node,
        f"'{carry.inner}' is carried to the next trip in another buffer, which is not supported",
        kind=UNDEFINED,
    )


def _one_set(one: Tile, other: Tile) -> bool:
    """Whether two tiles lie in one set of ours."""
    return one.owned is not None and other.owned is not None and one.owned.root is other.owned.root
