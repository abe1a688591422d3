"""Kernels with a cube section and a vector section: what one core does is ordered by the other's signals."""

import pytest

from check.mixed import handed_over
from check.programs import program_of
from pto_buf.check.findings import Status
from pto_buf.check.model import model_of
from pto_buf.check.proof.prove import prove
from pto_buf.hw import A2A3

pytestmark = pytest.mark.campaign

MODEL = model_of(A2A3)


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_right_for_every_trip_count(slots: int):
    verdict = prove(program_of(handed_over(slots=slots)), MODEL)
    assert (verdict.status, verdict.reason) == (Status.PROVEN, "")


WRONG = {
    "no-ready": ({"ready": False}, {"race", "overflow"}),
    "no-credit": ({"credit": False}, {"race", "overflow"}),
    "too-much-credit": ({"ahead": 1}, {"race", "leftover"}),
    "cube-goes-on-longer": ({"bound": "n + 1"}, {"deadlock"}),
    "hears-behind-the-last-barrier": ({"hear_behind_barrier": True}, {"no-final-barrier"}),
    "waits-behind-the-load": ({"hear_before_load": False}, {"race"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_pair_between_cores(name: str):
    choices, faults = WRONG[name]
    verdict = prove(program_of(handed_over(**choices)), MODEL)
    assert verdict.status is Status.WRONG
    assert {finding.fault.value for finding in verdict.findings} == faults
    assert all(finding.run for finding in verdict.findings)


def test_sixteen_signals_may_wait_when_none_comes_back():
    verdict = prove(program_of(handed_over(credit=False)), MODEL)
    overflow = next(finding for finding in verdict.findings if finding.fault.value == "overflow")
    assert dict(overflow.run)["n"] == 16
    assert overflow.signal == 3
