"""Calls: which op of the DSL is meant, in which spelling, and where its destination stands."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.errors import near_miss
from pto_buf.frontend.arguments import Arguments, Parameters, bind, parameters
from pto_buf.frontend.buffers.tiles import not_a_tile
from pto_buf.frontend.context import Context, Evaluate
from pto_buf.frontend.kinds import ARGUMENTS, SHAPE, UNKNOWN_OP
from pto_buf.frontend.ops import choose, compute, generate, indirect, matrix, memory, slots, updates, views
from pto_buf.frontend.ops.ordering import ORDERS
from pto_buf.frontend.ops.signatures import COMMUTATIVE, OPERANDS, UNIFIED_SCALAR
from pto_buf.frontend.refusals import LOAD_FIRST, is_known, why_not
from pto_buf.frontend.scalars import extremum, number
from pto_buf.frontend.syntax import statics
from pto_buf.frontend.values import Nothing, Scalar, Slot, SlotSet, Static, Tensor, Tile, Value

Handler = Callable[[Arguments], Value]

_TILES: Mapping[str, tuple[str, Handler]] = {
    "load": ("tensor, offsets, shapes, valid_shape|valid_shapes=, target_memory=, clamp=, *, transpose=", memory.load),
    "extract": ("src, row|index_row, col|index_col, shape=, target_memory=", memory.extract),
    "move": ("src|tile, target_memory=, blayout=, slayout=", memory.move),
    "create": ("shape, dtype, target_memory=, transpose=, *, flat_layout=", memory.create),
    "slice": ("tile|input, shape, offset, valid_shape=, drop_dims=, pad_value=, clamp=", views.slice_tile),
    "transpose": ("src|tile|input, axis1=, axis2=, tmp|tmp_tile=", views.transpose),
    "fillpad": ("src|tile|value|input, pad_value=", views.fillpad),
    "fillpad_expand": ("src|tile|value|input, shape, pad_value=", views.fillpad),
    "matmul": ("lhs, rhs, out_dtype=, a_trans=, b_trans=, c_matrix_nz=", matrix.matmul),
    "matmul_bias": ("lhs, rhs, bias", matrix.matmul),
    "matmul_acc": ("acc, lhs, rhs, init_cond|init=, *, a_trans=, b_trans=", matrix.matmul_acc),
    "matmul_mx": ("lhs, lhs_scale, rhs, rhs_scale", matrix.matmul),
    "matmul_mx_acc": ("acc, lhs, lhs_scale, rhs, rhs_scale", matrix.matmul_acc),
    "matmul_mx_bias": ("lhs, lhs_scale, rhs, rhs_scale, bias", matrix.matmul),
    "gemv": ("lhs, rhs, acc_phase=", matrix.matmul),
    "gemv_bias": ("lhs, rhs, bias, acc_phase=", matrix.matmul),
    "gemv_acc": ("acc, lhs, rhs, acc_phase=", matrix.matmul_acc),
    "cast": ("src|tile|input, target_type, mode=", compute.cast),
    "full": ("shape, dtype, value", generate.full),
    "expands": ("target, scalar", generate.expands),
    "row_expand": ("target|lhs, src|row_vec|rhs", generate.spread),
    "col_expand": ("target|lhs, src|col_vec|rhs", generate.spread),
    "ci": ("start, shape, dtype=, descending=", generate.ramp),
    "tri": ("diagonal, shape, valid_shape=, dtype=, upper=", generate.triangle),
    "sort32": ("src, idx, tmp=", indirect.sort32),
    "mrgsort": ("src|src0, src1=, src2=, src3=, tmp=, exhausted=, *, block_len=", indirect.mrgsort),
    "mrgsort_format1": ("src, block_len", indirect.mrgsort),
    "mrgsort_format2": ("src0, src1, src2, src3=, src4=, exhausted=", indirect.mrgsort_format2),
    "gather_mask": ("src|input, mask_pattern, *, output_dtype=", indirect.gather),
    "sels_whole": ("lhs, rhs, select_mode", choose.sels),
    "mgather": (
        "mem, idx, coalesce=, *, gather_oob=, target_memory=, scratch=, valid_shape=",
        indirect.mgather,
    ),
    "random": (
        "key0, key1, counter0, counter1, counter2, counter3, shape, valid_shape=, dtype=, rounds=",
        generate.random,
    ),
}
"""Ops that yield a tile of their own, each with an `_into` form and `out=`."""

_OTHERS: Mapping[str, tuple[str, Handler]] = {
    "store": ("tile, offsets, output_tensor, shapes=, *, atomic=", memory.store_tile),
    "create_tile_buffers": ("count, shape, dtype, memory_space|mem|target_memory", slots.create_tile_buffers),
    "alloc": ("memory_space, size, *, pinned=", memory.alloc),
    "dim": ("tensor, axis", memory.dim),
    "read": ("src|tensor|tile, offset|indices", updates.read),
    "write": ("tile|dst, offset|indices, value", updates.write),
    "scatter": ("dst, src, indexes", updates.scatter),
    "scatter_mask": ("dst, src, mask_pattern", updates.scatter),
    "gather_compare": (
        "src, kvalue, tmp, *, cmp_mode=, offset=, out_cols, count_dtype=",
        indirect.gather_compare,
    ),
    "mscatter": ("src, idx, output_tensor", indirect.mscatter),
    "release": ("tile|slot|x", slots.release),
    "reshape": ("tile|input, shape", views.reshape),
    "reinterpret_view": ("data, dtype, *, shape=", views.reinterpret_view),
    "transpose_view": ("tile", views.transpose_view),
    "set_validshape": ("tile|input, valid_rows, valid_cols", views.set_validshape),
    "assemble": ("target, source, offset, *, atomic=", updates.assemble),
    **dict.fromkeys(("get_block_idx", "get_block_num", "get_subblock_idx"), ("", memory.block_index)),
    **ORDERS,
}

_EITHER: Mapping[str, str] = {
    "matmul_acc": "acc, lhs, rhs, a_trans=, b_trans=, init_cond|init=",
    "rsqrt": "src|tile|input, high_precision=, *, tmp=",
}
"""Where `pl.<op>`, which also takes tensors, has its parameters in another order than `pl.tile.<op>`."""

_HIDDEN = ("alloc", "dim", "sels_whole", "mrgsort_format1", "mrgsort_format2")
"""Ops of printed IR and of older pypto, which nobody writes anew."""

SIGNATURES: Mapping[str, str] = {
    **{name: signature for name, signature in OPERANDS.items() if name in rows_by_dsl() and name != "rdivs"},
    **{name: signature for table in (_TILES, _OTHERS) for name, (signature, _) in table.items() if name not in _HIDDEN},
}
"""The parameters of every op that a kernel may call, by its name."""

_INTO = "_into"
_INTO_NAMES = [f"{name}{_INTO}" for name in SIGNATURES if name not in _OTHERS]

_SYNONYMS = {
    "create_tile": "create",
    "arange": "ci",
    "fillpad_inplace": "fillpad",
    **{name: f"{name}_" for name in ("and", "or", "not")},  # as objects of pypto's IR call them
}


def call(ctx: Context, node: ast.Call, path: str, evaluate: Evaluate) -> Value:
    """`pl.<path>(...)`. Raises DiagnosticError."""
    once = _Once(evaluate)
    name = path.removeprefix("tile.").removeprefix("tensor.") if path.count(".") == 1 else path
    name = _SYNONYMS.get(name, name)
    with ctx.at(node):
        if path in statics.STATICS:
            return statics.STATICS[path](ctx, node, once)
        if name in ("min", "max") and not node.keywords:
            return _extremum(ctx, node, name, once)
        if path.startswith("tensor.") and name not in _OF_TENSORS and _takes_tensor(node, once):
            raise ctx.error(node, why_not(path), kind=UNKNOWN_OP, help=LOAD_FIRST)
        if name in _OTHERS:
            name = _masked(name, node)
            signature, handler = _OTHERS[name]
            return handler(bind(ctx, node, name, parameters(signature), once))
        into = name.endswith(_INTO)
        op = name.removesuffix(_INTO) if into else name
        op = _masked(op, node)
        if op == "sels" and _is_whole(node, once):
            op = "sels_whole"
        if op not in _TILES:
            op = _unified(op, node, once)
        if op in _TILES:
            signature, handler = _TILES[op]
        elif op in OPERANDS and op in rows_by_dsl():
            signature, handler = OPERANDS[op], compute.compute
        else:
            near = None if is_known(path) else near_miss(name, _INTO_NAMES if into else SIGNATURES)
            raise ctx.error(node, why_not(path), kind=UNKNOWN_OP, help=near)
        if not into and not path.startswith("tile."):
            signature = _EITHER.get(op, signature)
        if op in COMMUTATIVE and not into:
            node = _number_last(node, once)
        return handler(_bind_tile_op(ctx, node, op, signature, into, once))


_OF_TENSORS = ("read", "dim", "load", "store")


def _takes_tensor(node: ast.Call, evaluate: Evaluate) -> bool:
    return bool(node.args) and isinstance(evaluate(node.args[0]), Tensor)


def parameters_of(path: str) -> Parameters | None:
    """The parameters of `pl.<path>`, None for what is no op."""
    name = path.removeprefix("tile.")
    name = _SYNONYMS.get(name, name)
    known = {**OPERANDS, **{op: signature for table in (_TILES, _OTHERS) for op, (signature, _) in table.items()}}
    signature = known.get(name) if path.startswith("tile.") else _EITHER.get(name, known.get(name))
    return None if signature is None else parameters(signature)


def _masked(op: str, node: ast.Call) -> str:
    """`pl.gather(t, mask_pattern=..)` is `gather_mask`."""
    masked = op in ("gather", "scatter") and any(keyword.arg == "mask_pattern" for keyword in node.keywords)
    return f"{op}_mask" if masked else op


def _is_whole(node: ast.Call, evaluate: Evaluate) -> bool:
    """Whether a `sels` is the older `sels(lhs, rhs, select_mode)`."""
    if any(keyword.arg == "select_mode" for keyword in node.keywords):
        return True
    return len(node.args) == 3 and not node.keywords and _is_number(evaluate(node.args[2]))


class _Once:
    """Evaluates each argument once, however often the spelling makes us look at it."""

    def __init__(self, evaluate: Evaluate):
        self._evaluate = evaluate
        self._seen: dict[int, Value] = {}

    def __call__(self, node: ast.expr) -> Value:
        if id(node) not in self._seen:
            self._seen[id(node)] = self._evaluate(node)
        return self._seen[id(node)]


def _is_number(value: Value) -> bool:
    return isinstance(value, Scalar) or (isinstance(value, Static) and isinstance(value.value, (int, float)))


def _unified(op: str, node: ast.Call, evaluate: Evaluate) -> str:
    """`pl.add(tile, 1.0)` is `adds`."""
    numbers = [_is_number(evaluate(argument)) for argument in _operand_nodes(node)] if op in UNIFIED_SCALAR else []
    if not any(numbers):
        return op
    return "rdivs" if op == "div" and numbers[0] else UNIFIED_SCALAR[op]


def _operand_nodes(node: ast.Call) -> list[ast.expr]:
    keywords = [keyword.value for keyword in node.keywords if keyword.arg in ("lhs", "rhs")]
    return [*(one for one in node.args if not isinstance(one, ast.Starred)), *keywords][:2]


def _number_last(node: ast.Call, evaluate: Evaluate) -> ast.Call:
    """`pl.add(1.0, tile)` as `pl.add(tile, 1.0)`."""
    if len(node.args) == 2 and _is_number(evaluate(node.args[0])) and not _is_number(evaluate(node.args[1])):
        swapped = ast.Call(node.func, [node.args[1], node.args[0]], node.keywords)
        return ast.copy_location(swapped, node)
    return node


def _bind_tile_op(ctx: Context, node: ast.Call, op: str, signature: str, into: bool, evaluate: Evaluate) -> Arguments:
    """Bind the arguments; the destination becomes `out`, whichever way it is spelt."""
    if not into:
        return bind(ctx, node, op, parameters(f"{signature}, *, out="), evaluate)
    return replace(_bind_into(ctx, node, op, signature, evaluate), explicit=True)


def _bind_into(ctx: Context, node: ast.Call, op: str, signature: str, evaluate: Evaluate) -> Arguments:
    if op == "matmul_acc":
        return _bind_accumulate(ctx, node, signature, evaluate)
    if any(keyword.arg in ("dst", "out") for keyword in node.keywords):
        return bind(ctx, node, op, parameters(f"{signature}, *, out|dst="), evaluate)
    last = _destination_is_last(ctx, node, op, evaluate)
    first = [node.args[-1], *node.args[:-1]] if last else node.args
    reordered = ast.copy_location(ast.Call(node.func, list(first), node.keywords), node)
    return bind(ctx, reordered, op, parameters(f"out|dst, {signature}"), evaluate)


def _bind_accumulate(ctx: Context, node: ast.Call, signature: str, evaluate: Evaluate) -> Arguments:
    """The accumulator is the destination, spelt once, or twice as in `(dst, acc, lhs, rhs)`."""
    given = len(node.args) + sum(keyword.arg in ("lhs", "rhs", "acc", "dst", "out") for keyword in node.keywords)
    if given > 3 and not _is_condition(node, evaluate):
        return bind(ctx, node, "matmul_acc", parameters(f"out|dst, {signature}"), evaluate)
    return bind(ctx, node, "matmul_acc", parameters(signature.replace("acc", "acc|dst|out", 1)), evaluate)


def _is_condition(node: ast.Call, evaluate: Evaluate) -> bool:
    """Whether the fourth argument is the condition rather than the right operand."""
    return len(node.args) == 4 and not _is_tile(evaluate(node.args[3]))


def _destination_is_last(ctx: Context, node: ast.Call, op: str, evaluate: Evaluate) -> bool:
    """Whether the last positional argument is the destination; else it is the first. Raises DiagnosticError."""
    arguments = [one for one in node.args if not isinstance(one, ast.Starred)]
    if not arguments:
        raise ctx.error(node, f"'{op}_into' lacks its destination", kind=ARGUMENTS, help="dst=slot, or slot first")
    values = [evaluate(one) for one in arguments]
    if _is_slot(values[0]) and not (op in ("extract", "move") and _is_slot(values[-1]) and not _is_tile(values[1])):
        return False
    if _is_slot(values[-1]) and len(values) > 1:
        return True
    if isinstance(values[0], (SlotSet, Tensor)):
        raise not_a_tile(ctx, arguments[0], values[0], "the destination")
    raise ctx.error(
        node,
        f"'{op}_into' needs a slot to write into, as its first argument or as dst=",
        kind=SHAPE,
        help="make one with pl.create_tile_buffers",
    )


def _is_slot(value: Value) -> bool:
    return isinstance(value, Slot) or (isinstance(value, Tile) and value.home is not None)


def _is_tile(value: Value) -> bool:
    return isinstance(value, (Slot, Tile, SlotSet))


def _extremum(ctx: Context, node: ast.Call, name: str, evaluate: Evaluate) -> Value:
    if not node.args:
        raise ctx.error(node, f"'{name}' lacks its arguments", kind=ARGUMENTS)
    values = [number(ctx, one, evaluate(one), f"an argument of '{name}'") for one in node.args]
    return extremum(ctx, node, values, name == "max")


def nothing(op: str) -> Value:
    """The value of a call that yields none."""
    return Nothing(op)
