"""Objects and functions of constants: `@dataclass` configurations, classes of constants, functions like `cdiv`.

Nothing of the user's runs: bodies are evaluated here, an expression at a time, within a bounded number of steps. Pure.
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pto_buf.frontend.names import Applied, Record
from pto_buf.frontend.syntax.constants import NotConstantError, evaluate

Names = Mapping[str, object]


@dataclass
class Budget:
    """What functions of constants may still do while one file is read: statements, and calls within calls."""

    steps: int = 20_000
    depth: int = 24

    def take(self, node: ast.AST) -> None:
        """Raises NotConstantError when no step is left."""
        self.steps -= 1
        if self.steps < 0:
            raise NotConstantError(node, "functions of constants run for too long to be evaluated while reading")


_MATH: tuple[Callable[..., object], ...] = (
    math.sqrt,
    math.ceil,
    math.floor,
    math.exp,
    math.log,
    math.log2,
    math.isqrt,
    math.gcd,
)


def _nothing(name: str) -> object:
    raise KeyError(name)


def _applied(function: Callable[..., object]) -> Applied:
    def call(arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
        return function(*arguments, **keywords)

    return Applied(f"'{function.__name__}'", call, _nothing)


def _replaced(arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    record = arguments[0] if len(arguments) == 1 else None
    if not isinstance(record, Record) or record.replaced is None:
        raise TypeError("dataclasses.replace takes a record of constants")
    return record.replaced(keywords)


LIBRARY: Mapping[str, Names] = {
    "math": {
        **{function.__name__: _applied(function) for function in _MATH},
        **{name: getattr(math, name) for name in ("pi", "e", "inf", "nan")},
    },
    "dataclasses": {"replace": Applied("'replace'", _replaced, _nothing)},
}
"""What is evaluated of Python's own modules."""


@dataclass(frozen=True)
class _Class:
    """A class of the file: its fields in order, what its body names, and its properties."""

    name: str
    order: tuple[str, ...]
    constants: Names
    properties: Mapping[str, "_Function"]

    def make(self, arguments: Sequence[object], keywords: Names) -> object:
        """An instance. Raises TypeError for too many values."""
        if len(arguments) > len(self.order):
            raise TypeError(f"'{self.name}' has {len(self.order)} fields, found {len(arguments)}")
        return self._instance({**dict(zip(self.order, arguments, strict=False)), **keywords})

    def _instance(self, fields: Names) -> Record:
        def get(name: str) -> object:
            if name in fields:
                return fields[name]
            if name not in self.properties:
                return self.constants[name]
            try:
                return self.properties[name].call((made,), {})
            except (TypeError, ValueError):
                raise KeyError(name) from None

        made = Record(f"'{self.name}'", get, lambda changed: self._instance({**fields, **changed}))
        return made


def class_of(node: ast.ClassDef, names: Names, budget: Budget) -> Applied:
    """A class: `Config(rows=16).rows`, and `Config.ROWS` for what its body names."""
    order: list[str] = []
    inner = dict(names)
    constants: dict[str, object] = {}
    properties: dict[str, _Function] = {}
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                order.append(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.FunctionDef(decorator_list=[ast.Name(id="property")]):
                properties[statement.name] = _Function(statement, names, budget)
                continue
            case _:
                continue
        try:
            if value is not None:
                inner[name] = constants[name] = evaluate(value, inner.__getitem__)
        except NotConstantError:
            continue
    made = _Class(node.name, tuple(order), constants, properties)
    return Applied(f"'{node.name}'", made.make, constants.__getitem__)


def function_of(node: ast.FunctionDef, names: Names, budget: Budget) -> Applied:
    """A plain function whose calls with constants are evaluated: assignments, branches, `return`."""
    return Applied(f"'{node.name}'", _Function(node, names, budget).call, _nothing)


@dataclass(frozen=True)
class _Returned:
    value: object


@dataclass(frozen=True)
class _Function:
    node: ast.FunctionDef
    names: Names
    budget: Budget

    def call(self, arguments: Sequence[object], keywords: Names) -> object:
        """The value returned. Raises TypeError or ValueError for what is not evaluated while reading."""
        if self.budget.depth <= 0:
            raise ValueError(f"'{self.node.name}' calls too deep to be evaluated while reading")
        self.budget.depth -= 1
        try:
            found = self._run(self.node.body, self._bound(arguments, keywords))
        except NotConstantError as err:
            raise ValueError(f"in '{self.node.name}': {err.why}") from None
        finally:
            self.budget.depth += 1
        return None if found is None else found.value

    def _bound(self, arguments: Sequence[object], keywords: Names) -> dict[str, object]:
        declared = self.node.args
        positional = [one.arg for one in (*declared.posonlyargs, *declared.args)]
        named = [one.arg for one in declared.kwonlyargs]
        if declared.vararg or declared.kwarg or len(arguments) > len(positional):
            raise TypeError(f"'{self.node.name}' is not evaluated while reading with these arguments")
        bound: dict[str, object] = dict(zip(positional, arguments, strict=False))
        for name, value in keywords.items():
            if name in bound or name not in (*positional, *named):
                raise TypeError(f"'{self.node.name}' has no argument '{name}' left to give")
            bound[name] = value
        pairs = [*zip(positional[::-1], declared.defaults[::-1], strict=False)]
        pairs += [*zip(named, declared.kw_defaults, strict=True)]
        for name, default in pairs:
            if name not in bound and default is not None:
                bound[name] = evaluate(default, self.names.__getitem__)
        missing = [name for name in (*positional, *named) if name not in bound]
        if missing:
            raise TypeError(f"'{self.node.name}' lacks its argument '{missing[0]}'")
        return bound

    def _run(self, body: Sequence[ast.stmt], scope: dict[str, object]) -> _Returned | None:
        def lookup(name: str) -> object:
            return scope[name] if name in scope else self.names[name]

        for statement in body:
            self.budget.take(statement)
            match statement:
                case ast.Return(value=ast.expr() as value):
                    return _Returned(evaluate(value, lookup))
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    scope[name] = evaluate(value, lookup)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    scope[name] = evaluate(value, lookup)
                case ast.If():
                    found = self._run(statement.body if evaluate(statement.test, lookup) else statement.orelse, scope)
                    if found is not None:
                        return found
                case ast.Assert() | ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    raise NotConstantError(statement, "its body is more than names, branches and a value")
        return None
