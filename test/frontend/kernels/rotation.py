"""Slots and pipelines at counts, starts and steps that do not fit together, and at zero, one, odd and unknown trips."""

import numpy as np
import pypto.language as pl

R = 16
C = 64
MOST = 7
START = 3
STEP = 5


@pl.jit.incore
def five_slots(
    x: pl.Tensor[[MOST * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[MOST * R, C], pl.FP32]],
    trips: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(5, [R, C], pl.FP32, pl.Mem.Vec)
    sums = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(trips):
        cell = pl.tile.load_into(ring[i % 5], x, [i * R, 0], [R, C])
        pl.tile.adds_into(sums[(2 * i + 1) % 3], cell, 1.0)
        y = pl.store(sums[(2 * i + 1) % 3], [i * R, 0], y)
    return y


@pl.jit.incore
def odd_start_and_step(
    x: pl.Tensor[[32 * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[32 * R, C], pl.FP32]],
):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(START, 29, STEP):
        cell = ring[((i - START) // STEP) & 1]
        pl.tile.load_into(cell, x, [i * R, 0], [R, C])
        y = pl.store(pl.mul(cell, 2.0), [i * R, 0], y)
    return y


@pl.jit.incore
def step_shares_a_factor(
    x: pl.Tensor[[32 * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[32 * R, C], pl.FP32]],
):
    ring = pl.create_tile_buffers(4, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(1, 20, 6):
        cell = ring[i % 4]
        pl.tile.load_into(cell, x, [i * R, 0], [R, C])
        y = pl.store(pl.neg(cell), [i * R, 0], y)
    return y


@pl.jit.incore
def pipeline_from_an_odd_start(
    x: pl.Tensor[[32 * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[32 * R, C], pl.FP32]],
):
    for i in pl.pipeline(START, 29, STEP, stage=3):
        part = pl.load(x, [i * R, 0], [R, C])
        doubled = pl.add(part, part)
        y = pl.store(doubled, [i * R, 0], y)
    return y


@pl.jit.incore
def pipeline_of_unknown_length(
    x: pl.Tensor[[MOST * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[MOST * R, C], pl.FP32]],
    last: pl.Scalar[pl.INDEX],
):
    for i in pl.pipeline(last, stage=2):
        part = pl.load(x, [i * R, 0], [R, C])
        y = pl.store(pl.mul(part, 3.0), [i * R, 0], y)
    return y


@pl.jit.incore
def one_slot(
    x: pl.Tensor[[MOST * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[MOST * R, C], pl.FP32]],
):
    ring = pl.create_tile_buffers(1, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(MOST):
        pl.tile.load_into(ring[0], x, [i * R, 0], [R, C])
        y = pl.store(pl.abs(ring[i % len(ring)]), [i * R, 0], y)
    return y


@pl.jit.incore
def inner_restarts(
    x: pl.Tensor[[MOST * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[MOST * R, C], pl.FP32]],
):
    outer = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    inner = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(MOST):
        base = pl.tile.load_into(outer[i % 3], x, [i * R, 0], [R, C])
        total = pl.full([R, C], pl.FP32, 0.0)
        for j in pl.range(3):
            scaled = pl.tile.muls_into(inner[j & 1], base, 2.0)
            total = pl.add(total, scaled)
        y = pl.store(total, [i * R, 0], y)
    return y


def _at(rows):
    def inputs(rng, **extra):
        shape = (rows * R, C)
        return {"x": rng.standard_normal(shape).astype(np.float32), "y": np.zeros(shape, np.float32), **extra}

    return inputs


def _where(trips, fn):
    """The reference that applies `fn` to the blocks that the trips name."""

    def reference(t):
        y = np.zeros_like(t["x"])
        for i in trips(t):
            y[i * R : (i + 1) * R] = fn(t["x"][i * R : (i + 1) * R])
        return {"y": y}

    return reference


_seven, _many = _at(MOST), _at(32)

CASES = {
    **{
        f"five_slots#{n}": (lambda rng, n=n: _seven(rng, trips=n), _where(lambda t: range(t["trips"]), lambda b: b + 1))
        for n in (0, 1, 4, 5, 7)
    },
    "odd_start_and_step": (_many, _where(lambda t: range(START, 29, STEP), lambda b: b * 2)),
    "step_shares_a_factor": (_many, _where(lambda t: range(1, 20, 6), lambda b: -b)),
    "pipeline_from_an_odd_start": (_many, _where(lambda t: range(START, 29, STEP), lambda b: b + b)),
    **{
        f"pipeline_of_unknown_length#{n}": (
            lambda rng, n=n: _seven(rng, last=n),
            _where(lambda t: range(t["last"]), lambda b: b * 3),
        )
        for n in (0, 1, 6, 7)
    },
    "one_slot": (_seven, _where(lambda t: range(MOST), np.abs)),
    "inner_restarts": (_seven, _where(lambda t: range(MOST), lambda b: b * 6)),
}
