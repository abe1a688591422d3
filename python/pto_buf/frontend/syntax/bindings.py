"""What the statements of a module or class make of its names: constants, names of the DSL, functions of constants.

Pure: no IR.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pto_buf.frontend.names import ROOTS, Symbol, member
from pto_buf.frontend.syntax.constants import NotConstantError, evaluate
from pto_buf.frontend.syntax.imports import Imports
from pto_buf.frontend.syntax.records import class_of, function_of


def blocks(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements right inside another."""
    for block in ("body", "orelse", "finalbody"):
        yield from getattr(statement, block, [])


@dataclass(frozen=True)
class Bindings:
    """Names and what they stand for. A name bound to anything but a constant is taken out."""

    names: dict[str, object]
    imports: Imports

    def read(self, statements: Iterable[ast.stmt]) -> None:
        """Follow some statements."""
        for statement in statements:
            self._bind(statement)

    def _bind(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import():
                for alias in statement.names:
                    self._import(alias.asname, alias.name)
            case ast.ImportFrom():
                self._import_from(statement)
            case ast.Assign():
                for target in statement.targets:
                    self.assign(target, statement.value)
            case ast.AnnAssign(value=ast.expr() as value):
                self.assign(statement.target, value)
            case ast.If():
                self._if(statement)
            case ast.Try() | ast.With() | ast.For() | ast.While():
                self._forget(blocks(statement))
                if isinstance(statement, ast.Try):  # the usual guarded import
                    self.read(statement.body)
            case ast.FunctionDef(decorator_list=[]):
                self.names[statement.name] = function_of(statement, self.names, self.imports.budget)
            case ast.ClassDef() if not any(isinstance(one, ast.Attribute) for one in statement.decorator_list):
                self.names[statement.name] = class_of(statement, self.names, self.imports.budget)
            case _:
                self._forget([statement])

    def _if(self, statement: ast.If) -> None:
        """The arm that is taken, where that is known; else nothing of either."""
        try:
            taken = evaluate(statement.test, self.names.__getitem__)
        except NotConstantError:
            self._forget(blocks(statement))
        else:
            self.read(statement.body if taken else statement.orelse)

    def _forget(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            for name in _bound(statement):
                self.names.pop(name, None)

    def _import(self, alias: str | None, path: str) -> None:
        if alias is not None:
            self._member(alias, path)
        elif path in ROOTS:  # `import pypto.language` binds `pypto`
            self.names[path.partition(".")[0]] = Symbol("^" + path.partition(".")[0])
        elif "." not in path:
            self._keep(path, self.imports.record(path))

    def _import_from(self, statement: ast.ImportFrom) -> None:
        found = self.imports.module(statement.module, statement.level)
        for alias in statement.names:
            if found is None:
                if statement.level == 0:
                    self._member(alias.asname or alias.name, f"{statement.module}.{alias.name}")
            elif alias.name == "*":
                self.names.update({name: value for name, value in found.items() if not name.startswith("_")})
            else:
                self._keep(alias.asname or alias.name, found.get(alias.name))

    def _member(self, name: str, path: str) -> None:
        for root in ROOTS:
            if path == root:
                self.names[name] = Symbol("")
                return
            if path.startswith(f"{root}."):
                self.names[name] = member(path[len(root) + 1 :])
                return
        if path in {root.partition(".")[0] for root in ROOTS}:
            self.names[name] = Symbol("^" + path)
            return
        self._keep(name, self.imports.record(path))

    def _keep(self, name: str, value: object) -> None:
        if value is None:
            self.names.pop(name, None)
        else:
            self.names[name] = value

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """`target = value`."""
        match target, value:
            case ((ast.Tuple() | ast.List()), (ast.Tuple() | ast.List())) if len(target.elts) == len(value.elts):
                for one, part in zip(target.elts, value.elts, strict=True):
                    self.assign(one, part)
            case ((ast.Name() | ast.Tuple() | ast.List()), _):
                try:
                    self._unpack(target, evaluate(value, self.names.__getitem__))
                except NotConstantError:
                    self._forget([ast.Assign([target], value)])
            case _:
                self._forget([ast.Assign([target], value)])

    def _unpack(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (tuple, list)):
            items: list[object] = [*value]
            if len(items) == len(target.elts):
                for one, part in zip(target.elts, items, strict=True):
                    self._unpack(one, part)
                return
            self._forget([ast.Assign([target], ast.Constant(None))])
        else:
            self._forget([ast.Assign([target], ast.Constant(None))])


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, whatever to."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
