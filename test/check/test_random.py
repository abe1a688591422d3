"""Random kernels: what is proven holds in every small run, what is wrong is shown by one, and little is left open."""

import random

import pytest

from check.mixed_kernels import mixed_kernel
from check.programs import function_of
from check.random_kernels import changed_kernel, right_kernel
from check.rich_kernels import altered, rich_kernel
from pto_buf.check.findings import Status
from pto_buf.check.model import model_of
from pto_buf.check.proof.prove import prove
from pto_buf.check.reading.build import build
from pto_buf.check.runs.concrete import check_run, search
from pto_buf.dialect.tile_op import target_of

pytestmark = pytest.mark.campaign

RIGHT = {"rings": right_kernel, "rich": rich_kernel, "mixed": mixed_kernel}
SEEDS = {
    "rings": range(8),
    "changed-rings": range(12),
    "rich": range(10),
    "altered-rich": range(20),
    "mixed": (0, 1, 3, 8, 9),
}
"""Thousands more have been tried. Three of the mixed ones have a loop in a loop, or a condition, on both cores."""


def kernel(kind: str, seed: int) -> str:
    rng = random.Random(f"{kind} {seed}")
    if kind == "changed-rings":
        return changed_kernel(rng)
    right = RIGHT[kind.removeprefix("altered-")](rng)
    return altered(rng, right) if kind.startswith("altered") else right


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds])
def test_abstract_and_concrete_agree(kind: str, seed: int):
    function = function_of(kernel(kind, seed))
    program, model = build(function), model_of(target_of(function))
    verdict = prove(program, model)
    found = search(program, model, {})
    assert verdict.status is (Status.WRONG if found or verdict.findings else Status.PROVEN)
    for finding in verdict.findings:
        assert finding.choice is not None
        assert finding.key in {one.key for one in check_run(program, model, finding.choice).findings}
