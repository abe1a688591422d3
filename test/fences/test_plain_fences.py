"""Plain fences, which are easy to prove, where no proof is found for others."""

import pytest
from pytest import MonkeyPatch
from xdsl.dialects.func import FuncOp

from fences.test_lost_overlap import through
from pto_buf.check.checker import check
from pto_buf.check.findings import Status, Verdict
from pto_buf.compiler import compile_module
from pto_buf.errors import DiagnosticError
from pto_buf.lowering import check_sync
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.walking import ops_in
from support.trials import wrong_runs


def _without_lanes(monkeypatch: MonkeyPatch) -> None:
    """The proof gives up wherever an event has a lane for each slot."""

    def gives_up(function: FuncOp, **options: object) -> Verdict:
        if any(op.name.endswith("_dyn") for op in ops_in(function)):
            return Verdict(Status.INCOMPLETE, "kernel", reason="too many states")
        return check(function)

    monkeypatch.setattr(check_sync, "check", gives_up)


def test_fences_that_cannot_be_proven_give_way_to_plain_ones(monkeypatch: MonkeyPatch):
    _without_lanes(monkeypatch)
    compiled = compile_module(through(3).module(), PipelineOptions(lanes="dynamic"))
    (warning,) = compiled.warnings
    assert warning.kind == "lost-overlap"
    assert warning.message.startswith(
        "overlap is lost: P: no proof was found for fences that have a lane for each slot"
    )
    assert not compiled.unproven
    assert all(wrong_runs(compiled.module, {"n": n}) == [] for n in (0, 1, 2, 3))


def test_plain_fences_are_not_used_where_no_overlap_may_be_lost(monkeypatch: MonkeyPatch):
    _without_lanes(monkeypatch)
    with pytest.raises(DiagnosticError) as caught:
        compile_module(through(3).module(), PipelineOptions(lanes="dynamic", fail_on_lost_overlap=True))
    assert [error.kind for error in caught.value.diagnostics] == ["unproven"]
