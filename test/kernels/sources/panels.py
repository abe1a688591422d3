"""Panels in L1 at one pace, blocks in L0 at another, in the class form, with pipelined loops and odd counts."""

import numpy as np
import pypto.language as pl

PANELS, ROWS, DEPTH, WIDE, NARROW = 5, 32, 64, 192, 64


@pl.program
class Panels:
    @pl.function(type=pl.FunctionType.AIC)
    def ranges(
        self,
        x: pl.Tensor[[ROWS, DEPTH], pl.BF16],
        w: pl.Tensor[[PANELS * DEPTH, WIDE], pl.BF16],
        y: pl.Out[pl.Tensor[[PANELS * ROWS, WIDE], pl.FP32]],
    ):
        wide = pl.create_tile_buffers(3, [DEPTH, WIDE], pl.BF16, pl.Mem.Mat)
        narrow = pl.create_tile_buffers(2, [DEPTH, NARROW], pl.BF16, pl.Mem.Right)
        sums = pl.create_tile_buffers(3, [ROWS, NARROW], pl.FP32, pl.Mem.Acc)
        left = pl.move(pl.load(x, [0, 0], [ROWS, DEPTH], target_memory=pl.Mem.Mat), pl.Mem.Left)
        for p in pl.range(PANELS):
            panel = wide[p % 3]
            pl.tile.load_into(panel, w, [p * DEPTH, 0], [DEPTH, WIDE])
            for b in pl.range(WIDE // NARROW):
                pl.tile.extract_into(narrow[b & 1], panel, 0, b * NARROW, [DEPTH, NARROW])
                pl.tile.matmul_into(sums[b % 3], left, narrow[b & 1])
                y = pl.store(sums[b % 3], [p * ROWS, b * NARROW], y)
            pl.tile.release(panel)
        return y

    @pl.function(type=pl.FunctionType.AIC)
    def pipelines(
        self,
        x: pl.Tensor[[ROWS, DEPTH], pl.BF16],
        w: pl.Tensor[[PANELS * DEPTH, WIDE], pl.BF16],
        y: pl.Out[pl.Tensor[[PANELS * ROWS, WIDE], pl.FP32]],
    ):
        wide = pl.create_tile_buffers(2, [DEPTH, WIDE], pl.BF16, pl.Mem.Mat)
        narrow = pl.create_tile_buffers(2, [DEPTH, NARROW], pl.BF16, pl.Mem.Right)
        sums = pl.create_tile_buffers(2, [ROWS, NARROW], pl.FP32, pl.Mem.Acc)
        x_l1 = pl.tile.load(x, [0, 0], [ROWS, DEPTH], target_memory=pl.Mem.Mat)
        left = pl.tile.move(x_l1, pl.Mem.Left)
        for p in pl.pipeline(0, PANELS, 1, stage=2):
            pl.tile.load_into(wide[p % 2], w, [p * DEPTH, 0], [DEPTH, WIDE])
            for col in pl.pipeline(0, WIDE, NARROW, stage=2):
                which: pl.Scalar[pl.INDEX] = (col // NARROW) % 2
                pl.tile.extract_into(narrow[which], wide[p % 2], 0, col, [DEPTH, NARROW])
                pl.tile.matmul_into(sums[which], left, narrow[which])
                pl.store(sums[which], [p * ROWS, col], y)


def inputs(rng):
    return {
        "x": rng.standard_normal((ROWS, DEPTH)).astype(np.float32),
        "w": rng.standard_normal((PANELS * DEPTH, WIDE)).astype(np.float32),
        "y": np.zeros((PANELS * ROWS, WIDE), np.float32),
    }


def reference(given):
    return {"y": np.concatenate([given["x"] @ w for w in given["w"].reshape(PANELS, DEPTH, WIDE)])}


CASES = {"Panels.ranges": (inputs, reference), "Panels.pipelines": (inputs, reference)}
