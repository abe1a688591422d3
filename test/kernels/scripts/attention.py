"""Scores of several heads, a block each, and a masked softmax: two kernels checked by one main."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import pypto.language as pl
import torch
import torch.nn.functional as F
from golden import TensorSpec, ratio_allclose, run_jit

HEADS = 4
SEQ = 64
DIM = 128
SCALE = 1.0 / math.sqrt(DIM)


@pl.jit
def scores(
    q: pl.Tensor[[HEADS * SEQ, DIM], pl.BF16],
    k: pl.Tensor[[HEADS * SEQ, DIM], pl.BF16],
    s: pl.Out[pl.Tensor[[HEADS * SEQ, SEQ], pl.FP32]],
):
    for h in pl.spmd(HEADS, name_hint="heads"):
        ql1 = pl.load(q, [h * SEQ, 0], [SEQ, DIM], target_memory=pl.Mem.Mat)
        kl1 = pl.load(k, [h * SEQ, 0], [SEQ, DIM], target_memory=pl.Mem.Mat)
        kt = pl.tile.transpose_view(kl1)
        out = pl.matmul(pl.move(ql1, pl.Mem.Left), pl.move(kt, pl.Mem.Right))
        pl.store(out, [h * SEQ, 0], s)
    return s


@pl.jit
def masked_softmax(
    s: pl.Tensor[[HEADS * SEQ, SEQ], pl.FP32],
    mask: pl.Tensor[[SEQ, SEQ], pl.FP32],
    p: pl.Out[pl.Tensor[[HEADS * SEQ, SEQ], pl.BF16]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        m = pl.load(mask, [0, 0], [SEQ, SEQ])
        for h in pl.pipeline(HEADS, stage=2):
            t = pl.add(pl.mul(pl.load(s, [h * SEQ, 0], [SEQ, SEQ]), SCALE), m)
            tmp = pl.create_tile([SEQ, SEQ], pl.FP32)
            e = pl.exp(pl.row_expand_sub(t, pl.row_max(t, tmp)))
            pl.store(pl.cast(pl.row_expand_div(e, pl.row_sum(e, tmp)), pl.BF16, mode="rint"), [h * SEQ, 0], p)
    return p


def golden_scores(tensors: dict):
    q = tensors["q"].reshape(HEADS, SEQ, DIM).to(torch.float32)
    k = tensors["k"].view(HEADS, SEQ, DIM).float()
    tensors["s"][:] = torch.matmul(q, k.transpose(-1, -2)).reshape(HEADS * SEQ, SEQ)


def golden_softmax(tensors):
    s = tensors["s"].view(HEADS, SEQ, SEQ) * SCALE + tensors["mask"].unsqueeze(0)
    p = F.softmax(s, dim=-1)
    tensors["p"].copy_(p.reshape(-1, SEQ).to(torch.bfloat16))


def causal():
    return torch.triu(torch.full((SEQ, SEQ), -1e4), diagonal=1)


@dataclass
class Options:
    platform: str
    device: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-p", "--platform", choices=["a2a3", "a2a3sim", "a5", "a5sim"], default="a2a3")
    parser.add_argument("-d", "--device", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    opts = Options(args.platform, args.device)
    cfg = {"platform": opts.platform, "device_id": opts.device}
    r1 = run_jit(
        fn=scores,
        specs=[
            TensorSpec("q", [HEADS * SEQ, DIM], torch.bfloat16, init_value=torch.randn),
            TensorSpec("k", [HEADS * SEQ, DIM], torch.bfloat16, init_value=lambda: torch.randn(HEADS * SEQ, DIM) * 0.5),
            TensorSpec("s", [HEADS * SEQ, SEQ], torch.float32, is_output=True),
        ],
        golden_fn=golden_scores,
        runtime_cfg=cfg,
        rtol=2e-2,
        atol=2e-2,
    )
    r2 = run_jit(
        fn=masked_softmax,
        specs=[
            TensorSpec("s", [HEADS * SEQ, SEQ], torch.float32, init_value=torch.randn),
            TensorSpec("mask", [SEQ, SEQ], torch.float32, init_value=causal),
            TensorSpec("p", [HEADS * SEQ, SEQ], torch.bfloat16, is_output=True),
        ],
        golden_fn=golden_softmax,
        runtime_cfg=cfg,
        compile_cfg={"dump_passes": True},
        rtol=1e-2,
        atol=1e-2,
        compare_fn={"p": ratio_allclose(atol=1e-2, rtol=1e-2, max_error_ratio=0.0)},
    )
    for r in (r1, r2):
        if not r.passed:
            print(r.error)
    return 0 if r1.passed and r2.passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
