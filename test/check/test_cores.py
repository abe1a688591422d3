"""What a kernel asks of its block: waits that no core answers, how many vector cores there are, other blocks."""

import pytest

from check.programs import program_of
from pto_buf.check.findings import Status
from pto_buf.check.model import model_of
from pto_buf.check.proof.prove import prove
from pto_buf.errors import DiagnosticError
from pto_buf.hw import A2A3, A5, Target

_LEFT = "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]"


def _faults(text: str, target: Target = A2A3) -> set[str]:
    verdict = prove(program_of(text), model_of(target))
    assert verdict.status is (Status.WRONG if verdict.findings else Status.PROVEN), verdict.reason
    return {finding.fault.value for finding in verdict.findings}


def _sections(cube: str, vector: str, arch: str = "a3") -> str:
    return f"""module attributes {{pto.target_arch = "{arch}"}} {{
  func.func @kernel(%n: index) attributes {{pto.entry}} {{
    pto.section.cube {{
      {cube}
      pto.barrier #pto.pipe<PIPE_ALL>
    }}
    pto.section.vector {{
      {vector}
      pto.barrier #pto.pipe<PIPE_ALL>
    }}
    return
  }}
}}"""


def _vector(body: str) -> str:
    return f"""module attributes {{pto.target_arch = "a3"}} {{
  func.func @kernel(%n: index) attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>}} {{
    {body}
    pto.barrier #pto.pipe<PIPE_ALL>
    return
  }}
}}"""


def _if(condition: str, body: str) -> str:
    return f"{condition}\n      scf.if %c {{\n        {body}\n      }}"


def test_what_stands_behind_a_wait_that_nobody_answers_is_never_done():
    assert _faults(_vector(f"pto.sync.wait <PIPE_MTE2>, 3\n    {_LEFT}")) == {"deadlock"}
    assert _faults(_vector(_LEFT)) == {"leftover"}


@pytest.mark.parametrize(("id", "faults"), [(3, set[str]()), (19, {"deadlock"})])
def test_a_signal_of_the_second_vector_core_where_there_is_one(id: int, faults: set[str]):
    cube, vector = f"pto.sync.wait <PIPE_FIX>, {id}", "pto.sync.set <PIPE_MTE3>, 3"
    assert _faults(_sections(cube, vector, "a5"), A5) == faults
    alone = _sections(cube, "", "a5")
    assert _faults(alone, A5) == {"deadlock"}


def test_a_wait_that_no_run_comes_to_needs_no_answer():
    never = "%z = arith.constant 0 : index\n      %c = arith.cmpi slt, %n, %z : index"
    assert _faults(_sections(_if(never, "pto.sync.wait <PIPE_FIX>, 19"), "", "a5"), A5) == set()


def test_a_kernel_that_asks_how_many_vector_cores_there_are_runs_on_both():
    both = "%k = pto.get_subblock_num\n      %two = arith.constant 2 : i64\n      %c = arith.cmpi eq, %k, %two : i64"
    assert _faults(_sections("", _if(both, _LEFT))) == {"leftover"}
    assert _faults(_sections("", _if(both.replace("eq", "ne"), _LEFT))) == set()


def test_signals_to_other_blocks_are_not_taken_for_such_within_one():
    text = _sections("pto.sync.set <PIPE_FIX>, 3 {ffts_mode = MODE : i32}", "pto.sync.wait <PIPE_MTE2>, 3")
    assert _faults(text.replace("MODE", "2")) == set()
    with pytest.raises(DiagnosticError, match=r":4:7: error: signals of ffts_mode 0 go to other blocks"):
        program_of(text.replace("MODE", "0"))


def test_a_truth_cast_to_an_index_is_minus_one():
    truth = "%z = arith.constant 0 : index\n    %t = arith.cmpi sgt, %n, %z : index"
    truth += "\n    %i = arith.index_cast %t : i1 to index"
    below, above = (f"{truth}\n    %c = arith.cmpi {how}, %i, %z : index" for how in ("slt", "sgt"))
    assert _faults(_vector(_if(below, _LEFT))) == {"leftover"}
    assert _faults(_vector(_if(above, _LEFT))) == set()
