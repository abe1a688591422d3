"""Kernels that rotate slots in ways people write, all right: what the analysis of slots has to accept."""

import numpy as np
import pypto.language as pl

R, C = 16, 48
BLOCKS = 9
ROWS = 2 * BLOCKS * R


@pl.jit.incore
def step_and_start(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(5, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(3, n, 2):
        cell = ring[(i - 3) // 2 % 5]
        pl.tile.load_into(cell, x, [i * R, 0], [R, C])
        y = pl.store(pl.add(cell, 1.0), [i * R, 0], y)
    return y


@pl.jit.incore
def runtime_start(
    x: pl.Tensor[[ROWS, C], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]],
    m: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(m, n):
        pl.tile.load_into(ring[(i - m) % 3], x, [i * R, 0], [R, C])
        y = pl.store(pl.add(ring[(i - m) % 3], 1.0), [i * R, 0], y)
    return y


@pl.jit.incore
def three_ahead_of_seven(
    x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]], n: pl.Scalar[pl.INDEX]
):
    """Fetches past the end: what is fetched last is never read."""
    ring = pl.create_tile_buffers(7, [R, C], pl.FP32, pl.Mem.Vec)
    for first in pl.range(3):
        pl.tile.load_into(ring[first], x, [first * R, 0], [R, C])
    for i in pl.range(n):
        pl.tile.load_into(ring[(i + 3) % 7], x, [(i + 3) * R, 0], [R, C])
        y = pl.store(pl.add(ring[i % 7], 1.0), [i * R, 0], y)
    return y


@pl.jit.incore
def all_but_one_ahead(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]]):
    ring = pl.create_tile_buffers(4, [R, C], pl.FP32, pl.Mem.Vec)
    for first in pl.range(3):
        pl.tile.load_into(ring[first], x, [first * R, 0], [R, C])
    for i in pl.range(BLOCKS):
        if i + 3 < BLOCKS:
            pl.tile.load_into(ring[(i + 3) & 3], x, [(i + 3) * R, 0], [R, C])
        y = pl.store(pl.add(ring[i & 3], 1.0), [i * R, 0], y)
    return y


@pl.jit.incore
def one_behind(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    for i in pl.range(1, BLOCKS):
        pl.tile.load_into(ring[i % 3], x, [i * R, 0], [R, C])
        y = pl.store(pl.add(ring[(i + 2) % 3], 1.0), [(i - 1) * R, 0], y)
    y = pl.store(pl.add(ring[(BLOCKS - 1) % 3], 1.0), [(BLOCKS - 1) * R, 0], y)
    return y


@pl.jit.incore
def pairs(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """Two slots of one set live together in each trip."""
    ring = pl.create_tile_buffers(4, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        even = pl.tile.load_into(ring[(i << 1) & 3], x, [2 * i * R, 0], [R, C])
        odd = pl.tile.load_into(ring[((i << 1) + 1) & 3], x, [(2 * i + 1) * R, 0], [R, C])
        y = pl.store(pl.add(even, 1.0), [2 * i * R, 0], y)
        y = pl.store(pl.add(odd, 1.0), [(2 * i + 1) * R, 0], y)
    return y


@pl.jit.incore
def counted_while(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """A `while` knows its condition: behind a guard that fails there is no further trip."""
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    i: pl.Scalar[pl.INDEX] = 0
    while i < n:
        if i + 1 < n:
            pl.tile.load_into(ring[(i + 1) % 3], x, [(i + 1) * R, 0], [R, C])
        y = pl.store(pl.add(ring[i % 3], 1.0), [i * R, 0], y)
        i = i + 1
    return y


@pl.jit.incore
def bounded_while(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]]):
    """Within its condition the counter of a `while` is a slot index without a remainder."""
    ring = pl.create_tile_buffers(BLOCKS, [R, C], pl.FP32, pl.Mem.Vec)
    i: pl.Scalar[pl.INDEX] = 0
    while i < BLOCKS:
        pl.tile.load_into(ring[i], x, [i * R, 0], [R, C])
        i = i + 1
    for k in pl.range(BLOCKS):
        y = pl.store(pl.add(ring[k], 1.0), [k * R, 0], y)
    return y


@pl.jit.incore
def trading_places(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    for i, (now, next) in pl.range(n, init_values=(0, 1)):
        if i + 1 < n:
            pl.tile.load_into(ring[next], x, [(i + 1) * R, 0], [R, C])
        y = pl.store(pl.add(ring[now], 1.0), [i * R, 0], y)
        now, next = pl.yield_(next, now)
    return y


@pl.jit.incore
def permuted_arms(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        if i % 2 == 0:
            k = 1
        else:
            k = 0
        pl.tile.load_into(ring[k], x, [i * R, 0], [R, C])
        y = pl.store(pl.add(ring[(i + 1) % 2], 1.0), [i * R, 0], y)
    return y


@pl.jit.incore
def two_halves(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """Two windows fill a slot: one lease, begun by the first of them."""
    ring = pl.create_tile_buffers(2, [2 * R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        top = pl.load(x, [2 * i * R, 0], [R, C])
        bottom = pl.load(x, [(2 * i + 1) * R, 0], [R, C])
        pl.tile.assemble(ring[i % 2], top, [0, 0])
        pl.tile.assemble(ring[i % 2], bottom, [R, 0])
        y = pl.store(pl.add(ring[i % 2], 1.0), [2 * i * R, 0], y)
    return y


@pl.jit.incore
def patched(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """A window of a whole slot is overwritten, behind a read of it."""
    ring = pl.create_tile_buffers(3, [2 * R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        pl.tile.load_into(ring[i % 3], x, [2 * i * R, 0], [2 * R, C])
        upper = pl.slice(ring[i % 3], [R, C], [0, 0])
        lower = pl.slice(ring[i % 3], [R, C], [R, 0])
        pl.tile.assemble(ring[i % 3], pl.add(upper, 1.0), [0, 0])
        pl.tile.assemble(ring[i % 3], pl.add(lower, 1.0), [R, 0])
        y = pl.store(ring[i % 3], [2 * i * R, 0], y)
    return y


@pl.jit.incore
def looked_up(
    x: pl.Tensor[[ROWS, C], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]],
    order: pl.Tensor[[64], pl.INT32],
    n: pl.Scalar[pl.INDEX],
):
    """The slot is data: some number, the same one for the write and the read of a trip."""
    ring = pl.create_tile_buffers(4, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        k = pl.read(order, [i]) & 3
        pl.tile.load_into(ring[k], x, [i * R, 0], [R, C])
        y = pl.store(pl.add(ring[k], 1.0), [i * R, 0], y)
    return y


@pl.jit.incore
def left_early(x: pl.Tensor[[ROWS, C], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(BLOCKS):
        if i >= n:
            break
        pl.tile.load_into(ring[i % 2], x, [i * R, 0], [R, C])
        y = pl.store(pl.add(ring[i % 2], 1.0), [i * R, 0], y)
    return y


def inputs(**scalars):
    def make(rng):
        x = rng.standard_normal((ROWS, C)).astype(np.float32)
        return {"x": x, "y": np.zeros_like(x), **scalars}

    return make


def one_more(blocks):
    """The rows of these blocks, one more."""

    def expected(given):
        y = np.zeros_like(given["x"])
        for block in blocks:
            y[block * R : block * R + R] = given["x"][block * R : block * R + R] + 1.0
        return {"y": y}

    return expected


_ORDER = np.arange(64, dtype=np.int32) * 7 % 11
CASES = {
    **{f"step_and_start#{n}": (inputs(n=n), one_more(range(3, n, 2))) for n in (0, 4, 15)},
    **{f"runtime_start#{m}_{n}": (inputs(m=m, n=n), one_more(range(m, n))) for m, n in ((5, 3), (2, 9))},
    **{
        f"{name}#{n}": (inputs(n=n), one_more(range(n)))
        for name in ("three_ahead_of_seven", "counted_while", "trading_places", "permuted_arms", "left_early")
        for n in (0, 1, 6, 7)
    },
    **{
        f"{name}#{n}": (inputs(n=n), one_more(range(2 * n)))
        for name in ("pairs", "two_halves", "patched")
        for n in (0, 1, 4, 5)
    },
    **{name: (inputs(), one_more(range(BLOCKS))) for name in ("all_but_one_ahead", "one_behind", "bounded_while")},
    **{f"looked_up#{n}": (inputs(n=n, order=_ORDER), one_more(range(n))) for n in (1, 8)},
}
