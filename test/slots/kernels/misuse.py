"""Kernels that misuse slots: a comment with ERROR and a kind marks each line that has to be named, and no other is."""

import pypto.language as pl

R, C = 16, 64
TALL = 1 << 12


@pl.jit.incore
def last_trip_out(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]]):
    ring = pl.create_tile_buffers(4, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(9):
        cell = ring[i // 2]  # ERROR: slot-index-out-of-range
        pl.tile.load_into(cell, x, [i * R, 0], [R, C])
        y = pl.store(cell, [i * R, 0], y)
    return y


@pl.jit.incore
def argument(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    cell = ring[k]  # ERROR: slot-index-out-of-range
    pl.tile.load_into(cell, x, [0, 0], [R, C])
    y = pl.store(cell, [0, 0], y)
    return y


@pl.jit.incore
def carried_too_far(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for i, (k,) in pl.range(n, init_values=(0,)):
        cell = ring[k]  # ERROR: slot-index-out-of-range
        pl.tile.load_into(cell, x, [i * R, 0], [R, C])
        y = pl.store(cell, [i * R, 0], y)
        k = pl.yield_((k + 1) % 4)
    return y


@pl.jit.incore
def endless_while(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    row: pl.Scalar[pl.INDEX] = 0
    while row < n:
        cell = ring[row]  # ERROR: slot-index-out-of-range
        pl.tile.load_into(cell, x, [row * R, 0], [R, C])
        y = pl.store(cell, [row * R, 0], y)
        row = row + 1
    return y


@pl.jit.incore
def below_zero(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """(i - 2) % 3 at i = 1 is that of a huge number without a sign: slot 0, not slot 2."""
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        pl.tile.load_into(ring[i % 3], x, [i * R, 0], [R, C])
        if i > 0:
            y = pl.store(ring[(i - 2) % 3], [i * R, 0], y)  # ERROR: read-before-write
    return y


@pl.jit.incore
def as_many_ahead_as_slots(
    x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]
):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    for i in pl.range(n):
        pl.tile.load_into(ring[(i + 2) % 2], x, [(i + 2) * R, 0], [R, C])  # ERROR: clobber
        y = pl.store(ring[i % 2], [i * R, 0], y)
    return y


@pl.jit.incore
def kept_too_long(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    first = pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    y = pl.store(first, [0, 0], y)
    for i in pl.range(n):
        pl.tile.load_into(ring[i % 2], x, [i * R, 0], [R, C])  # ERROR: clobber
        y = pl.store(ring[i % 2], [i * R, 0], y)
    y = pl.store(first, [R, 0], y)
    return y


@pl.jit.incore
def unknown_twin(
    x: pl.Tensor[[TALL, C], pl.FP32],
    y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]],
    order: pl.Tensor[[64], pl.INT32],
    n: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(4, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        k = pl.read(order, [i]) & 3
        mine = pl.tile.load_into(ring[i & 3], x, [i * R, 0], [R, C])
        other = pl.tile.load_into(ring[k], x, [k * R, 0], [R, C])  # ERROR: clobber
        y = pl.store(pl.add(mine, other), [i * R, 0], y)
    return y


@pl.jit.incore
def skipped_write(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """The fifth trip uses what the second one released."""
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        if i % 5 != 4:
            pl.tile.load_into(ring[i % 3], x, [i * R, 0], [R, C])
        y = pl.store(ring[i % 3], [i * R, 0], y)  # ERROR: use-after-release
        pl.tile.release(ring[i % 3])  # ERROR: release-misuse


@pl.jit.incore
def released_in_some_trip(
    x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]
):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    for i in pl.range(n):
        y = pl.store(ring[0], [i * R, 0], y)  # ERROR: use-after-release
        if i == 3:
            pl.release(ring[0])
    return y


@pl.jit.incore
def two_names(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    one = ring[1]
    other = one
    pl.tile.load_into(one, x, [0, 0], [R, C])
    y = pl.store(other, [0, 0], y)
    pl.release(one)
    pl.release(other)  # ERROR: release-misuse
    return y


@pl.jit.incore
def taken_over(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]]):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    old = pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    y = pl.store(old, [0, 0], y)
    new = pl.tile.load_into(ring[0], x, [R, 0], [R, C])
    pl.release(old)  # ERROR: release-misuse
    y = pl.store(new, [R, 0], y)
    return y


@pl.jit.incore
def half_filled(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]]):
    ring = pl.create_tile_buffers(1, [2 * R, C], pl.FP32, pl.Mem.Vec)
    top = pl.load(x, [0, 0], [R, C])
    pl.tile.assemble(ring[0], top, [0, 0])
    y = pl.store(ring[0], [0, 0], y)  # ERROR: read-before-write
    return y


@pl.jit.incore
def narrow_window(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]]):
    """A window of some columns leaves gaps: it needs a slot that is whole already."""
    ring = pl.create_tile_buffers(1, [R, 2 * C], pl.FP32, pl.Mem.Vec)
    left = pl.load(x, [0, 0], [R, C])
    pl.tile.assemble(ring[0], left, [0, 0])  # ERROR: read-before-write
    pl.tile.assemble(ring[0], left, [0, C])
    y = pl.store(pl.slice(ring[0], [R, C], [0, 0]), [0, 0], y)
    return y


@pl.jit.incore
def empty_inner_loop(
    x: pl.Tensor[[TALL, C], pl.FP32],
    y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]],
    m: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(m):
        for j in pl.range(n):
            pl.tile.load_into(ring[j % 2], x, [j * R, 0], [R, C])
        y = pl.store(ring[0], [i * R, 0], y)  # ERROR: read-before-write
    return y


@pl.jit.incore
def no_first_product(
    a: pl.Tensor[[16, 64], pl.FP16],
    b: pl.Tensor[[64, 64], pl.FP16],
    o: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    n: pl.Scalar[pl.INDEX],
):
    sums = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Acc)
    left = pl.move(pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat), pl.Mem.Left)
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), pl.Mem.Right)
    for i in pl.range(n):
        pl.tile.matmul_acc_into(sums[i % 2], left, right)  # ERROR: read-before-write
    o = pl.store(sums[0], [0, 0], o)  # ERROR: read-before-write
    return o


@pl.jit.incore
def product_in_a_guard(
    x: pl.Tensor[[TALL, C], pl.FP32],
    y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]],
    m: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    """Right, but only by what products of numbers do from trip to trip: refused as not proven, with a way out."""
    cell = pl.create_tile_buffers(1, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(1, m):
        for j in pl.range(n):
            if i * n + j >= n:
                pl.tile.load_into(cell[0], x, [j * R, 0], [R, C])
            y = pl.store(cell[0], [j * R, 0], y)  # ERROR: read-before-write
    return y


@pl.jit.incore
def left_side_too_large(a: pl.Tensor[[256, 256], pl.FP16]):
    lefts = pl.create_tile_buffers(2, [128, 256], pl.FP16, pl.Mem.Left)  # ERROR: capacity-or-count
    whole = pl.load(a, [0, 0], [256, 256], target_memory=pl.Mem.Mat)
    pl.tile.extract_into(lefts[0], whole, 0, 0, [128, 256])


@pl.jit.incore
def one_accumulator_too_many(a: pl.Tensor[[128, 64], pl.FP16], b: pl.Tensor[[64, 128], pl.FP16]):
    sums = pl.create_tile_buffers(3, [128, 128], pl.FP32, pl.Mem.Acc)  # ERROR: capacity-or-count
    left = pl.move(pl.load(a, [0, 0], [128, 64], target_memory=pl.Mem.Mat), pl.Mem.Left)
    right = pl.move(pl.load(b, [0, 0], [64, 128], target_memory=pl.Mem.Mat), pl.Mem.Right)
    pl.tile.matmul_into(sums[0], left, right)


@pl.jit.incore
def declared_is_taken(
    x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]
):
    """Slots that no trip reaches, and sets that nothing touches, take their bytes."""
    ring = pl.create_tile_buffers(2, [128, C], pl.FP32, pl.Mem.Vec)
    spare = pl.create_tile_buffers(4, [128, C], pl.FP32, pl.Mem.Vec)  # ERROR: capacity-or-count
    first = len(spare) - 4
    for i in pl.range(n):
        pl.tile.load_into(ring[first], x, [i * 128, 0], [128, C])
        y = pl.store(ring[first], [i * 128, 0], y)
    return y


@pl.jit.incore
def seen_in_another_shape(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]]):
    """A view of a value means that value, whatever its slot holds by then."""
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    value = pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    y = pl.store(value, [0, 0], y)
    flat = pl.reshape(value, [2 * R, C // 2])
    pl.tile.load_into(ring[0], x, [R, 0], [R, C])  # ERROR: clobber
    y = pl.store(pl.reshape(pl.add(flat, 1.0), [R, C]), [0, 0], y)
    return y


@pl.jit.incore
def out_of_two_arms(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    one = pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    two = pl.tile.load_into(ring[1], x, [R, 0], [R, C])
    y = pl.store(pl.add(one, two), [0, 0], y)
    if n > 1:
        kept = one
    else:
        kept = two
    pl.tile.load_into(ring[1], x, [2 * R, 0], [R, C])  # ERROR: clobber
    y = pl.store(pl.add(kept, ring[1]), [R, 0], y)
    return y


@pl.jit.incore
def written_in_both_arms(
    x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]
):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    cell = ring[0]
    if n > 1:
        value = pl.tile.load_into(cell, x, [0, 0], [R, C])
    else:
        value = pl.tile.load_into(cell, x, [R, 0], [R, C])
    y = pl.store(value, [0, 0], y)
    pl.tile.load_into(cell, x, [2 * R, 0], [R, C])  # ERROR: clobber
    y = pl.store(value, [R, 0], y)
    return y


@pl.jit.incore
def carried_value(x: pl.Tensor[[TALL, C], pl.FP32], y: pl.Out[pl.Tensor[[TALL, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    first = pl.tile.load_into(ring[0], x, [0, 0], [R, C])
    y = pl.store(first, [0, 0], y)
    for i, (kept,) in pl.range(n, init_values=(first,)):
        pl.tile.load_into(ring[0], x, [i * R, 0], [R, C])  # ERROR: clobber
        y = pl.store(kept, [i * R, 0], y)
        kept = pl.yield_(kept)
    return y
