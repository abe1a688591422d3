"""Products of tiles in Mat: the way to Left, Right and Bias is left out, as in pypto."""

import numpy as np
import pypto.language as pl

M, K, N = 32, 48, 80
COLS, DEPTH = 16, 16
BLOCKS = N // COLS


@pl.jit.incore
def biased(
    a: pl.Tensor[[M, K], pl.FP16],
    b: pl.Tensor[[K, N], pl.FP16],
    bias: pl.Tensor[[1, N], pl.FP32],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    first = pl.create_tile_buffers(1, [M, DEPTH], pl.FP16, pl.Mem.Mat)
    ring = pl.create_tile_buffers(3, [M, DEPTH], pl.FP16, pl.Mem.Mat)
    for col in pl.pipeline(0, N, COLS, stage=2):
        line = pl.load(bias, [0, col], [1, COLS], target_memory=pl.Mem.Mat)
        head = pl.load(b, [0, col], [DEPTH, COLS], target_memory=pl.Mem.Mat)
        pl.tile.load_into(first[0], a, [0, 0], [M, DEPTH])
        sums = pl.tile.matmul_bias(first[0], head, line)
        for step in pl.range(1, K // DEPTH):
            pl.tile.load_into(ring[step % 3], a, [0, step * DEPTH], [M, DEPTH])
            part = pl.load(b, [step * DEPTH, col], [DEPTH, COLS], target_memory=pl.Mem.Mat)
            sums = pl.matmul_acc(sums, ring[step % 3], part)
        c = pl.store(sums, [0, col], c)
    return c


@pl.jit.incore
def twice(
    a: pl.Tensor[[M, K], pl.FP16],
    b: pl.Tensor[[K, N], pl.FP16],
    n: pl.Scalar[pl.INDEX],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    whole = pl.load(a, [0, 0], [M, K], target_memory=pl.Mem.Mat)
    for i in pl.pipeline(n, stage=2):
        part = pl.load(b, [0, i * COLS], [K, COLS], target_memory=pl.Mem.Mat)
        one: pl.Tile[[M, COLS], pl.FP32, pl.MemRef("l0c", slots=2)[i % 2], pl.Mem.Acc] = pl.tile.matmul(whole, part)
        both = pl.tile.matmul_acc(one, whole, part)
        pl.store(both, [0, i * COLS], c)
    return c


@pl.jit.incore
def ragged(a: pl.Tensor[[9, K], pl.FP16], b: pl.Tensor[[K, COLS], pl.FP16], c: pl.Out[pl.Tensor[[9, COLS], pl.FP32]]):
    whole = pl.load(a, [0, 0], [16, K], valid_shape=[9, K], target_memory=pl.Mem.Mat)
    left = pl.tile.extract(whole, 0, 0, [16, K], target_memory=pl.Mem.Left)
    right = pl.load(b, [0, 0], [K, COLS], target_memory=pl.Mem.Mat)
    c = pl.store(pl.matmul(left, right), [0, 0], c)
    return c


def operands(rng):
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))
    return {"a": a, "b": b, "c": np.zeros((M, N), np.float32)}


def product(given):
    return given["a"].astype(np.float32) @ given["b"].astype(np.float32)


def doubled(given):
    result = 2 * product(given)
    result[:, given["n"] * COLS :] = 0
    return {"c": result}


def few(rng):
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((9, K), (K, COLS)))
    return {"a": a, "b": b, "c": np.zeros((9, COLS), np.float32)}


CASES = {
    "ragged": (few, lambda given: {"c": product(given)}),
    "biased": (
        lambda rng: {**operands(rng), "bias": rng.standard_normal((1, N)).astype(np.float32)},
        lambda given: {"c": product(given) + given["bias"]},
    ),
    "twice": (lambda rng: {**operands(rng), "n": 3}, doubled),
}
