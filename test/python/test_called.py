"""Functions that others call count as if they stood where they are called."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pto_buf.called import uncalled, with_calls_written_out
from pto_buf.errors import DiagnosticError
from pto_buf.source import parse_text
from pto_buf.universe import make_context

TEXT = """builtin.module attributes {pto.target_arch = "a3"} {
  func.func private @twice(%x: index) -> index {
    %two = arith.constant 2 : index
    %y = arith.muli %x, %two : index
    func.return %y : index
  }
  func.func private @four(%x: index) -> index {
    %y = func.call @twice(%x) : (index) -> index
    %z = func.call @twice(%y) : (index) -> index
    func.return %z : index
  }
  func.func @k(%n: index) {
    %m = func.call @four(%n) : (index) -> index
    scf.for %i = %n to %m step %m {
    }
    func.return
  }
}
"""


def module(text: str) -> ModuleOp:
    return parse_text(make_context(), text, "k.pto")


def function(inside: ModuleOp, name: str) -> FuncOp:
    return next(op for op in inside.walk() if isinstance(op, FuncOp) and op.sym_name.data == name)


def test_calls_are_written_out_in_a_copy():
    given = module(TEXT)
    found = with_calls_written_out(function(given, "k"))
    assert [op.name for op in found.body.block.ops] == ["arith.constant", "arith.muli"] * 2 + ["scf.for", "func.return"]
    found.verify()
    assert str(given) == str(module(TEXT))
    parent = found.parent_op()
    assert isinstance(parent, ModuleOp) and "pto.target_arch" in parent.attributes


def test_what_calls_nothing_stays_as_it_is():
    twice = function(module(TEXT), "twice")
    assert with_calls_written_out(twice) is twice


def test_what_is_called_is_no_kernel():
    assert [one.sym_name.data for one in uncalled(module(TEXT))] == ["k"]


@pytest.mark.parametrize(
    ("before", "after"), [("@twice(%x) :", "@four(%x) :"), ("@twice(%x) :", "@missing(%x) :"), ("@four(%n)", "@k(%n)")]
)
def test_calls_that_have_no_end_or_no_body_are_refused(before: str, after: str):
    given = module(TEXT.replace(before, after))
    with pytest.raises(DiagnosticError) as caught:
        with_calls_written_out(function(given, "k"))
    (found,) = caught.value.diagnostics
    name = after.partition("(")[0]
    assert found.message == f"the call of '{name[1:]}' is not followed"
    line = next(number for number, text in enumerate(str(given).splitlines(), 1) if f"call {name}(" in text)
    assert found.place is not None and found.place.line == line
