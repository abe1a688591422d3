"""Numbers of signals, buffer locks and elements of arrays that a kernel works out: there are only so many."""

import json

import pytest

from check.programs import function_of, program_of
from pto_buf.check.certificate.certify import certificate, check_certificate
from pto_buf.check.checker import check
from pto_buf.check.findings import Fault, Status
from pto_buf.check.model import model_of
from pto_buf.hw import A5

ALL = "pto.barrier #pto.pipe<PIPE_ALL>"


def kernel(body: str, arch: str, kind: str = "") -> str:
    """`%k` is 0 to 2 and `%low` 38 less; `%high` is 40 more."""
    return f"""module attributes {{pto.target_arch = "{arch}"}} {{
      func.func @kernel(%n: index) attributes {{pto.entry{kind}}} {{
        %two = arith.constant 2 : index
        %c40 = arith.constant 40 : index
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %k = arith.minsi %n, %two : index
        %one = arith.minsi %n, %c1 : index
        %high = arith.addi %k, %c40 : index
        %low = arith.subi %k, %two : index
        {body}
        return
      }}
    }}"""


VECTOR = ", pto.kernel_kind = #pto.kernel_kind<vector>"


def signals(id: str, arch: str) -> str:
    return kernel(
        f"""pto.section.cube {{ pto.sync.set <PIPE_FIX>, {id}
          {ALL} }}
        pto.section.vector {{ pto.sync.wait <PIPE_MTE2>, {id}
          {ALL} }}""",
        arch,
    )


def locks(id: str) -> str:
    ops = "".join(f"pto.{op} [#pto.pipe_event_type<TLOAD>, {id}]\n" for op in ("get_buf_dyn", "rls_buf_dyn"))
    return kernel(f"{ops}{ALL}", "a5", VECTOR)


def arrays(put: str, got: str) -> str:
    array, pair = "!pto.eventid_array<2>", "[<PIPE_MTE2>, <PIPE_V>, %id]"
    return kernel(
        f"""%ids = pto.declare_eventid_array -> {array}
        pto.eventid_array_set %ids[%c0], %c0 : {array}
        pto.eventid_array_set %ids[%c1], %c1 : {array}
        pto.eventid_array_set %ids[{put}], %c1 : {array}
        %id = pto.eventid_array_get %ids[{got}] : {array}
        pto.set_flag_dyn{pair}
        pto.wait_flag_dyn{pair}
        {ALL}""",
        "a3",
        VECTOR,
    )


RIGHT = [signals("%k", "a3"), signals("%k", "a5"), locks("%k"), arrays("%one", "%c0"), arrays("%c0", "%one")]
FAULTY = [signals(id, arch) for id in ("%high", "%low", "%c40") for arch in ("a3", "a5")]
FAULTY += [locks("%high"), locks("%low"), locks("%c40"), locks("%n")]
FAULTY += [arrays("%c0", id) for id in ("%n", "%low")] + [arrays(id, "%c0") for id in ("%n", "%low")]


@pytest.mark.parametrize("text", RIGHT)
def test_numbers_that_there_are(text: str):
    assert check(function_of(text)).status is Status.PROVEN


@pytest.mark.parametrize("text", FAULTY)
def test_numbers_that_there_are_not(text: str):
    verdict = check(function_of(text))
    assert verdict.status is Status.WRONG
    assert Fault.LANE in {finding.fault for finding in verdict.findings}
    assert check(function_of(text), most_states=1000).status is not Status.PROVEN


GUARDED = kernel(
    f"""%few = arith.cmpi slt, %n, %two : index
        %ids = pto.declare_eventid_array -> !pto.eventid_array<2>
        pto.eventid_array_set %ids[%c0], %c1 : !pto.eventid_array<2>
        pto.eventid_array_set %ids[%c1], %c0 : !pto.eventid_array<2>
        scf.if %few {{
          %id = pto.eventid_array_get %ids[%n] : !pto.eventid_array<2>
          pto.set_flag_dyn[<PIPE_MTE2>, <PIPE_V>, %id]
          pto.wait_flag_dyn[<PIPE_MTE2>, <PIPE_V>, %id]
        }}
        {ALL}""",
    "a5",
    VECTOR,
)


def test_numbers_below_a_bound_that_is_asked_for():
    """Here the path decides, and a certificate says so."""
    assert check(function_of(GUARDED)).status is Status.PROVEN
    model, program = model_of(A5), program_of(GUARDED)
    made = certificate(program, model)
    assert made is not None
    assert check_certificate(program, model, json.loads(json.dumps(made))) == ""
    wider = program_of(GUARDED.replace("constant 2 ", "constant 3 "))
    assert certificate(wider, model) is None
    assert check_certificate(wider, model, json.loads(json.dumps(made))) != ""
