"""Operands of the matrix unit in Mat are moved for plain ops, once in a region; an `_into` form moves nothing."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from pto_buf.dialect.ptobuf import INTO_BY_DSL
from pto_buf.dialect.types import tile_of
from support.kernel_text import errors, ir, message

HEAD = """
@pl.jit.incore
def k(
    a: pl.Tensor[[16, 64], pl.FP16],
    b: pl.Tensor[[64, 64], pl.FP16],
    v: pl.Tensor[[1, 64], pl.FP32],
    n: pl.Scalar[pl.INDEX],
    c: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
):
    am = pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat)
    bm = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    vm = pl.load(v, [0, 0], [1, 64], target_memory=pl.Mem.Mat)
    ring = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Acc)
    mats = pl.create_tile_buffers(2, [64, 64], pl.FP16, pl.Mem.Mat)
"""


def moves(module: ModuleOp) -> list[str]:
    """The spaces that tiles are moved to, in the order of the text."""
    ops = [op for op in module.walk() if isinstance(op, (INTO_BY_DSL["move"], INTO_BY_DSL["extract"]))]
    return [spec.space.value for op in ops if (spec := tile_of(op.outs[0].type)) is not None]


@pytest.mark.parametrize(
    ("lines", "spaces"),
    [
        ("x = pl.matmul(am, bm)", "left right"),
        ("x = pl.tile.matmul(am, bm, out=ring[0])", "left right"),
        ("x = pl.matmul_bias(am, bm, vm)", "left right bias"),
        ("x = pl.matmul(pl.move(am, pl.Mem.Left), bm)", "left right"),
        ("x = pl.matmul(am, bm)\n    x = pl.matmul_acc(x, am, bm)", "left right"),
        ("x = pl.matmul(am[0:16, 0:32], bm[0:32, :])", "left right"),
        # A slot stands for whatever it holds when it is read.
        ("pl.tile.load_into(mats[0], b, [0, 0], [64, 64])\n    x = pl.matmul(am, mats[0])\n"
         "    pl.tile.load_into(mats[0], b, [0, 0], [64, 64])\n    x = pl.matmul_acc(x, am, mats[0])",
         "left right right"),
        # What is moved in a loop may not have run behind it.
        ("for i in pl.range(n):\n        x = pl.matmul(am, bm)\n        c = pl.store(x, [0, 0], c)\n"
         "    x = pl.matmul(am, bm)", "left right left right"),
        ("x = pl.matmul(am, bm)\n    for i in pl.range(n):\n        x = pl.matmul_acc(x, am, bm)", "left right"),
    ],
)  # fmt: skip
def test_what_is_moved(lines: str, spaces: str):
    assert moves(ir(f"{HEAD}    {lines}\n    c = pl.store(x, [0, 0], c)\n")) == spaces.split()


def test_an_into_form_moves_nothing():
    text = f"{HEAD}    pl.tile.matmul_into(ring[0], am, bm)\n"
    assert errors(text) == [(16, "memory-space")]
    assert message(text) == "'matmul_into' reads lhs from Left, it is in Mat"


def test_a_tile_that_the_buffer_cannot_hold_is_the_users_to_cut():
    text = HEAD.replace("[64, 64]", "[64, 1024]") + "    x = pl.matmul(am, bm)\n"
    assert errors(text) == [(16, "capacity-or-count")]
    assert message(text) == "rhs of 'matmul' takes 131,072 B in Right, which holds 65,536"


@pytest.mark.parametrize("line", ["x = pl.tile.gemv(vm, bm)", "x = pl.move(vm, pl.Mem.Left)"])
def test_a_single_row_in_mat_is_no_matrix(line: str):
    """R67: a flat row of Mat is not a matrix of one row."""
    text = f"{HEAD}    {line}\n"
    assert errors(text) == [(16, "shape-or-dtype")]
    assert message(text) == "a single row in Mat lies plain; Left takes boxes of 16 rows"
