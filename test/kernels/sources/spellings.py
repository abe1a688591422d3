"""One product in the other spellings of a destination: `out=` on the plain ops, and slots in a tile's annotation."""

import numpy as np
import pypto.language as pl

M, N, K, STEP = 16, 64, 96, 32


@pl.jit.incore
def out_keyword(
    a: pl.Tensor[[M, K], pl.FP16],
    b: pl.Tensor[[K, N], pl.FP16],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    a_l1 = pl.create_tile_buffers(2, [M, STEP], pl.FP16, pl.Mem.Mat)
    b_l1 = pl.create_tile_buffers(2, [STEP, N], pl.FP16, pl.Mem.Mat)
    a_l0 = pl.create_tile_buffers(2, [M, STEP], pl.FP16, pl.Mem.Left)
    b_l0 = pl.create_tile_buffers(2, [STEP, N], pl.FP16, pl.Mem.Right)
    total = pl.create_tile_buffers(1, [M, N], pl.FP32, pl.Mem.Acc)[0]
    for k in pl.range(K // STEP):
        one = pl.load(a, [0, k * STEP], [M, STEP], target_memory=pl.Mem.Mat, out=a_l1[k % 2])
        other = pl.load(b, [k * STEP, 0], [STEP, N], target_memory=pl.Mem.Mat, out=b_l1[k % 2])
        left = pl.tile.move(one, pl.Mem.Left, out=a_l0[k % 2])
        right = pl.tile.extract(other, 0, 0, [STEP, N], target_memory=pl.Mem.Right, out=b_l0[k % 2])
        if k == 0:
            pl.tile.matmul(left, right, out=total)
        else:
            pl.tile.matmul_acc(total, left, right, out=total)
        pl.release(left)
        pl.release(right)
    c = pl.store(total, [0, 0], c)
    return c


@pl.jit
def annotated(
    a: pl.Tensor[[M, K], pl.FP16],
    b: pl.Tensor[[K, N], pl.FP16],
    c: pl.Out[pl.Tensor[[K // STEP * M, N], pl.FP32]],
):
    for _ in pl.spmd(1, name_hint="annotated"):
        for k in pl.range(K // STEP):
            one = pl.load(a, [0, k * STEP], [M, STEP], target_memory=pl.Mem.Mat)
            other: pl.Tile[[STEP, N], pl.FP16, pl.MemRef("others", slots=3)[k % 3], pl.Mem.Mat] = pl.load(
                b, [k * STEP, 0], [STEP, N], target_memory=pl.Mem.Mat
            )
            left = pl.move(one, pl.Mem.Left)
            right: pl.Tile[[STEP, N], pl.FP16, pl.MemRef("rights", slots=2)[k % 2], pl.Mem.Right] = pl.move(
                other, pl.Mem.Right
            )
            part: pl.Tile[[M, N], pl.FP32, pl.MemRef("parts", slots=2)[k % 2], pl.Mem.Acc] = pl.matmul(left, right)
            c = pl.store(part, [k * M, 0], c)
    return c


def inputs(rows):
    def make(rng):
        return {
            "a": rng.standard_normal((M, K)).astype(np.float32),
            "b": rng.standard_normal((K, N)).astype(np.float32),
            "c": np.zeros((rows, N), np.float32),
        }

    return make


def parts(given):
    cut = [slice(k, k + STEP) for k in range(0, K, STEP)]
    return {"c": np.concatenate([given["a"][:, one] @ given["b"][one] for one in cut])}


CASES = {
    "out_keyword": (inputs(M), lambda given: {"c": given["a"] @ given["b"]}),
    "annotated": (inputs(K // STEP * M), parts),
}
