"""What nothing is known of is one unknown wherever it is worked out again, for slots, fences and the checker."""

from collections.abc import Callable

import pytest
from xdsl.ir import OpResult

from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.errors import DiagnosticError
from pto_buf.lowering.verify_slots import VerifySlotsPass
from pto_buf.same_values import same_values
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from pto_buf.walking import functions, ops_in
from support.slot_builder import lowered
from support.slot_text import SlotText
from support.trials import kernel_of


def asked_twice(second: str) -> SlotText:
    """A trip stores what it has loaded, each under a condition."""
    kernel = SlotText("n m", P=2)
    with kernel.loop("i", 0, "n"):
        with kernel.when("unknown(i)"):
            kernel.load("P[i % 2]", row="i")
        with kernel.when(second):
            kernel.store("P[i % 2]", row="i")
    return kernel


def asked_in_two_loops(second: str) -> SlotText:
    """The condition is an argument's, so that it does not change from loop to loop."""
    kernel = SlotText("n i", P=2)
    with kernel.loop("k", 0, "n"), kernel.when("unknown(i)"):
        kernel.load("P[k % 2]", row="k")
    with kernel.loop("k", 0, "n"), kernel.when("1 < n"), kernel.when(second):
        kernel.store("P[1]", row="k")
    return kernel


def chosen_twice(second: str) -> SlotText:
    """The condition says which slot, and the lane of its flags is worked out again."""
    kernel = SlotText("n m", P=4)
    with kernel.loop("i", 0, "n"):
        kernel.load("P[select(unknown(i), i % 2, 2 + i % 2)]", row="i")
        kernel.store(f"P[select({second}, i % 2, 2 + i % 2)]", row="i")
    return kernel


KERNELS = (asked_twice, asked_in_two_loops, chosen_twice)


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_questions_have_one_answer(kernel: Callable[[str], SlotText]) -> None:
    verdict = check(kernel_of(lowered(kernel("unknown(i)"))[0]))
    assert (verdict.status, verdict.reason, verdict.findings) == (Status.PROVEN, "", ())


@pytest.mark.parametrize("kernel", KERNELS)
def test_others_have_answers_of_their_own(kernel: Callable[[str], SlotText]) -> None:
    with pytest.raises(DiagnosticError, match=r"'store' reads slot . of 'P', which is not written"):
        VerifySlotsPass().apply(make_context(), kernel("unknown(i + 1)").module())


_TEXT = """
builtin.module attributes {pto.target_arch = "a3"} {
  func.func @kernel(%n: index, %x: f32) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %block = pto.get_block_idx
    %part = pto.get_subblock_idx
    %a = arith.sitofp %block : i64 to f32
    %b = arith.sitofp %part : i64 to f32
    %asked = arith.cmpf olt, %a, %x : f32
    %of_part = arith.cmpf olt, %b, %x : f32
    scf.for %i = %zero to %n step %one {
      %again = arith.cmpf olt, %a, %x : f32
      %other = arith.cmpf ole, %a, %x : f32
      %wide = arith.index_cast %i : index to i64
      %real = arith.sitofp %wide : i64 to f32
      %inside = arith.cmpf olt, %real, %x : f32
      scf.if %inside {
        %deeper = arith.cmpf olt, %real, %x : f32
        %hidden = arith.cmpf ogt, %real, %x : f32
      }
      %behind = arith.cmpf ogt, %real, %x : f32
    }
    func.return
  }
}
"""


def test_which_values_are_the_same() -> None:
    (function,) = functions(parse_text(make_context(), _TEXT, "kernel.mlir"))
    same = same_values(function)
    values = {value.name_hint: value for op in ops_in(function) for value in op.results if isinstance(value, OpResult)}
    stands_for = {name: same.of(value).name_hint for name, value in values.items() if same.of(value) is not value}
    assert stands_for == {"again": "asked", "deeper": "inside"}
    assert {name for name, value in values.items() if value in same.fixed} >= {"asked", "again", "other"}
    assert not {values[name] for name in ("of_part", "inside", "hidden", "behind")} & same.fixed
