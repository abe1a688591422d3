"""Shapes that the source leaves to the call: `def k(a: pl.Tensor)` takes them from its arguments, as pypto does.

The file's own calls say what they are: tensors made by torch in a `main`, by `pl.create_tensor` in an orchestration
function, or passed on by a function whose shapes are known. Nothing is executed. Pure: no IR.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pto_buf.frontend.names import DType, Symbol
from pto_buf.frontend.syntax.constants import NotConstantError, evaluate

_TORCH_DTYPES = {
    "float32": "f32",
    "float": "f32",
    "float16": "f16",
    "half": "f16",
    "bfloat16": "bf16",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int": "i32",
    "int64": "i64",
    "long": "i64",
    "uint8": "ui8",
}
_MAKERS = ("zeros", "ones", "empty", "rand", "randn", "full", "randint")
_LIKE = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like")
_SAME = ("contiguous", "clone", "detach", "cpu", "abs", "neg", "exp", "share_memory_", "zero_", "fill_", "normal_")


@dataclass(frozen=True)
class Shaped:
    """The shape and element type of a sample argument, and the line of the call that has it."""

    shape: tuple[int, ...]
    dtype: str
    line: int


@dataclass(frozen=True)
class _Site:
    """A call, and the function that it stands in; None for the module itself."""

    call: ast.Call
    around: ast.FunctionDef | None


@dataclass
class Samples:
    """The calls of one file."""

    tree: ast.Module
    _sites: dict[str, list[_Site]] = field(default_factory=dict[str, list[_Site]])
    _functions: dict[str, ast.FunctionDef] = field(default_factory=dict[str, ast.FunctionDef])
    _open: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._collect(self.tree, None)

    def _collect(self, node: ast.AST, around: ast.FunctionDef | None) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                self._functions.setdefault(child.name, child)
                self._collect(child, child)
                continue
            if isinstance(child, ast.Tuple):
                self._listed(child, around)
            if isinstance(child, ast.Call) and (name := _callee(child.func)) is not None:
                self._sites.setdefault(name, []).append(_Site(child, around))
            self._collect(child, around)

    def _listed(self, node: ast.Tuple, around: ast.FunctionDef | None) -> None:
        """A kernel beside a tuple of its arguments, as tables of cases have it."""
        kernels = [one.id for one in node.elts if isinstance(one, ast.Name)]
        for one in node.elts:
            if isinstance(one, ast.Tuple):
                call = ast.copy_location(ast.Call(one, list(one.elts), []), one)
                for name in kernels:
                    self._sites.setdefault(name, []).append(_Site(call, around))

    def tensors(self, function: ast.FunctionDef, names: Mapping[str, object]) -> dict[str, Shaped]:
        """What the first call that says so passes for the tensors of a function, by parameter."""
        if function.name in self._open:
            return {}
        self._open.append(function.name)
        try:
            for site in self._sites.get(function.name, []):
                found = {
                    name: shaped
                    for name, value in _pairs(function, site.call)
                    if (shaped := self._shaped(value, site, names, site.call.lineno)) is not None
                }
                if found:
                    return found
        finally:
            self._open.pop()
        return {}

    def constants(self, function: ast.FunctionDef, names: Mapping[str, object]) -> dict[str, object]:
        """What the calls of a function that builds kernels pass for parameters without a default."""
        for site in self._sites.get(function.name, []):
            if site.around is function:
                continue
            known = _Known(names, site.around, site.call.lineno)
            found: dict[str, object] = {}
            for name, value in _pairs(function, site.call):
                try:
                    found[name] = evaluate(value, known.lookup)
                except NotConstantError:
                    continue
            if found:
                return found
        return {}

    # --- what a tensor is ---

    def _shaped(self, node: ast.expr, site: _Site, names: Mapping[str, object], line: int) -> Shaped | None:
        match node:
            case ast.Name():
                return self._named(node.id, site, names, line)
            case ast.Call():
                return self._made(node, site, names, line)
            case ast.BinOp():
                return self._shaped(node.left, site, names, line) or self._shaped(node.right, site, names, line)
            case ast.UnaryOp():
                return self._shaped(node.operand, site, names, line)
            case _:
                return None

    def _named(self, name: str, site: _Site, names: Mapping[str, object], line: int) -> Shaped | None:
        """The last assignment above that says what it makes, else the parameter of the function around."""
        body = site.around.body if site.around is not None else self.tree.body
        for value, above in reversed(list(_assignments(body, name, line))):
            if (found := self._shaped(value, site, names, above)) is not None:
                return found
        if site.around is None:
            return None
        for parameter in site.around.args.args:
            if parameter.arg == name:
                declared = _annotated(parameter.annotation, _Known(names, site.around, line))
                return declared or self.tensors(site.around, names).get(name)
        return None

    def _made(self, node: ast.Call, site: _Site, names: Mapping[str, object], line: int) -> Shaped | None:
        known = _Known(names, site.around, line)
        name = _callee(node.func)
        if not isinstance(node.func, ast.Attribute) or name is None:
            return None
        if name == "create_tensor" and node.args:
            shape, dtype = _ints(node.args[0], known), _pypto_dtype(_argument(node, "dtype", 1), known)
            return None if shape is None or dtype is None else Shaped(shape, dtype, node.lineno)
        dtype = _torch_dtype(_argument(node, "dtype", None))
        if name in _MAKERS:
            shape = _made_shape(node, name, known)
            return None if shape is None else Shaped(shape, dtype or "f32", node.lineno)
        if name == "tensor" and node.args:
            return _literal(node.args[0], dtype)
        if name in _LIKE and node.args:
            return _retyped(self._shaped(node.args[0], site, names, line), dtype)
        inner = self._shaped(node.func.value, site, names, line)
        if name == "to" and node.args:
            return _retyped(inner, _torch_dtype(node.args[0]))
        if name in _TORCH_DTYPES:
            return _retyped(inner, _TORCH_DTYPES[name])
        return inner if name in _SAME else None


def _literal(node: ast.expr, dtype: str | None) -> Shaped | None:
    """What `torch.tensor([[..], [..]])` makes: its extents are the lengths of the lists."""
    shape: list[int] = []
    one = node
    while isinstance(one, (ast.List, ast.Tuple)) and one.elts:
        shape.append(len(one.elts))
        one = one.elts[0]
    if dtype is None:
        numbers = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
        dtype = "f32" if any(isinstance(number, float) for number in numbers) else "i64"
    return Shaped(tuple(shape), dtype, node.lineno) if shape else None


def _retyped(found: Shaped | None, dtype: str | None) -> Shaped | None:
    return found if found is None or dtype is None else Shaped(found.shape, dtype, found.line)


@dataclass(frozen=True)
class _Known:
    """The constants that an expression at a line of a function sees."""

    names: Mapping[str, object]
    around: ast.FunctionDef | None
    line: int

    def lookup(self, name: str) -> object:
        """Raises KeyError for a name that is not constant."""
        if self.around is not None:
            for value, above in reversed(list(_assignments(self.around.body, name, self.line))):
                return self._value(value, above, name)
            for parameter, default in _defaults(self.around):
                if parameter == name:
                    return self._value(default, self.line, name)
        return self.names[name]

    def _value(self, node: ast.expr, line: int, name: str) -> object:
        try:
            return evaluate(node, _Known(self.names, self.around, line).lookup)
        except NotConstantError:
            raise KeyError(name) from None


def _callee(node: ast.expr) -> str | None:
    """The last name of what is called; `k.lower(..)` and `k.compile(..)` stand for a call of `k`."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute(value=ast.Name(id=owner), attr="lower" | "compile"):
            return owner
        case ast.Attribute():
            return node.attr
        case _:
            return None


def _pairs(function: ast.FunctionDef, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Parameters with the arguments that a call gives them."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if names[:1] == ["self"]:
        names = names[1:]
    yield from zip(names, call.args, strict=False)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value


def _defaults(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    for one, value in zip(positional[::-1], arguments.defaults[::-1], strict=False):
        yield one.arg, value
    for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            yield one.arg, value


def _assignments(body: Sequence[ast.stmt], name: str, line: int) -> Iterator[tuple[ast.expr, int]]:
    """The values assigned to a name above a line, in the order of the text, each with its line."""
    for statement in body:
        if statement.lineno >= line:
            return
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                yield value, statement.lineno
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
                yield value, statement.lineno
            case ast.FunctionDef() | ast.ClassDef():
                continue
            case _:
                for block in ("body", "orelse", "finalbody"):
                    yield from _assignments(getattr(statement, block, []), name, line)


def _argument(call: ast.Call, name: str, position: int | None) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[position] if position is not None and position < len(call.args) else None


def _ints(node: ast.expr, known: _Known) -> tuple[int, ...] | None:
    try:
        value = evaluate(node, known.lookup)
    except NotConstantError:
        return None
    items = cast(Sequence[object], value) if isinstance(value, (list, tuple)) else (value,)
    found = [item for item in items if isinstance(item, int) and not isinstance(item, bool) and item > 0]
    return tuple(found) if len(found) == len(items) and found else None


def _made_shape(node: ast.Call, name: str, known: _Known) -> tuple[int, ...] | None:
    """The shape given to a maker of tensors: one tuple, or the extents one by one."""
    arguments = node.args[2:] if name == "randint" else node.args
    if name in ("full", "randint") or (arguments and isinstance(arguments[0], (ast.Tuple, ast.List))):
        return _ints(arguments[0], known) if arguments else None
    extents = [_ints(one, known) for one in arguments]
    flat = [one for extent in extents if extent is not None for one in extent]
    return tuple(flat) if flat and len(flat) >= len(extents) else None


def _torch_dtype(node: ast.expr | None) -> str | None:
    return _TORCH_DTYPES.get(node.attr) if isinstance(node, ast.Attribute) else None


def _pypto_dtype(node: ast.expr | None, known: _Known) -> str | None:
    if node is None:
        return None
    try:
        value = evaluate(node, known.lookup)
    except NotConstantError:
        return None
    return value.name if isinstance(value, DType) else None


def _annotated(node: ast.expr | None, known: _Known) -> Shaped | None:
    """What `pl.Tensor[[..], dtype]` says, in `pl.Out` or not."""
    if not isinstance(node, ast.Subscript):
        return None
    try:
        head = evaluate(node.value, known.lookup)
    except NotConstantError:
        return None
    if head in (Symbol("Out"), Symbol("InOut")):
        return _annotated(node.slice, known)
    if head != Symbol("Tensor") or not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) < 2:
        return None
    shape, dtype = _ints(node.slice.elts[0], known), _pypto_dtype(node.slice.elts[1], known)
    return None if shape is None or dtype is None else Shaped(shape, dtype, node.lineno)
