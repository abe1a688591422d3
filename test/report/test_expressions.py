"""Conditions, indices and loop heads in words."""

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.dialects.scf import ForOp, Scf
from xdsl.dialects.test import Test
from xdsl.parser import Parser

from pto_buf.report.expressions import loop_head, words

TEXT = """
func.func @f(%i: index, %n: index, %flag: i1) {{
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
{body}
  func.return
}}
"""


def module_of(body: str):
    ctx = Context()
    for dialect in (Arith, Builtin, Func, Scf, Test):
        ctx.load_dialect(dialect)
    return Parser(ctx, TEXT.format(body=body)).parse_module()


@pytest.mark.parametrize(
    "body, text",
    [
        ("%0 = arith.remsi %i, %c3 : index", "i % 3"),
        ("%1 = arith.addi %i, %c3 : index\n%0 = arith.remui %1, %n : index", "(i + 3) % n"),
        ("%0 = arith.cmpi slt, %i, %n : index", "i < n"),
        ("%0 = arith.cmpi uge, %i, %n : index", "i >= n"),
        ("%1 = arith.cmpi eq, %i, %c0 : index\n%0 = arith.andi %1, %flag : i1", "(i == 0) and flag"),
        ("%1 = arith.cmpi ne, %i, %c0 : index\n%0 = arith.ori %1, %flag : i1", "(i != 0) or flag"),
        ("%0 = arith.andi %i, %c3 : index", "i & 3"),
        ('%0 = "test.op"() : () -> index', "?"),
        ('%named = "test.op"() : () -> index\n%0 = arith.subi %named, %i : index', "named - i"),
    ],
)
def test_a_value_reads_like_python(body: str, text: str):
    (*_, last, _) = module_of(body).walk()
    assert words(last.results[0]) == text


def test_deep_arithmetic_is_cut_short():
    chain = "\n".join(f"%{k + 1} = arith.addi %{k}, %i : index" for k in range(8))
    (*_, last, _) = module_of("%0 = arith.addi %i, %i : index\n" + chain).walk()
    assert words(last.results[0]) == "(((? + i) + i) + i) + i"


def test_a_loop_reads_like_python():
    loops = [op for op in module_of("scf.for %k = %c0 to %n step %c3 {\n}").walk() if isinstance(op, ForOp)]
    assert [loop_head(op) for op in loops] == ["for k in range(0, n, 3):"]
