"""Twice the ops are twice the work, in every step from text to text: calls are counted, not seconds."""

import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp

from pto_buf.check.checker import check
from pto_buf.lowering.pipeline import PipelineOptions, pipeline
from pto_buf.passes import available_passes, parse_passes
from pto_buf.printing import text_of
from pto_buf.sim.launch import launch_with
from pto_buf.sim.profile import profile
from pto_buf.source import parse_text
from pto_buf.tools.bench_programs import straight_text
from pto_buf.universe import make_context
from pto_buf.verification import verify_module

pytestmark = pytest.mark.campaign

OPS = 300
PASSES = parse_passes(pipeline(PipelineOptions(check=False)), available_passes())


def calls(work: Callable[[], Any]) -> tuple[int, Any]:
    """How many functions, of Python's and of C's, `work` calls."""
    count = 0

    def called(frame: FrameType, event: str, what: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        result = work()
    finally:
        sys.setprofile(before)
    return count, result


@cache
def steps(ops: int) -> dict[str, int]:
    """The calls of each step for a straight-line kernel of so many ops."""
    ctx, found = make_context(), dict[str, int]()
    found["parse"], module = calls(lambda: parse_text(ctx, straight_text(ops), "k.mlir"))
    for number, one in enumerate(PASSES):
        found[f"{number} {one.name}"], _ = calls(lambda one=one: one.apply(ctx, module))
    found["verify"], _ = calls(lambda: verify_module(module))
    found["print"], _ = calls(lambda: text_of(module))
    kernel = next(op for op in module.walk() if isinstance(op, FuncOp))
    found["check"], _ = calls(lambda: check(kernel))
    found["simulate"], _ = calls(lambda: profile(launch_with(module, {}, {})))
    return found


STEPS = (
    "parse",
    *(f"{number} {one.name}" for number, one in enumerate(PASSES)),
    "verify",
    "print",
    "check",
    "simulate",
)


@pytest.mark.parametrize("step", STEPS)
def test_work_grows_with_the_program(step: str):
    steps(12)  # what is done once is done now
    once, twice = steps(OPS)[step], steps(2 * OPS)[step]
    assert twice < 2.2 * once, (once, twice)
