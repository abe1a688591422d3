"""Calls that mean something while the kernel is read."""

import ast
import sys
from collections.abc import Callable, Mapping

from pto_buf.frontend.context import Context, Evaluate
from pto_buf.frontend.kinds import ARGUMENTS
from pto_buf.frontend.values import Nothing, Static, Value, describe


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


STATICS: Mapping[str, Callable[[Context, ast.Call, Evaluate], Value]] = {
    "static_assert": _static_assert,
    "static_print": _static_print,
    "func_attr": _func_attr,
}
