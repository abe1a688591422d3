"""Ops with several tiles on one side: sorted lists merged, a comparison that also counts, one of two tiles."""

import numpy as np
import pypto.language as pl

LISTS, LENGTH = 3, 32
ROWS, COLS, KEPT = 16, 64, 8


@pl.jit.incore
def merged(x: pl.Tensor[[LISTS, 2 * LENGTH], pl.FP32], o: pl.Out[pl.Tensor[[1, 2 * LISTS * LENGTH], pl.FP32]]):
    a = pl.load(x, [0, 0], [1, 2 * LENGTH])
    b = pl.load(x, [1, 0], [1, 2 * LENGTH])
    c = pl.load(x, [2, 0], [1, 2 * LENGTH])
    o = pl.store(pl.tile.mrgsort(a, b, c, tmp=pl.create_tile([1, 2 * LISTS * LENGTH], pl.FP32)), [0, 0], o)
    return o


@pl.jit.incore
def counted(
    x: pl.Tensor[[2 * ROWS, COLS], pl.FP32],
    where: pl.Out[pl.Tensor[[2 * ROWS, KEPT], pl.INT32]],
    counts: pl.Out[pl.Tensor[[2, ROWS], pl.INT32]],
):
    for i in pl.pipeline(2, stage=2):
        part = pl.load(x, [i * ROWS, 0], [ROWS, COLS])
        tmp = pl.create_tile([ROWS, 4 * COLS], pl.UINT8)
        found, many = pl.tile.gather_compare(part, 1.0, tmp, cmp_mode="eq", offset=100, out_cols=KEPT)
        where = pl.store(found, [i * ROWS, 0], where)
        counts = pl.store(many, [i, 0], counts)
    return where, counts


@pl.jit.incore
def chosen(x: pl.Tensor[[2, COLS], pl.FP32], n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[3, COLS], pl.FP32]]):
    a = pl.load(x, [0, 0], [1, COLS])
    b = pl.load(x, [1, 0], [1, COLS])
    second = pl.tile.sels(a, b, 0)
    y = pl.store(second, [0, 0], y)
    for i in pl.range(2):
        either = pl.tile.sels(a, b, select_mode=i + n)
        y = pl.store(either, [1 + i, 0], y)
    return y


@pl.jit.incore
def windows(x: pl.Tensor[[32, COLS], pl.INT32], y: pl.Out[pl.Tensor[[24, COLS], pl.INT32]]):
    whole = pl.load(x, [0, 0], [32, COLS])
    part = pl.slice(whole, [16, COLS], [16, 0], valid_shape=[8, COLS])
    y = pl.store(part, [0, 0], y)
    other = whole[0:16, 0:COLS]
    y = pl.store(other, [8, 0], y)
    return y


def lists(rng):
    pairs = np.zeros((LISTS, 2 * LENGTH), np.float32)
    pairs[:, ::2] = -np.sort(-rng.standard_normal((LISTS, LENGTH)), axis=1)
    return {"x": pairs, "o": np.zeros((1, pairs.size), np.float32)}


def sorted_as_one(given):
    result = np.zeros_like(given["o"])
    result[0, ::2] = -np.sort(-given["x"][:, ::2].reshape(-1))
    return {"o": result}


def digits(rng):
    """Every row has at least as many ones as are kept."""
    x = rng.integers(0, 3, (2 * ROWS, COLS)).astype(np.float32)
    x[:, :KEPT] = 1
    return {"x": x, "where": np.zeros((2 * ROWS, KEPT), np.int32), "counts": np.zeros((2, ROWS), np.int32)}


def ones(given):
    found = [np.flatnonzero(row == 1) for row in given["x"]]
    counts = np.array([len(one) for one in found], np.int32).reshape(2, ROWS)
    return {"where": np.array([one[:KEPT] + 100 for one in found], np.int32), "counts": counts}


def bits(rng):
    x = rng.integers(-(2**31), 2**31, (32, COLS), dtype=np.int64).astype(np.int32)
    return {"x": x, "y": np.zeros((24, COLS), np.int32)}


CASES = {
    "windows": (bits, lambda given: {"y": np.concatenate((given["x"][16:24], given["x"][:16]))}),
    "merged": (lists, sorted_as_one),
    "counted": (digits, ones),
    "chosen": (
        lambda rng: {
            "x": rng.standard_normal((2, COLS)).astype(np.float32),
            "n": 1,
            "y": np.zeros((3, COLS), np.float32),
        },
        lambda given: {"y": given["x"][[1, 0, 1]]},
    ),
}
