"""Tiles of more than two dimensions: all but the last fold into the rows, and a store unfolds them again."""

import numpy as np
import pypto.language as pl

A, B, R, C = 4, 3, 8, 64
HALF = 4


@pl.jit.incore
def squared(x: pl.Tensor[[A, B, R, C], pl.FP32], y: pl.InOut[pl.Tensor[[A, B, R, C], pl.FP32]]):
    t = pl.load(x, [0, 0, 0, 0], [2, B, R, C])
    y = pl.store(pl.mul(t, t), [2, 0, 0, 0], y)
    return y


@pl.jit.incore
def halves(x: pl.Tensor[[A, R, C], pl.FP32], y: pl.InOut[pl.Tensor[[A, R, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    """As many rows in all as one matrix of the tensor has, and yet the halves of two; through trips and arms."""
    t = pl.load(x, [0, 0, 0], [2, HALF, C])
    total = t
    for i in pl.range(n):
        new = pl.mul(total, 2.0)
        if i == 0:
            total = pl.add(new, total)
        else:
            total = pl.sub(new, t)
    half = pl.cast(pl.cast(total, pl.INT32, mode="floor"), pl.FP32)
    y = pl.store(half, [1, HALF, 0], y)
    return y


@pl.jit.incore
def reduced(x: pl.Tensor[[A, R, C], pl.FP32], y: pl.InOut[pl.Tensor[[A, R, 1], pl.FP32]]):
    """A column for each matrix; columns are computed with as rows."""
    t = pl.load(x, [1, 0, 0], [2, HALF, C])
    top = pl.row_max(t, pl.create_tile([2 * HALF, C], pl.FP32))
    y = pl.store(pl.mul(top, 2.0), [0, HALF, 0], y)
    return y


def _inputs(*shape, width=C, **numbers):
    def inputs(rng):
        x = rng.uniform(-8, 8, shape).astype(np.float32)
        return {"x": x, "y": np.full((*shape[:-1], width), 0.5, np.float32), **numbers}

    return inputs


def _squared(t):
    y = t["y"].copy()
    y[2:] = t["x"][:2] ** 2
    return {"y": y}


def _halves(t):
    part = t["x"][:2, :HALF]
    total = part
    for i in range(t["n"]):
        total = total * 2 + total if i == 0 else total * 2 - part
    y = t["y"].copy()
    y[1:3, HALF:] = np.floor(total)
    return {"y": y}


def _reduced(t):
    y = t["y"].copy()
    y[:2, HALF:] = t["x"][1:3, :HALF].max(axis=2, keepdims=True) * 2
    return {"y": y}


CASES = {
    "squared": (_inputs(A, B, R, C), _squared),
    **{f"halves#{n}": (_inputs(A, R, C, n=n), _halves) for n in (0, 1, 2)},
    "reduced": (_inputs(A, R, C, width=1), _reduced),
}
