"""What the README shows works."""

import re
from pathlib import Path

import pytest

from pto_buf.tools.cli import app, main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    file = tmp_path / "scale.py"
    file.write_text(block)
    return file


def test_the_kernel_compiles_is_proven_and_runs(kernel: Path, capsys: pytest.CaptureFixture[str]):
    out = kernel.with_suffix(".pto")
    assert main(["compile", str(kernel), "-o", str(out)]) == 0
    assert "3 x 16 KiB" in capsys.readouterr().out
    assert main(["check", str(out)]) == 0
    assert main(["run", str(kernel)]) == 0


def test_the_kernel_compiles_for_the_other_chips(kernel: Path):
    assert main(["compile", str(kernel), "--arch", "a5", "-q"]) == 0


def test_every_command_it_names_exists():
    named = set(re.findall(r"pto-buf ([a-z]+) ", README))
    assert named
    assert named <= set(app.commands)
