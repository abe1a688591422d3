"""Kernels whose control flow is their own: running sums, branches in while loops, early ends, counts by value."""

import math

import numpy as np
import pypto.language as pl

H, S, D = 2, 128, 64
SCALE = 1.0 / math.sqrt(D)


def cdiv(a, b):
    return (a + b - 1) // b


TILES = cdiv(S, 32)


@pl.inline
def rescale(acc, alpha):
    return pl.row_expand_mul(acc, alpha)


@pl.jit.incore
def flash_update(
    s: pl.Tensor[[S, S], pl.FP32],
    v: pl.Tensor[[S, S], pl.FP32],
    o: pl.Out[pl.Tensor[[S, S], pl.FP32]],
    e: pl.Out[pl.Tensor[[S, 1], pl.FP32]],
):
    for q in pl.range(TILES):
        m = pl.full([32, 1], pl.FP32, -1e30)
        d = pl.full([32, 1], pl.FP32, 0.0)
        acc = pl.full([32, 32], pl.FP32, 0.0)
        tmp = pl.create_tile([32, 32], pl.FP32)
        for j in pl.range(TILES):
            x = pl.mul(pl.load(s, [q * 32, j * 32], [32, 32]), SCALE)
            mj = pl.maximum(m, pl.row_max(x, tmp))
            p = pl.exp(pl.row_expand_sub(x, mj))
            alpha = pl.exp(pl.sub(m, mj))
            d = pl.add(pl.mul(d, alpha), pl.row_sum(p, tmp))
            acc = pl.add(rescale(acc, alpha), pl.mul(p, pl.load(v, [q * 32, j * 32], [32, 32])))
            m = mj
        o = pl.store(pl.row_expand_div(acc, d), [q * 32, 0], o)
        e = pl.store(pl.add(pl.log(d), m), [q * 32, 0], e)
    return o, e


@pl.jit.incore
def branchy(
    x: pl.Tensor[[S, D], pl.FP32],
    y: pl.Out[pl.Tensor[[S, D], pl.FP32]],
    mode: pl.Scalar[pl.INT32],
    n: pl.Scalar[pl.INDEX],
):
    i = 0
    while i < n:
        t = pl.load(x, [i * 16, 0], [16, D])
        if mode == 0:
            u = pl.exp(t)
        elif mode == 1:
            u = pl.neg(t)
        else:
            u = t
        if i % 2 == 1:
            u = pl.adds(u, 1.0)
        y = pl.store(u, [i * 16, 0], y)
        i = i + 1
    return y


@pl.jit.incore
def early_exit(x: pl.Tensor[[S, D], pl.FP32], y: pl.Out[pl.Tensor[[S, D], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    for i in pl.range(8):
        if i >= n:
            break
        t = pl.load(x, [i * 16, 0], [16, D])
        if i == 2:
            continue
        y = pl.store(pl.muls(t, 3.0), [i * 16, 0], y)


@pl.jit.incore
def ring16(x: pl.Tensor[[S * 4, D], pl.FP32], y: pl.Out[pl.Tensor[[S * 4, D], pl.FP32]]):
    ring = pl.create_tile_buffers(5, [16, D], pl.FP32, pl.Mem.Vec)
    for i in pl.range(3):
        pl.tile.load_into(ring[i], x, [i * 16, 0], [16, D])
    for i in pl.range(32):
        if i + 3 < 32:
            pl.tile.load_into(ring[(i + 3) % 5], x, [(i + 3) * 16, 0], [16, D])
        t = pl.muls(ring[i % 5], 2.0)
        pl.tile.release(ring[i % 5])
        pl.store(t, [i * 16, 0], y)


@pl.jit.incore
def hist(x: pl.Tensor[[1, 64], pl.INT32], y: pl.Out[pl.Tensor[[1, 64], pl.INT32]]):
    t = pl.load(x, [0, 0], [1, 64])
    h = pl.full([1, 64], pl.INT32, 0)
    for i in pl.range(64):
        b = pl.cast(t[0, i], pl.INDEX)
        h[0, b] = h[0, b] + 1
    pl.store(h, [0, 0], y)


def f(rng, *s):
    return rng.standard_normal(s).astype(np.float32)


def z(*s):
    return np.zeros(s, np.float32)


def _flash(t):
    s = t["s"] * SCALE
    m = s.max(1, keepdims=True)
    p = np.exp(s - m)
    d = p.sum(1, keepdims=True)
    acc = (p * t["v"]).reshape(S, 4, 32).sum(1) / d
    o = np.zeros((S, S), np.float32)
    o[:, :32] = acc
    return {"o": o, "e": np.log(d) + m}


def _branchy(t):
    x = t["x"].reshape(8, 16, D)
    y = np.zeros_like(x)
    for i in range(t["n"]):
        u = np.exp(x[i]) if t["mode"] == 0 else -x[i] if t["mode"] == 1 else x[i]
        y[i] = u + (i % 2)
    return {"y": y.reshape(S, D)}


def _early(t):
    x = t["x"].reshape(8, 16, D)
    y = np.zeros_like(x)
    for i in range(min(8, t["n"])):
        if i != 2:
            y[i] = x[i] * 3
    return {"y": y.reshape(S, D)}


CASES = {
    "flash_update": (lambda rng: {"s": f(rng, S, S), "v": f(rng, S, S), "o": z(S, S), "e": z(S, 1)}, _flash),
    "branchy#0": (lambda rng: {"x": f(rng, S, D), "y": z(S, D), "mode": 0, "n": 5}, _branchy),
    "branchy#2": (lambda rng: {"x": f(rng, S, D), "y": z(S, D), "mode": 2, "n": 8}, _branchy),
    "early_exit#5": (lambda rng: {"x": f(rng, S, D), "y": z(S, D), "n": 5}, _early),
    "early_exit#0": (lambda rng: {"x": f(rng, S, D), "y": z(S, D), "n": 0}, _early),
    "ring16": (lambda rng: {"x": f(rng, S * 4, D), "y": z(S * 4, D)}, lambda t: {"y": t["x"] * 2}),
    "hist": (
        lambda rng: {"x": rng.integers(0, 64, (1, 64)).astype(np.int32), "y": np.zeros((1, 64), np.int32)},
        lambda t: {"y": np.bincount(t["x"][0], minlength=64)[None].astype(np.int32)},
    ),
}
