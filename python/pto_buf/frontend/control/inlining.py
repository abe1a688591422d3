"""Calls of inline helpers: the body is read where the call stands, its parameters bound to the arguments.

A slot, a set or a tensor passed to a helper is that slot, set or tensor; names of the helper are its own.
"""

import ast
from collections.abc import Mapping
from dataclasses import replace

from pto_buf.errors import Diagnostic, Note
from pto_buf.frontend.context import Context, Evaluate
from pto_buf.frontend.control.rebinding import rebound
from pto_buf.frontend.control.statements import Reader
from pto_buf.frontend.kinds import ARGUMENTS
from pto_buf.frontend.ops.memrefs import MemRefs
from pto_buf.frontend.syntax.desugar import LeavesError, without_leaves
from pto_buf.frontend.syntax.flow import Flow
from pto_buf.frontend.syntax.module import Function
from pto_buf.frontend.values import Nothing, PoisonedError, Scope, Value


class Inliner:
    """Reads helpers for one kernel."""

    def __init__(self, memrefs: MemRefs):
        self._memrefs = memrefs
        self._read: dict[int, tuple[Flow, list[ast.stmt]]] = {}
        self._open: list[Function] = []

    def splice(self, ctx: Context, helper: Function, node: ast.Call, evaluate: Evaluate) -> Value:
        """The value that a call of `helper` yields. Raises DiagnosticError."""
        if helper in self._open:
            raise ctx.error(node, f"'{helper.symbol}' calls itself; a helper is written out where it is called")
        bindings = _bind(ctx, helper, node, evaluate)
        flow, body = self._analysed(ctx, helper)
        outer_scope, outer_globals, seen = ctx.scope, ctx.globals, len(ctx.collector.diagnostics)
        ctx.scope, ctx.globals = Scope(bindings), helper.globals
        self._open.append(helper)
        try:
            reader = Reader(flow, self._memrefs, helper=True)
            reader.run(ctx, body)
        finally:
            self._open.pop()
            ctx.scope, ctx.globals = outer_scope, outer_globals
        found = ctx.collector.diagnostics[seen:]
        if found:
            ctx.collector.diagnostics[seen:] = [_called_here(ctx, one, node) for one in found]
            raise PoisonedError
        return Nothing(helper.symbol) if reader.result is None else reader.result

    def _analysed(self, ctx: Context, helper: Function) -> tuple[Flow, list[ast.stmt]]:
        """The helper's statements, and what is live between them."""
        key = id(helper.node)
        if key not in self._read:
            body = plain_body(ctx, helper)
            flow = Flow()
            flow.run(body)
            self._read[key] = flow, body
        return self._read[key]


def plain_body(ctx: Context, function: Function) -> list[ast.stmt]:
    """The statements of a function, without `break` and `continue`. Raises DiagnosticError."""
    try:
        return without_leaves(rebound(function.node.body))
    except LeavesError as err:
        raise ctx.error(err.node, err.why) from None


def _called_here(ctx: Context, diagnostic: Diagnostic, node: ast.Call) -> Diagnostic:
    return replace(diagnostic, notes=(*diagnostic.notes, Note(ctx.place(node), "called from here")))


def _bind(ctx: Context, helper: Function, node: ast.Call, evaluate: Evaluate) -> dict[str, Value]:
    """The helper's parameters with what they stand for. Raises DiagnosticError."""
    arguments = helper.node.args
    if arguments.vararg or arguments.kwarg:
        raise ctx.error(helper.node, "a helper takes plain parameters")
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    if helper.method and names and names[0] == "self":
        names = names[1:]
    every = [*names, *(one.arg for one in arguments.kwonlyargs)]
    if len(node.args) > len(names):
        raise ctx.error(node, f"'{helper.symbol}' takes {len(names)} arguments, found {len(node.args)}", kind=ARGUMENTS)
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in every or keyword.arg in given:
            raise ctx.error(
                keyword.value, f"'{helper.symbol}' has no argument '{keyword.arg}' left to give", kind=ARGUMENTS
            )
        given[keyword.arg] = keyword.value
    defaults = _defaults(helper)
    missing = [name for name in every if name not in given and name not in defaults]
    if missing:
        raise ctx.error(node, f"'{helper.symbol}' lacks its argument '{missing[0]}'", kind=ARGUMENTS)
    return {name: evaluate(given[name] if name in given else defaults[name]) for name in every}


def _defaults(helper: Function) -> Mapping[str, ast.expr]:
    arguments = helper.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    found = {one.arg: value for one, value in zip(positional[::-1], arguments.defaults[::-1], strict=False)}
    for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            found[one.arg] = value
    return found
