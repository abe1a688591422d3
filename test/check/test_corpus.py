"""Each reported failure, right and wrong, gets its verdict, for every trip count and for small ones."""

import pytest

from check.corpus import CASES
from check.programs import program_of
from pto_buf.check.findings import Status
from pto_buf.check.model import model_of
from pto_buf.check.proof.prove import prove
from pto_buf.check.runs.concrete import search
from pto_buf.hw import A2A3

pytestmark = pytest.mark.campaign

MODEL = model_of(A2A3)


@pytest.mark.parametrize("name", CASES)
def test_small_runs(name: str):
    found = search(program_of(CASES[name].text), MODEL, {})
    assert {finding.fault.value for finding in found} == CASES[name].faults


@pytest.mark.parametrize("name", CASES)
def test_every_run(name: str):
    verdict = prove(program_of(CASES[name].text), MODEL)
    assert verdict.status is (Status.WRONG if CASES[name].faults else Status.PROVEN)
    assert {finding.fault.value for finding in verdict.findings} == CASES[name].faults


def test_prefetch_shows_stale_data_when_even_and_a_hang_when_odd():
    verdict = prove(program_of(CASES["B01-wrong"].text), MODEL)
    runs = {finding.fault.value: dict(finding.run)["n"] for finding in reversed(verdict.findings)}
    assert runs["race"] % 2 == 0
    assert runs["deadlock"] % 2 == 1
