"""Stands in for pypto-lib's `golden`: the same names, run on the simulator."""

from typing import Any

from pto_buf.sim.standins.golden.compare import (
    ratio_allclose,
    ratio_reldiff,
    topk_pair_compare,
    validate_golden,
)
from pto_buf.sim.standins.golden.runner import RunResult, run, run_jit
from pto_buf.sim.standins.golden.spec import ScalarSpec, TensorSpec
from pto_buf.sim.standins.missing import Missing

__all__ = [
    "RunResult",
    "ScalarSpec",
    "TensorSpec",
    "ratio_allclose",
    "ratio_reldiff",
    "run",
    "run_jit",
    "topk_pair_compare",
    "validate_golden",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise Missing("golden", f"golden.{name}")
