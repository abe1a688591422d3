"""What the README shows works."""

import re
import shlex
from pathlib import Path

import pytest

from pto_buf.tools import opt
from pto_buf.tools.cli import app, main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)

SHOWN = re.findall(r"^    (pto-buf(?:-opt)? .*?)(?:   .*)?$", README, re.MULTILINE)
INLINE = re.findall(r"`(pto-buf [^`]*)`", README)
COMMANDS = [command for command in dict.fromkeys((*SHOWN, *INLINE)) if "COMMAND" not in command]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the README names."""
    folder = tmp_path_factory.mktemp("readme")
    kernel = PYTHON[0]
    (folder / "scale.py").write_text(kernel)
    (folder / "one.py").write_text(kernel.replace("buffers(2", "buffers(1").replace("scaled[i % 2]", "scaled[0]"))
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "script.py").symlink_to(ROOT / "examples" / "two_level_pipeline.py")
    out, dump = folder / "scale.pto", folder / "dump"
    assert main(["compile", str(folder / "scale.py"), "-q", "-o", str(out), "--dump", str(dump)]) == 0
    (folder / "kernel.mlir").write_text((dump / "00_frontend.mlir").read_text())
    return folder


@pytest.fixture
def folder(files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the README's reader would be."""
    monkeypatch.chdir(files)
    return files


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_works(command: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    tool, *arguments = shlex.split(command)
    assert (opt.main if tool == "pto-buf-opt" else main)(arguments) == 0


def test_it_shows_every_command():
    named = {shlex.split(command)[1] for command in COMMANDS if command.startswith("pto-buf ")}
    assert named | {"demo", "bench"} == set(app.commands)
    targets = re.findall(r"^    make (\w+)", README, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets == [target for target in targets if re.search(rf"^{target}:", makefile, re.MULTILINE)]


def test_the_lanes_that_it_shows_are_those_that_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]):
    (command,) = [one for one in INLINE if "--window" in one]
    assert main(shlex.split(command)[1:]) == 0
    said = capsys.readouterr().out
    lanes = re.findall(r"^    ((?:MTE2|MTE1|M|FIX) .*)$", README, re.MULTILINE)
    assert len(lanes) == 4
    assert all(any(line.startswith(lane) for line in said.splitlines()) for lane in lanes)


def test_the_interface_works_as_shown(folder: Path, capsys: pytest.CaptureFixture[str]):
    exec(compile(PYTHON[1], "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "kernel scale for a2a3" in said
    assert " cycles\n" in said
    assert "fence 2: " in said


def test_the_kernel_compiles_for_the_other_chips(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", "scale.py", "--arch", "a5"]) == 0
    assert "3 x 16 KiB" in capsys.readouterr().out
