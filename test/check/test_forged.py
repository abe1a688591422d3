"""Certificates that nobody wrote down as a proof are refused, whatever is in them."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from check.programs import program_of
from pto_buf.check.certificate.certify import certificate, check_certificate
from pto_buf.check.model import model_of
from pto_buf.hw import A2A3

MODEL = model_of(A2A3)
TEXT = """module attributes {pto.target_arch = "a3"} {
  func.func @kernel(%g: !pto.ptr<f32>, %n: index, %m: index) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = arith.constant 4096 : index
    %cols = arith.constant 64 : index
    %at = arith.constant 0 : i64
    %v = pto.make_tensor_view %g, shape = [%rows, %cols], strides = [%cols, %c1] : !pto.tensor_view<?x?xf32>
    %t = pto.alloc_tile addr = %at : !pto.tile_buf<vec, 16x64xf32>
    %from = pto.partition_view %v, offsets = [%n, %c0], sizes = [%c1, %cols] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>
    %to = pto.partition_view %v, offsets = [%m, %c0], sizes = [%c1, %cols] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>
    pto.tload ins(%from : !pto.partition_tensor_view<16x64xf32>) outs(%t : !pto.tile_buf<vec, 16x64xf32>)
    pto.barrier #pto.pipe<PIPE_ALL>
    pto.tstore ins(%t : !pto.tile_buf<vec, 16x64xf32>) outs(%to : !pto.partition_tensor_view<16x64xf32>)
    pto.barrier #pto.pipe<PIPE_ALL>
    return
  }
}
"""  # noqa: E501
PROGRAM = program_of(TEXT)
MADE = json.loads(json.dumps(certificate(PROGRAM, MODEL)))


def groups(made: Any) -> Any:
    return made["parts"][0]["groups"]


def windows(made: Any) -> list[Any]:
    return [group for group in groups(made) if "window" in group["goals"][0]]


def test_as_it_is_it_is_accepted():
    assert windows(MADE)
    assert check_certificate(PROGRAM, MODEL, MADE) == ""


@pytest.mark.parametrize("known", ["0x0", "0x1"])
def test_no_access_is_in_mind_before_it_is_made(known: str):
    for number in range(len(windows(MADE))):
        made = copy.deepcopy(MADE)
        group = windows(made)[number]
        first = group["states"][0]
        first["present"], first["known"] = "0x1", [known] * len(first["known"])
        group["states"], group["links"] = [first], [[]]
        assert "leads out" in check_certificate(PROGRAM, MODEL, made)


@pytest.mark.parametrize("window_first", [True, False])
def test_goals_that_are_not_followed_together_are_not_struck_out_together(window_first: bool):
    made = copy.deepcopy(MADE)
    found = sorted(groups(made), key=lambda group: ("window" in group["goals"][0]) is not window_first)
    found[0]["goals"] += [goal for group in found[1:] for goal in group["goals"]]
    made["parts"][0]["groups"] = found[:1]
    assert "not followed together" in check_certificate(PROGRAM, MODEL, made)


def _state(made: Any) -> Any:
    return groups(made)[-1]["states"][0]


def _group(made: Any) -> Any:
    return groups(made)[-1]


SPOILT: dict[str, Callable[[Any], object]] = {
    "no parts": lambda made: made.pop("parts"),
    "parts that are none": lambda made: made.update(parts=[None]),
    "empty parts": lambda made: made.update(parts=[]),
    "no groups": lambda made: made["parts"][0].pop("groups"),
    "a group that is none": lambda made: groups(made).append(None),
    "no goals": lambda made: _group(made).update(goals=[]),
    "another goal": lambda made: _group(made).update(goals=[{"atom": -1}]),
    "no such stage": lambda made: _group(made).update(stage=99),
    "modulo 0": lambda made: _group(made).update(moduli=[[1, 0]]),
    "modulo -2": lambda made: _group(made).update(moduli=[[1, -2]]),
    "modulo a huge number": lambda made: _group(made).update(moduli=[[1, 1 << 4000]]),
    "states without facts": lambda made: _state(made).pop("ranges"),
    "residues modulo 0": lambda made: _state(made).update(residues=[[1, 0, 0]]),
    "a range that is no number": lambda made: _state(made).update(ranges=[[[[[1], 1]], [float("nan"), None]]]),
    "a form with factor 0": lambda made: _state(made).update(ranges=[[[[[1], 0]], [0, None]]]),
    "a mask with a sign": lambda made: _state(made).update(present="-0x1"),
    "masks of few pipes": lambda made: _state(made).update(known=[]),
    "a turn of no core": lambda made: _state(made).update(turn=7),
    "links to nowhere": lambda made: _group(made).update(links=None),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_malformed_is_refused(name: str):
    made = copy.deepcopy(MADE)
    SPOILT[name](made)
    assert check_certificate(PROGRAM, MODEL, made)


@pytest.mark.parametrize("made", [None, 3, "x", [], {}])
def test_what_is_no_certificate_is_refused(made: Any):
    assert check_certificate(PROGRAM, MODEL, made) == "it is malformed"
