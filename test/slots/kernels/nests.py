"""Kernels whose slots turn with several counters at once, all right. They are verified, not run."""

import pypto.language as pl

R, C = 16, 64
TALL = 1 << 16


@pl.jit.incore
def flat_by_product(
    x: pl.Tensor[[TALL, C], pl.FP32],
    y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]],
    m: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(m):
        for j in pl.range(n):
            k = i * n + j
            pl.tile.load_into(ring[k % 3], x, [k * R, 0], [R, C])
            y = pl.store(pl.add(ring[k % 3], 1.0), [k * R, 0], y)
    return y


@pl.jit.incore
def flat_with_prefetch(
    x: pl.Tensor[[TALL, C], pl.FP32],
    y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]],
    m: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    """The guard compares the counters, not their flat number with the product."""
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    for i in pl.range(m):
        for j in pl.range(n):
            k = i * n + j
            if i + 1 < m or j + 1 < n:
                pl.tile.load_into(ring[(k + 1) % 2], x, [(k + 1) * R, 0], [R, C])
            y = pl.store(pl.add(ring[k % 2], 1.0), [k * R, 0], y)
    return y


@pl.jit.incore
def first_of_the_flat(
    x: pl.Tensor[[TALL, C], pl.FP32],
    y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]],
    m: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    """The flat number is 0 in the first trip, and in no other."""
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(m):
        for j in pl.range(n):
            k = i * n + j
            if k == 0:
                pl.tile.load_into(ring[0], x, [0, 0], [R, C])
            pl.tile.load_into(ring[(k + 1) % 2], x, [(k + 1) * R, 0], [R, C])
            y = pl.store(pl.add(ring[k % 2], 1.0), [k * R, 0], y)
    return y


@pl.jit.incore
def one_loop_over_the_product(
    x: pl.Tensor[[TALL, C], pl.FP32],
    y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]],
    m: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    for k in pl.range(m * n):
        if k + 1 < m * n:
            pl.tile.load_into(ring[(k + 1) % 3], x, [(k + 1) * R, 0], [R, C])
        y = pl.store(pl.add(ring[k % 3], 1.0), [k * R, 0], y)
    return y


@pl.jit.incore
def carried_through_both(
    x: pl.Tensor[[TALL, C], pl.FP32],
    y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]],
    m: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    for _i, (k,) in pl.range(m, init_values=(0,)):
        for _j, (flat,) in pl.range(n, init_values=(k,)):
            pl.tile.load_into(ring[(flat + 1) % 3], x, [(flat + 1) * R, 0], [R, C])
            y = pl.store(pl.add(ring[flat % 3], 1.0), [flat * R, 0], y)
            flat = pl.yield_(flat + 1)
        k = pl.yield_(flat)
    return y


@pl.jit.incore
def triangle(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        for j in pl.range(i, n):
            pl.tile.load_into(ring[(j - i) % 3], x, [j * R, 0], [R, C])
            y = pl.store(pl.add(ring[(j - i) % 3], 1.0), [j * R, 0], y)
    return y


@pl.jit.incore
def tail_of_an_unrolled_loop(
    x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]
):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n // 2):
        pl.tile.load_into(ring[0], x, [2 * i * R, 0], [R, C])
        pl.tile.load_into(ring[1], x, [(2 * i + 1) * R, 0], [R, C])
        y = pl.store(pl.add(ring[0], 1.0), [2 * i * R, 0], y)
        y = pl.store(pl.add(ring[1], 1.0), [(2 * i + 1) * R, 0], y)
    if n % 2 == 1:
        pl.tile.load_into(ring[0], x, [(n - 1) * R, 0], [R, C])
        y = pl.store(pl.add(ring[0], 1.0), [(n - 1) * R, 0], y)
    return y


@pl.jit.incore
def gate_and_up(
    a: pl.Tensor[[16, 64], pl.FP16],
    b: pl.Tensor[[64, 128], pl.FP16],
    o: pl.Out[pl.Tensor[[16, 128], pl.FP32]],
    n: pl.Scalar[pl.INDEX],
):
    """Two accumulators over one k loop, and a loop around it that starts both anew."""
    lefts = pl.create_tile_buffers(2, [16, 16], pl.FP16, pl.Mem.Left)
    rights = pl.create_tile_buffers(3, [16, 64], pl.FP16, pl.Mem.Right)
    sums = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Acc)
    a1 = pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat)
    b1 = pl.load(b, [0, 0], [64, 128], target_memory=pl.Mem.Mat)
    for _ in pl.range(n):
        for k in pl.range(4):
            pl.tile.extract_into(lefts[k % 2], a1, 0, k * 16, [16, 16])
            for side in pl.unroll(2):
                pl.tile.extract_into(rights[(2 * k + side) % 3], b1, k * 16, side * 64, [16, 64])
                if k == 0:
                    pl.tile.matmul_into(sums[side], lefts[k % 2], rights[(2 * k + side) % 3])
                else:
                    pl.tile.matmul_acc_into(sums[side], lefts[k % 2], rights[(2 * k + side) % 3])
        o = pl.store(sums[0], [0, 0], o)
        o = pl.store(sums[1], [0, 64], o)
    return o


@pl.jit.incore
def values_and_names(
    x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]
):
    """A slot bound to a name is the slot, whatever it holds; a value is read before its slot is taken over."""
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    cell = ring[0]
    for i in pl.range(n):
        if i % 2 == 0:
            value = pl.tile.load_into(cell, x, [i * R, 0], [R, C])
        else:
            value = pl.tile.load_into(ring[1], x, [i * R, 0], [R, C])
        flat = pl.reshape(value, [2 * R, C // 2])
        y = pl.store(pl.reshape(pl.add(flat, 1.0), [R, C]), [i * R, 0], y)
        pl.tile.load_into(cell, x, [i * R, 0], [R, C])
        y = pl.store(cell, [i * R, 0], y)
    return y
