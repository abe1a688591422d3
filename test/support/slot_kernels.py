"""Kernels in the text of the `ptobuf` dialect, with the long type names said once."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pto_buf.source import parse_text
from pto_buf.universe import make_context

FILE = "kernel.mlir"

_TILE = "vec, 16x64xf32, blayout=row_major, slayout=none_box"

_HEAD = f"""\
!tile = !pto.tile_buf<{_TILE}>
!slot = !ptobuf.slot<{_TILE}>
!one = !ptobuf.slots<1, {_TILE}>
!two = !ptobuf.slots<2, {_TILE}>
!three = !ptobuf.slots<3, {_TILE}>
!four = !ptobuf.slots<4, {_TILE}>
!part = !pto.partition_tensor_view<16x64xf32>
module attributes {{pto.target_arch = "a3"}} {{
func.func @kernel(%x: !pto.ptr<f32>, %n: index, %m: index, %flag: i1, %small: i32)
    attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %v = pto.make_tensor_view %x, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<16x64xf32>
  %w = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c64]
    : !pto.tensor_view<16x64xf32> -> !pto.partition_tensor_view<16x64xf32>
"""

FIRST_LINE = _HEAD.count("\n") + 1
"""The line of the file on which a kernel's body starts."""

SET = {1: "!one", 2: "!two", 3: "!three", 4: "!four"}


def slots(name: str, count: int) -> str:
    """`%name = alloc_slots`: a vector set of `count` slots."""
    return f'%{name} = ptobuf.alloc_slots "{name}" : {SET[count]}\n'


def pick(name: str, ring: str, index: str, count: int) -> str:
    """`%name` = the slot of `%ring` at `%index`."""
    return f"%{name} = ptobuf.slot_select %{ring}[%{index}] : {SET[count]}\n"


def load(slot: str, value: str = "_") -> str:
    return f"%{value} = ptobuf.load_into ins(%w : !part) outs(%{slot} : !slot) -> !tile\n"


def store(operand: str, type: str = "slot") -> str:
    """Reads a slot, or a value if `type` is tile."""
    return f"ptobuf.store ins(%{operand} : !{type}) outs(%w : !part)\n"


def release(operand: str, type: str = "slot") -> str:
    return f"ptobuf.release %{operand} : !{type}\n"


def module_of(body: str) -> ModuleOp:
    """The verified module of a kernel with this body."""
    module = parse_text(make_context(), f"{_HEAD}{body}\n  return\n}}\n}}\n", FILE)
    module.verify()
    return module


def func_of(body: str) -> FuncOp:
    return next(op for op in module_of(body).walk() if isinstance(op, FuncOp))
