"""Random legal kernels: proven for every run, right values however late the pipes run, and never refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.compiler import compile_module
from pto_buf.errors import DiagnosticError
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.lowering.verify_slots import VerifySlotsPass
from pto_buf.sim.orders import ADVERSARIES
from pto_buf.universe import make_context
from support.random_kernels import RandomKernel
from support.random_nests import RandomNest
from support.slot_builder import lowered
from support.trials import kernel_of, wrong_runs

pytestmark = pytest.mark.campaign

FOUND = (0, 3, 21, 45, 49, 136)
"""Seeds of kernels that once came out wrong, or that could not be proven."""


def _is_legal(kernel: RandomKernel) -> bool:
    try:
        VerifySlotsPass().apply(make_context(), kernel.module())
    except DiagnosticError:
        return False
    return True


def _fenced_right(seed: int) -> None:
    kernel = RandomKernel(seed)
    try:
        module, _ = lowered(kernel)
    except DiagnosticError:
        assert not _is_legal(kernel), "a legal kernel was refused"
        return
    verdict = check(kernel_of(module))
    assert (verdict.status, verdict.reason, verdict.findings) == (Status.PROVEN, "", ())
    for n, m in ((0, 1), (1, 2), (3, 1), (7, 3)):
        assert wrong_runs(module, {"n": n, "m": m}, ADVERSARIES[seed % 3 :: 3]) == []


@pytest.mark.parametrize("seed", FOUND)
def test_kernels_that_once_failed(seed: int):
    _fenced_right(seed)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 130))
def test_random_kernels(seed: int):
    _fenced_right(seed)


def test_most_kernels_are_legal():
    assert sum(_is_legal(RandomKernel(seed)) for seed in range(20)) > 15


@pytest.mark.parametrize("seed", range(10))
def test_random_nests(seed: int):
    """The whole pipeline: scalar clean-up, unrolling where it pays, and the proof at its end."""
    nest = RandomNest(seed, ("a3", "a5")[seed % 2])
    compiled = compile_module(nest.module(), PipelineOptions())
    for n, m, q in ((0, 1, 2), (1, 0, 1), (nest.slots + 1, 2, 0)):
        assert wrong_runs(compiled.module, {"n": n, "m": m, "q": q}, ADVERSARIES[seed % 3 :: 3]) == []
