"""Flags that are told apart by source and id alone: on demand no id of a source goes to two destinations."""

from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp

from check.kernels import Kernel
from check.programs import function_of
from pto_buf.check.checker import check
from pto_buf.check.findings import Fault, Status
from pto_buf.check.words import diagnostic_of
from pto_buf.compiler import Compiled, compile_module
from pto_buf.hw import Pipe
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.tools.cli import main
from pto_buf.walking import functions
from support.flags import used_ids
from support.slot_text import SlotText


def two_ways(slots: int) -> SlotText:
    """MTE2 fills a set for V and one for MTE3."""
    kernel = SlotText(P=slots, Q=slots, R=slots)
    with kernel.loop("i", 0, "n"):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.load(f"Q[i % {slots}]", row="i")
        kernel.vector(f"R[i % {slots}]", f"P[i % {slots}]")
        kernel.store(f"R[i % {slots}]", row="i")
        kernel.store(f"Q[i % {slots}]", "z", row="i")
    return kernel


def streams(tiles: int) -> SlotText:
    """Straight-line code with more tiles than there are ids."""
    sets: dict[str, Any] = {f"{name}{tile}": 1 for tile in range(tiles) for name in "PQR"}
    kernel = SlotText(**sets)
    for tile in range(tiles):
        kernel.load(f"P{tile}", row=tile)
        kernel.load(f"Q{tile}", row=tile)
        kernel.vector(f"R{tile}", f"P{tile}")
        kernel.store(f"R{tile}", row=tile)
        kernel.store(f"Q{tile}", "z", row=tile)
    return kernel


def _function(compiled: Compiled) -> FuncOp:
    (function,) = functions(compiled.module)
    return function


def _compiled(kernel: SlotText, by_source: bool) -> Compiled:
    return compile_module(kernel.module(), PipelineOptions(flags_by_source=by_source))


def _shares(compiled: Compiled) -> bool:
    """Whether an id of a source serves two destinations in a run."""
    destinations: dict[tuple[Pipe, int], set[Pipe]] = {}
    for (src, dst), ids in used_ids(_function(compiled)).items():
        for number in ids:
            destinations.setdefault((src, number), set()).add(dst)
    return any(len(pipes) > 1 for pipes in destinations.values())


@pytest.mark.parametrize("kernel", [two_ways(5), streams(9)])
def test_no_id_of_a_source_goes_to_two_destinations_if_asked_for(kernel: SlotText):
    by_pair, by_source = _compiled(kernel, by_source=False), _compiled(kernel, by_source=True)
    assert _shares(by_pair)
    assert not _shares(by_source)
    assert check(_function(by_source), flags_by_source=True).status is Status.PROVEN
    verdict = check(_function(by_pair), flags_by_source=True)
    assert verdict.status is Status.WRONG
    assert {finding.fault for finding in verdict.findings} == {Fault.SHARED_ID}
    assert check(_function(by_pair)).status is Status.PROVEN


def test_what_it_costs_is_said():
    assert _compiled(two_ways(5), by_source=False).warnings == ()
    (warning, *_) = _compiled(two_ways(5), by_source=True).warnings
    assert warning.message.startswith("overlap is lost: ")


def test_a_shared_id_is_named_with_both_places():
    (first, *_) = check(_function(_compiled(two_ways(5), by_source=False)), flags_by_source=True).findings
    words = diagnostic_of(first)
    assert words.message == (
        "flag [<PIPE_MTE3>, <PIPE_V>, 0] has the id of [<PIPE_MTE3>, <PIPE_MTE2>, 0]; where flags are told apart by "
        "source and id alone, the two are one"
    )
    assert words.place is not None and words.notes[0].place is not None


def test_of_a_run_that_is_asked_for_only_its_ids_count():
    """The id is an argument, which may be that of the other flag."""
    kernel = Kernel("n")
    for event, lane in (("V>MTE2", "n"), ("V>MTE3", 7)):
        kernel.fence(event, lane)
    kernel.barrier()
    function = function_of(kernel.text())
    assert check(function, trips={"n": 1}, flags_by_source=True).status is Status.PROVEN
    assert check(function, trips={"n": 7}, flags_by_source=True).status is Status.WRONG


@pytest.mark.parametrize("event, status", [("V>MTE3", Status.INCOMPLETE), ("V>MTE2", Status.PROVEN)])
def test_an_id_that_is_not_worked_out_may_be_shared(event: str, status: Status):
    kernel = Kernel("n")
    with kernel.when("n < 3"):
        kernel.fence("V>MTE2", "n")
    kernel.fence(event, 7)
    kernel.barrier()
    function = function_of(kernel.text())
    assert check(function).status is Status.PROVEN
    verdict = check(function, flags_by_source=True)
    assert (verdict.status, verdict.findings) == (status, ())
    words = "the event id of flag <PIPE_V>, <PIPE_MTE2> at line " if status is Status.INCOMPLETE else ""
    assert verdict.reason.startswith(words)


def test_the_command_lines_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, out = tmp_path / "kernel.mlir", tmp_path / "kernel.pto"
    source.write_text(two_ways(5).text())
    assert main(["compile", str(source), "-o", str(out), "-q"]) == 0
    assert main(["check", str(out)]) == 0
    assert main(["check", str(out), "--flags-by-source"]) == 1
    assert "the two are one" in capsys.readouterr().err
    assert main(["compile", str(source), "-o", str(out), "-q", "--flags-by-source"]) == 0
    assert main(["check", str(out), "--flags-by-source"]) == 0
