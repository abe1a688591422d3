"""Texts as the assembler prints them behind its own insertion of fences."""

import pytest

from check.programs import function_of, program_of
from pto_buf.check.findings import Status
from pto_buf.check.model import model_of
from pto_buf.check.proof.prove import prove
from pto_buf.dialect.pointers import LoadScalarOp
from pto_buf.errors import DiagnosticError
from pto_buf.hw import A2A3

TILE = "!pto.tile_buf<vec, 16x64xf32>"
WINDOW = "!pto.partition_tensor_view<16x?xf32>"


def through(first: str, second: str, fenced: bool = True) -> str:
    """Loads from one view that the kernel is given, and stores to one."""
    pair = "[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]"
    fence = f"pto.set_flag{pair} pto.wait_flag{pair}" if fenced else ""
    return f"""module attributes {{pto.backend = "emitc", pto.target_arch = "a3"}} {{
      func.func @kernel(%a: {WINDOW}, %b: {WINDOW})
          attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>}} {{
        %c0 = arith.constant 0 : i64
        %t = pto.alloc_tile addr = %c0 : {TILE}
        pto.tload ins({first} : {WINDOW}) outs(%t : {TILE}) {{layout = #pto.layout<nd>, pto.inferred_layout = true}}
        {fence}
        pto.tstore ins(%t : {TILE}) outs({second} : {WINDOW}) {{layout = #pto.layout<nd>, pto.inferred_layout = true}}
        pto.barrier <PIPE_ALL> {{pto.auto_sync_tail_barrier}}
        return
      }}
    }}"""


def test_views_as_arguments_are_arrays_of_their_own():
    assert prove(program_of(through("%a", "%b")), model_of(A2A3)).status is Status.PROVEN
    assert prove(program_of(through("%a", "%a")), model_of(A2A3)).status is Status.PROVEN
    assert prove(program_of(through("%a", "%a", fenced=False)), model_of(A2A3)).status is Status.WRONG


def test_of_a_pointer_type_the_brackets_do():
    text = """func.func @kernel(%p: !pto.ptr<i32, gm>, %i: index) {
      %x = pto.load_scalar %p[%i] : <i32, gm> -> i32
      return
    }"""
    found = [op for op in function_of(text).body.block.ops if isinstance(op, LoadScalarOp)]
    assert [str(op.ptr.type) for op in found] == ["!pto.ptr<i32>"]


def test_branches_between_blocks_are_refused_at_the_function():
    text = """module attributes {pto.target_arch = "a3"} {
    func.func @kernel() {
      "cf.br"() [^bb1] : () -> ()
    ^bb1:
      return
    }
    }"""
    with pytest.raises(DiagnosticError, match="branches between blocks") as caught:
        program_of(text)
    assert caught.value.diagnostics[0].place is not None
    assert caught.value.diagnostics[0].place.line == 2
