"""Each fence that the checker calls needed is needed on the simulator: without it a value changes, or a fault shows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pto_buf.check.build import build
from pto_buf.check.concrete import Choice, needed_pairs, steps_of
from pto_buf.check.model import model_of
from pto_buf.compiler import compile_file
from pto_buf.dialect.tile_op import target_of
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.machine.exec import kernel_named
from pto_buf.sim.launch import launch_with, narrowed
from pto_buf.sim.mutate import remove_each_pair

EXAMPLES = Path(__file__).parents[2] / "examples"


def slots(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "x": rng.standard_normal((16, 128)).astype(np.float32),
        "weights": rng.standard_normal((512, 512)).astype(np.float32),
        "y": np.zeros((64, 512), np.float32),
    }


CASES: dict[str, tuple[str, Callable[[np.random.Generator], dict[str, np.ndarray]], int | None]] = {
    "slots": ("two_level_slots", slots, None),
    "slots_interleaved": ("two_level_slots", slots, 2),
    "pipeline": ("two_level_pipeline", slots, None),
}


@pytest.mark.parametrize("case", CASES)
def test_removing_a_needed_pair_shows(case: str):
    name, inputs, interleave = CASES[case]
    module = compile_file(EXAMPLES / f"{name}.py", options=PipelineOptions(interleave)).module
    function = kernel_named(module, None)
    steps = steps_of(build(function), Choice({}))
    needed = needed_pairs(steps, model_of(target_of(function)))
    launch = launch_with(module, narrowed(module, inputs(np.random.default_rng(0))), {})
    verdicts = remove_each_pair(launch)
    assert len(verdicts) == len(needed) <= 79
    shown = [verdict.how not in (None, "displaced") for verdict in verdicts]
    wanted = [seen for seen, need in zip(shown, needed, strict=True) if need]
    assert sum(needed) > 60
    assert sum(wanted) >= 0.9 * len(wanted)
