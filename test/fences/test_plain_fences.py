"""Other lanes, plain fences, trips one after another: what is easier to prove, where no proof is found."""

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
from pto_buf.source import place_of
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


def test_fences_that_turn_out_wrong_give_way_to_plain_ones(monkeypatch: MonkeyPatch):
    checked: list[bool] = []

    def finds_a_hazard(function: FuncOp, **options: object) -> Verdict:
        checked.append(any(op.name.endswith("_dyn") for op in ops_in(function)))
        if checked[-1]:
            place = place_of(next(op for op in ops_in(function) if op.name == "pto.tload"))
            raise DiagnosticError.at(place, "potential WAR hazard", kind="same-pipe-hazard")
        return check(function)

    monkeypatch.setattr(check_sync, "check", finds_a_hazard)
    compiled = compile_module(through(3).module(), PipelineOptions())
    assert [warning.kind for warning in compiled.warnings] == ["lost-overlap"]
    assert checked == [True, False]  # the same fences with other lanes would be as wrong
    with pytest.raises(DiagnosticError) as caught:
        compile_module(through(3).module(), PipelineOptions(fail_on_lost_overlap=True))
    assert [error.kind for error in caught.value.diagnostics] == ["same-pipe-hazard"]


def test_no_kernel_is_checked_twice_with_the_same_effort(monkeypatch: MonkeyPatch):
    checked: list[tuple[str, object]] = []

    def gives_up(function: FuncOp, most_states: int | None = None, **options: object) -> Verdict:
        checked.append((str(function), most_states))
        return Verdict(Status.INCOMPLETE, "kernel", reason=f"too many states for {most_states}")

    monkeypatch.setattr(check_sync, "check", gives_up)
    with pytest.raises(DiagnosticError) as caught:
        compile_module(through(3).module(), PipelineOptions())
    assert "too many states for None" in str(caught.value)
    texts = [text for text, _ in checked]
    assert len(set(checked)) == len(checked) and texts.count(texts[0]) == 1
    assert {most for _, most in checked[1:]} == {6_000, 20_000}


def test_trips_that_cannot_be_proven_side_by_side_stay_one_after_another(monkeypatch: MonkeyPatch):
    def gives_up(function: FuncOp, **options: object) -> Verdict:
        if sum(op.name == "pto.tload" for op in ops_in(function)) > 1:
            return Verdict(Status.INCOMPLETE, "kernel", reason="too many states")
        return check(function)

    monkeypatch.setattr(check_sync, "check", gives_up)
    compiled = compile_module(through(3).module(), PipelineOptions(lanes="dynamic", interleave=2))
    (warning,) = compiled.warnings
    assert warning.kind == "lost-overlap"
    assert warning.message.startswith("overlap is lost: trips stay one after another; side by side, the fences of")
    assert compiled.text == compile_module(through(3).module(), PipelineOptions(lanes="dynamic")).text
    with pytest.raises(DiagnosticError):
        compile_module(through(3).module(), PipelineOptions(interleave=2, fail_on_lost_overlap=True))
