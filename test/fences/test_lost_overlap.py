"""Overlap that is given up: it is in the report with its cost, and an error on request."""

from typing import Any

import pytest

from pto_buf.compiler import Compiled, compile_module
from pto_buf.errors import DiagnosticError, Severity
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.report.whole import report
from support.slot_text import SlotText


def through(slots: int) -> SlotText:
    kernel = SlotText(P=slots)
    with kernel.loop("i", 0, "n"):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.store(f"P[i % {slots}]", row="i")
    return kernel


def many_tiles(tiles: int) -> SlotText:
    sets: dict[str, Any] = {f"P{tile}": 1 for tile in range(tiles)}
    kernel = SlotText(**sets)
    for tile in range(tiles):
        kernel.load(f"P{tile}", row=tile)
        kernel.store(f"P{tile}", row=tile)
    return kernel


def unseen(slots: int) -> SlotText:
    """It is done for numbers only that no trial run has."""
    kernel = SlotText("n m", P=slots)
    with kernel.when("m * m == n + 900"), kernel.loop("i", 0, "n"):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.store(f"P[i % {slots}]", row="i")
    return kernel


def _compiled(kernel: SlotText, strict: bool) -> Compiled:
    return compile_module(kernel.module(), PipelineOptions(fail_on_lost_overlap=strict))


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [(through(9), "P: 9 slots share 8 lanes"), (many_tiles(12), "P0 and others: a stream from MTE2 to MTE3")],
)
def test_it_is_a_warning_and_in_the_report_or_an_error(kernel: SlotText, reason: str):
    compiled = _compiled(kernel, strict=False)
    (warning,) = compiled.warnings
    lost = [line for line in report(compiled, checked=True).splitlines() if "overlap is lost" in line]
    assert lost == [f"  {warning.message}"]
    assert warning.message.startswith(f"overlap is lost: {reason}")
    with pytest.raises(DiagnosticError) as caught:
        _compiled(kernel, strict=True)
    (error,) = caught.value.diagnostics
    assert (error.severity, error.message, error.kind) == (Severity.ERROR, warning.message, "lost-overlap")
    assert error.place == warning.place
    assert error.place is not None and "alloc_slots" in kernel.text().splitlines()[error.place.line - 1]


def test_no_count_is_given_where_no_trial_run_comes_by():
    (warning,) = _compiled(unseen(9), strict=False).warnings
    assert warning.message.endswith("; what that costs is not known, since no trial run comes by it")


@pytest.mark.parametrize("kernel", [through(8), many_tiles(8)])
def test_a_kernel_that_gives_up_nothing_is_accepted(kernel: SlotText):
    compiled = _compiled(kernel, strict=True)
    assert "overlap is lost" not in report(compiled, checked=True)


def test_the_report_counts_the_events_that_others_imply():
    """Two loads of one trip and one op that reads both: one event between the pipes is enough."""
    kernel = SlotText(A=1, B=1, Z=1)
    kernel.load("A")
    kernel.load("B")
    kernel.vector("Z", "A", "B")
    kernel.store("Z")
    assert "  events left out because others imply them: 1" in report(_compiled(kernel, True), checked=True)


def test_no_note_of_it_reaches_the_assembler():
    assert "ptobuf" not in _compiled(through(9), strict=False).text
