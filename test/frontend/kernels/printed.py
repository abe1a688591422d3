"""Kernels as pypto prints its IR, before and behind InitMemRef: full types, resolved buffers, several names on one."""
# ruff: noqa: F841

import numpy as np
import pypto.language as pl


@pl.program
class Printed:
    @pl.function(type=pl.FunctionType.AIV)
    def plain(self, x: pl.Tensor[[64, 128], pl.FP32], y: pl.Out[pl.Tensor[[64, 128], pl.FP32]]):
        pl.func_attr({"split": 0})
        for i in pl.range(4, attrs={"kind": "sequential"}):
            t: pl.Tile[[16, 128], pl.FP32, pl.MemRef("ub", slots=2)[i % 2], pl.Mem.Vec] = pl.tile.load(
                x, [i * 16, 0], [16, 128], [16, 128], target_memory=pl.Mem.Vec
            )
            u: pl.Tile[[16, 128], pl.FP32] = pl.tile.adds(t, 1.0)
            y__1: pl.Tensor[[64, 128], pl.FP32] = pl.tile.store(u, [i * pl.const(16, pl.INT64), 0], y)

    @pl.function(type=pl.FunctionType.AIV)
    def resolved(
        self,
        x: pl.Tensor[[64, 128], pl.FP32, pl.MemRef("mem_ddr_0", 0, 32768)],
        y: pl.Out[pl.Tensor[[64, 128], pl.FP32, pl.MemRef("mem_ddr_1", 0, 32768)]],
    ) -> pl.Tensor[[64, 128], pl.FP32]:
        ub: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 16384, pinned=True)
        mem_vec_1: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 8192)
        for i in pl.range(4):
            t: pl.Tile[[16, 128], pl.FP32, pl.MemRef(ub, i % 2 * 8192, 8192, slots=2)[i % 2], pl.Mem.Vec] = (
                pl.tile.load(x, [i * 16, 0], [16, 128], [16, 128], target_memory=pl.Mem.Vec)
            )
            u: pl.Tile[[16, 128], pl.FP32, pl.MemRef(mem_vec_1, 0, 8192), pl.Mem.Vec] = pl.tile.adds(t, 1.0)
            y__1: pl.Tensor[[64, 128], pl.FP32, pl.MemRef("mem_ddr_1", 0, 32768)] = pl.tile.store(u, [i * 16, 0], y)
        return y__1

    @pl.function(type=pl.FunctionType.AIV)
    def one_buffer(self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        mem_vec_2: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)
        mem_vec_8: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)
        a: pl.Tile[[16, 64], pl.FP32, pl.MemRef(mem_vec_2, 0, 4096), pl.Mem.Vec] = pl.tile.load(
            x, [0, 0], [16, 64], [16, 64], target_memory=pl.Mem.Vec
        )
        b: pl.Tile[[16, 64], pl.FP32, pl.MemRef(mem_vec_2, 0, 4096), pl.Mem.Vec] = pl.tile.add(a, a)
        b_out: pl.Tile[[16, 64], pl.FP32, pl.MemRef(mem_vec_2, 0, 4096), pl.Mem.Vec] = b
        c: pl.Tile[[64, 16], pl.FP32, pl.MemRef(mem_vec_2, 0, 4096), pl.Mem.Vec] = pl.tile.reshape(b_out, [64, 16])
        d: pl.Tile[[64, 16], pl.FP32, pl.MemRef(mem_vec_2, 0, 4096), pl.Mem.Vec] = pl.tile.muls(c, 0.5)
        e: pl.Tile[[16, 64], pl.FP32, pl.MemRef(mem_vec_2, 0, 4096), pl.Mem.Vec] = pl.tile.reshape(d, [16, 64])
        f: pl.Tile[[16, 64], pl.FP32, pl.MemRef(mem_vec_8, 0, 4096), pl.Mem.Vec, pl.TileView(pad=pl.PadValue.min)] = (
            pl.tile.fillpad(e, pad_value=pl.PadValue.min)
        )
        y__1: pl.Tensor[[16, 64], pl.FP32] = pl.tile.store(f, [0, 0], y)

    @pl.function(type=pl.FunctionType.AIC)
    def accumulates(
        self,
        a: pl.Tensor[[32, 96], pl.FP16],
        b: pl.Tensor[[96, 32], pl.FP16],
        o: pl.Out[pl.Tensor[[32, 32], pl.FP32]],
    ):
        mem_mat_3: pl.Ptr = pl.tile.alloc(pl.Mem.Mat, 4096)
        mem_left_5: pl.Ptr = pl.tile.alloc(pl.Mem.Left, 2048)
        mem_right_6: pl.Ptr = pl.tile.alloc(pl.Mem.Right, 2048)
        mem_acc_7: pl.Ptr = pl.tile.alloc(pl.Mem.Acc, 4096)
        acc__0: pl.Tile[[32, 32], pl.FP32, pl.MemRef(mem_acc_7, 0, 4096), pl.Mem.Acc] = pl.tile.create(
            [32, 32], dtype=pl.FP32, target_memory=pl.Mem.Acc
        )
        for k, (acc__it,) in pl.range(0, 3, 1, init_values=(acc__0,)):
            at: pl.Tile[[32, 32], pl.FP16, pl.MemRef(mem_mat_3, 0, 2048), pl.Mem.Mat] = pl.tile.load(
                a, [0, k * 32], [32, 32], [32, 32], target_memory=pl.Mem.Mat
            )
            bt: pl.Tile[[32, 32], pl.FP16, pl.MemRef(mem_mat_3, 2048, 2048), pl.Mem.Mat] = pl.tile.load(
                b, [k * 32, 0], [32, 32], [32, 32], target_memory=pl.Mem.Mat
            )
            left: pl.Tile[[32, 32], pl.FP16, pl.MemRef(mem_left_5, 0, 2048), pl.Mem.Left] = pl.tile.move(
                at, target_memory=pl.Mem.Left
            )
            right: pl.Tile[[32, 32], pl.FP16, pl.MemRef(mem_right_6, 0, 2048), pl.Mem.Right] = pl.tile.move(
                bt, target_memory=pl.Mem.Right
            )
            acc__1: pl.Tile[[32, 32], pl.FP32, pl.MemRef(mem_acc_7, 0, 4096), pl.Mem.Acc] = pl.tile.matmul_acc(
                acc__it, left, right, init_cond=k == 0
            )
            acc__it: pl.Tile[[32, 32], pl.FP32, pl.MemRef(mem_acc_7, 0, 4096), pl.Mem.Acc] = pl.yield_(acc__1)
        o__1: pl.Tensor[[32, 32], pl.FP32] = pl.tile.store(acc__it, [0, 0], o)


def _vector(rng):
    return {"x": rng.standard_normal((64, 128)).astype(np.float32), "y": np.zeros((64, 128), np.float32)}


def _small(rng):
    return {"x": rng.standard_normal((16, 64)).astype(np.float32), "y": np.zeros((16, 64), np.float32)}


def _matrices(rng):
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((32, 96), (96, 32)))
    return {"a": a, "b": b, "o": np.zeros((32, 32), np.float32)}


CASES = {
    "Printed.plain": (_vector, lambda t: {"y": t["x"] + 1}),
    "Printed.resolved": (_vector, lambda t: {"y": t["x"] + 1}),
    "Printed.one_buffer": (_small, lambda t: {"y": t["x"]}),
    "Printed.accumulates": (_matrices, lambda t: {"o": t["a"] @ t["b"]}),
}
