"""Kernels with work for both kinds of core, which meet in tensors."""

import numpy as np
import pypto.language as pl

ROWS = pl.dynamic("ROWS")
KEYS = pl.dynamic("KEYS")


@pl.jit.incore
def scaled_product(
    a: pl.Tensor[[32, 64], pl.FP16],
    b: pl.Tensor[[64, 64], pl.FP16],
    work: pl.InOut[pl.Tensor[[32, 64], pl.FP32]],
    c: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
):
    """One product, through the workspace."""
    left = pl.move(pl.load(a, [0, 0], [32, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    pl.store(pl.matmul(left, right), [0, 0], work)
    pl.store(pl.mul(pl.load(work, [0, 0], [32, 64]), 0.5), [0, 0], c)


@pl.jit.incore
def scaled_rows(
    a: pl.Tensor[[ROWS, 64], pl.FP16],
    b: pl.Tensor[[64, 64], pl.FP16],
    work: pl.InOut[pl.Tensor[[96, 64], pl.FP32]],
    c: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    blocks: pl.Scalar[pl.INDEX],
):
    """Blocks of rows, through three places of a workspace in turn."""
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    for i in pl.range(blocks):
        rows = pl.load(a, [i * 32, 0], [32, 64], target_memory=pl.Mem.Mat)
        product = pl.matmul(pl.move(rows, target_memory=pl.Mem.Left), right)
        place = (i % 3) * 32
        pl.store(product, [place, 0], work)
        pl.store(pl.mul(pl.load(work, [place, 0], [32, 64]), 0.5), [i * 32, 0], c)


@pl.jit.incore
def halves(
    a: pl.Tensor[[ROWS, 64], pl.FP16],
    b: pl.Tensor[[64, 64], pl.FP16],
    work: pl.InOut[pl.Tensor[[32, 64], pl.FP32]],
    c: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    blocks: pl.Scalar[pl.INDEX],
):
    """Each vector core takes half of the rows, in slots of its own."""
    half = pl.tile.get_subblock_idx() * 16
    taken = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Vec)
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    for i in pl.range(blocks):
        rows = pl.load(a, [i * 32, 0], [32, 64], target_memory=pl.Mem.Mat)
        pl.store(pl.matmul(pl.move(rows, target_memory=pl.Mem.Left), right), [0, 0], work)
        pl.tile.load_into(taken[i % 2], work, [half, 0], [16, 64])
        pl.store(pl.mul(taken[i % 2], 0.5), [i * 32 + half, 0], c)


@pl.jit.incore
def twice(
    a: pl.Tensor[[ROWS, 64], pl.FP16],
    b: pl.Tensor[[64, 64], pl.FP16],
    work: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    c: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    rounds: pl.Scalar[pl.INDEX],
    blocks: pl.Scalar[pl.INDEX],
    some: pl.Scalar[pl.INDEX],
):
    """All rows in each round, of which there may be none, and of the last ones nothing."""
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    for _ in pl.range(rounds):
        for i in pl.range(blocks):
            if i < some:
                rows = pl.load(a, [i * 32, 0], [32, 64], target_memory=pl.Mem.Mat)
                product = pl.matmul(pl.move(rows, target_memory=pl.Mem.Left), right)
                pl.store(product, [(i % 2) * 32, 0], work)
                pl.store(pl.mul(pl.load(work, [(i % 2) * 32, 0], [32, 64]), 0.5), [i * 32, 0], c)


@pl.jit.incore
def attention(
    q: pl.Tensor[[16, 64], pl.FP16],
    k: pl.Tensor[[KEYS, 64], pl.FP16],
    v: pl.Tensor[[KEYS, 64], pl.FP16],
    scores: pl.InOut[pl.Tensor[[32, 64], pl.FP32]],
    weights: pl.InOut[pl.Tensor[[32, 64], pl.FP16]],
    parts: pl.InOut[pl.Tensor[[32, 64], pl.FP32]],
    total: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    blocks: pl.Scalar[pl.INDEX],
):
    """Scores on the cube core, weights on the vector core, their products on the cube core, the sum on the other."""
    queries = pl.load(q, [0, 0], [16, 64], target_memory=pl.Mem.Mat)
    sums = pl.load(total, [0, 0], [16, 64])
    for i in pl.range(blocks):
        place = (i % 2) * 16
        keys = pl.load(k, [i * 64, 0], [64, 64], target_memory=pl.Mem.Mat)
        left = pl.move(queries, target_memory=pl.Mem.Left)
        pl.store(pl.matmul(left, pl.move(keys, target_memory=pl.Mem.Right)), [place, 0], scores)
        weighed = pl.exp(pl.load(scores, [place, 0], [16, 64]))
        pl.store(pl.cast(weighed, pl.FP16), [place, 0], weights)
        mine = pl.load(weights, [place, 0], [16, 64], target_memory=pl.Mem.Mat)
        values = pl.load(v, [i * 64, 0], [64, 64], target_memory=pl.Mem.Mat)
        part = pl.matmul(pl.move(mine, target_memory=pl.Mem.Left), pl.move(values, target_memory=pl.Mem.Right))
        pl.store(part, [place, 0], parts)
        sums = pl.add(sums, pl.load(parts, [place, 0], [16, 64]))
    pl.store(sums, [0, 0], total)


@pl.jit.incore
def carried_place(
    a: pl.Tensor[[ROWS, 64], pl.FP16],
    b: pl.Tensor[[64, 64], pl.FP16],
    work: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    c: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    blocks: pl.Scalar[pl.INDEX],
):
    """Which of two places it is is carried round the loop, by both cores."""
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    place = 0
    for i in pl.range(blocks):
        rows = pl.load(a, [i * 32, 0], [32, 64], target_memory=pl.Mem.Mat)
        pl.store(pl.matmul(pl.move(rows, target_memory=pl.Mem.Left), right), [place * 32, 0], work)
        pl.store(pl.mul(pl.load(work, [place * 32, 0], [32, 64]), 0.5), [i * 32, 0], c)
        place = 1 - place


@pl.jit.incore
def until_done(
    a: pl.Tensor[[ROWS, 64], pl.FP16],
    b: pl.Tensor[[64, 64], pl.FP16],
    work: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    c: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    blocks: pl.Scalar[pl.INDEX],
):
    """Blocks of rows as long as there are any."""
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    i = 0
    while i < blocks:
        rows = pl.load(a, [i * 32, 0], [32, 64], target_memory=pl.Mem.Mat)
        pl.store(pl.matmul(pl.move(rows, target_memory=pl.Mem.Left), right), [i % 2 * 32, 0], work)
        pl.store(pl.mul(pl.load(work, [i % 2 * 32, 0], [32, 64]), 0.5), [i * 32, 0], c)
        i = i + 1


@pl.jit.incore
def halved_in_place(
    a: pl.Tensor[[ROWS, 64], pl.FP16],
    b: pl.Tensor[[64, 64], pl.FP16],
    work: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    blocks: pl.Scalar[pl.INDEX],
):
    """The vector core puts its result where the product was, and the next product goes there."""
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    for i in pl.range(blocks):
        rows = pl.load(a, [i * 32, 0], [32, 64], target_memory=pl.Mem.Mat)
        pl.store(pl.matmul(pl.move(rows, target_memory=pl.Mem.Left), right), [i % 2 * 32, 0], work)
        pl.store(pl.mul(pl.load(work, [i % 2 * 32, 0], [32, 64]), 0.5), [i % 2 * 32, 0], work)


def _half(rng, *shape):
    return (rng.standard_normal(shape) * 0.1).astype(np.float16)


def _zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def _product(given):
    return {"c": given["a"].astype(np.float32) @ given["b"].astype(np.float32) * 0.5}


def _attention(given):
    total = given["total"].copy()
    for start in range(0, len(given["k"]), 64):
        scores = given["q"].astype(np.float32) @ given["k"][start : start + 64].astype(np.float32)
        total += np.exp(scores).astype(np.float16).astype(np.float32) @ given["v"][start : start + 64].astype(
            np.float32
        )
    return {"total": total}


def _last_two(given):
    work, product = given["work"].copy(), _product(given)["c"]
    for i in range(given["blocks"]):
        work[i % 2 * 32 : i % 2 * 32 + 32] = product[i * 32 : i * 32 + 32]
    return {"work": work}


def _without_c(rows):
    return lambda rng: {name: value for name, value in rows(rng).items() if name != "c"}


def _some(given):
    found = _product(given)["c"]
    found[given["some"] * 32 * (given["rounds"] > 0) :] = 0
    return {"c": found}


def _rounds(rounds, blocks, some):
    rows = _rows(blocks, 2)
    return lambda rng: {**rows(rng), "rounds": rounds, "some": some}


def _rows(blocks, places):
    return lambda rng: {
        "a": _half(rng, blocks * 32, 64),
        "b": _half(rng, 64, 64),
        "work": _zeros(places * 32, 64),
        "c": _zeros(blocks * 32, 64),
        "blocks": blocks,
    }


def _heads(blocks):
    return lambda rng: {
        "q": _half(rng, 16, 64),
        "k": _half(rng, blocks * 64, 64),
        "v": _half(rng, blocks * 64, 64),
        "scores": _zeros(32, 64),
        "weights": _zeros(32, 64, dtype=np.float16),
        "parts": _zeros(32, 64),
        "total": _zeros(16, 64),
        "blocks": blocks,
    }


def _one(rng):
    return {"a": _half(rng, 32, 64), "b": _half(rng, 64, 64), "work": _zeros(32, 64), "c": _zeros(32, 64)}


CASES = {
    "scaled_product": (_one, _product),
    **{f"scaled_rows#{blocks}": (_rows(blocks, 3), _product) for blocks in (0, 1, 4, 7)},
    **{f"carried_place#{blocks}": (_rows(blocks, 2), _product) for blocks in (0, 3)},
    **{f"until_done#{blocks}": (_rows(blocks, 2), _product) for blocks in (0, 3)},
    **{f"halved_in_place#{blocks}": (_without_c(_rows(blocks, 2)), _last_two) for blocks in (1, 5)},
    **{f"halves#{blocks}": (_rows(blocks, 1), _product) for blocks in (0, 1, 3)},
    **{f"twice#{how}": (_rounds(*how), _some) for how in ((0, 2, 2), (2, 0, 0), (3, 3, 3), (2, 4, 1))},
    **{f"attention#{blocks}": (_heads(blocks), _attention) for blocks in (0, 1, 2, 5)},
}
