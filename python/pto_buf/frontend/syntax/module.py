"""What a source file holds: its kernels, the helpers they inline, and the constants they use. Pure: no IR.

The file is neither imported nor executed. Whatever is not a decorated function or class, a constant, or an import of
the DSL is passed over, so a file may import what is not installed and have a `main`.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from pto_buf.errors import DiagnosticError, Place
from pto_buf.frontend.kinds import TOO_LARGE
from pto_buf.frontend.names import Symbol
from pto_buf.frontend.syntax.bindings import Bindings, blocks
from pto_buf.frontend.syntax.constants import NotConstantError, evaluate
from pto_buf.frontend.syntax.imports import Imports
from pto_buf.frontend.syntax.outline import as_function, outline
from pto_buf.frontend.syntax.samples import Samples

DEEPEST = 600
"""Levels of a syntax tree that are read."""


class Kind(StrEnum):
    """What a decorated function is for."""

    INCORE = "incore"
    """Device code, cube or vector by what it does."""
    CUBE = "cube"
    VECTOR = "vector"
    OPEN = "open"
    """An entry of `@pl.jit` or an untyped `@pl.function`: device code where it says so, or throughout."""
    INLINE = "inline"
    HOST = "host"
    """Orchestration: skipped, but for the device scopes inside."""


_FUNCTION_TYPES = {
    "Opaque": Kind.OPEN,
    "Orchestration": Kind.HOST,
    "InCore": Kind.INCORE,
    "AIC": Kind.CUBE,
    "AIV": Kind.VECTOR,
    "Group": Kind.HOST,
    "Spmd": Kind.INCORE,
    "Inline": Kind.INLINE,
    "Graph": Kind.HOST,
}

_DECORATORS = {
    "jit": Kind.OPEN,
    "jit.incore": Kind.INCORE,
    "jit.inline": Kind.INLINE,
    "jit.host": Kind.HOST,
    "jit.opaque": Kind.OPEN,
    "jit.extern": Kind.HOST,
    "inline": Kind.INLINE,
    "function": Kind.OPEN,
}


@dataclass(frozen=True)
class Function:
    """A decorated function. `name` is how users ask for it: `qk` or, in a class, `SplitAttention.qk`."""

    name: str
    kind: Kind
    node: ast.FunctionDef
    method: bool
    globals: Mapping[str, object]
    """Constants and names of the DSL that its body sees."""
    hidden: tuple[str, ...] = ()
    """Names that come from orchestration around it, which does not say what they are."""

    @property
    def symbol(self) -> str:
        return self.node.name


@dataclass
class SourceModule:
    """A file, read. `functions` holds every decorated function by its name, in the order of the text."""

    tree: ast.Module
    samples: Samples
    imports: Imports
    functions: dict[str, Function] = field(default_factory=dict[str, Function])


def parse(text: str, file: str) -> ast.Module:
    """The syntax tree. Raises DiagnosticError at the place that Python cannot read, or that nests too deep for us."""
    try:
        tree = ast.parse(text, filename=file)
    except SyntaxError as err:
        place = Place(file, err.lineno or 0, err.offset or 0)
        raise DiagnosticError.at(place, f"python cannot read this: {err.msg}", kind="syntax") from None
    except (ValueError, RecursionError, MemoryError) as err:  # a NUL byte; nesting beyond the parser's stack
        raise DiagnosticError.at(Place(file), f"python cannot read this: {err}", kind="syntax") from None
    _bound_nesting(tree, file)
    return tree


def _bound_nesting(tree: ast.Module, file: str) -> None:
    """What walks the tree calls itself once a level: newer Pythons build deeper trees than they can walk."""
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    line, column = next(((at.lineno, at.col_offset + 1) for at in level if isinstance(at, ast.expr | ast.stmt)), (0, 0))
    words = "this stands too deep inside other expressions or statements to be read"
    raise DiagnosticError.at(Place(file, line, column), words, kind=TOO_LARGE)


def scan(tree: ast.Module, folder: Path | None = None) -> SourceModule:
    """Find the functions and constants of a file. `folder` is where it stands, None for one that stands nowhere."""
    module = SourceModule(tree, Samples(tree), Imports(_constants, folder))
    _scan_body(tree.body, {}, "", module)
    return module


def _constants(text: str, imports: Imports) -> Mapping[str, object]:
    """The constants of a module that a file imports; none of one that Python cannot read."""
    try:
        tree = parse(text, "")
    except DiagnosticError:
        return {}
    names: dict[str, object] = {}
    Bindings(names, imports).read(tree.body)
    return names


def _scan_body(body: Sequence[ast.stmt], outer: Mapping[str, object], prefix: str, module: SourceModule) -> None:
    """Constants first, since a function sees those below it too; then the functions."""
    names = dict(outer)
    Bindings(names, module.imports).read(body)
    for statement in body:
        match statement:
            case ast.FunctionDef():
                _scan_function(statement, names, prefix, module)
            case ast.ClassDef():
                _scan_class(statement, names, prefix, module)
            case ast.If() | ast.Try() | ast.With():
                _scan_body(list(blocks(statement)), names, prefix, module)
            case _:
                pass


def _scan_function(node: ast.FunctionDef, names: Mapping[str, object], prefix: str, module: SourceModule) -> None:
    kind = _kind(node, names)
    if kind is not None:
        _add(node, kind, names, prefix, False, module)
        return
    inner = _with_defaults(node, names, module.imports)
    for name, value in module.samples.constants(node, names).items():
        inner.setdefault(name, value)
    _scan_body(node.body, inner, prefix, module)


def _add(
    node: ast.FunctionDef, kind: Kind, names: Mapping[str, object], prefix: str, method: bool, module: SourceModule
) -> None:
    """Add a decorated function, or the kernels that stand in it."""
    name = prefix + node.name
    whole = Function(name, kind, node, method, names)
    if kind not in (Kind.OPEN, Kind.HOST):
        module.functions[name] = whole
        return
    found = outline(node, names)
    alone = len(found.scopes) == 1 and not found.nested and not found.work
    if kind is Kind.OPEN and (alone or (not found.scopes and (not found.work or _touches_tiles(node)))):
        module.functions[name] = whole
        return
    module.functions[name] = replace(whole, kind=Kind.HOST)
    for number, scope in enumerate(found.scopes, 1):
        hint = scope.hint if scope.hint is not None and scope.hint.isidentifier() else f"{node.name}_{number}"
        inner, hidden = as_function(scope, hint)
        key = f"{name}.{hint}" if f"{name}.{hint}" not in module.functions else f"{name}.{hint}_{number}"
        module.functions[key] = Function(key, Kind.INCORE, inner, False, names, hidden)


_TILE_CALLS = frozenset({"load", "store", "create_tile", "create_tile_buffers", "tile"})


def _touches_tiles(node: ast.FunctionDef) -> bool:
    """Whether a body without device scopes is device code itself: it names ops that only tiles have."""
    return any(isinstance(one, ast.Attribute) and one.attr in _TILE_CALLS for one in ast.walk(node))


def _with_defaults(node: ast.FunctionDef, names: Mapping[str, object], imports: Imports) -> dict[str, object]:
    """What the body of a function that builds kernels sees: its parameters by their defaults."""
    inner = dict(names)
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = zip(positional[::-1], arguments.defaults[::-1], strict=False)
    for parameter in [*positional, *arguments.kwonlyargs]:
        inner.pop(parameter.arg, None)
    keyword = [(p, d) for p, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    for parameter, default in [*pairs, *keyword]:
        Bindings(inner, imports).assign(ast.Name(parameter.arg, ast.Store()), default)
    return inner


def _scan_class(node: ast.ClassDef, names: Mapping[str, object], prefix: str, module: SourceModule) -> None:
    is_program = any(_path(decorator, names) == "program" for decorator in node.decorator_list)
    inner = dict(names)
    Bindings(inner, module.imports).read(node.body)
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef):
            kind = _kind(statement, inner)
            if kind is not None:
                _add(statement, kind, inner, f"{prefix}{node.name}.", is_program, module)


def _path(decorator: ast.expr, names: Mapping[str, object]) -> str | None:
    """The path below `pl` that a decorator names, called or not."""
    try:
        value = evaluate(decorator.func if isinstance(decorator, ast.Call) else decorator, names.__getitem__)
    except NotConstantError:
        return None
    return value.path if isinstance(value, Symbol) else None


def _kind(node: ast.FunctionDef, names: Mapping[str, object]) -> Kind | None:
    """What the decorators make of a function; None for one that is not the DSL's."""
    for decorator in node.decorator_list:
        path = _path(decorator, names)
        if path is None or path not in _DECORATORS:
            continue
        kind = _DECORATORS[path]
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                if keyword.arg == "type":
                    kind = _function_type(keyword.value, names) or kind
        return kind
    return None


def _function_type(node: ast.expr, names: Mapping[str, object]) -> Kind | None:
    try:
        value = evaluate(node, names.__getitem__)
    except NotConstantError:
        return None
    if isinstance(value, Symbol) and value.path.startswith("FunctionType."):
        return _FUNCTION_TYPES.get(value.path.removeprefix("FunctionType."))
    return None
