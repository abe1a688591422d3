"""Kernels inside orchestration: the bodies of `pl.spmd` loops and `pl.at` blocks, taken out as functions of their own.

Orchestration itself is not compiled. What a scope uses of it becomes a parameter: tensors by their annotation or the
`pl.create_tensor` that made them, loop counters as indices. Pure rewriting of the syntax tree.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pto_buf.frontend.names import DTYPES, Symbol
from pto_buf.frontend.syntax.constants import Known, NotConstantError, evaluate
from pto_buf.frontend.syntax.flow import loads, stores

_DEVICE_LEVELS = ("CORE_GROUP", "AIC", "AIV", "CORE")
_HOST_LOOPS = ("range", "parallel", "pipeline", "unroll", "while_")


@dataclass(frozen=True)
class Scope:
    """A device scope: its statement, the name it is given, and the names around it with their annotations."""

    statement: ast.For | ast.With
    hint: str | None
    around: Mapping[str, ast.expr]
    hidden: frozenset[str]
    """Names around it whose type is not written anywhere."""


@dataclass
class Outline:
    """What a function holds: its device scopes, and whether anything else in it is work."""

    scopes: list[Scope] = field(default_factory=list[Scope])
    nested: bool = False
    """A scope stands inside a loop or branch of the orchestration."""
    work: bool = False
    """Statements outside of device scopes do more than name things."""


def outline(node: ast.FunctionDef, names: Mapping[str, object]) -> Outline:
    """Find the device scopes of a function."""
    found = Outline()
    around = {
        one.arg: one.annotation for one in (*node.args.posonlyargs, *node.args.args) if one.annotation is not None
    }
    _Finder(names, found).walk(node.body, dict(around), nested=False)
    return found


@dataclass
class _Finder:
    names: Mapping[str, object]
    found: Outline
    hidden: set[str] = field(default_factory=set[str])

    def walk(self, body: Sequence[ast.stmt], around: dict[str, ast.expr], *, nested: bool) -> None:
        for statement in body:
            match statement:
                case ast.For() if self._call(statement.iter) == "spmd":
                    self._scope(statement, statement.iter, around, nested)
                case ast.With() if (call := self._device(statement)) is not None:
                    self._scope(statement, call, around, nested)
                case ast.With():
                    self.walk(statement.body, around, nested=nested)
                case ast.For():
                    self.found.work = True
                    inner = dict(around)
                    if self._call(statement.iter) in _HOST_LOOPS:
                        for name in sorted(stores(statement.target)):
                            inner[name] = _index(statement)
                    self.walk(statement.body, inner, nested=True)
                case ast.If():
                    self.found.work = True
                    self.walk(statement.body, dict(around), nested=True)
                    self.walk(statement.orelse, dict(around), nested=True)
                case ast.While():
                    self.found.work = True
                    self.walk(statement.body, dict(around), nested=True)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._assigned(name, value, around)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._assigned(name, value, around)
                case ast.Return() | ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    self.found.work = True

    def _assigned(self, name: str, value: ast.expr, around: dict[str, ast.expr]) -> None:
        """A name of the orchestration: a tensor it makes, another name for one, or something a scope cannot take."""
        made = self._call(value)
        if made in ("create_tensor", "tensor.create") and isinstance(value, ast.Call) and value.args:
            dtype = next((k.value for k in value.keywords if k.arg == "dtype"), None) or (value.args[1:2] or [None])[0]
            if dtype is not None:
                around[name] = _tensor(value, value.args[0], dtype)
        elif isinstance(value, ast.Name) and value.id in around:
            around[name] = around[value.id]
        elif (made is None and not isinstance(value, ast.Constant)) or made is not None:
            self._hide(name, around)

    def _hide(self, name: str, around: dict[str, ast.expr]) -> None:
        """A name whose value only running would tell. A call that returns a tensor it was given keeps its type."""
        self.found.work = True
        if name not in around:
            self.hidden.add(name)

    def _scope(
        self, statement: ast.For | ast.With, call: ast.expr, around: Mapping[str, ast.expr], nested: bool
    ) -> None:
        self.found.scopes.append(Scope(statement, _hint(call), dict(around), frozenset(self.hidden)))
        self.found.nested |= nested

    def _device(self, statement: ast.With) -> ast.Call | None:
        """The `pl.at(level=CORE_GROUP)` of a device scope; None for another `with`."""
        call = statement.items[0].context_expr
        if self._call(call) != "at" or not isinstance(call, ast.Call):
            return None
        levels = [keyword.value for keyword in call.keywords if keyword.arg == "level"] or call.args[:1]
        named = [one.attr for one in levels if isinstance(one, ast.Attribute)]
        return call if not levels or any(name in _DEVICE_LEVELS for name in named) else None

    def _call(self, node: ast.expr) -> str | None:
        """The path below `pl` of what is called."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            return None
        try:
            value = evaluate(node.func, self.names.__getitem__)
        except NotConstantError:
            return None
        return value.path if isinstance(value, Symbol) else None


def is_output(annotation: ast.expr, names: Mapping[str, object]) -> bool:
    """Whether a parameter is declared `pl.Out[...]` or `pl.InOut[...]`."""
    if not isinstance(annotation, ast.Subscript):
        return False
    try:
        return evaluate(annotation.value, names.__getitem__) in (Symbol("Out"), Symbol("InOut"))
    except NotConstantError:
        return False


def spmd_count(loop: ast.For, names: Mapping[str, object]) -> int | None:
    """The constant N of a `for ... in pl.spmd(N)`."""
    call = loop.iter
    if not isinstance(call, ast.Call):
        return None
    counts = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "core_num")]
    try:
        if evaluate(call.func, names.__getitem__) != Symbol("spmd") or not counts:
            return None
        found = evaluate(counts[0], names.__getitem__)
    except NotConstantError:
        return None
    return found if isinstance(found, int) and found > 0 else None


def _hint(call: ast.expr) -> str | None:
    if not isinstance(call, ast.Call):
        return None
    for keyword in call.keywords:
        if keyword.arg == "name_hint" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return None


def _index(place: ast.AST) -> ast.expr:
    """The annotation of a loop counter, `pl.Scalar[pl.INDEX]`."""
    return _at(ast.Subscript(Known(Symbol("Scalar")), Known(DTYPES["INDEX"])), place)


def _tensor(place: ast.AST, shape: ast.expr, dtype: ast.expr) -> ast.expr:
    """The annotation `pl.Out[pl.Tensor[shape, dtype]]` of a tensor that the orchestration makes."""
    inner = _at(ast.Subscript(Known(Symbol("Tensor")), _at(ast.Tuple([shape, dtype]), place)), place)
    return _at(ast.Subscript(Known(Symbol("Out")), inner), place)


def _at(node: ast.expr, place: ast.AST) -> ast.expr:
    for one in ast.walk(node):
        if not hasattr(one, "lineno"):
            ast.copy_location(one, place)
    return node


def as_function(scope: Scope, name: str) -> tuple[ast.FunctionDef, tuple[str, ...]]:
    """The scope as a function of what it uses, and the names it uses whose type the orchestration does not say."""
    used = loads(scope.statement)
    parameters = [
        ast.copy_location(ast.arg(one, annotation), annotation)
        for one, annotation in scope.around.items()
        if one in used
    ]
    arguments = ast.arguments([], parameters, None, [], [], None, [])
    node = ast.FunctionDef(name, arguments, [scope.statement], [], None, None)
    return ast.copy_location(node, scope.statement), tuple(sorted(scope.hidden & used))
