"""Kernels with work for both kinds of core: proven, right in every order, and each signal between the cores needed."""

from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.dialects.scf import WhileOp
from xdsl.ir import Operation

from pto_buf import compile
from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.compiler import compile_module
from pto_buf.dialect.cross_core import CoreSignalOp, SetFftsOp, SetIntraBlockOp, SyncSetOp
from pto_buf.dialect.kernel import SectionCubeOp, SectionVectorOp
from pto_buf.dialect.pto import BarrierOp
from pto_buf.dialect.versions import spell_for
from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe
from pto_buf.kernel import Kernel
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.machine.exec import kernel_named
from pto_buf.printing import text_of
from pto_buf.run import Case, load_cases, run_case
from pto_buf.sim.orders import order_named
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from pto_buf.walking import functions, ops_of
from support.kernel_text import ir

FILE = Path(__file__).parent / "sources" / "mixed.py"
CASES = load_cases(FILE)
KERNELS = sorted({case.kernel for case in CASES})
TARGETS = ("a2a3", "a5")


@cache
def compiled(kernel: str, target: str) -> Kernel:
    """Compiled, and proven right for every number of trips."""
    return compile(FILE, kernel, target=target)


def module(kernel: str, target: str) -> ModuleOp:
    found = compiled(kernel, target).function.parent_op()
    assert isinstance(found, ModuleOp)
    return found


@pytest.mark.parametrize(("target", "order"), [("a2a3", "late"), ("a2a3", "random:5"), ("a5", "late")])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_values_are_right_in_every_order(case: Case, target: str, order: str):
    result = run_case(case, module(case.kernel, target), order_named(order))
    assert result.passed, result.reasons


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_each_signal_is_needed(kernel: str, target: str):
    """In a run of five trips each place of a workspace is used again; in twenty without work a counter runs over."""
    whole = compiled(kernel, target).function
    runs = [
        {"blocks": 5, "ROWS": 160, "KEYS": 320, "rounds": 2, "some": 5},
        {"blocks": 20, "ROWS": 640, "KEYS": 1280, "rounds": 1, "some": 0},
    ]
    names = {arg.name_hint for arg in whole.body.block.args}
    known = [{name: value for name, value in run.items() if name in names} for run in runs]
    assert all(check(whole, scalars=run).status is Status.PROVEN for run in known)
    ids = {_id(op) for op in whole.walk() if isinstance(op, CoreSignalOp)}
    assert ids
    for id in ids:
        copy = module(kernel, target).clone()
        for op in tuple(copy.walk()):
            if isinstance(op, CoreSignalOp) and _id(op) == id:
                op.detach()
                op.erase()
        less = kernel_named(copy, kernel)
        assert any(check(less, scalars=run).status is Status.WRONG for run in known)


def _id(op: CoreSignalOp) -> int:
    """The number of a signal, whichever of two vector cores it comes from."""
    assert op.event_id is not None
    return op.event_id.value.data % 16


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_each_section_ends_with_a_barrier_over_all_pipes(kernel: str, target: str):
    function = compiled(kernel, target).function
    sections = [op for op in function.body.block.ops if isinstance(op, SectionCubeOp | SectionVectorOp)]
    assert [type(one) for one in sections] == [SectionCubeOp, SectionVectorOp]
    for section in sections:
        last = section.body.block.last_op
        assert isinstance(last, BarrierOp) and last.pipe.data is Pipe.ALL
        assert sum(isinstance(op, BarrierOp) and op.pipe.data is Pipe.ALL for op in section.walk()) == 1
    assert "pto.kernel_kind" not in function.attributes


def test_what_data_flow_orders_anyway_needs_no_signal():
    """Three products a trip are handed over, and none is said to be taken: what is made of it says so."""
    sent = [op for op in compiled("attention", "a2a3").function.walk() if isinstance(op, SyncSetOp)]
    assert len(sent) == 2 + 1 + 1  # cube, first vector core, second vector core


def test_signals_live_where_the_first_parameter_says():
    function = compiled("scaled_rows", "a2a3").function
    base, *_ = function.body.block.args
    assert (base.name_hint, str(base.type)) == ("ffts", "memref<256xi64>")
    (op,) = list(ops_of(function, SetFftsOp))
    assert op.base is base
    assert not [op for op in compiled("scaled_rows", "a5").function.walk() if isinstance(op, SetFftsOp)]


def test_newer_assemblers_take_a_pointer_there():
    copy = module("scaled_rows", "a2a3").clone()
    spell_for(copy, (0, 56))
    copy.verify()
    text = text_of(copy)
    assert "@scaled_rows(%ffts: !pto.ptr<i64>, %a: !pto.ptr<f16>" in text
    again = parse_text(make_context(), text, "again.pto")
    spell_for(again, (0, 48))
    assert "@scaled_rows(%ffts: memref<256xi64>, %a" in text_of(again)


def test_newer_assemblers_have_signals_of_one_vector_core_each():
    copy = module("scaled_rows", "a5").clone()
    spell_for(copy, (0, 60))
    copy.verify()
    (function,) = functions(copy)
    cube, vector = [op for op in function.body.block.ops if op.regions]
    assert not list(ops_of(copy, SyncSetOp))
    assert _sent(cube) == [0, 16]
    assert dict.fromkeys(_sent(vector)) == {1: None}
    assert check(function, scalars={"blocks": 5, "ROWS": 160}).status is Status.PROVEN


def _sent(section: Operation) -> list[int]:
    sends = (op for op in section.walk() if isinstance(op, SetIntraBlockOp))
    return [op.event_id.value.data for op in sends if op.event_id is not None]


@pytest.mark.parametrize("target", TARGETS)
def test_the_second_vector_core_only_takes_part_in_signals(target: str):
    """Unless the kernel asks which one it is on: then both work."""
    assert "scf.if %is_first" in compiled("scaled_rows", target).pto
    assert "is_first" not in compiled("halves", target).pto


@pytest.mark.parametrize("target", TARGETS)
def test_a_part_with_a_while_is_a_function_that_its_section_calls(target: str):
    """Assemblers have no room for one in a section. What is called has the signals' base, too."""
    finished = parse_text(make_context(), compiled("until_done", target).pto, "k.pto")
    parts = {one.sym_name.data: one for one in functions(finished)}
    assert list(parts) == ["until_done_cube", "until_done_vector", "until_done"]
    whole = parts.pop("until_done")
    assert not any(isinstance(op, WhileOp) for op in whole.walk())
    calls = {type(op.parent_op()): op.callee.string_value() for op in whole.walk() if isinstance(op, CallOp)}
    assert calls == {SectionCubeOp: "until_done_cube", SectionVectorOp: "until_done_vector"}
    for part in parts.values():
        assert isinstance(part.body.block.first_op, SetFftsOp) is (target == "a2a3")
        assert str(part.sym_visibility) == '"private"'
    assert check(whole).status is Status.PROVEN


def test_all_functions_with_signals_are_respelt_together():
    finished = parse_text(make_context(), compiled("until_done", "a2a3").pto, "k.pto")
    spell_for(finished, (0, 56))
    finished.verify()
    assert text_of(finished).count("%ffts: !pto.ptr<i64>") == 3 and "memref" not in text_of(finished)


HALF = """
@pl.jit.incore
def k(
    a: pl.Tensor[[16, 16], pl.FP16], w: pl.InOut[pl.Tensor[[64, 16], pl.FP32]], n: pl.Scalar[pl.INDEX],
):
    left = pl.move(pl.load(a, [0, 0], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)
    right = pl.move(pl.load(a, [0, 0], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    for i in pl.range(n):
        pl.store(pl.matmul(left, right), [i % 2 * 32, 0], w)
        pl.store(pl.mul(pl.load(w, [i % 2 * 32, 0], [32, 16]), 2.0), [i % 2 * 32, 0], w)
"""


def test_what_a_core_stored_and_the_other_wrote_over_in_part_is_not_loaded_again():
    with pytest.raises(DiagnosticError) as caught:
        compile_module(ir(HALF), PipelineOptions())
    (found,) = caught.value.diagnostics
    assert found.kind == "global-read-after-write"
    assert found.place is not None and found.place.line == 11


@pytest.mark.parametrize("target", TARGETS)
def test_a_core_lets_others_go_while_its_scalar_unit_stands_still(target: str):
    """At a barrier over all pipes what it has issued goes on, and sends the signals that the others wait for."""
    profile = compiled("halves", target).profile({"ROWS": 96, "blocks": 3})
    assert len(profile.timelines) == 3 and all(timeline.slices for timeline in profile.timelines)


def test_reports_speak_of_both_cores():
    kernel = compiled("scaled_rows", "a2a3")
    assert "kernel scaled_rows.cube for a2a3" in kernel.report
    assert "WAR on work: vector load (MTE2), then cube store (FIX), 3 trips later" in kernel.report
    assert "both parts together proven" in kernel.report
    assert "Acc (L0C)" in kernel.memory_map() and "Vec (UB)" in kernel.memory_map()
    assert "Acc (L0C)" in kernel.memory_map(html=True)
    numbers = {"ROWS": 96, "blocks": 3}
    assert kernel.profile(numbers).cycles > 0
    every = kernel.explain(numbers)
    assert [str(one.core) for one in (every[0], every[-1])] == ["cube", "vector"]
    assert [str(one.core) for one in kernel.explain(numbers, fence=every[-1].number)] == ["vector"]
