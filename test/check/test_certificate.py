"""A certificate is accepted for the kernel it was made for, and for no other; nothing can be left out of it."""

import copy
import json

import pytest

from check.corpus import CASES
from check.mixed import handed_over
from check.programs import program_of
from pto_buf.check.certify import certificate, check_certificate
from pto_buf.check.model import model_of
from pto_buf.hw import A2A3

MODEL = model_of(A2A3)
KERNELS = {**{name: CASES[name].text for name in ("B01-right-3", "B23-right-3", "B52-right")}, "mixed": handed_over()}


@pytest.mark.parametrize("name", KERNELS)
def test_accepted_after_a_round_trip_through_text(name: str):
    program = program_of(KERNELS[name])
    made = certificate(program, MODEL)
    assert made is not None
    assert check_certificate(program, MODEL, json.loads(json.dumps(made))) == ""


def test_a_wrong_kernel_has_none():
    assert certificate(program_of(CASES["B01-wrong"].text), MODEL) is None


def test_refused_for_a_kernel_without_one_fence():
    made = certificate(program_of(CASES["B52-right"].text), MODEL)
    assert made is not None
    assert check_certificate(program_of(CASES["B52-wrong"].text), MODEL, made)


def test_no_state_and_no_goal_can_be_left_out():
    program = program_of(CASES["B01-right-3"].text)
    made = json.loads(json.dumps(certificate(program, MODEL)))
    for number, group in enumerate(made["parts"][0]["groups"]):
        for state in range(len(group["states"])):
            less = copy.deepcopy(made)
            del less["parts"][0]["groups"][number]["states"][state]
            assert check_certificate(program, MODEL, less)
        less = copy.deepcopy(made)
        del less["parts"][0]["groups"][number]
        assert "goals" in check_certificate(program, MODEL, less)
