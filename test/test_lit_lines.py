"""RUN lines mean here what they mean to lit."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.lit_lines import Outcome, run_line, run_lines, substituted

HERE = Path(__file__).parent


def test_run_lines_are_found_and_joined(tmp_path: Path):
    file = tmp_path / "a.mlir"
    file.write_text("// RUN: one \\\n// RUN:   two\nRUN: no\n  // RUN: three | \\\n// between\n# RUN: four\n")
    assert run_lines(file) == ["one two", "three | four"]


def test_substitutions(tmp_path: Path):
    line = substituted("ROUND_TRIP > %t %S 50%% %s", Path("/in/a.mlir"), tmp_path)
    assert line.startswith("pto-buf-opt /in/a.mlir --print-op-generic | pto-buf-opt | filecheck /in/a.mlir > ")
    assert line.endswith(f"{tmp_path}/a.mlir.tmp /in 50% /in/a.mlir")


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("echo a", Outcome(0, "a\n", "")),
        ("echo a | cat", Outcome(0, "a\n", "")),
        ("false | echo a", Outcome(1, "a\n", "")),  # pipefail
        ("not false", Outcome(0, "", "")),
        ("not true", Outcome(1, "", "")),
        ("! false", Outcome(0, "", "")),
        ("not not false", Outcome(1, "", "")),
        ("echo a && echo b", Outcome(0, "a\nb\n", "")),
        ("false && echo b", Outcome(1, "", "")),
        ("false || echo b", Outcome(0, "b\n", "")),
        ("true ; echo 'b c'", Outcome(0, "b c\n", "")),
    ],
)
def test_commands(line: str, outcome: Outcome):
    assert run_line(line) == outcome


def test_redirections(tmp_path: Path):
    file = tmp_path / "f"
    assert run_line(f"echo a > {file} && cat < {file}").out == "a\n"
    assert run_line(f"pto-buf-opt {tmp_path}/none") == Outcome(
        1, "", f"{tmp_path}/none: error: no such file [unreadable-file]\n"
    )
    assert "no such file" in run_line(f"pto-buf-opt {tmp_path}/none 2>&1").out
    assert run_line(f"pto-buf-opt {tmp_path}/none 2> {file}").err == ""
    assert "no such file" in file.read_text()
    with pytest.raises(ValueError, match="is not understood"):
        run_line(f"echo a >> {file}")


def test_the_command_line_for_people_runs_here_too():
    outcome = run_line("pto-buf no-such-command")
    assert outcome.status == 2
    assert "no-such-command" in outcome.err


def test_filecheck_fails_when_it_should(tmp_path: Path):
    file = tmp_path / "checks"
    file.write_text("// CHECK: b\n")
    assert run_line(f"echo b | filecheck {file}").status == 0
    outcome = run_line(f"echo c | filecheck {file}")
    assert outcome.status == 1
    assert 'Couldn\'t match "b"' in outcome.err


def test_lit_itself_runs_the_tests_of_the_tool():
    done = subprocess.run(
        [sys.executable, "-m", "lit.main", "-q", str(HERE / "tools")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
