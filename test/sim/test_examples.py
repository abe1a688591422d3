"""The examples, compiled: right values in every order, and a simulator that misses no fence that they need."""

from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from pto_buf.frontend import read
from pto_buf.hw import TARGETS
from pto_buf.passes import available_passes, parse_passes, run_passes
from pto_buf.run import load_cases, run_case, run_script
from pto_buf.sim.orders import ADVERSARIES, Order, Policy
from pto_buf.universe import make_context

EXAMPLES = Path(__file__).parents[2] / "examples"
SLOTS, PIPELINE = EXAMPLES / "two_level_slots.py", EXAMPLES / "two_level_pipeline.py"
PASSES = (
    "ptobuf-verify-slots,ptobuf-schedule,ptobuf-plan-memory,ptobuf-insert-fences,ptobuf-reduce-fences,"
    "ptobuf-allocate-events,ptobuf-convert-to-pto,ptobuf-make-portable"
)
EVERY_ORDER = (Order(Policy.EARLY), *ADVERSARIES, *(Order(Policy.RANDOM, seed=seed) for seed in range(3)))


@cache
def compiled(file: str, entry: str | None, target: str) -> ModuleOp:
    module = read(file, entry, TARGETS[target])
    run_passes(make_context(), module, parse_passes(PASSES, available_passes()))
    return module


def compiler(file: str, entry: str | None, target: str, work_dir: Path | None) -> ModuleOp:
    return compiled(file, entry, target)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_the_slot_form_is_right_in_every_order(target: str) -> None:
    (case,) = load_cases(SLOTS)
    module = compiled(str(SLOTS), case.kernel, target)
    for order in EVERY_ORDER:
        result = run_case(case, module, order)
        assert result.passed, (str(order), *result.reasons)
        assert result.run.displaced == ()


@pytest.mark.parametrize("order", ["late", "late:MTE2", "early"])
def test_the_script_form_runs_by_its_own_main(order: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script(PIPELINE, ["-p", "a2a3", "-d", "3"], compiler, order=order, root=tmp_path) == 0
    assert f"passed=True work_dir={tmp_path}" in capsys.readouterr().out
