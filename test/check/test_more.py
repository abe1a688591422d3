"""What the checker shows beyond the verdict: a failing run, fences of no use, parallelism given away."""

import json
from pathlib import Path

import pytest

from check.corpus import CASES
from check.kernels import Kernel
from check.programs import function_of
from pto_buf.check.checker import check, hints, lost, timeline_of
from pto_buf.errors import UsageError
from pto_buf.tools.cli import main


def ring(barriers: int = 1, serial: bool = False) -> str:
    """Load and store of two slots; `serial`: as if there were one flag for both."""
    kernel = Kernel()
    kernel.slots("P", 2)
    lane = "0 * i" if serial else "i % 2"
    kernel.prime("MTE3>MTE2", 1 if serial else 2)
    with kernel.loop("i", 0, "n"):
        kernel.wait("MTE3>MTE2", lane)
        kernel.load("P[i % 2]")
        kernel.fence("MTE2>MTE3", lane)
        for _ in range(barriers - 1):
            kernel.barrier("MTE3")
        kernel.store("P[i % 2]", row="i * 16")
        kernel.set("MTE3>MTE2", lane)
    kernel.drain("MTE3>MTE2", 1 if serial else 2)
    kernel.barrier()
    return kernel.text()


def test_timeline_marks_the_two_steps_and_shows_what_is_between():
    function = function_of(CASES["B44-wrong"].text)
    (finding,) = check(function).findings
    rows = timeline_of(function, finding).splitlines()
    assert [row.split()[2] for row in rows if row.startswith(">")] == ["tload", "texp"]
    head = next(row for row in rows if "MTE2" in row)
    assert head.split() == ["step", "MTE2", "V", "ALL", "trips"]


def test_a_barrier_of_no_use_is_named_and_a_needed_fence_is_not():
    assert hints(function_of(ring())) == ()
    (hint,) = hints(function_of(ring(barriers=2)))
    assert hint.kind == "useless-fence"
    assert "barrier" in hint.message


def test_a_single_flag_for_two_slots_gives_overlap_away():
    assert lost(function_of(ring()), {"n": 6}) == ()
    (pair,) = lost(function_of(ring(serial=True)), {"n": 6})
    assert "tload on MTE2 waits for tstore on MTE3" in pair.message
    assert "4 times" in pair.message or "5 times" in pair.message


def test_parallelism_needs_a_run():
    with pytest.raises(UsageError, match="needs a number"):
        lost(function_of(ring()), {})


def test_certificate_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file, other, proof = tmp_path / "a.pto", tmp_path / "b.pto", tmp_path / "proof.json"
    file.write_text(ring())
    other.write_text(ring(barriers=2))
    assert main(["check", str(file), "--certificate", str(proof)]) == 0
    assert set(json.loads(proof.read_text())) == {"text", "kernels"}
    assert main(["check", str(file), "--verify-certificate", str(proof)]) == 0
    assert "the certificate holds" in capsys.readouterr().out
    assert main(["check", str(other), "--verify-certificate", str(proof)]) == 1
    assert "is not for" in capsys.readouterr().err
    proof.write_text("{}")
    assert main(["check", str(file), "--verify-certificate", str(proof)]) == 1
    assert "no certificate" in capsys.readouterr().err
