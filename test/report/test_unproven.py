"""What could not be proven is never called proven."""

from pytest import MonkeyPatch

from pto_buf.check.findings import Status, Verdict
from pto_buf.compiler import compile_module
from pto_buf.lowering import check_sync
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.report.whole import report
from support.slot_text import SlotText


def test_a_kernel_that_is_accepted_unproven_is_not_called_proven(monkeypatch: MonkeyPatch):
    def gives_up(function: object, **options: object) -> Verdict:
        return Verdict(Status.INCOMPLETE, "kernel", reason="too many states")

    monkeypatch.setattr(check_sync, "check", gives_up)
    kernel = SlotText(P=1)
    kernel.load("P")
    kernel.store("P")
    compiled = compile_module(kernel.module(), PipelineOptions(allow_unproven=True))
    assert compiled.unproven
    assert [warning.kind for warning in compiled.warnings] == ["unproven"]
    assert "  not proven\n" in report(compiled, checked=not compiled.unproven)
