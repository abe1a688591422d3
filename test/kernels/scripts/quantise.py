"""Root mean square normalisation and quantisation to int8; tensors are made in several ways."""

import argparse
import sys

import numpy as np
import pypto.language as pl
import torch
from golden import TensorSpec, run_jit

CFG = {"tokens": 32, "hidden": 256, "eps": 1e-6}
TOKENS = CFG["tokens"]
HIDDEN = CFG["hidden"]
EPS = CFG["eps"]


@pl.jit.incore
def rms_quant(
    x: pl.Tensor[[TOKENS, HIDDEN], pl.BF16],
    w: pl.Tensor[[1, HIDDEN], pl.FP32],
    y: pl.Out[pl.Tensor[[TOKENS, HIDDEN], pl.INT8]],
    scale: pl.Out[pl.Tensor[[TOKENS, 1], pl.FP32]],
):
    g = pl.load(w, [0, 0], [1, HIDDEN])
    for i in pl.range(0, TOKENS, 8):
        t = pl.cast(pl.load(x, [i, 0], [8, HIDDEN]), pl.FP32)
        tmp = pl.create_tile([8, HIDDEN], pl.FP32)
        ms = pl.mul(pl.row_sum(pl.mul(t, t), tmp), 1.0 / HIDDEN)
        n = pl.col_expand_mul(pl.row_expand_mul(t, pl.rsqrt(pl.add(ms, EPS))), g)
        amax = pl.maximum(pl.row_max(pl.abs(n), tmp), 1e-4)
        s = pl.mul(amax, 1.0 / 127.0)
        q = pl.row_expand_div(n, s)
        q8 = pl.cast(pl.cast(pl.cast(q, pl.INT32, mode="rint"), pl.FP16), pl.INT8)
        y = pl.store(q8, [i, 0], y)
        scale = pl.store(s, [i, 0], scale)
    return y, scale


def build_specs():
    gen = torch.Generator().manual_seed(7)
    x = torch.randn(TOKENS, HIDDEN, generator=gen).to(torch.bfloat16)
    w = torch.from_numpy(np.random.default_rng(3).uniform(0.5, 1.5, (1, HIDDEN)).astype(np.float32))
    return [
        TensorSpec("x", [TOKENS, HIDDEN], torch.bfloat16, init_value=x),
        TensorSpec("w", [1, HIDDEN], torch.float32, init_value=w),
        TensorSpec("y", [TOKENS, HIDDEN], torch.int8, is_output=True),
        TensorSpec("scale", [TOKENS, 1], torch.float32, is_output=True),
    ]


def golden(t):
    x = t["x"].float()
    var = x.pow(2).mean(dim=-1, keepdim=True)
    n = x * torch.rsqrt(var + EPS) * t["w"]
    amax = n.abs().amax(dim=1, keepdim=True).clamp(min=1e-4)
    s = amax / 127.0
    t["scale"][:] = s
    t["y"][...] = torch.round(n / s).to(torch.int32).clamp_(-128, 127).to(torch.int8)


def close(actual, expected, **kw):
    diff = (actual.to(torch.int32) - expected.to(torch.int32)).abs()
    ok = bool((diff <= 1).all())
    return ok, f"max {diff.max().item()}, mean {diff.float().mean().item():.3f}"


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("-p", "--platform", type=str, default="a2a3")
    ap.add_argument("-d", "--device", type=int, default=0)
    ap.add_argument("--dump-passes", action="store_true")
    a = ap.parse_args()
    result = run_jit(
        fn=rms_quant,
        specs=build_specs(),
        golden_fn=golden,
        compile_cfg={"dump_passes": a.dump_passes},
        runtime_cfg={"platform": a.platform, "device_id": a.device, "enable_chip_swimlane": False},
        rtol=1e-3,
        atol=1e-3,
        compare_fn={"y": close},
    )
    if not result.passed:
        print(result.error, file=sys.stderr)
        sys.exit(1)
