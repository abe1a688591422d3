"""Which event ids a `pto` function uses."""

from xdsl.dialects.func import FuncOp

from pto_buf.check.reading.build import build
from pto_buf.check.runs.concrete import Choice, open_arguments, steps_of
from pto_buf.check.runs.steps import Set
from pto_buf.hw import Pipe


def used_ids(function: FuncOp, number: int = 20) -> dict[tuple[Pipe, Pipe], set[int]]:
    """The ids of each ordered pair of pipes that a run sets, every integer argument being `number`."""
    program = build(function)
    run = Choice({var.key: number for var in open_arguments(program)}, lambda var, occurrence: 1 - occurrence % 2)
    found: dict[tuple[Pipe, Pipe], set[int]] = {}
    for step in steps_of(program, run):
        if isinstance(step, Set):
            found.setdefault((step.src, step.dst), set()).add(step.lane)
    return found
