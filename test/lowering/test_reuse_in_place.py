"""Results take the buffers of operands where memory is short, and only where nothing is lost by it."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from pto_buf.dialect.ptobuf import AllocSlotsOp
from pto_buf.lowering.reuse_in_place import ReuseInPlacePass
from pto_buf.universe import make_context
from pto_buf.verification import verify_module
from support.kernel_text import ir

_HEAD = """
@pl.jit.incore
def k(x: pl.Tensor[[{rows}, 128], pl.FP32], y: pl.Out[pl.Tensor[[{rows}, 128], pl.FP32]]):
"""


def sets(body: str, rows: int = 128) -> list[str]:
    """The slot sets that are left of a kernel with this body."""
    text = _HEAD.format(rows=rows) + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return _names(ir(text))


def _names(module: ModuleOp) -> list[str]:
    ReuseInPlacePass().apply(make_context(), module)
    verify_module(module)
    return [op.set_name.data for op in module.walk() if isinstance(op, AllocSlotsOp)]


TWO = """
a = pl.load(x, [0, 0], [{rows}, 128])
b = pl.load(x, [0, 0], [{rows}, 128])
"""


def test_nothing_is_joined_where_all_fits():
    assert sets(f"{TWO.format(rows=64)}c = pl.add(a, b)\npl.store(c, [0, 0], y)", 64) == ["a", "b", "c"]


def test_no_more_is_joined_than_has_to_be():
    body = TWO.format(rows=123) + "c = pl.add(a, b)\nd = pl.load(x, [0, 0], [1, 128])\ne = pl.exp(d)\n"
    assert sets(f"{body}pl.store(c, [0, 0], y)\npl.store(e, [0, 0], y)", 123) == ["a", "b", "d", "e"]


@pytest.mark.parametrize(
    "body",
    [
        "c = pl.add(a, b)\npl.store(c, [0, 0], y)\npl.store(a, [0, 0], y)\npl.store(b, [0, 0], y)",
        "c = pl.recip(a)\nc = pl.add(c, b)\npl.store(c, [0, 0], y)",  # no instruction for it works in place
        "for i in pl.range(2):\n    c = pl.add(a, b)\n    pl.store(c, [0, 0], y)",  # a second trip reads both again
    ],
    ids=["read behind", "not in place", "read again"],
)
def test_what_is_still_needed_is_not_written_over(body: str):
    assert {"a", "b", "c"} <= set(sets(TWO.format(rows=128) + body))


def test_a_trip_may_write_over_what_it_loaded():
    body = """
for i in pl.range(4):
    a = pl.load(x, [0, 0], [128, 128])
    b = pl.load(x, [0, 0], [128, 128])
    c = pl.add(a, b)
    pl.store(c, [0, 0], y)
"""
    assert sets(body) == ["a", "b"]


def test_what_the_next_trip_reads_is_kept():
    body = """
last = pl.load(x, [0, 0], [128, 128])
for i in pl.range(4):
    a = pl.load(x, [0, 0], [128, 128])
    b = pl.add(a, last)
    pl.store(b, [0, 0], y)
"""
    assert "last" in sets(body)
