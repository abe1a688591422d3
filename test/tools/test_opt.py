"""pto-buf-opt as a process: exit statuses, what goes where, and what is never shown to a user."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.lowering import PASS_FILES
from pto_buf.tools import opt

GOOD = "func.func @f() {\n  return\n}\n"
BAD = "func.func @f() {\n  retrun\n}\n"
PRINTED = "builtin.module {\n  func.func @f() {\n    func.return\n  }\n}\n"


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pto_buf.tools.opt", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def main(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The same in this process, where it is quicker."""
    status = opt.main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def good(tmp_path: Path) -> str:
    (tmp_path / "good.mlir").write_text(GOOD)
    return str(tmp_path / "good.mlir")


@pytest.fixture
def bad(tmp_path: Path) -> str:
    (tmp_path / "bad.mlir").write_text(BAD)
    return str(tmp_path / "bad.mlir")


def test_a_good_program_goes_through():
    done = run(stdin=GOOD)
    assert (done.returncode, done.stdout, done.stderr) == (0, PRINTED, "")


def test_a_wrong_program_is_shown_with_its_line_and_nothing_is_written(bad: str, tmp_path: Path):
    done = run(bad, "-o", str(tmp_path / "out.mlir"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{bad}:2:3: error: there is no op 'retrun' [unknown-op]\n      retrun\n      ^\n"
    assert not (tmp_path / "out.mlir").exists()


def test_standard_input_has_a_name_and_its_lines_are_shown():
    assert run(stdin=BAD).stderr.startswith("<stdin>:2:3: error: there is no op 'retrun' [unknown-op]\n      retrun\n")


def test_a_missing_file(capsys: pytest.CaptureFixture[str]):
    assert main(capsys, "none.mlir") == (1, "", "none.mlir: error: no such file [unreadable-file]\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--no-such-option"], "unrecognized arguments: --no-such-option\nhelp: pto-buf-opt --help shows all options"),
        (["-p", "canonicalise"], "there is no pass 'canonicalise'\nhelp: did you mean 'canonicalize'?"),
        (["-p", "canonicalize{x=1}"], "pass 'canonicalize': Provided arguments"),
        (["a", "b"], "unrecognized arguments: b"),
        (["-o"], "argument -o: expected one argument"),
    ],
)
def test_a_wrong_command_line(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str):
    status, out, err = main(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"pto-buf-opt: error: {words}")


def test_help_names_every_option_and_status(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        opt.main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    for word in ("--split-input-file", "--expect-errors", "-p PASSES", "exit status: 0 done; 1", "2 the command line"):
        assert word in text


def test_all_parts_of_a_split_file_are_tried_and_none_is_printed_if_one_is_wrong(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    file = tmp_path / "parts.mlir"
    file.write_text(f"// a comment\n// -----\n{GOOD}// -----\n{BAD}  // -----\n{BAD}")
    status, out, err = main(capsys, str(file), "--split-input-file")
    assert (status, out) == (1, "")
    assert [line for line in err.splitlines() if "error" in line] == [
        f"{file}:8:3: error: there is no op 'retrun' [unknown-op]",
        f"{file}:12:3: error: there is no op 'retrun' [unknown-op]",
    ]
    file.write_text(f"// a comment\n// -----\n{GOOD}// -----\n{GOOD}")
    assert main(capsys, str(file), "--split-input-file") == (0, f"{PRINTED}// -----\n{PRINTED}", "")


def test_a_bug_is_called_a_bug(capsys: pytest.CaptureFixture[str], good: str, monkeypatch: pytest.MonkeyPatch):
    def crash(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("pto_buf.verification.verify_module", crash)
    status, out, err = main(capsys, good)
    assert (status, out) == (1, "")
    assert err == (
        "pto-buf-opt: bug: KeyError: 'x'\n"
        "this is a fault of ptobuf, not of the program; please report it with the program that shows it\n"
        "help: --debug shows the traceback\n"
    )
    status, _, err = main(capsys, good, "--debug")
    assert status == 1
    assert "Traceback" in err


def test_a_traceback_of_a_users_error_is_shown_only_on_request(capsys: pytest.CaptureFixture[str], bad: str):
    assert "Traceback" not in main(capsys, bad)[2]
    assert "Traceback" in main(capsys, bad, "--debug")[2]


def test_warnings_are_shown_and_do_not_stop(
    capsys: pytest.CaptureFixture[str], good: str, monkeypatch: pytest.MonkeyPatch
):
    from pto_buf.errors import Place, warn

    def slow(*_: object, **__: object) -> None:
        warn(Place(good, 2, 3), "slow")

    monkeypatch.setattr("pto_buf.verification.verify_module", slow)
    assert main(capsys, good) == (0, PRINTED, f"{good}:2:3: warning: slow\n      return\n      ^\n")


def test_a_reader_that_has_gone_gets_no_traceback(good: str):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "pto_buf.tools.opt", good]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_starting_imports_neither_numpy_nor_unused_dialects():
    names = ["numpy", "rich", "xdsl.dialects.llvm", "pto_buf.dialect.pto", "importlib.metadata"]
    script = f"""
import sys, json
from pto_buf.tools.opt import main
main(["-"])
print(json.dumps([name for name in {names} if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", script], input=GOOD, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_the_installed_script_and_the_universe_entry_point():
    import tomllib
    from importlib import import_module

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["pto-buf-opt"] == f"{opt.__name__}:main"
    module, _, name = project["entry-points"]["xdsl.universe"]["pto-buf"].partition(":")
    universe = getattr(import_module(module), name)
    assert list(universe.all_dialects) == ["pto", "ptobuf"]
    assert all(one.startswith("ptobuf-") for one in universe.all_passes)
    for name, factory in universe.all_dialects.items():
        assert factory().name == name
    for name, load in universe.all_passes.items():
        if importlib.util.find_spec(f"pto_buf.lowering.{PASS_FILES[name]}"):
            assert load().name == name


def test_an_output_that_cannot_be_written(capsys: pytest.CaptureFixture[str], good: str):
    status, out, err = main(capsys, good, "-o", os.path.join(good, "out"))
    assert (status, out) == (1, "")
    assert "error: cannot write the file" in err
    assert DiagnosticError.__name__ not in err
