"""Vector streams: one to five slots, prefetching ahead, trip counts that are known only at run time."""

import numpy as np
import pypto.language as pl

ROWS, COLS, BLOCKS = 16, 96, 7
TOTAL = pl.dynamic("TOTAL")


@pl.jit.incore
def five_slots(
    x: pl.Tensor[[BLOCKS * ROWS, COLS], pl.FP32],
    y: pl.Tensor[[BLOCKS * ROWS, COLS], pl.FP32],
    z: pl.Out[pl.Tensor[[BLOCKS * ROWS, COLS], pl.FP32]],
):
    xs = pl.create_tile_buffers(5, [ROWS, COLS], pl.FP32, pl.Mem.Vec)
    ys = pl.create_tile_buffers(1, [ROWS, COLS], pl.FP32, pl.Mem.Vec)
    for i in pl.range(BLOCKS):
        one = pl.tile.load_into(xs[i % 5], x, [i * ROWS, 0], [ROWS, COLS])
        other = pl.tile.load_into(ys[0], y, [i * ROWS, 0], [ROWS, COLS])
        total = pl.add(one, other)
        pl.tile.release(other)
        z = pl.store(total, [i * ROWS, 0], z)
    return z


@pl.jit.incore
def two_ahead(
    x: pl.Tensor[[BLOCKS * ROWS, COLS], pl.FP32],
    y: pl.Tensor[[BLOCKS * ROWS, COLS], pl.FP32],
    z: pl.Out[pl.Tensor[[BLOCKS * ROWS, COLS], pl.FP32]],
):
    ring = pl.create_tile_buffers(3, [ROWS, COLS], pl.FP32, pl.Mem.Vec)
    kept = pl.load(y, [0, 0], [ROWS, COLS])
    pl.tile.load_into(ring[0], x, [0, 0], [ROWS, COLS])
    pl.tile.load_into(ring[1], x, [ROWS, 0], [ROWS, COLS])
    for i in pl.range(BLOCKS):
        if i + 2 < BLOCKS:
            pl.tile.load_into(ring[(i + 2) % 3], x, [(i + 2) * ROWS, 0], [ROWS, COLS])
        z = pl.store(pl.sub(ring[i % 3], kept), [i * ROWS, 0], z)
    return z


@pl.jit.incore
def any_count(
    x: pl.Tensor[[TOTAL, COLS], pl.FP32],
    z: pl.Out[pl.Tensor[[TOTAL, COLS], pl.FP32]],
    blocks: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(2, [ROWS, COLS], pl.FP32, pl.Mem.Vec)
    pl.tile.load_into(ring[0], x, [0, 0], [ROWS, COLS])
    for i in pl.range(blocks):
        if i + 1 < blocks:
            pl.tile.load_into(ring[(i + 1) & 1], x, [(i + 1) * ROWS, 0], [ROWS, COLS])
        z = pl.store(pl.mul(ring[i & 1], -2.0), [i * ROWS, 0], z)
    return z


def inputs(rng):
    shape = (BLOCKS * ROWS, COLS)
    return {
        "x": rng.standard_normal(shape).astype(np.float32),
        "y": rng.standard_normal(shape).astype(np.float32),
        "z": np.zeros(shape, np.float32),
    }


def counted(blocks):
    def make(rng):
        x = rng.standard_normal((max(blocks, 1) * ROWS, COLS)).astype(np.float32)
        return {"x": x, "z": np.zeros_like(x), "blocks": blocks}

    return make


def doubled(given):
    return {"z": -2.0 * given["x"] if given["blocks"] else np.zeros_like(given["x"])}


CASES = {
    "five_slots": (inputs, lambda given: {"z": given["x"] + given["y"]}),
    "two_ahead": (inputs, lambda given: {"z": given["x"] - np.tile(given["y"][:ROWS], (BLOCKS, 1))}),
    **{f"any_count#{blocks}": (counted(blocks), doubled) for blocks in (0, 1, 2, 5)},
}
