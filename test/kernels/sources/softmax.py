"""Row softmax: reductions with scratch, column tiles, tiles of the compiler beside slots, an inlined helper."""

import numpy as np
import pypto.language as pl

ROWS, COLS, BLOCKS = 32, 128, 5


@pl.jit.inline
def fetch(slot, src, block):
    pl.tile.load_into(slot, src, [block * ROWS, 0], [ROWS, COLS])
    return slot


@pl.jit.incore
def softmax(
    x: pl.Tensor[[BLOCKS * ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[BLOCKS * ROWS, COLS], pl.FP32]],
):
    ring = pl.create_tile_buffers(3, [ROWS, COLS], pl.FP32, pl.Mem.Vec)
    done = pl.create_tile_buffers(2, [ROWS, COLS], pl.FP32, pl.Mem.Vec)
    scratch = pl.create_tile([ROWS, COLS], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    for i in pl.range(BLOCKS):
        row = fetch(ring[i % 3], x, i)
        top = pl.row_max(row, scratch)
        e = pl.exp(pl.row_expand_sub(row, top))
        total = pl.row_sum(e, scratch)
        pl.tile.row_expand_div(e, total, out=done[i % 2])
        y = pl.store(done[i % 2], [i * ROWS, 0], y)
    return y


def inputs(rng):
    x = rng.standard_normal((BLOCKS * ROWS, COLS)).astype(np.float32) * 4
    return {"x": x, "y": np.zeros_like(x)}


def reference(given):
    e = np.exp(given["x"] - given["x"].max(axis=1, keepdims=True))
    return {"y": e / e.sum(axis=1, keepdims=True)}


CASES = {"softmax": (inputs, reference)}
