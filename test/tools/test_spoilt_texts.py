"""A spoilt program is refused where it is spoilt: no traceback, no hang, no output."""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from pto_buf.tools.opt import main
from support.lit_lines import run_lines
from support.spoiling import SPOILT

TEST = Path(__file__).parents[1]
SAMPLES = [
    path
    for suffix in ("pto", "mlir")
    for path in sorted(TEST.rglob(f"*.{suffix}"))
    if not {"Inputs", "ops"} & set(path.parts) and not any("--split-input-file" in line for line in run_lines(path))
]
"""Not those of single ops, of which many are as right with another type."""

SECONDS = 60
"""A text of 10 MB takes about one on a quiet machine; a hang takes for ever."""

_COULD_BE_RIGHT = {"wrong-space", "wrong-dtype", "wrong-shape", "missing-operand"}
"""Where a text has nothing that can be spoilt so."""


def assert_refused(status: int, out: str, err: str, file: str, *, somewhere: bool) -> None:
    """The tool complains about a place in the file, and prints nothing else."""
    assert (status, out) == (1, "")
    first = err.splitlines()[0]
    place = rf"{re.escape(file)}:\d+:\d+" if somewhere else re.escape(file)
    assert re.fullmatch(rf"{place}: error: [^A-Z].*", first), first
    assert "Traceback" not in err and "bug:" not in err


@pytest.mark.parametrize("way", SPOILT)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: str(path.relative_to(TEST)))
def test_a_spoilt_sample_is_refused(
    sample: Path, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    whole = sample.read_text()
    text = SPOILT[way](whole)
    if text == whole:
        assert way in _COULD_BE_RIGHT
        return
    Path("f.pto").write_text(text)
    start = time.monotonic()
    status = main(["f.pto"])
    assert time.monotonic() - start < SECONDS
    said = capsys.readouterr()
    assert_refused(status, said.out, said.err, "f.pto", somewhere=way != "empty")


def test_most_samples_can_be_spoilt_in_every_way():
    for way, spoil in SPOILT.items():
        spoilt = sum(spoil(sample.read_text()) != sample.read_text() for sample in SAMPLES)
        assert spoilt >= len(SAMPLES) // 2, way


@pytest.mark.parametrize("way", SPOILT)
def test_a_spoilt_sample_is_refused_by_the_process(way: str, tmp_path: Path):
    file = tmp_path / "f.pto"
    file.write_text(SPOILT[way]((TEST / "dialect" / "pto" / "tiles_a3.pto").read_text()))
    assert_refused(*run([str(file)]), str(file), somewhere=way != "empty")


def run(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Status, output and errors of `pto-buf-opt`."""
    done = subprocess.run(
        [sys.executable, "-m", "pto_buf.tools.opt", *arguments], capture_output=True, text=True, timeout=SECONDS
    )
    return done.returncode, done.stdout, done.stderr
