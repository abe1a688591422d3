"""Kernels whose tiles, 64 KiB each, fit into UB only because results take the buffers of their operands."""

import numpy as np
import pypto.language as pl

R = 128
C = 128
N = 3


@pl.jit.incore
def sum_of_two(x: pl.Tensor[[R, C], pl.FP32], y: pl.Tensor[[R, C], pl.FP32], z: pl.Out[pl.Tensor[[R, C], pl.FP32]]):
    a = pl.load(x, [0, 0], [R, C])
    b = pl.load(y, [0, 0], [R, C])
    c = pl.add(a, b)
    pl.store(c, [0, 0], z)


@pl.jit.incore
def chain(x: pl.Tensor[[N * R, C], pl.FP32], y: pl.Tensor[[R, C], pl.FP32], z: pl.Out[pl.Tensor[[N * R, C], pl.FP32]]):
    b = pl.load(y, [0, 0], [R, C])
    for i in pl.range(N):
        a = pl.load(x, [i * R, 0], [R, C])
        c = pl.mul(a, b)
        d = pl.exp(c)
        e = pl.sub(d, b)
        pl.store(e, [i * R, 0], z)


@pl.jit.incore
def either(
    x: pl.Tensor[[R, C], pl.FP32],
    y: pl.Tensor[[R, C], pl.FP32],
    z: pl.Out[pl.Tensor[[R, C], pl.FP32]],
    n: pl.Scalar[pl.INDEX],
):
    a = pl.load(x, [0, 0], [R, C])
    b = pl.load(y, [0, 0], [R, C])
    c = pl.maximum(a, b)
    if n > 2:
        d = pl.neg(c)
    else:
        d = pl.adds(c, 1.0)
    pl.store(d, [0, 0], z)


def _inputs(**shapes):
    def make(rng):
        return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}

    return make


def _chain(t):
    y = np.tile(t["y"], (N, 1))
    return {"z": np.exp(t["x"] * y) - y}


def _either(t):
    most = np.maximum(t["x"], t["y"])
    return {"z": -most if t["n"] > 2 else most + 1}


CASES = {
    "sum_of_two": (_inputs(x=(R, C), y=(R, C), z=(R, C)), lambda t: {"z": t["x"] + t["y"]}),
    "chain": (_inputs(x=(N * R, C), y=(R, C), z=(N * R, C)), _chain),
    "either": (lambda rng: _inputs(x=(R, C), y=(R, C), z=(R, C))(rng) | {"n": 3}, _either),
}
