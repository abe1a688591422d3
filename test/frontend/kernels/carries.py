"""Tiles, slots and numbers that pass from trip to trip, in every way that has its own lowering."""

import numpy as np
import pypto.language as pl

R = 16
C = 64
N = 5


@pl.jit.incore
def running_sum(
    x: pl.Tensor[[N * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[R, C], pl.FP32]],
):
    total = pl.full([R, C], pl.FP32, 0.0)
    for i in pl.range(N):
        part = pl.load(x, [i * R, 0], [R, C])
        total = pl.add(total, part)
    y = pl.store(total, [0, 0], y)
    return y


@pl.jit.incore
def old_read_after_new(
    x: pl.Tensor[[N * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[N * R, C], pl.FP32]],
):
    last = pl.load(x, [0, 0], [R, C])
    for i in pl.range(1, N):
        new = pl.load(x, [i * R, 0], [R, C])
        both = pl.maximum(last, new)
        gap = pl.sub(both, last)
        y = pl.store(gap, [i * R, 0], y)
        last = both
    y = pl.store(last, [0, 0], y)
    return y


@pl.jit.incore
def shift_register(
    x: pl.Tensor[[N * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[N * R, C], pl.FP32]],
):
    older = pl.full([R, C], pl.FP32, 1.0)
    old = pl.full([R, C], pl.FP32, 2.0)
    for i in pl.range(N):
        new = pl.load(x, [i * R, 0], [R, C])
        y = pl.store(pl.add(pl.mul(older, 10.0), new), [i * R, 0], y)
        older = old
        old = new
    return y


@pl.jit.incore
def swapped(
    x: pl.Tensor[[2 * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[2 * R, C], pl.FP32]],
    trips: pl.Scalar[pl.INDEX],
):
    a = pl.load(x, [0, 0], [R, C])
    b = pl.load(x, [R, 0], [R, C])
    for _, (p, q) in pl.range(trips, init_values=(a, b)):
        c = pl.add(p, 1.0)
        p, q = pl.yield_(q, c)
    y = pl.store(p, [0, 0], y)
    y = pl.store(q, [R, 0], y)
    return y


@pl.jit.incore
def kept_by_one_arm(
    x: pl.Tensor[[N * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[R, C], pl.FP32]],
):
    best = pl.load(x, [0, 0], [R, C])
    for i in pl.range(1, N):
        part = pl.load(x, [i * R, 0], [R, C])
        if i % 2 == 1:
            best = pl.sub(part, best)
    y = pl.store(best, [0, 0], y)
    return y


@pl.jit.incore
def arms_differ(
    x: pl.Tensor[[N * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[N * R, C], pl.FP32]],
    turn: pl.Scalar[pl.INDEX],
):
    for i in pl.range(N):
        part = pl.load(x, [i * R, 0], [R, C])
        if i < turn:
            left = pl.mul(part, 2.0)
            right = part
        else:
            left = part
            right = pl.add(part, 3.0)
        y = pl.store(pl.sub(left, right), [i * R, 0], y)
    return y


@pl.jit.incore
def nested(
    x: pl.Tensor[[N * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[R, C], pl.FP32]],
):
    total = pl.full([R, C], pl.FP32, 1.0)
    for i in pl.range(2):
        for j in pl.range(3):
            part = pl.load(x, [(i + j) * R, 0], [R, C])
            next_total = pl.sub(part, total)
            doubled = pl.add(next_total, total)
            total = doubled
        total = pl.mul(total, 0.5)
    y = pl.store(total, [0, 0], y)
    return y


@pl.jit.incore
def counted_by_while(
    x: pl.Tensor[[N * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[R, C], pl.FP32]],
    last: pl.Scalar[pl.INDEX],
):
    total = pl.full([R, C], pl.FP32, 0.0)
    k = 0
    while k < last:
        part = pl.load(x, [k * R, 0], [R, C])
        new = pl.add(total, part)
        gap = pl.sub(new, total)
        total = pl.add(new, gap)
        k = k + 1
    y = pl.store(total, [0, 0], y)
    return y


@pl.jit.incore
def slots_by_while(
    x: pl.Tensor[[N * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[N * R, C], pl.FP32]],
    last: pl.Scalar[pl.INDEX],
):
    ring = pl.create_tile_buffers(3, [R, C], pl.FP32, pl.Mem.Vec)
    for (k,) in pl.while_(init_values=(0,)):
        pl.cond(k < last)
        cell = ring[k % 3]
        pl.tile.load_into(cell, x, [k * R, 0], [R, C])
        y = pl.store(pl.add(cell, 1.0), [k * R, 0], y)
        k = pl.yield_(k + 1)
    return y


@pl.jit.incore
def left_early(
    x: pl.Tensor[[N * R, C], pl.FP32],
    y: pl.Out[pl.Tensor[[N * R, C], pl.FP32]],
    skip: pl.Scalar[pl.INDEX],
    stop: pl.Scalar[pl.INDEX],
):
    for i in pl.range(N):
        if i == skip:
            continue
        if i == stop:
            break
        part = pl.load(x, [i * R, 0], [R, C])
        y = pl.store(pl.neg(part), [i * R, 0], y)
    return y


def _x(rng, **extra):
    return {"x": rng.standard_normal((N * R, C)).astype(np.float32), **extra}


def _blocks(t):
    return t["x"].reshape(N, R, C)


def _one(rng):
    return _x(rng, y=np.zeros((R, C), np.float32))


def _all(rng):
    return _x(rng, y=np.zeros((N * R, C), np.float32))


def _old_read_after_new(t):
    x = _blocks(t)
    y = np.zeros((N, R, C), np.float32)
    last = x[0]
    for i in range(1, N):
        both = np.maximum(last, x[i])
        y[i] = both - last
        last = both
    y[0] = last
    return {"y": y.reshape(N * R, C)}


def _shift_register(t):
    x = _blocks(t)
    older, old = np.full((R, C), 1.0), np.full((R, C), 2.0)
    y = np.zeros((N, R, C), np.float32)
    for i in range(N):
        y[i] = older * 10 + x[i]
        older, old = old, x[i]
    return {"y": y.reshape(N * R, C)}


def _swapped(t):
    a, b = t["x"].reshape(2, R, C)
    for _ in range(t["trips"]):
        a, b = b, a + 1
    return {"y": np.concatenate([a, b])}


def _kept_by_one_arm(t):
    best = _blocks(t)[0]
    for i in range(1, N):
        if i % 2 == 1:
            best = _blocks(t)[i] - best
    return {"y": best}


def _arms_differ(t):
    x = _blocks(t)
    y = [x[i] * 2 - x[i] if i < t["turn"] else x[i] - (x[i] + 3) for i in range(N)]
    return {"y": np.concatenate(y)}


def _nested(t):
    x = _blocks(t)
    total = np.full((R, C), 1.0, np.float32)
    for i in range(2):
        for j in range(3):
            total = (x[i + j] - total) + total
        total = total * np.float32(0.5)
    return {"y": total}


def _counted_by_while(t):
    total = np.zeros((R, C), np.float32)
    for k in range(t["last"]):
        new = total + _blocks(t)[k]
        total = new + (new - total)
    return {"y": total}


def _slots_by_while(t):
    y = np.zeros((N, R, C), np.float32)
    y[: t["last"]] = _blocks(t)[: t["last"]] + 1
    return {"y": y.reshape(N * R, C)}


def _left_early(t):
    y = np.zeros((N, R, C), np.float32)
    for i in range(N):
        if i == t["skip"]:
            continue
        if i == t["stop"]:
            break
        y[i] = -_blocks(t)[i]
    return {"y": y.reshape(N * R, C)}


def _swap_inputs(trips):
    def inputs(rng):
        x = rng.standard_normal((2 * R, C)).astype(np.float32)
        return {"x": x, "y": np.zeros((2 * R, C), np.float32), "trips": trips}

    return inputs


CASES = {
    "running_sum": (_one, lambda t: {"y": _blocks(t).sum(axis=0)}),
    "old_read_after_new": (_all, _old_read_after_new),
    "shift_register": (_all, _shift_register),
    **{f"swapped#{trips}": (_swap_inputs(trips), _swapped) for trips in (0, 1, 2, 5)},
    "kept_by_one_arm": (_one, _kept_by_one_arm),
    **{f"arms_differ#{turn}": (lambda rng, turn=turn: {**_all(rng), "turn": turn}, _arms_differ) for turn in (0, 3, 9)},
    "nested": (_one, _nested),
    **{f"counted_by_while#{n}": (lambda rng, n=n: {**_one(rng), "last": n}, _counted_by_while) for n in (0, 1, 4)},
    **{f"slots_by_while#{n}": (lambda rng, n=n: {**_all(rng), "last": n}, _slots_by_while) for n in (0, 1, 4, 5)},
    **{
        f"left_early#{skip}-{stop}": (lambda rng, a=skip, b=stop: {**_all(rng), "skip": a, "stop": b}, _left_early)
        for skip, stop in ((1, 3), (0, 0), (9, 9))
    },
}
