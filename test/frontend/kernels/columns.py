"""Column vectors that arithmetic made, where branches and loops hand them on: they stay columns."""

import numpy as np
import pypto.language as pl

R = 16
C = 64
COLUMN = [R, 1]


@pl.jit.incore
def joined(
    x: pl.Tensor[[R, 1], pl.FP32],
    y: pl.Tensor[[R, 1], pl.FP32],
    out: pl.Out[pl.Tensor[[R, C], pl.FP32]],
    n: pl.Scalar[pl.INDEX],
):
    """Both arms compute; what meets is multiplied into a matrix."""
    s = pl.load(x, [0, 0], COLUMN)
    c = pl.load(y, [0, 0], COLUMN)
    if n == 0:
        s = pl.mul(s, c)
    else:
        s = pl.add(s, c)
    out = pl.store(pl.row_expand_mul(pl.full([R, C], pl.FP32, 3.0), s), [0, 0], out)
    return out


@pl.jit.incore
def joined_with_a_reduction(
    w: pl.Tensor[[R, C], pl.FP32],
    y: pl.Tensor[[R, 1], pl.FP32],
    out: pl.Out[pl.Tensor[[R, 1], pl.FP32]],
    n: pl.Scalar[pl.INDEX],
):
    """One arm computes, the other reduces rows."""
    c = pl.load(y, [0, 0], COLUMN)
    if n == 0:
        s = pl.mul(c, 2.0)
    else:
        s = pl.row_max(pl.load(w, [0, 0], [R, C]), pl.create_tile([R, C], pl.FP32))
    out = pl.store(pl.add(s, c), [0, 0], out)
    return out


@pl.jit.incore
def seen_from_a_larger_tile(
    w: pl.Tensor[[R, C], pl.FP32],
    y: pl.Tensor[[R, 1], pl.FP32],
    out: pl.Out[pl.Tensor[[R, 1], pl.FP32]],
    n: pl.Scalar[pl.INDEX],
):
    """The arms' buffers differ in size."""
    if n == 0:
        s = pl.mul(pl.load(y, [0, 0], COLUMN), 2.0)
    else:
        s = pl.reshape(pl.load(w, [0, 0], [8, R], valid_shape=[1, R]), COLUMN)
    out = pl.store(s, [0, 0], out)
    return out


@pl.jit.incore
def carried(
    x: pl.Tensor[[R, 1], pl.FP32],
    y: pl.Tensor[[R, 1], pl.FP32],
    out: pl.Out[pl.Tensor[[R, 1], pl.FP32]],
    n: pl.Scalar[pl.INDEX],
):
    """From trip to trip, through a branch, while the column before is still read."""
    s = pl.load(x, [0, 0], COLUMN)
    c = pl.load(y, [0, 0], COLUMN)
    for i in pl.range(n):
        old = s
        if i % 2 == 0:
            s = pl.mul(s, c)
        else:
            s = pl.add(s, c)
        s = pl.sub(s, old)
    out = pl.store(s, [0, 0], out)
    return out


@pl.jit.incore
def carried_by_init_values(
    w: pl.Tensor[[R, C], pl.FP32],
    y: pl.Tensor[[R, 1], pl.FP32],
    out: pl.Out[pl.Tensor[[R, 1], pl.FP32]],
    n: pl.Scalar[pl.INDEX],
):
    init = pl.mul(pl.load(y, [0, 0], COLUMN), 0.5)
    for _, (acc,) in pl.range(n, init_values=(init,)):
        part = pl.row_max(pl.load(w, [0, 0], [R, C]), pl.create_tile([R, C], pl.FP32))
        acc = pl.yield_(pl.add(acc, part))
    out = pl.store(acc, [0, 0], out)
    return out


def _inputs(names, n, width):
    def inputs(rng):
        arrays = {name: rng.standard_normal((R, C if name == "w" else 1)).astype(np.float32) for name in names}
        return {**arrays, "out": np.zeros((R, width), np.float32), "n": n}

    return inputs


def _carried(t):
    s = t["x"]
    for i in range(t["n"]):
        s = (s * t["y"] if i % 2 == 0 else s + t["y"]) - s
    return {"out": s}


def _rows(t):
    return t["w"].max(axis=1, keepdims=True)


def _joined(t):
    s = t["x"] + t["y"] if t["n"] else t["x"] * t["y"]
    return {"out": np.repeat(s * np.float32(3), C, axis=1)}


def _joined_with_a_reduction(t):
    return {"out": (_rows(t) if t["n"] else t["y"] * 2) + t["y"]}


def _seen_from_a_larger_tile(t):
    return {"out": t["w"][:1, :R].T if t["n"] else t["y"] * 2}


def _by_init_values(t):
    return {"out": t["y"] * np.float32(0.5) + t["n"] * _rows(t)}


CASES = {
    f"{name}#{n}": (_inputs(names, n, C if name == "joined" else 1), reference)
    for name, names, reference, counts in (
        ("joined", "xy", _joined, (0, 1)),
        ("joined_with_a_reduction", "wy", _joined_with_a_reduction, (0, 1)),
        ("seen_from_a_larger_tile", "wy", _seen_from_a_larger_tile, (0, 1)),
        ("carried", "xy", _carried, (0, 1, 2)),
        ("carried_by_init_values", "wy", _by_init_values, (0, 2)),
    )
    for n in counts
}
