"""Conversions that the hardware does in steps, and scratch of another element type."""

import pytest

from pto_buf.dialect.ptobuf import INTO_BY_DSL
from pto_buf.dialect.types import tile_of
from pto_buf.frontend.ops.casts import chain
from support.kernel_text import errors, ir


@pytest.mark.parametrize(
    ("target", "src", "dst", "way"),
    [
        ("a2a3", "f32", "f16", "f16"),
        ("a2a3", "f32", "f32", "f32"),
        ("a2a3", "bf16", "f16", "f32 f16"),
        ("a5", "bf16", "f16", "f16"),
        ("a2a3", "i8", "f32", "f16 f32"),  # half precision holds every byte
        ("a2a3", "i8", "bf16", "f16 f32 bf16"),
        ("a2a3", "i32", "bf16", "f32 bf16"),  # not by half precision, whose range is smaller than that of either
        ("a2a3", "f32", "i8", "f16 i8"),
        ("a2a3", "f16", "bf16", "f32 bf16"),
        ("a5", "i32", "f16", "f32 f16"),
        ("a2a3", "ui32", "f32", "f32"),  # nothing converts it: the table says so
    ],
)
def test_the_way_a_conversion_takes(target: str, src: str, dst: str, way: str):
    assert " ".join(chain(src, dst, target)) == way


_HEAD = """
@pl.jit.incore
def k(q: pl.Tensor[[16, 64], pl.INT8], x: pl.Tensor[[16, 64], pl.FP32], o: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
"""


def test_each_step_is_a_tile_of_ours_and_the_last_is_the_destination():
    body = """
    ring = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Vec)
    f = pl.cast(pl.load(q, [0, 0], [16, 64]), pl.FP32, out=ring[0])
    o = pl.store(f, [0, 0], o)
"""
    casts = [op for op in ir(_HEAD + body).walk() if isinstance(op, INTO_BY_DSL["cast"])]
    assert [spec.dtype for op in casts if (spec := tile_of(op.outs[0].type))] == ["f16", "f32"]
    assert [tile_of(op.results[0].type) for op in casts] == [tile_of(op.outs[0].type) for op in casts]
    assert "%ring" in str(casts[1].outs[0].owner)


def test_a_conversion_that_nothing_does_is_refused():
    text = _HEAD.replace("INT8", "UINT32") + "    f = pl.cast(pl.load(q, [0, 0], [16, 64]), pl.FP32)\n"
    assert errors(text) == [(5, "shape-or-dtype")]


def test_scratch_of_a_selection_may_be_made_of_bytes():
    body = """
    t = pl.load(x, [0, 0], [16, 64])
    tmp = pl.create_tile([1, 32], pl.UINT8)
    o = pl.store(pl.tile.sel(pl.cmp(t, t, 2), t, t, tmp), [0, 0], o)
"""
    (select,) = (op for op in ir(_HEAD + body).walk() if isinstance(op, INTO_BY_DSL["sel"]))
    tmp = tile_of(select.ins[3].type)
    assert tmp is not None
    assert (tmp.dtype, tmp.shape) == ("i32", (1, 8))
