"""Slots of which only a part is valid: what reads and updates them keeps to that part, whoever wrote it last."""

import numpy as np
import pypto.language as pl

M = 10
ROWS = 16
K = 32
N = 64
STEPS = 3


@pl.jit.incore
def accumulated(
    x: pl.Tensor[[M, STEPS * K], pl.FP16],
    w: pl.Tensor[[STEPS * K, N], pl.FP16],
    y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]],
):
    """The first product peeled by a branch, the others added; read behind the loop."""
    sums = pl.create_tile_buffers(2, [ROWS, N], pl.FP32, pl.Mem.Acc)
    for k in pl.range(STEPS):
        part = pl.load(x, [0, k * K], [ROWS, K], valid_shape=[M, K], target_memory=pl.Mem.Mat)
        weight = pl.load(w, [k * K, 0], [K, N], target_memory=pl.Mem.Mat)
        if k == 0:
            pl.tile.matmul_into(sums[1], pl.move(part, pl.Mem.Left), pl.move(weight, pl.Mem.Right))
        else:
            pl.tile.matmul_acc_into(sums[1], pl.move(part, pl.Mem.Left), pl.move(weight, pl.Mem.Right))
    y = pl.store(sums[1], [0, 0], y)
    return y


@pl.jit.incore
def accumulated_on_condition(
    x: pl.Tensor[[M, STEPS * K], pl.FP16],
    w: pl.Tensor[[STEPS * K, N], pl.FP16],
    y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]],
):
    """No op has filled the slot when the first product is read."""
    sums = pl.create_tile_buffers(1, [ROWS, N], pl.FP32, pl.Mem.Acc)
    for k in pl.range(STEPS):
        part = pl.load(x, [0, k * K], [ROWS, K], valid_shape=[M, K], target_memory=pl.Mem.Mat)
        weight = pl.load(w, [k * K, 0], [K, N], target_memory=pl.Mem.Mat)
        pl.matmul_acc(sums[0], part, weight, init_cond=k == 0)
    y = pl.store(sums[0], [0, 0], y)
    return y


@pl.jit.incore
def peeled(
    x: pl.Tensor[[M, STEPS * K], pl.FP16],
    w: pl.Tensor[[STEPS * K, N], pl.FP16],
    y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]],
):
    """The slot written before the loop is written again in it."""
    sums = pl.create_tile_buffers(1, [ROWS, N], pl.FP32, pl.Mem.Acc)
    part = pl.load(x, [0, 0], [ROWS, K], valid_shape=[M, K], target_memory=pl.Mem.Mat)
    total = pl.matmul(part, pl.load(w, [0, 0], [K, N], target_memory=pl.Mem.Mat), out=sums[0])
    for k in pl.range(1, STEPS):
        part = pl.load(x, [0, k * K], [ROWS, K], valid_shape=[M, K], target_memory=pl.Mem.Mat)
        weight = pl.load(w, [k * K, 0], [K, N], target_memory=pl.Mem.Mat)
        total = pl.matmul_acc(sums[0], part, weight)
    y = pl.store(total, [0, 0], y)
    return y


@pl.jit.incore
def carried(
    x: pl.Tensor[[M, STEPS * K], pl.FP16],
    w: pl.Tensor[[STEPS * K, N], pl.FP16],
    y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]],
):
    """What travels is the slot's index."""
    sums = pl.create_tile_buffers(2, [ROWS, N], pl.FP32, pl.Mem.Acc)
    part = pl.load(x, [0, 0], [ROWS, K], valid_shape=[M, K], target_memory=pl.Mem.Mat)
    total = pl.matmul(part, pl.load(w, [0, 0], [K, N], target_memory=pl.Mem.Mat), out=sums[0])
    for k, (acc,) in pl.range(1, STEPS, init_values=(total,)):
        part = pl.load(x, [0, k * K], [ROWS, K], valid_shape=[M, K], target_memory=pl.Mem.Mat)
        weight = pl.load(w, [k * K, 0], [K, N], target_memory=pl.Mem.Mat)
        acc = pl.yield_(pl.matmul_acc(acc, part, weight))
    y = pl.store(acc, [0, 0], y)
    return y


@pl.jit.incore
def in_a_tile(
    x: pl.Tensor[[M, STEPS * K], pl.FP16],
    w: pl.Tensor[[STEPS * K, N], pl.FP16],
    y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]],
):
    """A tile that no op has filled is valid as far as what is put there first."""
    total = pl.create_tile([ROWS, N], pl.FP32, target_memory=pl.Mem.Acc)
    for k in pl.range(STEPS):
        part = pl.load(x, [0, k * K], [ROWS, K], valid_shape=[M, K], target_memory=pl.Mem.Mat)
        weight = pl.load(w, [k * K, 0], [K, N], target_memory=pl.Mem.Mat)
        if k == 0:
            total = pl.matmul(part, weight)
        else:
            total = pl.matmul_acc(total, part, weight)
    y = pl.store(total, [0, 0], y)
    return y


@pl.jit.incore
def in_a_tile_on_condition(
    x: pl.Tensor[[M, STEPS * K], pl.FP16],
    w: pl.Tensor[[STEPS * K, N], pl.FP16],
    y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]],
):
    total = pl.create_tile([ROWS, N], pl.FP32, target_memory=pl.Mem.Acc)
    for k in pl.pipeline(STEPS, stage=2):
        part = pl.load(x, [0, k * K], [ROWS, K], valid_shape=[M, K], target_memory=pl.Mem.Mat)
        weight = pl.load(w, [k * K, 0], [K, N], target_memory=pl.Mem.Mat)
        total = pl.matmul_acc(total, part, weight, init_cond=k == 0)
    y = pl.store(total, [0, 0], y)
    return y


@pl.jit.incore
def joined(x: pl.Tensor[[ROWS, N], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """Both arms fill the same part of one slot."""
    slot = pl.create_tile_buffers(2, [ROWS, N], pl.FP32, pl.Mem.Vec)[1]
    own = pl.create_tile([ROWS, N], pl.FP32)
    if n == 0:
        t = pl.load(x, [0, 0], [ROWS, N], valid_shape=[M, N], out=slot)
        u = pl.load(x, [1, 0], [ROWS, N], valid_shape=[M, N], out=own)
    else:
        t = pl.load(x, [2, 0], [ROWS, N], valid_shape=[M, N], out=slot)
        u = pl.load(x, [3, 0], [ROWS, N], valid_shape=[M, N], out=own)
    y = pl.store(pl.add(t, u), [0, 0], y)
    return y


@pl.jit.incore
def doubled(x: pl.Tensor[[ROWS, N], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """In place, from trip to trip."""
    slots = pl.create_tile_buffers(2, [ROWS, N], pl.FP32, pl.Mem.Vec)
    pl.load(x, [0, 0], [ROWS, N], valid_shape=[M, N], out=slots[0])
    for _ in pl.range(n):
        pl.add(slots[0], slots[0], out=slots[0])
    y = pl.store(slots[0], [0, 0], y)
    return y


@pl.jit.incore
def doubled_tile(x: pl.Tensor[[ROWS, N], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """A part of a tile, anew in each trip."""
    t = pl.load(x, [0, 0], [ROWS, N], valid_shape=[M, N], out=pl.create_tile([ROWS, N], pl.FP32))
    for _ in pl.range(n):
        t = pl.add(t, t)
    y = pl.store(t, [0, 0], y)
    return y


@pl.jit.incore
def one_element(x: pl.Tensor[[ROWS, N], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, N], pl.FP32]]):
    slots = pl.create_tile_buffers(2, [ROWS, N], pl.FP32, pl.Mem.Vec)
    pl.load(x, [0, 0], [ROWS, N], valid_shape=[M, N], out=slots[0])
    pl.tile.write(slots[0], [1, 2], 3.0)
    y = pl.store(slots[0], [0, 0], y)
    return y


@pl.jit.incore
def columns(x: pl.Tensor[[ROWS, 1], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, 1], pl.FP32]]):
    """The op sees a row where the slot holds a column."""
    slots = pl.create_tile_buffers(2, [ROWS, 1], pl.FP32, pl.Mem.Vec)
    t = pl.load(x, [0, 0], [ROWS, 1], valid_shape=[M, 1])
    pl.mul(t, 2.0, out=slots[0])
    pl.full([M, 1], pl.FP32, 0.5, out=slots[1])
    y = pl.store(pl.add(slots[0], slots[1]), [0, 0], y)
    return y


def _product(rng):
    x, w = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((M, STEPS * K), (STEPS * K, N)))
    return {"x": x, "w": w, "y": np.zeros((ROWS, N), np.float32)}


def _above(t, part):
    y = t["y"].copy()
    y[:M] = part
    return {"y": y}


def _vector(width, **numbers):
    def inputs(rng):
        x = rng.standard_normal((ROWS, width)).astype(np.float32)
        return {"x": x, "y": np.zeros((ROWS, width), np.float32), **numbers}

    return inputs


def _joined(t):
    low = 2 if t["n"] else 0
    return _above(t, t["x"][low : low + M] + t["x"][low + 1 : low + 1 + M])


def _one_element(t):
    x = t["x"].copy()
    x[1, 2] = 3
    return _above(t, x[:M])


_PRODUCT = (_product, lambda t: _above(t, t["x"].astype(np.float32) @ t["w"].astype(np.float32)))

CASES = {
    **dict.fromkeys(
        ("accumulated", "accumulated_on_condition", "peeled", "carried", "in_a_tile", "in_a_tile_on_condition"),
        _PRODUCT,
    ),
    **{f"joined#{n}": (_vector(N, n=n), _joined) for n in (0, 1)},
    **{
        f"{name}#{n}": (_vector(N, n=n), lambda t: _above(t, t["x"][:M] * 2 ** t["n"]))
        for name in ("doubled", "doubled_tile")
        for n in (0, 3)
    },
    "one_element": (_vector(N), _one_element),
    "columns": (_vector(1), lambda t: _above(t, t["x"][:M] * 2 + np.float32(0.5))),
}
