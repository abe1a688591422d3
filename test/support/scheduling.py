"""Scheduling small kernels in tests, and comparing what they do before and behind it."""

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from pto_buf.errors import Diagnostic, collecting_warnings
from pto_buf.lowering.schedule import SchedulePass
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from pto_buf.verification import verify_module
from support.vec_text import kernel
from support.walk import Done, Walk, walk

STAGE = "{ptobuf.stage = 2 : i64}"
"""On a loop: two of its trips together."""


def scheduled(text: str, interleave: int | None = None) -> tuple[ModuleOp, list[Diagnostic]]:
    module = kernel(text)
    with collecting_warnings() as warnings:
        SchedulePass(interleave=interleave).apply(make_context(), module)
    verify_module(module)
    printed = str(module)
    assert "ptobuf.stage" not in printed
    assert str(parse_text(make_context(), printed, "again.mlir")) == printed
    return module, warnings


def by_line(run: Walk) -> dict[int, list[Done]]:
    found: dict[int, list[Done]] = {}
    for done in run.done:
        found.setdefault(done.line, []).append(done)
    return found


def check_same(before: ModuleOp, after: ModuleOp, numbers: Mapping[str, int]) -> None:
    """Check that each op runs in the same trips on the same slots, and finds and leaves the same."""
    source, result = walk(before, numbers), walk(after, numbers)
    assert by_line(source) == by_line(result), numbers
    assert source.holds == result.holds, numbers


def same(text: str, *numbers: Mapping[str, int]) -> None:
    source, (module, _) = kernel(text), scheduled(text)
    for given in numbers:
        check_same(source, module, given)


def words(text: str, interleave: int | None = None, **numbers: int) -> str:
    """The executed ops by the first letters of their names."""
    module, _ = scheduled(text, interleave)
    run = walk(module, numbers)
    return " ".join(done.op.removeprefix("ptobuf.").removesuffix("_into") for done in run.done)


def stages(text: str, **numbers: int) -> list[str]:
    """The messages of the warnings."""
    return [warning.message for warning in scheduled(text)[1]]


def pipe(lower: str = "%c0", upper: str = "%n", step: str = "%c1", stage: int = 2, slots: int = 2) -> str:
    """A load, a sum and a store for each trip, in slots by the number of the trip."""
    return f"""
set ring {slots} 1x128
set sum {slots} owned 1x128
%count = arith.constant {slots} : index
scf.for %i = {lower} to {upper} step {step} {{
%gone = arith.subi %i, {lower} : index
%trip = arith.divui %gone, {step} : index
%k = arith.remui %trip, %count : index
x = load ring[%k] @%i
y = exp sum[%k] x
store y @%i
release x
}} {{ptobuf.stage = {stage} : i64}}
"""
