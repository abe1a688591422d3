"""Random kernels: what is proven holds in every small run, what is wrong is shown by one, and little is left open."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from check.programs import program_of
from check.random_kernels import changed_kernel, right_kernel
from pto_buf.check.concrete import search
from pto_buf.check.findings import Status
from pto_buf.check.model import model_of
from pto_buf.check.prove import prove
from pto_buf.hw import A2A3

MODEL = model_of(A2A3)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans())
def test_abstract_and_concrete_agree(seed: int, changed: bool):
    rng = random.Random(seed)
    program = program_of(changed_kernel(rng) if changed else right_kernel(rng))
    verdict = prove(program, MODEL)
    found = search(program, MODEL, {})
    assert verdict.status is (Status.WRONG if found else Status.PROVEN)
