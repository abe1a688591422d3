"""Ops in an op, as xDSL's own walk gives them."""

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp

from pto_buf.source import parse_text
from pto_buf.universe import make_context
from pto_buf.walking import functions, numbered, ops_in, ops_of

TEXT = """
module {
  func.func private @outside()
  module {
    func.func @inner() { return }
  }
  func.func @nest(%n: index, %b: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      scf.if %b {
        %c2 = arith.constant 2 : index
      } else {
        scf.for %j = %c0 to %i step %c1 {}
      }
    }
    return
  }
}
"""


def _module() -> ModuleOp:
    return parse_text(make_context(), TEXT, "walk.mlir")


def test_all_ops_in_the_order_of_the_text():
    module = _module()
    assert list(ops_in(module)) == list(module.walk())
    assert numbered(module) == {op: number for number, op in enumerate(module.walk())}


def test_ops_of_some_classes():
    module = _module()
    assert list(ops_of(module, ForOp, IfOp)) == [op for op in module.walk() if isinstance(op, ForOp | IfOp)]
    assert next(ops_of(module, ModuleOp)) is module


def test_an_op_may_be_erased_once_it_was_given():
    module = _module()
    (nest,) = (op for op in ops_of(module, FuncOp) if op.sym_name.data == "nest")
    for op in ops_of(nest, IfOp):
        op.detach()
        op.erase()
    assert [type(op) for op in ops_of(nest, ForOp, ConstantOp)] == [ConstantOp, ConstantOp, ForOp]


def test_functions_with_a_body_in_all_modules():
    assert [function.sym_name.data for function in functions(_module())] == ["inner", "nest"]
