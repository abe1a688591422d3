"""Headers of `for` loops: which form, its bounds, its carries."""

import ast
from dataclasses import dataclass

from pto_buf.frontend.arguments import sequence
from pto_buf.frontend.context import Context
from pto_buf.frontend.expressions import evaluate
from pto_buf.frontend.kinds import ARGUMENTS, SHAPE
from pto_buf.frontend.names import Symbol
from pto_buf.frontend.refusals import REASONS
from pto_buf.frontend.scalars import bounds, integer, known_int
from pto_buf.frontend.values import Number, Static, Value

FORMS = ("range", "pipeline", "parallel", "unroll", "spmd", "while_")

_KEYWORDS = {
    "range": ("init_values", "attrs"),
    "pipeline": ("init_values", "stage", "attrs"),
    "parallel": ("init_values", "attrs"),
    "unroll": ("attrs",),
    "spmd": ("name_hint", "sync_start", "attrs", "core_num"),
}


@dataclass(frozen=True)
class Header:
    """`for counter, (names..) in pl.form(lower, upper, step, stage=, init_values=)`."""

    form: str
    counter: str | None
    """None where the target is `_`."""
    lower: Number
    upper: Number
    step: Number
    stage: int | None
    carried: tuple[tuple[str, Value], ...]
    """Names with what they are before the loop."""


def form_of(ctx: Context, node: ast.expr) -> str | None:
    """The loop form that a `for` iterates over; None if it is none of ours."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
        return None
    if isinstance(node.func, ast.Name) and node.func.id not in ctx.globals:
        return None
    callee = evaluate(ctx, node.func)
    path = callee.value.path if isinstance(callee, Static) and isinstance(callee.value, Symbol) else None
    return path if path in FORMS else None


def _path(ctx: Context, node: ast.expr) -> str:
    """What is called below `pl`; empty for anything else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    callee = evaluate(ctx, node.func)
    return callee.value.path if isinstance(callee, Static) and isinstance(callee.value, Symbol) else ""


def read_header(ctx: Context, node: ast.For) -> Header:
    """Read the header of a `for`. Raises DiagnosticError."""
    if node.orelse:
        raise ctx.error(node.orelse[0], "'else' after a loop is not part of the DSL")
    form = form_of(ctx, node.iter)
    if form is None:
        words = "a loop iterates over pl.range, pl.pipeline, pl.parallel or pl.unroll"
        if (path := _path(ctx, node.iter)) in REASONS:
            words = f"'pl.{path}' {REASONS[path]}"
        raise ctx.error(node, words, help="use pl.range")
    call = node.iter
    assert isinstance(call, ast.Call)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    for name, value in keywords.items():
        if name not in _KEYWORDS[form]:
            raise ctx.error(value, f"pl.{form} has no argument '{name}'", kind=ARGUMENTS)
    lower, upper, step = _bounds(ctx, call, form, keywords.get("core_num"))
    stage = _stage(ctx, call, keywords.get("stage")) if form == "pipeline" else None
    if stage is not None and known_int(step) is None:
        raise ctx.error(call, "the step of pl.pipeline is a constant", kind=SHAPE)
    counter, names = _target(ctx, node)
    carried = _carried(ctx, call, names, keywords.get("init_values"))
    return Header(form, counter, lower, upper, step, stage, carried)


def _bounds(ctx: Context, call: ast.Call, form: str, extra: ast.expr | None) -> tuple[Number, Number, Number]:
    nodes = [*call.args, *([extra] if extra is not None else [])]
    if not 1 <= len(nodes) <= (1 if form == "spmd" else 3):
        raise ctx.error(call, f"pl.{form} takes a stop, or start, stop and step; found {len(nodes)}", kind=ARGUMENTS)
    found = [integer(ctx, one, evaluate(ctx, one), "a loop bound") for one in nodes]
    lower: Number = found[0] if len(found) > 1 else Static(0)
    upper = found[1] if len(found) > 1 else found[0]
    step: Number = found[2] if len(found) > 2 else Static(1)
    known, least = known_int(step), bounds(step)[0]
    if least is None or least < 1:
        found = "a value that may be 0 or less" if known is None else known
        lever = "pl.max(step, 1)" if known is None else "a step of 1 or more"
        if known is not None and known < 0:
            lever = "count up from 0 and turn the counter round in the body: i = first - j"
        raise ctx.error(nodes[-1], f"the step of a loop must be positive, found {found}", kind=SHAPE, help=lever)
    return lower, upper, step


def _stage(ctx: Context, call: ast.Call, node: ast.expr | None) -> int:
    if node is None:
        raise ctx.error(call, "pl.pipeline lacks its argument 'stage'", kind=ARGUMENTS, help="stage=2")
    stage = known_int(evaluate(ctx, node))
    if stage is None or stage < 1:
        raise ctx.error(node, "stage is a constant integer of at least 1", kind=ARGUMENTS)
    return stage


def _target(ctx: Context, node: ast.For) -> tuple[str | None, list[str]]:
    """The counter's name and those of the carried values."""
    match node.target:
        case ast.Name(id=name):
            return (None if name == "_" else name), []
        case ast.Tuple(elts=[ast.Name(id=name), ast.Tuple(elts=parts) | ast.List(elts=parts)]):
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            if len(names) == len(parts):
                return (None if name == "_" else name), names
        case _:
            pass
    raise ctx.error(node.target, "a loop's target is a name, or a name and a tuple of carried names: i, (a, b)")


def _carried(ctx: Context, call: ast.Call, names: list[str], node: ast.expr | None) -> tuple[tuple[str, Value], ...]:
    if node is None:
        if names:
            raise ctx.error(call, f"carried names ({', '.join(names)}) need init_values=", kind=ARGUMENTS)
        return ()
    values = sequence(evaluate(ctx, node))
    if values is None or len(values) != len(names):
        found = "no tuple" if values is None else f"{len(values)} values"
        raise ctx.error(node, f"init_values must be a tuple of {len(names)} values, is {found}", kind=ARGUMENTS)
    return tuple(zip(names, values, strict=True))
