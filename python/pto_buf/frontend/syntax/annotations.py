"""Annotations: what a parameter or a local name is declared to be."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.errors import DiagnosticError
from pto_buf.frontend.context import Context
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.names import DType, DynExpr, DynVar, MemRefDecl, Symbol
from pto_buf.frontend.syntax.constants import Known, NotConstantError, evaluate
from pto_buf.frontend.values import Poison, PoisonedError, Static
from pto_buf.hw import Space

_LARGEST = 1 << 48
"""No memory has as many elements."""

Extent = int | str | DynExpr
"""A static extent, the name of a dimension known only at run time, or what is worked out of such."""


@dataclass(frozen=True)
class TensorType:
    shape: tuple[Extent, ...]
    dtype: str
    written: bool


@dataclass(frozen=True)
class ScalarType:
    dtype: str


@dataclass(frozen=True)
class TileType:
    """A tile annotation. What it leaves out is None."""

    shape: tuple[int, ...]
    dtype: str
    space: Space | None
    memref: ast.expr | None
    view: ast.Call | None = None


@dataclass(frozen=True)
class ShapelessType:
    """A bare `pl.Tensor`: the call says what it is."""

    written: bool


Annotation = TensorType | ShapelessType | ScalarType | TileType | None
"""None stands for a type that says nothing we check: a tuple, an array, an unknown name."""


def constant(ctx: Context, node: ast.expr) -> object:
    """The value of a constant expression in an annotation. Raises DiagnosticError."""

    def lookup(name: str) -> object:
        value = ctx.scope.bindings.get(name)
        if isinstance(value, Static):
            return value.value
        if isinstance(value, Poison):
            raise PoisonedError
        if value is not None:
            raise KeyError(name)
        return ctx.globals[name]

    try:
        return evaluate(node, lookup)
    except NotConstantError as err:
        lever = None
        if isinstance(err.node, ast.Name):
            lever = "bind it to a number: what needs the command line, or a run, is not worked out"
        raise ctx.error(err.node, f"an annotation is made of constants: {err.why}", kind=SHAPE, help=lever) from None


def annotation(ctx: Context, node: ast.expr) -> Annotation:
    """Read an annotation. Raises DiagnosticError."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return annotation(ctx, _quoted(ctx, node, node.value))
    if not isinstance(node, ast.Subscript):
        return _bare(ctx, node)
    head = constant(ctx, node.value) if isinstance(node.value, (ast.Name, ast.Attribute, Known)) else None
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    match head:
        case Symbol(path="Out" | "InOut"):
            inner = annotation(ctx, items[0])
            if isinstance(inner, ShapelessType):
                return ShapelessType(True)
            return TensorType(inner.shape, inner.dtype, True) if isinstance(inner, TensorType) else inner
        case Symbol(path="Tensor"):
            return _tensor(ctx, node, items)
        case Symbol(path="Scalar"):
            return ScalarType(_dtype(ctx, items[0]))
        case Symbol(path="Tile"):
            return _tile(ctx, node, items)
        case _:
            return None


def _bare(ctx: Context, node: ast.expr) -> Annotation:
    """`pl.Tensor` without a shape; `pl.FP32` for a scalar."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return None
    try:
        found = constant(ctx, node)
    except DiagnosticError:
        return None
    if found == Symbol("Tensor"):
        return ShapelessType(False)
    return ScalarType(found.name) if isinstance(found, DType) else None


def _quoted(ctx: Context, node: ast.Constant, text: str) -> ast.expr:
    try:
        inner = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise ctx.error(node, f"'{text}' is no annotation", kind=SHAPE) from None
    for one in ast.walk(inner):
        ast.copy_location(one, node)
    return inner


def _dtype(ctx: Context, node: ast.expr) -> str:
    found = constant(ctx, node)
    if not isinstance(found, DType):
        raise ctx.error(node, "expected an element type such as pl.FP32", kind=SHAPE)
    return found.name


def _extents(ctx: Context, node: ast.expr) -> tuple[Extent, ...]:
    if not isinstance(node, (ast.List, ast.Tuple)):
        raise ctx.error(node, "expected a list of extents, like [64, 128]", kind=SHAPE)
    found: list[Extent] = []
    for part in node.elts:
        value = constant(ctx, part)
        if isinstance(value, (DynVar, DynExpr)):
            found.append(value if isinstance(value, DynExpr) else value.name)
        elif isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST:
            found.append(value)
        elif isinstance(value, int) and value >= _LARGEST:
            raise ctx.error(part, f"an extent of {value.bit_length()} bits is larger than any memory", kind=SHAPE)
        else:
            raise ctx.error(part, f"an extent is a positive integer or pl.dynamic, found {value!r}", kind=SHAPE)
    return tuple(found)


def _tensor(ctx: Context, node: ast.Subscript, items: Sequence[ast.expr]) -> TensorType:
    if len(items) < 2:
        raise ctx.error(node, "a tensor has a shape and an element type: pl.Tensor[[64, 128], pl.FP32]", kind=SHAPE)
    if not isinstance(items[0], (ast.List, ast.Tuple)):
        raise ctx.error(items[0], "the shape of a tensor is a list: pl.Tensor[[64, 128], pl.FP32]", kind=SHAPE)
    for extra in items[2:]:
        if not _is_row_major(ctx, extra):
            raise ctx.error(extra, "only row-major tensors (pl.ND) are read and written here", kind=SHAPE)
    return TensorType(_extents(ctx, items[0]), _dtype(ctx, items[1]), False)


def _is_row_major(ctx: Context, node: ast.expr) -> bool:
    """Whether a layout, by itself or in a `pl.TensorView` without strides, is the plain one."""
    if not isinstance(node, ast.Call):
        return constant(ctx, node) in (Symbol("ND"), Symbol("TensorLayout.ND"))
    if _callee(ctx, node) == Symbol("MemRef"):
        return True  # printed IR says where a tensor lies; that is the caller's affair
    layouts = [keyword.value for keyword in node.keywords if keyword.arg == "layout"]
    others = [keyword.arg for keyword in node.keywords if keyword.arg not in ("layout", "valid_shape")]
    is_view = _callee(ctx, node) == Symbol("TensorView")
    return is_view and not others and not node.args and all(_is_row_major(ctx, one) for one in layouts)


def _tile(ctx: Context, node: ast.Subscript, items: Sequence[ast.expr]) -> TileType:
    if len(items) < 2:
        raise ctx.error(node, "a tile has a shape and an element type: pl.Tile[[64, 128], pl.FP32]", kind=SHAPE)
    shape = _extents(ctx, items[0])
    static = tuple(extent for extent in shape if isinstance(extent, int))
    if len(static) != len(shape):
        raise ctx.error(items[0], "the extents of a tile are static", kind=SHAPE)
    if len(static) == 1:  # a row
        static = (1, *static)
    space: Space | None = None
    memref: ast.expr | None = None
    view: ast.Call | None = None
    for extra in items[2:]:
        if isinstance(extra, ast.Call) and _callee(ctx, extra) == Symbol("TileView"):
            view = extra
            continue
        if _names_memref(ctx, extra):
            memref = extra
            continue
        found = constant(ctx, extra.value if isinstance(extra, ast.Subscript) else extra)
        if isinstance(found, MemRefDecl):  # held by a variable
            memref = extra
        elif isinstance(found, Space):
            space = found
        else:
            raise ctx.error(extra, "expected a memory space such as pl.Mem.Mat, or pl.MemRef", kind=SHAPE)
    return TileType(static, _dtype(ctx, items[1]), space, memref, view)


def _names_memref(ctx: Context, node: ast.expr) -> bool:
    """Whether an item is a call of `pl.MemRef`, indexed or not."""
    call = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(call, ast.Call) and _callee(ctx, call) == Symbol("MemRef")


def _callee(ctx: Context, node: ast.Call) -> object:
    return constant(ctx, node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else None
