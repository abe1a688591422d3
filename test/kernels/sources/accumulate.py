"""One product per column block, its depth cut in L1 and again in L0; the result slot rotates by block."""

import numpy as np
import pypto.language as pl

M, N, K = 48, 192, 640
COLS, DEPTH, STEP = 64, 160, 32
INNER = DEPTH // STEP


@pl.jit
def accumulate(
    a: pl.Tensor[[M, K], pl.FP16],
    b: pl.Tensor[[K, N], pl.FP16],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    for _ in pl.spmd(1):
        a_l1 = pl.create_tile_buffers(3, [M, DEPTH], pl.FP16, pl.Mem.Mat)
        b_l1 = pl.create_tile_buffers(2, [DEPTH, COLS], pl.FP16, pl.Mem.Mat)
        a_l0 = pl.create_tile_buffers(3, [M, STEP], pl.FP16, pl.Mem.Left)
        b_l0 = pl.create_tile_buffers(2, [STEP, COLS], pl.FP16, pl.Mem.Right)
        sums = pl.create_tile_buffers(2, [M, COLS], pl.FP32, pl.Mem.Acc)
        for col in pl.range(0, N, COLS):
            total = sums[(col // COLS) % 2]
            for outer in pl.range(K // DEPTH):
                pl.tile.load_into(a_l1[outer % 3], a, [0, outer * DEPTH], [M, DEPTH])
                pl.tile.load_into(b_l1[outer & 1], b, [outer * DEPTH, col], [DEPTH, COLS])
                for inner in pl.range(INNER):
                    flat = outer * INNER + inner
                    pl.tile.extract_into(a_l0[flat % 3], a_l1[outer % 3], 0, inner * STEP, [M, STEP])
                    pl.tile.extract_into(b_l0[flat % 2], b_l1[outer & 1], inner * STEP, 0, [STEP, COLS])
                    if flat == 0:
                        pl.tile.matmul_into(total, a_l0[flat % 3], b_l0[flat % 2])
                    else:
                        pl.tile.matmul_acc_into(total, a_l0[flat % 3], b_l0[flat % 2])
            c = pl.store(total, [0, col], c)
    return c


def inputs(rng):
    return {
        "a": rng.standard_normal((M, K)).astype(np.float32),
        "b": rng.standard_normal((K, N)).astype(np.float32),
        "c": np.zeros((M, N), np.float32),
    }


CASES = {"accumulate": (inputs, lambda given: {"c": given["a"] @ given["b"]})}
