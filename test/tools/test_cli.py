"""`pto-buf`: what it prints, what it writes, and with which status it ends."""

import subprocess
from itertools import takewhile
from pathlib import Path

import pytest

from pto_buf.printing import text_of
from pto_buf.source import parse_text
from pto_buf.tools.cli import main
from pto_buf.universe import make_context

EXAMPLES = Path(__file__).parents[2] / "examples"

GOOD = """\
import numpy as np
import pypto.language as pl

ROWS = 32
STEPS = 5


@pl.jit.incore
def halve(
    src: pl.Tensor[[STEPS * ROWS, 64], pl.FP32],
    dst: pl.Out[pl.Tensor[[STEPS * ROWS, 64], pl.FP32]],
):
    ring = pl.create_tile_buffers(3, [ROWS, 64], pl.FP32, pl.Mem.Vec)
    for i in pl.range(STEPS):
        cell = ring[i % 3]
        pl.tile.load_into(cell, src, [i * ROWS, 0], [ROWS, 64])
        dst = pl.store(pl.mul(cell, 0.5), [i * ROWS, 0], dst)
    return dst


def inputs(rng):
    shape = (STEPS * ROWS, 64)
    return {"src": rng.standard_normal(shape).astype(np.float32), "dst": np.zeros(shape, np.float32)}


def reference(given):
    return {"dst": given["src"] * 0.5}


CASES = {"halve": (inputs, reference)}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.py"
    file.write_text(GOOD)
    return file


def test_compile_writes_the_text_and_prints_a_report(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out.pto"
    assert main(["compile", f"{kernel}:halve", "-o", str(out)]) == 0
    said = capsys.readouterr()
    assert "kernel halve for a2a3" in said.out
    assert "3 x 8 KiB" in said.out
    assert "proven" in said.out
    assert said.err == ""
    text = out.read_text()
    module = parse_text(make_context(), text, "out.pto")
    module.verify()
    assert text_of(module) == text


def test_text_on_standard_output_keeps_the_report_off_it(kernel: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(kernel), "-o", "-"]) == 0
    said = capsys.readouterr()
    assert "ptobuf" not in said.out
    parse_text(make_context(), said.out, "-").verify()
    assert "kernel halve" in said.err


def test_each_op_tells_its_place_on_request(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", f"{kernel}:halve", "--loc", "-q", "-o", "-"]) == 0
    loads = [line for line in capsys.readouterr().out.splitlines() if "pto.tload" in line]
    (line,) = [number for number, text in enumerate(kernel.read_text().splitlines(), 1) if "load" in text][:1]
    assert loads
    assert all(f'loc("{kernel}":{line}:' in text for text in loads[:1])


def test_the_same_file_compiles_to_the_same_text(kernel: Path, capsys: pytest.CaptureFixture[str]):
    texts: list[str] = []
    for _ in range(2):
        assert main(["compile", str(kernel), "-q", "-o", "-"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


MISTAKES = {
    "syntax error": ("        cell = ring[i % 3]", "        cell = ring[i % 3", 15),
    "unknown op": ("pl.mul(cell, 0.5)", "pl.frobnicate(cell, 0.5)", 17),
    "wrong dtype": ("src: pl.Tensor[[STEPS * ROWS, 64], pl.FP32]", "src: pl.Tensor[[STEPS * ROWS, 64], pl.FP16]", 16),
    "unsupported statement": ("        cell = ring[i % 3]", "        assert i < 3\n        cell = ring[i % 3]", 15),
    "index out of range": ("ring[i % 3]", "ring[i % 4]", 15),
    "too large": ("create_tile_buffers(3", "create_tile_buffers(16", 13),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_located_error_and_no_output(
    what: str, kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    old, new, line = MISTAKES[what]
    kernel.write_text(GOOD.replace("ROWS = 32", "ROWS = 64").replace(old, new))
    out = tmp_path / "out.pto"
    assert main(["compile", str(kernel), "-o", str(out)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"{kernel}:{line}:")
    assert said.err.count(": error: ") == 1
    assert "Traceback" not in said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernel.py"]


def test_a_missing_file_is_a_located_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    missing = tmp_path / "missing.py"
    assert main(["compile", str(missing)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"{missing}: error: ")
    assert "no such file" in said.lower()


@pytest.mark.parametrize(
    "arguments", [["compile"], ["compile", "k.py", "--arch", "a4"], ["compile", "k.py", "--fast"], ["assemble"], []]
)
def test_a_wrong_command_line_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(arguments) == 2
    assert capsys.readouterr().out == ""


def test_run_compares_cases_with_their_reference(kernel: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", str(kernel)]) == 0
    assert capsys.readouterr().out == "halve: matches its reference\n"
    kernel.write_text(GOOD.replace('given["src"] * 0.5', 'given["src"] * 0.25'))
    assert main(["run", str(kernel), "--order", "random:7"]) == 1
    assert capsys.readouterr().out.startswith("halve: WRONG\n")


@pytest.mark.parametrize("example", ["two_level_pipeline", "two_level_slots"])
def test_the_examples_have_the_memory_and_the_fences_that_they_promise(
    example: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["compile", str(EXAMPLES / f"{example}.py")]) == 0
    report = capsys.readouterr().out
    for slots in ("2 x 128 KiB", "2 x 32 KiB", "2 x 8 KiB", "1 x 4 KiB"):
        assert slots in report
    assert "a run executes 79 set/wait pairs and 0 barriers" in report


def _classes(report: str) -> list[str]:
    """The classes of the ops of the first innermost loop, in issue order."""
    lines = report[report.index("order\n") : report.index("fences\n")].splitlines()
    depths = [len(line) - len(line.lstrip()) for line in lines]
    first = depths.index(max(depths))
    innermost = takewhile(lambda pair: pair[1] == max(depths), zip(lines[first:], depths[first:], strict=True))
    return [line.split()[0] for line, _ in innermost]


@pytest.mark.parametrize(
    ("example", "options"), [("two_level_pipeline", []), ("two_level_slots", ["--interleave", "2"])]
)
def test_two_trips_side_by_side_on_request(example: str, options: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(EXAMPLES / f"{example}.py"), *options]) == 0
    assert _classes(capsys.readouterr().out) == ["EXTRACT", "EXTRACT", "MATMUL", "MATMUL", "STORE", "STORE"]


def test_trips_stay_in_order_unless_asked(capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(EXAMPLES / "two_level_slots.py")]) == 0
    assert _classes(capsys.readouterr().out) == ["EXTRACT", "MATMUL", "STORE"]


@pytest.mark.parametrize("example", ["two_level_pipeline", "two_level_slots"])
def test_mlir_reads_what_we_emit(example: str, mlir_opt: str, tmp_path: Path):
    out = tmp_path / "out.pto"
    assert main(["compile", str(EXAMPLES / f"{example}.py"), "-q", "-o", str(out)]) == 0
    generic = text_of(parse_text(make_context(), out.read_text(), "out.pto"), generic=True)
    done = subprocess.run(
        [mlir_opt, "--allow-unregistered-dialect"], input=generic, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_memory_map_is_a_page_or_text(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page, text = tmp_path / "map.html", tmp_path / "map.txt"
    assert main(["compile", str(kernel), "-q", "--memory-map", str(page)]) == 0
    assert main(["compile", str(kernel), "-q", "--memory-map", str(text)]) == 0
    assert capsys.readouterr().out == ""
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert main(["compile", str(kernel), "-q", "--memory-map", "-"]) == 0
    assert capsys.readouterr().out == text.read_text()
    assert text.read_text().startswith("memory map of halve for a2a3\n")
