"""Sorting, and gathering and scattering by indices or by a mask."""

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.gather import mask_step
from pto_buf.dialect.table.row import Request
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.compute import attributes, choice, tile_of
from pto_buf.frontend.emission import deduced, emit
from pto_buf.frontend.kinds import ARGUMENTS, MEMORY_SPACE
from pto_buf.frontend.memory import partition_all, tensor
from pto_buf.frontend.scalars import integer, known_int, ssa
from pto_buf.frontend.tiles import store
from pto_buf.frontend.values import Tensor, Value
from pto_buf.hw import Space
from pto_buf.tile import DTYPE_BITS

_PAIR_BITS = 64
"""A sorted element is a value with its index beside it."""


def sort32(args: Arguments) -> Value:
    """`sort32(src, idx)`: each 32 elements of a row sorted, the greatest first, as pairs of a value and its index."""
    row = rows_by_dsl()["sort32"]
    tiles = {name: tile_of(args, name) for name in ("src", "idx", "tmp") if name in args}
    ins = {name: tile.ssa for name, tile in tiles.items()}
    spec = tiles["src"].spec
    request = Request(shape=(spec.rows, spec.cols * _PAIR_BITS // DTYPE_BITS[spec.dtype]), dtype=spec.dtype)
    return emit(args, row, ins, tiles, deduced(args, row, ins, {}, request))


def mrgsort(args: Arguments) -> Value:
    """`mrgsort(src, block_len=64)`: sorted runs of `block_len` elements merged by fours."""
    ctx, row = args.ctx, rows_by_dsl()["mrgsort"]
    for name in ("src1", "src2", "src3", "tmp"):
        if name in args:
            raise ctx.error(
                args.place(name),
                "'mrgsort' of several tiles also counts what it takes of each; only its form of one tile is compiled",
                help="merge the runs of one tile: pl.tile.mrgsort(src, block_len=64)",
                kind=ARGUMENTS,
            )
    args.refuse("exhausted", False)
    if "block_len" not in args:
        raise ctx.error(args.node, "'mrgsort' lacks its argument 'block_len'", kind=ARGUMENTS)
    tile = tile_of(args, "src")
    length = integer(ctx, args.place("block_len"), args.value("block_len"), "block_len")
    return emit(args, row, {"src": tile.ssa, "blockLen": ssa(ctx, length, "i32")}, {"src": tile})


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
