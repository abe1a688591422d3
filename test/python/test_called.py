"""Functions that others call count as if they stood where they are called."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pto_buf.called import to_judge, with_calls_written_out
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


def judged(text: str) -> list[str]:
    return [one.sym_name.data for one in to_judge(module(text))]


def test_what_is_called_is_not_judged_by_itself():
    assert judged(TEXT) == ["k"]


def test_entries_are_judged_even_if_they_are_called():
    entry = TEXT.replace("private @four(%x: index) -> index", "@four(%x: index) -> index attributes {pto.entry}")
    assert judged(entry) == ["four", "k"]


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("@four(%n)", "@k(%n)", ["four", "k"]),
        ("@twice(%x) :", "@four(%x) :", ["k"]),
        ("call @four(%n)", "call @twice(%n)", ["four", "k"]),
    ],
)
def test_what_only_calls_itself_is_judged_and_refused(before: str, after: str, names: list[str]):
    assert judged(TEXT.replace(before, after)) == names


def test_a_circle_of_functions_is_judged():
    text = TEXT.replace("arith.muli %x, %two : index", "func.call @k(%two) : (index) -> index")
    text = text.replace("func.func @k(%n: index)", "func.func @k(%n: index) -> index").replace(
        "    func.return\n", "    func.return %m : index\n"
    )
    assert judged(text) == ["twice", "four", "k"]
    with pytest.raises(DiagnosticError, match="is not followed"):
        with_calls_written_out(function(module(text), "k"))


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
