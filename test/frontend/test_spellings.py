"""Parameters in the spellings of older and newer pypto, of the tile ops and of the ops on either: one kernel each."""

import pytest

from pto_buf.hw import A5
from support.kernel_text import ir

HEAD = """
@pl.jit.incore
def k(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    t = pl.load(x, [0, 0], [64, 64])
    v = pl.load(x, [0, 0], [64, 1])
    r = pl.load(x, [0, 0], [1, 64])
    tmp = pl.create_tile([64, 64], pl.FP32)
    q = pl.reshape(pl.slice(t, [4, 64], [0, 0]), [1, 256])
    w = pl.create_tile([1, 512], pl.FP32)
"""
CUBE = """
@pl.jit.incore
def k(a: pl.Tensor[[16, 64], pl.FP16], b: pl.Tensor[[64, 64], pl.FP16], c: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    am = pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat)
    bm = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    left = pl.move(am, pl.Mem.Left)
    right = pl.move(bm, pl.Mem.Right)
    acc = pl.matmul(left, right)
"""


@pytest.mark.parametrize(
    ("newer", "other"),
    [
        (
            "pl.load(x, [0, 0], [64, 64], valid_shape=[n, 64])",
            "pl.tile.load(x, [0, 0], [64, 64], valid_shapes=[n, 64])",
        ),
        ("pl.row_max(t, tmp_tile=tmp)", "pl.tile.row_max(tile=t, tmp_tile=tmp)"),
        ("pl.row_sum(input=t, tmp_tile=tmp)", "pl.tile.row_sum(t, tmp)"),
        ("pl.exp(input=t)", "pl.tile.exp(tile=t)"),
        ("pl.add(t, 1.0)", "pl.tile.adds(lhs=t, rhs=1.0)"),
        ("pl.add(2.0, t)", "pl.tile.adds(t, 2.0)"),
        ("pl.part_add(src0=t, src1=t)", "pl.tile.part_add(t, t)"),
        ("pl.row_expand_mul(lhs=t, rhs=v)", "pl.tile.row_expand_mul(tile=t, row_vec=v)"),
        ("pl.col_expand_add(lhs=t, rhs=r)", "pl.tile.col_expand_add(tile=t, col_vec=r)"),
        ("pl.col_expand(target=t, col_vec=r)", "pl.col_expand(lhs=t, rhs=r)"),
        ("pl.expands(t, 3.0)", "pl.tile.expands(target=t, scalar=3.0)"),
        ("pl.div(t, t, high_precision=False)", "pl.tile.div(t, t)"),
        ("pl.cast(t, target_type=pl.FP16, mode='round')", "pl.tile.cast(t, pl.FP16)"),
        ("pl.slice(input=t, shape=[16, 64], offset=[0, 0])", "pl.tile.slice(tile=t, shape=[16, 64], offset=[0, 0])"),
        ("pl.reshape(input=t, shape=[32, 128])", "pl.tile.reshape(tile=t, shape=[32, 128])"),
        ("pl.transpose(input=t, axis1=0, axis2=1)", "pl.tile.transpose(tile=t, axis1=0, axis2=1)"),
        ("pl.fillpad(value=t)", "pl.tile.fillpad(tile=t, pad_value=pl.PadValue.zero)"),
        ("pl.cmp(t, t, cmp_type=2)", "pl.tile.cmp(lhs=t, rhs=t, cmp_type=2)"),
        ("pl.read(src=t, offset=[0, 3])", "pl.tile.read(tile=t, indices=[0, 3])"),
        ("pl.concat(src0=t, src1=t)", "pl.tile.concat(t, t)"),
        ("pl.full([16, 64], dtype=pl.FP32, value=0.0)", "pl.tile.full(shape=[16, 64], dtype=pl.FP32, value=0.0)"),
        ("pl.tile.mrgsort_format1(q, 64)", "pl.mrgsort(q, block_len=64)"),
        ("pl.tile.mrgsort_format2(q, q, w, exhausted=True)", "pl.mrgsort(q, q, tmp=w, exhausted=True)"),
        ("pl.slice(t, [16, 64], [0, 0], [])", "pl.slice(t, [16, 64], [0, 0], [16, 64])"),
        ("pl.tile.move(t, pl.Mem.Vec, blayout=pl.TileLayout.row_major)", "pl.move(t, pl.Mem.Vec)"),
        ("pl.load(x, [0, 0], [16, 64], transpose=False)", "pl.load(x, [0, 0], [16, 64])"),
        ("pl.tile.sels(t, t, 1)", "pl.tile.sels(lhs=t, rhs=t, select_mode=1)"),
        ("pl.div(t, t, False)", "pl.tile.div(lhs=t, rhs=t)"),
        ("pl.cmp(t, t, 2)", "pl.tile.cmp(t, t, cmp_type='lt')"),
        ("pl.load(x, [0, 0], [pl.tensor.dim(x, 0), 64])", "pl.load(x, [0, 0], [x.shape[0], 64])"),
        ("pl.create_tile([16, 64], pl.FP32)", "pl.tile.create([16, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)"),
    ],
)
def test_vector_ops(newer: str, other: str):
    assert _text(HEAD, newer) == _text(HEAD, other)


@pytest.mark.parametrize(
    ("newer", "other"),
    [
        ("pl.tile.extract(am, 0, 0, [16, 32], target_memory=pl.Mem.Left)",
         "pl.tile.extract(src=am, index_row=0, index_col=0, shape=[16, 32], target_memory=pl.MemorySpace.Left)"),
        ("pl.move(am, pl.Mem.Left)", "pl.tile.move(tile=am, target_memory=pl.Mem.Left)"),
        ("pl.matmul(left, right, out_dtype=None, a_trans=False)", "pl.tile.matmul(lhs=left, rhs=right)"),
        ("pl.matmul_acc(acc, left, right)", "pl.tile.matmul_acc(acc=acc, lhs=left, rhs=right, init_cond=None)"),
        ("pl.matmul_acc(acc, left, right, init_cond=True)", "pl.tile.matmul_acc(acc, left, right, init=True)"),
        ("pl.matmul(left, right, pl.FP32, False)", "pl.tile.matmul(lhs=left, rhs=right)"),
        ("pl.matmul_acc(acc, left, right, False, False, True)", "pl.tile.matmul_acc(acc, left, right, True)"),
        ("pl.store(acc, [0, 0], c)", "pl.tile.store(tile=acc, offsets=[0, 0], output_tensor=c)"),
    ],
)  # fmt: skip
def test_matrix_ops(newer: str, other: str):
    assert _text(CUBE, newer) == _text(CUBE, other)


def _text(head: str, expression: str) -> str:
    return str(ir(f"{head}    z = {expression}\n", target=A5))
