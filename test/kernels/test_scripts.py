"""Scripts as people write them, with their own `main()`: run unchanged, and right."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "scripts"


def run(script: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pto_buf.tools.cli", "run", str(script), "--", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("name", "passed"), [("attention", 2), ("quantise", 1)])
def test_golden_checks_pass(name: str, passed: int, tmp_path: Path):
    done = run(FOLDER / f"{name}.py", "-p", "a2a3", "-d", "3", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("passed=True work_dir=build_output/") == passed
    kept = sorted(tmp_path.glob("build_output/*/kernel.pto"))
    assert len(kept) == passed
    assert all((one.parent / "report.txt").is_file() and list(one.parent.glob("*.mlir")) for one in kept)


def test_kernels_can_be_called(tmp_path: Path):
    done = run(FOLDER / "calls.py", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASS") == 5
    assert not (tmp_path / "build_output").exists()


WRONG = """
import torch
import pypto.language as pl

@pl.jit
def add(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    t = pl.load(x, [0, 0], [16, 64])
    pl.store(pl.add(t, t), [0, 0], y)

@pl.jit
def outer(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    y = add(x, y)
    return y

x = torch.ones(16, 64)
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("add(x)", "'add' is not called like this: missing a required argument: 'y'"),
        ("add(x, x, config=3)", "config of 'add' is a int, not a RunConfig"),
        ("add(torch.ones(8, 64), x)", "has 512 elements"),
        ("outer(x, x)", "'outer' is orchestration, which is not compiled"),
        ("torch.fft(x)", "torch.fft is not among what stands in for torch here; install torch"),
    ],
)
def test_a_wrong_call_is_an_error(line: str, words: str, tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(f"{WRONG}{line}\n")
    done = run(script, folder=tmp_path)
    assert done.returncode in (1, 2)
    assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
