"""Calls that mean something while the kernel is read, and orders between pipes that the user writes."""

import ast
import sys
from collections.abc import Callable, Mapping

from pto_buf.dialect.sync import BarrierOp
from pto_buf.frontend.context import Context, Evaluate
from pto_buf.frontend.kinds import ARGUMENTS
from pto_buf.frontend.values import Nothing, Static, Value, describe
from pto_buf.hw import Pipe


def _static_assert(ctx: Context, node: ast.Call, evaluate: Evaluate) -> Value:
    """`pl.static_assert(condition, message)`. Raises DiagnosticError where it does not hold."""
    if not node.args:
        raise ctx.error(node, "'static_assert' lacks its condition", kind=ARGUMENTS)
    condition = evaluate(node.args[0])
    if not isinstance(condition, Static):
        raise ctx.error(
            node.args[0], f"only what is known while reading can be asserted, this is {describe(condition)}"
        )
    if not condition.value:
        words = [evaluate(one) for one in node.args[1:2]]
        text = str(words[0].value) if words and isinstance(words[0], Static) else "it does not hold"
        raise ctx.error(node, f"static_assert: {text}", kind="static-assert")
    return Nothing("static_assert")


def _static_print(ctx: Context, node: ast.Call, evaluate: Evaluate) -> Value:
    """`pl.static_print(...)`: to the error stream, with the place."""
    words: list[str] = []
    for one in node.args:
        if isinstance(one, ast.JoinedStr):
            words.append(_formatted(one, evaluate))
            continue
        value = evaluate(one)
        words.append(str(value.value) if isinstance(value, Static) else describe(value))
    sys.stderr.write(f"{ctx.place(node)}: {' '.join(words)}\n")
    return Nothing("static_print")


def _formatted(node: ast.JoinedStr, evaluate: Evaluate) -> str:
    parts: list[str] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = evaluate(part.value)
            parts.append(str(value.value) if isinstance(value, Static) else describe(value))
        elif isinstance(part, ast.Constant):
            parts.append(str(part.value))
    return "".join(parts)


def _func_attr(ctx: Context, node: ast.Call, evaluate: Evaluate) -> Value:
    """`pl.func_attr({...})`: notes of pypto's that mean nothing here."""
    del ctx, node, evaluate
    return Nothing("func_attr")


def _bar(pipe: Pipe) -> Callable[[Context, ast.Call, Evaluate], Value]:
    """A barrier that the user asks for is kept, beside those that are needed."""

    def bar(ctx: Context, node: ast.Call, evaluate: Evaluate) -> Value:
        if node.args or node.keywords:
            raise ctx.error(node, "a barrier takes no arguments", kind=ARGUMENTS)
        ctx.builder.add(BarrierOp(pipe))
        return Nothing("bar")

    return bar


STATICS: Mapping[str, Callable[[Context, ast.Call, Evaluate], Value]] = {
    "static_assert": _static_assert,
    "static_print": _static_print,
    "func_attr": _func_attr,
    "system.bar_v": _bar(Pipe.V),
    "system.bar_m": _bar(Pipe.M),
    "system.bar_all": _bar(Pipe.ALL),
}
