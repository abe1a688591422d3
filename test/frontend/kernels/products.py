"""Products as models have them: bias, split K, tails, batches, attention pieces, int8."""

import numpy as np
import pypto.language as pl

M, K, N = 64, 256, 128
KT = 64
NT = 64
MB = 4
HEADS = 4
KD = pl.dynamic("KD")


@pl.jit.incore
def gemm(a: pl.Tensor[[M, K], pl.FP16], b: pl.Tensor[[K, N], pl.FP16], c: pl.Out[pl.Tensor[[M, N], pl.FP32]]):
    """K in steps into one accumulator; both L1 and L0 tiles rotate."""
    for n0 in pl.range(0, N, NT):
        acc = pl.create_tile([M, NT], pl.FP32, target_memory=pl.Mem.Acc)
        for k in pl.pipeline(K // KT, stage=2):
            al = pl.move(pl.load(a, [0, k * KT], [M, KT], target_memory=pl.Mem.Mat), pl.Mem.Left)
            br = pl.move(pl.load(b, [k * KT, n0], [KT, NT], target_memory=pl.Mem.Mat), pl.Mem.Right)
            acc = pl.matmul_acc(acc, al, br, init_cond=k == 0)
        c = pl.store(acc, [0, n0], c)
    return c


@pl.jit.incore
def gemm_first_step(
    a: pl.Tensor[[M, K], pl.BF16], b: pl.Tensor[[K, N], pl.BF16], c: pl.Out[pl.Tensor[[M, N], pl.FP32]]
):
    """The first product peeled, the others added."""
    al = pl.move(pl.load(a, [0, 0], [M, KT], target_memory=pl.Mem.Mat), pl.Mem.Left)
    br = pl.move(pl.load(b, [0, 0], [KT, N], target_memory=pl.Mem.Mat), pl.Mem.Right)
    acc = pl.matmul(al, br)
    for k in pl.range(1, K // KT):
        al = pl.move(pl.load(a, [0, k * KT], [M, KT], target_memory=pl.Mem.Mat), pl.Mem.Left)
        br = pl.move(pl.load(b, [k * KT, 0], [KT, N], target_memory=pl.Mem.Mat), pl.Mem.Right)
        acc = pl.matmul_acc(acc, al, br)
    pl.store(acc, [0, 0], c)


@pl.jit.incore
def gemm_bias(
    a: pl.Tensor[[M, KT], pl.FP16],
    b: pl.Tensor[[KT, N], pl.FP16],
    bias: pl.Tensor[[1, N], pl.FP32],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    al = pl.move(pl.load(a, [0, 0], [M, KT], target_memory=pl.Mem.Mat), pl.Mem.Left)
    br = pl.move(pl.load(b, [0, 0], [KT, N], target_memory=pl.Mem.Mat), pl.Mem.Right)
    bb = pl.move(pl.load(bias, [0, 0], [1, N], target_memory=pl.Mem.Mat), pl.Mem.Bias)
    pl.store(pl.tile.matmul_bias(al, br, bb), [0, 0], c)


@pl.jit.incore
def split_k(a: pl.Tensor[[M, K], pl.FP16], b: pl.Tensor[[K, N], pl.FP16], c: pl.InOut[pl.Tensor[[M, N], pl.FP32]]):
    """Halves of K added up in global memory."""
    for half in pl.range(2):
        acc = pl.create_tile([M, N], pl.FP32, target_memory=pl.Mem.Acc)
        for k in pl.range(2):
            k0 = half * 2 * KT + k * KT
            al = pl.move(pl.load(a, [0, k0], [M, KT], target_memory=pl.Mem.Mat), pl.Mem.Left)
            br = pl.move(pl.load(b, [k0, 0], [KT, N], target_memory=pl.Mem.Mat), pl.Mem.Right)
            acc = pl.matmul_acc(acc, al, br, init_cond=k == 0)
        c = pl.store(acc, [0, 0], c, atomic=pl.AtomicType.Add)
    return c


@pl.jit.incore
def int8_gemm(a: pl.Tensor[[M, K], pl.INT8], b: pl.Tensor[[K, N], pl.INT8], c: pl.Out[pl.Tensor[[M, N], pl.INT32]]):
    al = pl.move(pl.load(a, [0, 0], [M, K], target_memory=pl.Mem.Mat), pl.Mem.Left)
    br = pl.move(pl.load(b, [0, 0], [K, N], target_memory=pl.Mem.Mat), pl.Mem.Right)
    pl.store(pl.matmul(al, br), [0, 0], c)


@pl.jit.incore
def batched(
    a: pl.Tensor[[MB, M, KT], pl.FP16], b: pl.Tensor[[MB, KT, N], pl.FP16], c: pl.Out[pl.Tensor[[MB, M, N], pl.FP32]]
):
    l1a = pl.create_tile_buffers(2, [M, KT], pl.FP16, pl.Mem.Mat)
    l1b = pl.create_tile_buffers(2, [KT, N], pl.FP16, pl.Mem.Mat)
    l0c = pl.create_tile_buffers(2, [M, N], pl.FP32, pl.Mem.Acc)
    for i in pl.range(MB):
        pl.tile.load_into(l1a[i % 2], a, [i, 0, 0], [1, M, KT])
        pl.tile.load_into(l1b[i % 2], b, [i, 0, 0], [1, KT, N])
        al = pl.tile.extract(l1a[i % 2], 0, 0, [M, KT], target_memory=pl.Mem.Left)
        br = pl.tile.extract(l1b[i % 2], 0, 0, [KT, N], target_memory=pl.Mem.Right)
        pl.tile.matmul_into(l0c[i % 2], al, br)
        c = pl.store(l0c[i % 2], [i, 0, 0], c)
    return c


@pl.jit.incore
def scores(
    q: pl.Tensor[[HEADS * 16, 128], pl.BF16],
    k: pl.Tensor[[HEADS * 64, 128], pl.BF16],
    s: pl.Out[pl.Tensor[[HEADS * 16, 64], pl.FP32]],
):
    """Q times K transposed, a head at a time: the K tile is seen transposed in L1."""
    for h in pl.pipeline(HEADS, stage=2):
        ql = pl.move(pl.load(q, [h * 16, 0], [16, 128], target_memory=pl.Mem.Mat), pl.Mem.Left)
        kt = pl.tile.transpose_view(pl.load(k, [h * 64, 0], [64, 128], target_memory=pl.Mem.Mat))
        pl.store(pl.matmul(ql, pl.move(kt, pl.Mem.Right)), [h * 16, 0], s)


@pl.jit.incore
def k_tail(a: pl.Tensor[[16, 80], pl.FP16], b: pl.Tensor[[80, 64], pl.FP16], c: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    """K of 80 in a step of 64 and one of 16."""
    acc = pl.create_tile([16, 64], pl.FP32, target_memory=pl.Mem.Acc)
    al = pl.move(pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat), pl.Mem.Left)
    br = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), pl.Mem.Right)
    acc = pl.matmul(al, br)
    at = pl.move(pl.load(a, [0, 64], [16, 16], target_memory=pl.Mem.Mat), pl.Mem.Left)
    bt = pl.move(pl.load(b, [64, 0], [16, 64], target_memory=pl.Mem.Mat), pl.Mem.Right)
    acc = pl.matmul_acc(acc, at, bt)
    pl.store(acc, [0, 0], c)


@pl.jit.incore
def two_products(
    a: pl.Tensor[[M, KT], pl.FP16],
    b: pl.Tensor[[KT, NT], pl.FP16],
    d: pl.Tensor[[NT, NT], pl.FP16],
    c: pl.Out[pl.Tensor[[M, NT], pl.FP32]],
):
    """(A B) D with the first product narrowed into L1."""
    al = pl.move(pl.load(a, [0, 0], [M, KT], target_memory=pl.Mem.Mat), pl.Mem.Left)
    br = pl.move(pl.load(b, [0, 0], [KT, NT], target_memory=pl.Mem.Mat), pl.Mem.Right)
    mid = pl.create_tile_buffers(1, [M, NT], pl.FP16, pl.Mem.Mat)
    pl.tile.move_into(mid[0], pl.matmul(al, br))
    ml = pl.tile.extract(mid[0], 0, 0, [M, NT], target_memory=pl.Mem.Left)
    dr = pl.move(pl.load(d, [0, 0], [NT, NT], target_memory=pl.Mem.Mat), pl.Mem.Right)
    pl.store(pl.matmul(ml, dr), [0, 0], c)


@pl.jit
def tiled_over_blocks(
    a: pl.Tensor[[4 * M, KT], pl.FP16], b: pl.Tensor[[KT, N], pl.FP16], c: pl.Out[pl.Tensor[[4 * M, N], pl.FP32]]
):
    """A block of rows for each core."""
    for i in pl.spmd(4, name_hint="blocks"):
        al = pl.move(pl.load(a, [i * M, 0], [M, KT], target_memory=pl.Mem.Mat), pl.Mem.Left)
        br = pl.move(pl.load(b, [0, 0], [KT, N], target_memory=pl.Mem.Mat), pl.Mem.Right)
        c = pl.store(pl.matmul(al, br), [i * M, 0], c)
    return c


def half(rng, *shape):
    return (rng.standard_normal(shape) / 4).astype(np.float16)


def bf16(rng, *shape):
    import ml_dtypes

    return (rng.standard_normal(shape) / 4).astype(ml_dtypes.bfloat16)


def _product(t):
    return {"c": t["a"].astype(np.float32) @ t["b"].astype(np.float32)}


def _case(a, b, c, make=half, dtype=np.float32):
    return (lambda rng: {"a": make(rng, *a), "b": make(rng, *b), "c": np.zeros(c, dtype)}, _product)


def _scores(t):
    q = t["q"].astype(np.float32).reshape(HEADS, 16, 128)
    k = t["k"].astype(np.float32).reshape(HEADS, 64, 128)
    return {"s": (q @ k.transpose(0, 2, 1)).reshape(HEADS * 16, 64)}


def _two(t):
    mid = (t["a"].astype(np.float32) @ t["b"].astype(np.float32)).astype(np.float16)
    return {"c": mid.astype(np.float32) @ t["d"].astype(np.float32)}


CASES = {
    "gemm": _case((M, K), (K, N), (M, N)),
    "gemm_first_step": _case((M, K), (K, N), (M, N), bf16),
    "gemm_bias": (
        lambda rng: {
            "a": half(rng, M, KT),
            "b": half(rng, KT, N),
            "bias": rng.standard_normal((1, N)).astype(np.float32),
            "c": np.zeros((M, N), np.float32),
        },
        lambda t: {"c": _product(t)["c"] + t["bias"]},
    ),
    "split_k": (
        lambda rng: {
            "a": half(rng, M, K),
            "b": half(rng, K, N),
            "c": rng.standard_normal((M, N)).astype(np.float32),
        },
        lambda t: {"c": t["c"] + _product(t)["c"]},
    ),
    "int8_gemm": (
        lambda rng: {
            "a": rng.integers(-8, 8, (M, K)).astype(np.int8),
            "b": rng.integers(-8, 8, (K, N)).astype(np.int8),
            "c": np.zeros((M, N), np.int32),
        },
        lambda t: {"c": t["a"].astype(np.int32) @ t["b"].astype(np.int32)},
    ),
    "batched": _case((MB, M, KT), (MB, KT, N), (MB, M, N)),
    "scores": (
        lambda rng: {
            "q": bf16(rng, HEADS * 16, 128),
            "k": bf16(rng, HEADS * 64, 128),
            "s": np.zeros((HEADS * 16, 64), np.float32),
        },
        _scores,
    ),
    "k_tail": _case((16, 80), (80, 64), (16, 64)),
    "two_products": (
        lambda rng: {
            "a": half(rng, M, KT),
            "b": half(rng, KT, NT),
            "d": half(rng, NT, NT),
            "c": np.zeros((M, NT), np.float32),
        },
        _two,
    ),
    "tiled_over_blocks": _case((4 * M, KT), (KT, N), (4 * M, N)),
}
