"""Sorting, and gathering and scattering by indices or by a mask."""

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType, i16
from xdsl.ir import SSAValue

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.gather import mask_step
from pto_buf.dialect.table.row import Request
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.buffers.emission import deduced, emit
from pto_buf.frontend.buffers.tiles import destination, into_many, new_owned, store
from pto_buf.frontend.context import Context
from pto_buf.frontend.kinds import ARGUMENTS, MEMORY_SPACE
from pto_buf.frontend.ops.compute import attributes, choice, scratch_of, tile_of, typed_number
from pto_buf.frontend.ops.memory import partition_all, tensor, tile_spec
from pto_buf.frontend.scalars import integer, known_int, number, ssa
from pto_buf.frontend.values import Tensor, Tile, Tuple, Value
from pto_buf.hw import Space
from pto_buf.tile import DTYPE_BITS, TileSpec

_PAIR_BITS = 64
"""A sorted element is a value with its index beside it."""


def sort32(args: Arguments) -> Value:
    """`sort32(src, idx)`: each 32 elements of a row sorted, the greatest first, as pairs of a value and its index."""
    row = rows_by_dsl()["sort32"]
    tiles = {name: tile_of(args, name) for name in ("src", "idx")}
    if "tmp" in args:
        tiles["tmp"] = scratch_of(args, "tmp")
    ins = {name: tile.ssa for name, tile in tiles.items()}
    spec = tiles["src"].spec
    request = Request(shape=(spec.rows, spec.cols * _PAIR_BITS // DTYPE_BITS[spec.dtype]), dtype=spec.dtype)
    return emit(args, row, ins, tiles, deduced(args, row, ins, {}, request))


def mrgsort(args: Arguments) -> Value:
    """`mrgsort(src, block_len=64)`: sorted runs of `block_len` elements merged by fours.

    `mrgsort(src0, src1, tmp=t)`: two to four sorted tiles merged into one.
    """
    ctx, row = args.ctx, rows_by_dsl()["mrgsort"]
    if "src1" in args:
        return _merge(args)
    for name in ("src2", "src3", "tmp"):
        if name in args:
            raise ctx.error(args.place(name), f"{name} of 'mrgsort' goes with src1", kind=ARGUMENTS)
    args.refuse("exhausted", False)
    if "block_len" not in args:
        raise ctx.error(
            args.node, "'mrgsort' lacks its argument 'block_len', or 'src1' for tiles to merge", kind=ARGUMENTS
        )
    tile = tile_of(args, "src")
    length = integer(ctx, args.place("block_len"), args.value("block_len"), "block_len")
    return emit(args, row, {"src": tile.ssa, "blockLen": ssa(ctx, length, "i32")}, {"src": tile})


def mrgsort_format2(args: Arguments) -> Value:
    """The merge of several tiles as pypto's IR has it: the sources, and the scratch behind them."""
    names = [name for name in ("src0", "src1", "src2", "src3", "src4") if name in args]
    return _merged(args, names[:-1], names[-1])


def _merge(args: Arguments) -> Value:
    args.refuse("block_len", None)
    if "src3" in args and "src2" not in args:
        raise args.ctx.error(args.place("src3"), "src3 of 'mrgsort' goes with src2", kind=ARGUMENTS)
    return _merged(args, [name for name in ("src", "src1", "src2", "src3") if name in args], "tmp")


def _merged(args: Arguments, names: list[str], scratch: str) -> Value:
    """Sorted tiles of one row each as one. What the op says it took of each is not kept, as in pypto."""
    ctx = args.ctx
    sources = [tile_of(args, name) for name in names]
    row = rows_by_dsl()[f"mrgsort{len(sources)}"]
    spec = tile_spec(ctx, args.node, Space.VEC, [1, sum(one.spec.cols for one in sources)], sources[0].spec.dtype)
    dest = destination(ctx, args.place("out"), args.value("out")) if "out" in args else _new(args, spec)
    tmp = scratch_of(args, scratch) if scratch in args else new_owned(ctx, args.node, spec, f"{args.op}_tmp")
    ins = {**{f"src{number}": one.ssa for number, one in enumerate(sources)}, "tmp": tmp.ssa}
    words = {"exhausted": "true"} if args.static("exhausted", False) is True else {}
    return into_many(ctx, args.node, row, ins, {"dst": dest, "executed": _taken(ctx)}, words)[0]


def _new(args: Arguments, spec: TileSpec) -> Tile:
    return new_owned(args.ctx, args.node, spec, args.op)


def _taken(ctx: Context) -> SSAValue:
    """The vector in which a merge says what it took."""
    type = VectorType(i16, [4])
    return ctx.builder.at_top(ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [0] * 4))).result


def gather_compare(args: Arguments) -> Value:
    """`dst, counts = gather_compare(src, kvalue, tmp, cmp_mode="eq", out_cols=N)`: where each row holds a number.

    `dst` has the first `out_cols` positions of each row, `counts` how many there are, one for each row.
    """
    ctx, row = args.ctx, rows_by_dsl()["gather_compare"]
    src, tmp = tile_of(args, "src"), scratch_of(args, "tmp")
    cols = known_int(args.value("out_cols"))
    if cols is None or cols < 1:
        raise ctx.error(args.place("out_cols"), "out_cols is a positive constant", kind=ARGUMENTS)
    counts = args.dtype("count_dtype") if "count_dtype" in args else "i32"
    dst = _new(args, tile_spec(ctx, args.node, Space.VEC, [src.spec.rows, cols], "i32"))
    cdst = _new(args, tile_spec(ctx, args.node, Space.VEC, [1, src.spec.rows], counts))
    mode = choice(args, "cmp_mode", ("eq", "ne", "lt", "le", "gt", "ge"), 0, "eq")
    offset = known_int(integer(ctx, args.place("offset"), args.value("offset"), "offset")) if "offset" in args else 0
    if offset is None:
        raise ctx.error(args.place("offset"), "offset of 'gather_compare' must be a constant", kind=ARGUMENTS)
    words = {"cmpMode": mode, "offset": str(offset)}
    value = typed_number(
        args, "kvalue", number(ctx, args.place("kvalue"), args.value("kvalue"), "kvalue"), src.spec.dtype
    )
    ins = {"src": src.ssa, "kValue": value, "tmp": tmp.ssa}
    return Tuple(tuple(into_many(ctx, args.node, row, ins, {"dst": dst, "cdst": cdst}, words)))


def gather(args: Arguments) -> Value:
    """`gather_mask(src, mask_pattern)`: the elements of each row that a pattern keeps, side by side."""
    row = rows_by_dsl()["gather_mask"]
    tile = tile_of(args, "src")
    words = attributes(args, row)
    dtype = args.dtype("output_dtype") if "output_dtype" in args else tile.spec.dtype
    cols = tile.spec.cols // mask_step(words["maskPattern"])
    ins = {"src": tile.ssa}
    result = deduced(args, row, ins, words, Request(shape=(tile.spec.rows, cols), dtype=dtype))
    return emit(args, row, ins, {"src": tile}, result, words)


_COALESCE = ("row", "elem")
_BEYOND = ("undefined", "clamp", "wrap", "zero")


def mgather(args: Arguments) -> Value:
    """`mgather(mem, idx, coalesce="row")`: rows or elements of a tensor, by a tile of indices, in Vec."""
    ctx, row = args.ctx, rows_by_dsl()["mgather"]
    source = tensor(args, "mem")
    if args.space("target_memory", Space.VEC) is not Space.VEC or isinstance(args.value("idx"), Tensor):
        raise ctx.error(args.node, "'mgather' yields a tile in Vec here, by indices in Vec", kind=MEMORY_SPACE)
    args.refuse("scratch", None)
    args.refuse("valid_shape", None)
    idx = tile_of(args, "idx")
    words = {"coalesce": choice(args, "coalesce", _COALESCE, 0, "row")}
    if (beyond := choice(args, "gather_oob", _BEYOND, 0, "undefined")) != "undefined":
        words["gatherOob"] = beyond
    cols = known_int(source.shape[-1])
    if cols is None:
        raise ctx.error(args.place("mem"), "the rows of the tensor must have a constant length", kind=ARGUMENTS)
    shape = idx.spec.shape if words["coalesce"] == "elem" else (idx.spec.rows * idx.spec.cols, cols)
    ins = {"mem": partition_all(args, source), "idx": idx.ssa}
    result = deduced(args, row, ins, words, Request(shape=shape, dtype=source.dtype))
    return emit(args, row, ins, {"idx": idx}, result, words)


def mscatter(args: Arguments) -> Value:
    """`mscatter(src, idx, output_tensor)`: each element to the flat place in the tensor that its index names."""
    target = tensor(args, "output_tensor")
    ins = {name: tile_of(args, name).ssa for name in ("src", "idx")}
    store(args.ctx, args.node, rows_by_dsl()["mscatter"], ins, partition_all(args, target), {"coalesce": "elem"})
    return target
