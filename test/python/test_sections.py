"""Sections that the checker and the simulator would not see for what they are, are refused by both."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.errors import DiagnosticError
from pto_buf.machine.exec import cores_of
from pto_buf.source import parse_text
from pto_buf.universe import make_context

SET = "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]"
CUBE = "pto.section.cube {\n pto.barrier #pto.pipe<PIPE_ALL>\n }\n"
VECTOR = f"pto.section.vector {{\n {SET}\n }}\n"


def kernel(body: str, more: str = "") -> FuncOp:
    text = f"""module attributes {{pto.target_arch = "a3"}} {{
  func.func @kernel(%p: i1, %n: index, %one: index) attributes {{pto.entry{more}}} {{
    {body}
    return
  }}
}}
"""
    module = parse_text(make_context(), text, "k.pto")
    assert isinstance(module, ModuleOp)
    return next(op for op in module.walk() if isinstance(op, FuncOp))


@pytest.mark.parametrize(
    ("body", "more", "words"),
    [
        (f"{CUBE} scf.if %p {{\n {VECTOR} }}", "", "stands in the function itself"),
        (f"scf.if %p {{\n {VECTOR} }}", "", "stands in the function itself"),
        (f"{CUBE} scf.for %i = %n to %n step %one {{\n {VECTOR} }}", "", "stands in the function itself"),
        (f"pto.section.cube {{\n {VECTOR} }}", "", "stands in the function itself"),
        (CUBE + VECTOR, ", pto.kernel_kind = #pto.kernel_kind<vector>", "has a kernel_kind already"),
    ],
)
def test_sections_that_are_not_plain_are_refused(body: str, more: str, words: str):
    function = kernel(body, more)
    for look in (check, cores_of):
        with pytest.raises(DiagnosticError) as caught:
            look(function)
        (found,) = caught.value.diagnostics
        assert words in found.message
        assert found.place is not None and found.place.line > 2


def test_plain_ones_are_judged():
    assert check(kernel(CUBE)).status is Status.PROVEN
    assert check(kernel(CUBE + VECTOR)).status is Status.WRONG
