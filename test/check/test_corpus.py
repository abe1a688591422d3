"""Each reported failure, right and wrong, gets its verdict for the trip counts that showed it."""

import pytest
from xdsl.dialects import func

from check.corpus import CASES
from pto_buf.check.build import build
from pto_buf.check.concrete import search
from pto_buf.check.model import model_of
from pto_buf.check.program import Program
from pto_buf.hw import A2A3
from pto_buf.source import parse_text
from pto_buf.universe import make_context


def program_of(text: str) -> Program:
    module = parse_text(make_context(), text, "kernel.pto")
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    return build(function)


@pytest.mark.parametrize("name", CASES)
def test_small_runs(name: str):
    case = CASES[name]
    found = search(program_of(case.text), model_of(A2A3), {})
    assert {finding.fault.value for finding in found} == case.faults
