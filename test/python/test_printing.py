"""Printed text is xDSL's own, to the letter, but for what nobody could read."""

from io import StringIO

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.printer import Printer

from pto_buf.printing import text_of
from pto_buf.source import parse_text
from pto_buf.universe import make_context

PROGRAM = """
func.func @f(%p: memref<4x?xf32>, %q: !pto.tile_buf<vec, 16x16xf32>) {
  %a, %b = "test.op"() {t = !pto.ptr<f16>, n = 1 : i32, s = "x"} : () -> (index, !pto.tile_buf<vec, 16x16xf32>)
  %c = "test.op"(%b, %q) : (!pto.tile_buf<vec, 16x16xf32>, !pto.tile_buf<vec, 16x16xf32>) -> (!pto.ptr<f16>)
  return
}"""


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("debuginfo", [False, True])
def test_text_is_that_of_xdsl(generic: bool, debuginfo: bool):
    module = parse_text(make_context(), PROGRAM, "k.mlir")
    stream = StringIO()
    Printer(stream, print_generic_format=generic, print_debuginfo=debuginfo).print_op(module)
    text = text_of(module, generic=generic, debuginfo=debuginfo)
    assert text == stream.getvalue() + "\n"
    again = parse_text(make_context(), text, "k.mlir")
    assert again.is_structurally_equivalent(module)


def test_two_values_never_get_one_name():
    """The third value called `x` would be `x_2`, which another has for its name."""
    values = [arith.ConstantOp(IntegerAttr(number, 64)) for number in range(6)]
    for value, hint in zip(values, ["x_2_0", "x", "x", "x", "x", "x_2_0"], strict=True):
        value.result.name_hint = hint
    names = [line.split()[0] for line in text_of(ModuleOp([*values])).splitlines() if "constant" in line]
    assert names == ["%x_2", "%x", "%x_1", "%x_3", "%x_4", "%x_2_1"]


def test_a_region_that_is_executed_once_keeps_its_end():
    text = "func.func @f() {\n  scf.execute_region {\n    scf.yield\n  }\n  func.return\n}\n"
    module = parse_text(make_context(), text, "k.mlir")
    printed = text_of(module)
    assert "scf.execute_region {\n      scf.yield\n    }" in printed
    assert parse_text(make_context(), printed, "k.mlir").is_structurally_equivalent(module)
