"""Subscripts of tiles and tensors: `t[i, j]` is an element, `t[a:b, c:d]` a window, and both can be set."""

import ast
from collections.abc import Sequence

from pto_buf.frontend.buffers.tiles import operand
from pto_buf.frontend.context import Context, Evaluate
from pto_buf.frontend.given import Given
from pto_buf.frontend.kinds import SHAPE, UNSUPPORTED
from pto_buf.frontend.ops.calls import call
from pto_buf.frontend.scalars import known_int
from pto_buf.frontend.syntax.desugar import at
from pto_buf.frontend.values import Slot, Tensor, Tile, Value


def part(ctx: Context, node: ast.Subscript, value: Value, evaluate: Evaluate) -> Value:
    """`value[...]` of a tile, slot or tensor. Raises DiagnosticError."""
    indices = _indices(node.slice)
    if isinstance(value, Tensor):
        if any(isinstance(one, ast.Slice) for one in indices) or len(indices) != len(value.shape):
            raise ctx.error(
                node,
                f"a slice of the tensor '{value.name}' is tensor-level code, which is not compiled here",
                help=f"pl.load({value.name}, offsets, shapes) makes a tile of it",
                kind=UNSUPPORTED,
            )
        return _call(ctx, node, "read", [Given(value), _list(indices, node)], evaluate)
    if not any(isinstance(one, ast.Slice) for one in indices):
        return _call(ctx, node, "read", [Given(value), _list(indices, node)], evaluate)
    offset, shape = _window(ctx, node, value, indices, evaluate)
    return _call(ctx, node, "slice", [Given(value), _list(shape, node), _list(offset, node)], evaluate)


def changed(ctx: Context, node: ast.expr, where: ast.expr, value: Value, new: ast.expr, evaluate: Evaluate) -> Value:
    """The tile or slot with one element or window set. Raises DiagnosticError."""
    if isinstance(value, Tensor):
        raise ctx.error(
            node,
            f"elements of the tensor '{value.name}' are not set one by one",
            help="pl.store(tile, offsets, tensor) writes a tile",
        )
    if not isinstance(value, (Tile, Slot)):
        raise ctx.error(node, "an element or slot is not assigned to", help="write it with an _into op or out=")
    indices = _indices(where)
    if not any(isinstance(one, ast.Slice) for one in indices):
        return _call(ctx, node, "write", [Given(value), _list(indices, where), new], evaluate)
    offset, shape = _window(ctx, where, value, indices, evaluate)
    source = operand(ctx, new, evaluate(new), "what is set")
    extents = tuple(known_int(evaluate(one)) for one in shape)
    if source.held.valid != extents:
        raise ctx.error(
            new,
            f"sets {_fmt(extents)} elements to a tile of {_fmt(source.held.valid)}; they must be equal",
            kind=SHAPE,
        )
    return _call(ctx, node, "assemble", [Given(value), Given(source), _list(offset, where)], evaluate)


def _indices(where: ast.expr) -> Sequence[ast.expr]:
    return where.elts if isinstance(where, ast.Tuple) else [where]


def _window(
    ctx: Context, node: ast.expr, value: Value, indices: Sequence[ast.expr], evaluate: Evaluate
) -> tuple[list[ast.expr], list[ast.expr]]:
    """The corner and the extents of a window. Raises DiagnosticError for one whose extents are not constant."""
    whole = operand(ctx, node, value, "what is indexed").held.valid
    if len(indices) > len(whole):
        raise ctx.error(node, f"a tile is indexed by row and column, found {len(indices)} indices", kind=SHAPE)
    offset: list[ast.expr] = []
    shape: list[ast.expr] = []
    for axis, extent in enumerate(whole):
        one = indices[axis] if axis < len(indices) else at(ast.Slice(), node)
        if not isinstance(one, ast.Slice):
            offset.append(one)
            shape.append(at(ast.Constant(1), one))
            continue
        if one.step is not None:
            raise ctx.error(one.step, "a slice has no step", kind=SHAPE)
        start = one.lower if one.lower is not None else at(ast.Constant(0), node)
        stop = one.upper if one.upper is not None else at(ast.Constant(extent), node)
        offset.append(start)
        shape.append(at(ast.Constant(_length(ctx, one, start, stop, evaluate)), one))
    return offset, shape


def _length(ctx: Context, node: ast.AST, start: ast.expr, stop: ast.expr, evaluate: Evaluate) -> int:
    """`stop - start`, where that is a constant: both are, or the one is spelt as the other and more."""
    match stop:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if ast.dump(left) == ast.dump(start):
            length = known_int(evaluate(right))
        case ast.BinOp(left=left, op=ast.Add(), right=right) if ast.dump(right) == ast.dump(start):
            length = known_int(evaluate(left))
        case _:
            low, high = known_int(evaluate(start)), known_int(evaluate(stop))
            length = None if low is None or high is None else high - low
    if length is None:
        raise ctx.error(
            node, "the extents of a window of a tile are constant", help="write it as [i : i + 16]", kind=SHAPE
        )
    return length


def _list(items: Sequence[ast.expr], place: ast.AST) -> ast.expr:
    return at(ast.List(list(items), ast.Load()), place)


def _call(ctx: Context, node: ast.expr, op: str, arguments: list[ast.expr], evaluate: Evaluate) -> Value:
    return call(ctx, at(ast.Call(at(ast.Constant(op), node), arguments, []), node), f"tile.{op}", evaluate)


def _fmt(shape: Sequence[int | None]) -> str:
    return "x".join("?" if extent is None else str(extent) for extent in shape)
