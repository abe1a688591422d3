"""Kernels that must be refused: a comment with ERROR and a kind marks each line that one run has to name."""

import pypto.language as pl

R, C = 16, 64


@pl.jit.incore
def read_before_write(x: pl.Tensor[[R, C], pl.FP32], y: pl.Out[pl.Tensor[[R, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for _ in pl.range(n):
        pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    y = pl.store(ring[0], [0, 0], y)  # ERROR: read-before-write
    return y


@pl.jit.incore
def two_lives(x: pl.Tensor[[R, C], pl.FP32], y: pl.Out[pl.Tensor[[R, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        first = pl.tile.load_into(ring[i % 3], x, [0, 0], [R, C])
        pl.tile.load_into(ring[(i + 3) % 3], x, [0, 0], [R, C])  # ERROR: clobber
        y = pl.store(pl.add(first, ring[i % 3]), [0, 0], y)
    return y


@pl.jit.incore
def after_release(x: pl.Tensor[[R, C], pl.FP32], y: pl.Out[pl.Tensor[[R, C], pl.FP32]]):
    ring = pl.create_tile_buffers(5, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(5):
        value = pl.tile.load_into(ring[i], x, [0, 0], [R, C])
        pl.tile.release(ring[i])
        y = pl.store(value, [0, 0], y)  # ERROR: use-after-release
    return y


@pl.jit.incore
def too_far(x: pl.Tensor[[R, C], pl.FP32], y: pl.Out[pl.Tensor[[R, C], pl.FP32]]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(1, 4):
        cell = ring[i]  # ERROR: slot-index-out-of-range
        pl.tile.load_into(cell, x, [0, 0], [R, C])
        y = pl.store(cell, [0, 0], y)
    return y


@pl.jit.incore
def wrong_space(x: pl.Tensor[[R, C], pl.FP32]):
    lefts = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Left)
    pl.tile.load_into(lefts[0], x, [0, 0], [R, C])  # ERROR: memory-space


@pl.jit.incore
def too_many_bytes(x: pl.Tensor[[R, C], pl.FP32], y: pl.Out[pl.Tensor[[R, C], pl.FP32]]):
    small = pl.create_tile_buffers(1, [R, C], pl.FP32, pl.Mem.Vec)
    large = pl.create_tile_buffers(5, [128, 96], pl.FP32, pl.Mem.Vec)  # ERROR: capacity-or-count
    pl.tile.load_into(small[0], x, [0, 0], [R, C])
    pl.tile.release(small[0])
    y = pl.store(small[len(large) - 5], [0, 0], y)  # ERROR: use-after-release
    return y


@pl.jit.incore
def no_python(x: pl.Tensor[[R, C], pl.FP32], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    n += 1  # ERROR: unsupported-syntax
    pl.tile.load_into(ring[n % 3], x, [0, 0], [R, C])
