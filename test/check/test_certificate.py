"""A certificate is accepted for the kernel it was made for, and for no other; none of its claims can be changed."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from check.corpus import CASES
from check.mixed import handed_over
from check.mixed_kernels import mixed_kernel
from check.programs import function_of, program_of
from check.rich_kernels import rich_kernel
from check.test_cases import in_place
from pto_buf.check.certificate.certify import certificate, check_certificate
from pto_buf.check.model import model_of
from pto_buf.check.reading.build import build
from pto_buf.dialect.tile_op import target_of
from pto_buf.hw import A2A3

pytestmark = pytest.mark.campaign

MODEL = model_of(A2A3)
KERNELS = {
    **{name: case.text for name, case in CASES.items() if not case.faults},
    "mixed": handed_over(),
    "in-place": in_place(16),
}


def again(made: Any) -> Any:
    return json.loads(json.dumps(made))


@pytest.mark.parametrize("name", KERNELS)
def test_accepted_after_a_round_trip_through_text(name: str):
    program = program_of(KERNELS[name])
    made = certificate(program, MODEL)
    assert made is not None
    assert check_certificate(program, MODEL, again(made)) == ""


@pytest.mark.parametrize("seed", range(14))
def test_accepted_for_random_kernels(seed: int):
    """With ids in arrays, locks, event classes, while loops; two of them mixed."""
    rng = random.Random(f"certificate {seed}")
    function = function_of(mixed_kernel(rng) if seed in (1, 6) else rich_kernel(rng))
    program, model = build(function), model_of(target_of(function))
    made = certificate(program, model)
    assert made is None or check_certificate(program, model, again(made)) == ""


def test_a_wrong_kernel_has_none():
    assert certificate(program_of(CASES["B01-wrong"].text), MODEL) is None


FLAGS = [number for number, line in enumerate(CASES["B52-right"].text.splitlines()) if "_flag" in line]


@pytest.mark.parametrize("number", FLAGS)
def test_refused_for_a_kernel_without_one_fence(number: int):
    lines = CASES["B52-right"].text.splitlines()
    made = certificate(program_of("\n".join(lines)), MODEL)
    assert made is not None
    del lines[number]
    assert check_certificate(program_of("\n".join(lines)), MODEL, again(made))


def test_no_state_and_no_goal_can_be_left_out():
    program = program_of(CASES["B01-right-3"].text)
    made = again(certificate(program, MODEL))
    for number, group in enumerate(made["parts"][0]["groups"]):
        for state in range(len(group["states"])):
            less = copy.deepcopy(made)
            del less["parts"][0]["groups"][number]["states"][state]
            assert check_certificate(program, MODEL, less)
        less = copy.deepcopy(made)
        del less["parts"][0]["groups"][number]
        assert "goals" in check_certificate(program, MODEL, less)


# --- changed claims ----------------------------------------------------------------------------------------------


def more_known(state: Any) -> bool:
    """Some pipe is said to know of an access that it does not know of."""
    present = int(state["present"], 16)
    for pipe, mask in enumerate(state["known"]):
        unknown = present & ~int(mask, 16)
        if unknown:
            state["known"][pipe] = hex(int(mask, 16) | (unknown & -unknown))
            return True
    return False


def nothing_touched(state: Any) -> bool:
    """Accesses are said not to matter any more."""
    changed = state["present"] != "0x0"
    state["present"] = "0x0"
    return changed


def flag_gone(state: Any) -> bool:
    return bool(state["pending"]) and bool(state["pending"].pop())


def token_richer(state: Any) -> bool:
    present = int(state["present"], 16)
    for token in state["tokens"]:
        if present & ~int(token[-1], 16):
            token[-1] = hex(int(token[-1], 16) | present)
            return True
    return False


def narrower(state: Any) -> bool:
    """The range of a counter; that of its bound, which comes first, may really be as narrow, given the others."""
    for entry in reversed(state["ranges"]):
        if entry[1][0] is not None and entry[1][0] != entry[1][1]:
            entry[1][0] += 1
            return True
    return False


def other_residue(state: Any) -> bool:
    for entry in state["residues"]:
        entry[1] = (entry[1] + 1) % entry[2]
        return True
    return False


def elsewhere(state: Any) -> bool:
    state["ats"][0] += 1
    return True


CHANGES: list[Callable[[Any], bool]] = [
    more_known,
    nothing_touched,
    flag_gone,
    token_richer,
    narrower,
    other_residue,
    elsewhere,
]


def changed(made: Any, change: Callable[[Any], bool], most: int) -> Iterator[Any]:
    """The certificate with one of its states changed, for some of the states."""
    places = [
        (group, state)
        for group, one in enumerate(made["parts"][0]["groups"])
        for state in range(len(one["states"]))
        if change(copy.deepcopy(one["states"][state]))
    ]
    for group, state in places[:: max(1, len(places) // most)]:
        other = copy.deepcopy(made)
        change(other["parts"][0]["groups"][group]["states"][state])
        yield other


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_no_claim_can_be_changed(change: Callable[[Any], bool]):
    program = program_of(CASES["B01-right-3"].text)
    made = again(certificate(program, MODEL))
    found = list(changed(made, change, 8))
    assert found
    for other in found:
        assert check_certificate(program, MODEL, other)


def test_a_state_cannot_lead_elsewhere():
    program = program_of(CASES["B01-right-3"].text)
    made = again(certificate(program, MODEL))
    for group in made["parts"][0]["groups"]:
        for links in group["links"]:
            if links:
                links[0] += 1
                assert check_certificate(program, MODEL, made)
                links[0] -= 1
                break
