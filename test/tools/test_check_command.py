"""`pto-buf check`: the verdict, its words, and the status."""

import json
from pathlib import Path

import pytest

from pto_buf.tools.cli import main
from pto_buf.tools.opt import main as opt
from support.streams import stream


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.pto"
    file.write_text(stream(3))
    return file


@pytest.fixture
def bad(good: Path) -> Path:
    """The last drain is gone: its flag stays set."""
    lines = good.read_text().splitlines()
    last = max(number for number, line in enumerate(lines) if "pto.wait_flag" in line)
    file = good.with_name("bad.pto")
    file.write_text("\n".join(lines[:last] + lines[last + 1 :]))
    return file


def test_a_proven_file_ends_with_0(good: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(good)]) == 0
    said = capsys.readouterr()
    assert said.out.count(": proven for every run") == 1
    assert said.err == ""


def test_kernels_in_python_are_not_what_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "kernels.py"
    file.write_text("import pypto.language as pl\n")
    assert main(["check", str(file)]) == 2
    said = capsys.readouterr().err
    assert "is Python; what is checked is a .pto text" in said
    assert f"pto-buf compile {file}" in said


def test_a_wrong_file_ends_with_1_and_says_where(bad: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(bad)]) == 1
    said = capsys.readouterr()
    assert ": wrong: " in said.out
    assert f"{bad}:" in said.err
    assert "is still set when the kernel ends" in said.err


def test_json_says_the_same(bad: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(bad), "--json"]) == 1
    (verdict,) = json.loads(capsys.readouterr().out)
    assert verdict["verdict"] == "wrong"
    assert {finding["fault"] for finding in verdict["findings"]} == {"leftover"}
    assert all(finding["place"].startswith(str(bad)) for finding in verdict["findings"])


@pytest.mark.parametrize("trip", ["n", "n=", "n=many", "nothing=3"])
def test_a_number_that_is_none_ends_with_2(trip: str, good: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(good), "--trip", trip]) == 2
    assert capsys.readouterr().out == ""


def test_two_numbers_for_one_argument_and_a_certificate_of_some_runs_end_with_2(
    good: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["check", str(good), "--trip", "n=1", "--trip", "n=2"]) == 2
    assert "'n' is 1 and 2" in capsys.readouterr().err
    assert main(["check", str(good), "--trip", "n=1", "--certificate", str(good.with_name("c.json"))]) == 2
    assert "a certificate is for every run" in capsys.readouterr().err


def test_no_certificate_is_written_for_a_wrong_kernel(bad: Path, capsys: pytest.CaptureFixture[str]):
    file = bad.with_name("c.json")
    assert main(["check", str(bad), "--certificate", str(file)]) == 1
    assert "is not written" in capsys.readouterr().err
    assert not file.exists()


def test_pto_buf_opt_checks_too(good: Path, bad: Path, capsys: pytest.CaptureFixture[str]):
    assert opt([str(good), "--check-sync"]) == 0
    assert "func.func" in capsys.readouterr().out
    assert opt([str(bad), "--check-sync"]) == 1
    said = capsys.readouterr()
    assert (said.out, "is still set when the kernel ends" in said.err) == ("", True)


def test_what_is_no_pto_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "bytes.pto"
    file.write_bytes(b"\x00\xff\xfe")
    assert main(["check", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"{file}:")
