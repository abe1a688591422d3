"""Vector kernels as models have them: normalisations, softmax, activations, masks, reductions, dynamic shapes."""

import numpy as np
import pypto.language as pl

ROWS = 64
T = 16
D = 256
EPS = 1e-5
NEG = -3.0e38
S = pl.dynamic("S")


@pl.jit.incore
def rmsnorm(
    x: pl.Tensor[[ROWS, D], pl.FP32], gamma: pl.Tensor[[1, D], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, D], pl.FP32]]
):
    g = pl.load(gamma, [0, 0], [1, D])
    xs = pl.create_tile_buffers(2, [T, D], pl.FP32, pl.Mem.Vec)
    for i in pl.range(ROWS // T):
        t = pl.tile.load_into(xs[i % 2], x, [i * T, 0], [T, D])
        square = pl.mul(t, t)
        tmp = pl.create_tile([T, D], pl.FP32)
        mean = pl.muls(pl.row_sum(square, tmp), 1.0 / D)
        inv = pl.rsqrt(pl.adds(mean, EPS))
        scaled = pl.row_expand_mul(t, inv)
        pl.tile.release(t)
        out = pl.col_expand_mul(scaled, g)
        y = pl.store(out, [i * T, 0], y)
    return y


@pl.jit.incore
def layernorm(
    x: pl.Tensor[[ROWS, D], pl.FP32],
    gamma: pl.Tensor[[1, D], pl.FP32],
    beta: pl.Tensor[[1, D], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, D], pl.FP32]],
):
    g = pl.load(gamma, [0, 0], [1, D])
    b = pl.load(beta, [0, 0], [1, D])
    for i in pl.pipeline(ROWS // T, stage=2):
        t = pl.load(x, [i * T, 0], [T, D])
        tmp = pl.create_tile([T, D], pl.FP32)
        mean = pl.mul(pl.row_sum(t, tmp), 1.0 / D)
        centred = pl.row_expand_sub(t, mean)
        var = pl.mul(pl.row_sum(pl.mul(centred, centred), tmp), 1.0 / D)
        std = pl.sqrt(pl.add(var, EPS))
        normed = pl.row_expand_div(centred, std)
        pl.store(pl.col_expand_add(pl.col_expand_mul(normed, g), b), [i * T, 0], y)


@pl.jit.incore
def softmax_bf16(x: pl.Tensor[[ROWS, D], pl.BF16], y: pl.Out[pl.Tensor[[ROWS, D], pl.BF16]]):
    for i in pl.range(0, ROWS, T):
        t = pl.cast(pl.load(x, [i, 0], [T, D]), pl.FP32)
        tmp = pl.create_tile([T, D], pl.FP32)
        e = pl.exp(pl.row_expand_sub(t, pl.row_max(t, tmp)))
        p = pl.row_expand_div(e, pl.row_sum(e, tmp))
        pl.store(pl.cast(p, pl.BF16, mode="rint"), [i, 0], y)


@pl.jit.incore
def online_softmax(x: pl.Tensor[[T, 4 * D], pl.FP32], y: pl.Out[pl.Tensor[[T, 4 * D], pl.FP32]]):
    """Running maximum and sum in one pass, the result in a second."""
    tmp = pl.create_tile([T, D], pl.FP32)
    m = pl.full([T, 1], pl.FP32, NEG)
    s = pl.full([T, 1], pl.FP32, 0.0)
    for j in pl.range(4):
        t = pl.load(x, [0, j * D], [T, D])
        m_new = pl.maximum(m, pl.row_max(t, tmp))
        alpha = pl.exp(pl.sub(m, m_new))
        part = pl.row_sum(pl.exp(pl.row_expand_sub(t, m_new)), tmp)
        s = pl.add(pl.mul(s, alpha), part)
        m = m_new
    for j in pl.range(4):
        t = pl.load(x, [0, j * D], [T, D])
        pl.store(pl.row_expand_div(pl.exp(pl.row_expand_sub(t, m)), s), [0, j * D], y)


@pl.jit.incore
def silu_gate(
    gate: pl.Tensor[[ROWS, D], pl.FP16], up: pl.Tensor[[ROWS, D], pl.FP16], y: pl.Out[pl.Tensor[[ROWS, D], pl.FP16]]
):
    for i in pl.pipeline(ROWS // T, stage=3):
        g = pl.cast(pl.load(gate, [i * T, 0], [T, D]), pl.FP32)
        u = pl.cast(pl.load(up, [i * T, 0], [T, D]), pl.FP32)
        sigmoid = pl.recip(pl.adds(pl.exp(pl.neg(g)), 1.0))
        out = pl.mul(pl.mul(g, sigmoid), u)
        pl.store(pl.cast(out, pl.FP16), [i * T, 0], y)


@pl.jit.incore
def causal_mask(x: pl.Tensor[[ROWS, ROWS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, ROWS], pl.FP32]]):
    """Scores after the row's own place are masked, row by row."""
    col = pl.cast(pl.arange(0, [1, ROWS], dtype=pl.INT32), pl.FP32)
    low = pl.full([1, ROWS], pl.FP32, -1000.0)
    for i in pl.range(ROWS):
        t = pl.load(x, [i, 0], [1, ROWS])
        keep = pl.cmps(col, pl.cast(i, pl.FP32), cmp_type=3)
        out = pl.sel(keep, t, low)
        pl.store(out, [i, 0], y)


@pl.jit.incore
def dynamic_rows(x: pl.Tensor[[S, D], pl.FP32], y: pl.Out[pl.Tensor[[S, D], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """Any number of rows, the last block a part only."""
    ring = pl.create_tile_buffers(3, [T, D], pl.FP32, pl.Mem.Vec)
    for i in pl.range((n + T - 1) // T):
        rows = pl.min(n - i * T, T)
        t = pl.tile.load_into(ring[i % 3], x, [i * T, 0], [T, D], valid_shape=[rows, D])
        u = pl.muls(t, 2.0)
        pl.store(u, [i * T, 0], y)


@pl.jit.incore
def column_sums(x: pl.Tensor[[ROWS, D], pl.FP32], y: pl.Out[pl.Tensor[[1, D], pl.FP32]]):
    total = pl.full([1, D], pl.FP32, 0.0)
    for i in pl.range(ROWS // T):
        t = pl.load(x, [i * T, 0], [T, D])
        total = pl.add(total, pl.col_sum(t))
    pl.store(total, [0, 0], y)


@pl.jit.incore
def dequant(
    q: pl.Tensor[[ROWS, D], pl.INT8], scale: pl.Tensor[[ROWS, 1], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, D], pl.FP32]]
):
    for i in pl.range(ROWS // T):
        t = pl.load(q, [i * T, 0], [T, D])
        f = pl.cast(pl.cast(t, pl.FP16), pl.FP32)
        s = pl.load(scale, [i * T, 0], [T, 1])
        pl.store(pl.row_expand_mul(f, s), [i * T, 0], y)


@pl.jit.incore
def turned(x: pl.Tensor[[ROWS, T], pl.FP32], y: pl.Out[pl.Tensor[[T, ROWS], pl.FP32]]):
    t = pl.load(x, [0, 0], [ROWS, T])
    pl.store(pl.transpose(t, 0, 1), [0, 0], y)


@pl.jit.incore
def rope(
    x: pl.Tensor[[ROWS, 128], pl.FP32],
    cos: pl.Tensor[[ROWS, 64], pl.FP32],
    sin: pl.Tensor[[ROWS, 64], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, 128], pl.FP32]],
):
    c = pl.load(cos, [0, 0], [ROWS, 64])
    s = pl.load(sin, [0, 0], [ROWS, 64])
    lo = pl.load(x, [0, 0], [ROWS, 64])
    hi = pl.load(x, [0, 64], [ROWS, 64])
    y = pl.store(pl.sub(pl.mul(lo, c), pl.mul(hi, s)), [0, 0], y)
    y = pl.store(pl.add(pl.mul(hi, c), pl.mul(lo, s)), [0, 64], y)
    return y


def f32(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def bf16(a):
    import ml_dtypes

    return a.astype(ml_dtypes.bfloat16)


def _softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _layernorm(t):
    x = t["x"]
    c = x - x.mean(axis=1, keepdims=True)
    return {"y": c / np.sqrt((c * c).mean(axis=1, keepdims=True) + EPS) * t["gamma"] + t["beta"]}


def _silu(t):
    g, u = t["gate"].astype(np.float32), t["up"].astype(np.float32)
    return {"y": (g / (1 + np.exp(-g)) * u).astype(np.float16)}


def _rope(t):
    lo, hi = t["x"][:, :64], t["x"][:, 64:]
    return {"y": np.concatenate([lo * t["cos"] - hi * t["sin"], hi * t["cos"] + lo * t["sin"]], axis=1)}


def _dynamic(n):
    def make(rng):
        return {"x": f32(rng, n, D), "y": np.zeros((n, D), np.float32), "n": n}

    return make


CASES = {
    "rmsnorm": (
        lambda rng: {"x": f32(rng, ROWS, D), "gamma": f32(rng, 1, D), "y": f32(rng, ROWS, D)},
        lambda t: {"y": t["x"] / np.sqrt((t["x"] ** 2).mean(axis=1, keepdims=True) + EPS) * t["gamma"]},
    ),
    "layernorm": (
        lambda rng: {"x": f32(rng, ROWS, D), "gamma": f32(rng, 1, D), "beta": f32(rng, 1, D), "y": f32(rng, ROWS, D)},
        _layernorm,
    ),
    "softmax_bf16": (
        lambda rng: {"x": bf16(f32(rng, ROWS, D)), "y": bf16(f32(rng, ROWS, D))},
        lambda t: {"y": bf16(_softmax(t["x"].astype(np.float32)))},
    ),
    "online_softmax": (
        lambda rng: {"x": f32(rng, T, 4 * D), "y": f32(rng, T, 4 * D)},
        lambda t: {"y": _softmax(t["x"])},
    ),
    "silu_gate": (
        lambda rng: {
            "gate": f32(rng, ROWS, D).astype(np.float16),
            "up": f32(rng, ROWS, D).astype(np.float16),
            "y": np.zeros((ROWS, D), np.float16),
        },
        _silu,
    ),
    "causal_mask": (
        lambda rng: {"x": f32(rng, ROWS, ROWS), "y": f32(rng, ROWS, ROWS)},
        lambda t: {"y": np.where(np.tri(ROWS) > 0, t["x"], np.float32(-1000))},
    ),
    "dynamic_rows": (_dynamic(37), lambda t: {"y": t["x"] * 2}),
    "column_sums": (
        lambda rng: {"x": f32(rng, ROWS, D), "y": f32(rng, 1, D)},
        lambda t: {"y": t["x"].sum(axis=0, keepdims=True)},
    ),
    "dequant": (
        lambda rng: {
            "q": rng.integers(-128, 128, (ROWS, D)).astype(np.int8),
            "scale": f32(rng, ROWS, 1),
            "y": f32(rng, ROWS, D),
        },
        lambda t: {"y": t["q"].astype(np.float32) * t["scale"]},
    ),
    "turned": (lambda rng: {"x": f32(rng, ROWS, T), "y": f32(rng, T, ROWS)}, lambda t: {"y": t["x"].T}),
    "rope": (
        lambda rng: {
            "x": f32(rng, ROWS, 128),
            "cos": f32(rng, ROWS, 64),
            "sin": f32(rng, ROWS, 64),
            "y": f32(rng, ROWS, 128),
        },
        _rope,
    ),
}
