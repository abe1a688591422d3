"""Kernels called with tensors, and asserts."""

import pypto.language as pl
import torch
from pypto.runtime import RunConfig

M, K, N = 64, 128, 96
S = pl.dynamic("S")


@pl.jit
def gemm_relu(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        ring = pl.create_tile_buffers(2, [M, 32], pl.FP16, pl.Mem.Mat)
        acc = pl.create_tile([M, N], pl.FP32, target_memory=pl.Mem.Acc)
        for k in pl.range(K // 32):
            pl.tile.load_into(ring[k & 1], a, [0, k * 32], [M, 32])
            al = pl.tile.extract(ring[k & 1], 0, 0, [M, 32], target_memory=pl.Mem.Left)
            br = pl.move(pl.load(b, [k * 32, 0], [32, N], target_memory=pl.Mem.Mat), pl.Mem.Right)
            acc = pl.matmul_acc(acc, al, br, init_cond=k == 0)
        pl.store(acc, [0, 0], c)
    return c


@pl.jit.incore
def twice(x: pl.Tensor[[S, 64], pl.FP32], y: pl.Out[pl.Tensor[[S, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    for i in pl.range((n + 15) // 16):
        rows = pl.min(n - i * 16, 16)
        t = pl.load(x, [i * 16, 0], [16, 64], valid_shape=[rows, 64])
        pl.store(pl.add(t, t), [i * 16, 0], y)


def check(name, got, want, tol=1e-3):
    ok = torch.allclose(got, want, rtol=tol, atol=tol)
    err = (got - want).abs()
    i = err.argmax()
    print(f"{name:10s} {'PASS' if ok else 'FAIL'} max={err.max().item():.2e} at {int(i)}")
    assert ok, name


def main():
    torch.manual_seed(1)
    a = torch.randn(M, K).half()
    b = (torch.rand(K, N) - 0.5).half()
    c = torch.zeros(M, N)
    gemm_relu(a, b, c, config=RunConfig(platform="a2a3sim"))
    check("gemm", c, a.float() @ b.float(), 1e-2)
    check("einsum", c, torch.einsum("mk,kn->mn", a.float(), b.float()), 1e-2)
    for n in (1, 16, 37):
        x = torch.arange(n * 64, dtype=torch.float32).view(n, 64) / 7
        y = torch.empty_like(x)
        twice(x, y, n)
        check(f"double {n}", y, 2 * x)
    mask = c > 0
    relu = torch.where(mask, c, torch.zeros_like(c))
    assert torch.equal(relu, torch.relu(c)) and abs(relu.sum().item() - c[mask].sum().item()) < 1e-2
    top = torch.topk(c.flatten(), 5)
    print("top", [round(v, 3) for v in top.values.tolist()], top.indices.shape)
    cs = torch.cumsum(c[:2], dim=1)
    print("ok", cs.shape, c.dtype, c.t().contiguous().shape, torch.cat([a, a], dim=0).size(0))


main()
