"""Parts of tiles: single elements read and set, windows, elements by index, sorted lists."""

import numpy as np
import pypto.language as pl

R = 8
C = 64
N = 512
K = 32
ROWS = 100


@pl.jit.incore
def single(x: pl.Tensor[[R, C], pl.FP32], y: pl.Out[pl.Tensor[[R, C], pl.FP32]]):
    t = pl.load(x, [0, 0], [R, C])
    u = pl.add(t, pl.tile.read(t, [2, 3]))
    u = pl.tile.write(u, [0, 1], 5.0)
    pl.tile.write(u, [0, 2], u[0, 1] * 2.0)
    u[7, 63] = t[0, 0]
    for r in pl.range(3):
        u[r, 4] = 7.0
        u[r + 4, 5] = pl.tile.read(u, r * C + 4) + 1.0
    pl.store(u, [0, 0], y)


@pl.jit.incore
def slotted(x: pl.Tensor[[4 * R, C], pl.FP32], y: pl.Out[pl.Tensor[[4 * R, C], pl.FP32]]):
    ring = pl.create_tile_buffers(2, [R, C], pl.FP32, pl.Mem.Vec)
    for i in pl.range(4):
        slot = ring[i % 2]
        pl.tile.load_into(slot, x, [i * R, 0], [R, C])
        slot[0, 0] = slot[1, 1] + 1.0
        pl.store(slot, [i * R, 0], y)


@pl.jit.incore
def odd_width(x: pl.Tensor[[R, 10], pl.FP32], y: pl.Out[pl.Tensor[[R, 10], pl.FP32]]):
    t = pl.load(x, [0, 0], [R, 10])
    for i in pl.range(R):
        pl.tile.write(t, [i, i], pl.tile.read(t, i * 10 + 9))
    pl.store(t, [0, 0], y)


@pl.jit.incore
def column(x: pl.Tensor[[R, C], pl.FP32], y: pl.Out[pl.Tensor[[R, 1], pl.FP32]]):
    t = pl.load(x, [0, 0], [R, C])
    top = pl.row_max(t, pl.create_tile([R, C], pl.FP32))
    top[3, 0] = top[4, 0] - 1.0
    pl.store(top, [0, 0], y)


@pl.jit.incore
def windows(x: pl.Tensor[[R, C], pl.FP32], y: pl.Out[pl.Tensor[[R, C], pl.FP32]]):
    t = pl.load(x, [0, 0], [R, C])
    u = pl.full([R, C], pl.FP32, 0.0)
    for i in pl.range(2):
        u[i * 4 : i * 4 + 4, 0:32] = t[i * 4 : i * 4 + 4, 32:]
    pl.store(u, [0, 0], y)


@pl.jit.incore
def scattered(x: pl.Tensor[[R, C], pl.FP32], index: pl.Tensor[[R, C], pl.INT32], y: pl.Out[pl.Tensor[[R, C], pl.FP32]]):
    u = pl.full([R, C], pl.FP32, 0.0)
    u = pl.tile.scatter(u, pl.load(x, [0, 0], [R, C]), pl.load(index, [0, 0], [R, C]))
    pl.store(u, [0, 0], y)


@pl.jit.incore
def greatest(
    x: pl.Tensor[[1, N], pl.FP32],
    values: pl.Out[pl.Tensor[[1, K], pl.FP32]],
    places: pl.Out[pl.Tensor[[1, K], pl.INT32]],
):
    order = pl.sort32(pl.load(x, [0, 0], [1, N]), pl.arange(0, [1, N], dtype=pl.UINT32))
    order = pl.mrgsort(order, block_len=64)
    order = pl.mrgsort(order, block_len=256)
    pairs = order[:, 0 : 2 * K]
    pl.store(pl.gather(pairs, mask_pattern=pl.tile.MaskPattern.P0101), [0, 0], values)
    found = pl.tile.gather_mask(pairs, pl.tile.MaskPattern.P1010, output_dtype=pl.INT32)
    pl.store(found, [0, 0], places)


@pl.jit.incore
def looked_up(
    table: pl.Tensor[[ROWS, C], pl.FP32], index: pl.Tensor[[1, 16], pl.INT32], y: pl.Out[pl.Tensor[[16, C], pl.FP32]]
):
    pl.store(pl.tile.mgather(table, pl.load(index, [0, 0], [1, 16])), [0, 0], y)


@pl.jit.incore
def spread(x: pl.Tensor[[R, C], pl.FP32], index: pl.Tensor[[R, C], pl.INT32], y: pl.Out[pl.Tensor[[R, C], pl.FP32]]):
    y = pl.tile.mscatter(pl.load(x, [0, 0], [R, C]), pl.load(index, [0, 0], [R, C]), y)
    return y


@pl.jit.incore
def gathered(
    x: pl.Tensor[[R, C], pl.FP32],
    index: pl.Tensor[[R, C], pl.INT32],
    work: pl.Tensor[[R, C], pl.INT32],
    y: pl.Out[pl.Tensor[[2 * R, C], pl.FP32]],
):
    """Elements have the source's type, whatever the indices have; scratch may be used again."""
    source, places = pl.load(x, [0, 0], [R, C]), pl.load(index, [0, 0], [R, C])
    tmp = pl.load(work, [0, 0], [R, C])
    once: pl.Tile[[R, C], pl.FP32] = pl.tile.gather(source, places, tmp)
    y = pl.store(once, [0, 0], y)
    y = pl.store(pl.tile.gather(once, places, tmp), [R, 0], y)
    return y


def _inputs(*shape, out=None, **more):
    def make(rng):
        made = {"x": rng.standard_normal(shape).astype(np.float32)}
        made |= {name: value(rng) for name, value in more.items()}
        return made if out is None else made | {"y": np.zeros(out, np.float32)}

    return make


def _permutation(rng):
    return rng.permutation(R * C).reshape(R, C).astype(np.int32)


def _single(t):
    y = t["x"] + t["x"][2, 3]
    y[0, 1], y[0, 2], y[7, 63] = 5, 10, t["x"][0, 0]
    y[0:3, 4] = 7
    y[4:7, 5] = 8
    return {"y": y}


def _slotted(t):
    y = t["x"].reshape(4, R, C).copy()
    y[:, 0, 0] = y[:, 1, 1] + 1
    return {"y": y.reshape(4 * R, C)}


def _odd_width(t):
    y = t["x"].copy()
    y[range(R), range(R)] = t["x"][:, 9]
    return {"y": y}


def _column(t):
    y = t["x"].max(axis=1, keepdims=True)
    y[3, 0] = y[4, 0] - 1
    return {"y": y}


def _windows(t):
    y = np.zeros((R, C), np.float32)
    y[:, :32] = t["x"][:, 32:]
    return {"y": y}


def _scattered(t):
    y = np.zeros(R * C, np.float32)
    y[t["index"].reshape(-1)] = t["x"].reshape(-1)
    return {"y": y.reshape(R, C)}


def _greatest(t):
    order = np.argsort(-t["x"][0], kind="stable")[:K]
    return {"values": t["x"][:, order], "places": order[None].astype(np.int32)}


def _gathered(t):
    once = t["x"].reshape(-1)[t["index"]]
    return {"y": np.concatenate([once, once.reshape(-1)[t["index"]]])}


CASES = {
    "single": (_inputs(R, C, out=(R, C)), _single),
    "slotted": (_inputs(4 * R, C, out=(4 * R, C)), _slotted),
    "odd_width": (_inputs(R, 10, out=(R, 10)), _odd_width),
    "column": (_inputs(R, C, out=(R, 1)), _column),
    "windows": (_inputs(R, C, out=(R, C)), _windows),
    "scattered": (_inputs(R, C, out=(R, C), index=_permutation), _scattered),
    "gathered": (_inputs(R, C, out=(2 * R, C), index=_permutation, work=_permutation), _gathered),
    "greatest": (
        _inputs(
            1,
            N,
            values=lambda rng: np.zeros((1, K), np.float32),
            places=lambda rng: np.zeros((1, K), np.int32),
        ),
        _greatest,
    ),
    "looked_up": (
        lambda rng: {
            "table": rng.standard_normal((ROWS, C)).astype(np.float32),
            "index": rng.integers(0, ROWS, (1, 16)).astype(np.int32),
            "y": np.zeros((16, C), np.float32),
        },
        lambda t: {"y": t["table"][t["index"][0]]},
    ),
    "spread": (_inputs(R, C, out=(R, C), index=_permutation), _scattered),
}
