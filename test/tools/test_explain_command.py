"""`pto-buf explain`: why a fence is there, what it costs, what would make it go."""

from pathlib import Path

import pytest

from pto_buf.tools.cli import main
from support.kernels_in_python import HALVE, ONE_PRODUCT
from support.streams import stream


@pytest.fixture
def one(tmp_path: Path) -> Path:
    file = tmp_path / "one.py"
    file.write_text(ONE_PRODUCT)
    return file


def said(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> str:
    assert main(["explain", *(str(one) for one in arguments)]) == status
    found = capsys.readouterr()
    return found.out if status == 0 else found.err


def test_the_fence_that_one_slot_costs(one: Path, capsys: pytest.CaptureFixture[str]):
    text = said(capsys, f"{one}:24", "--arch", "a5")
    ready, free = text.split("\n\n")
    assert ready.startswith("fence 6: M -> FIX, id 2, products.ready.M.FIX\n")
    lines = [line.strip() for line in free.splitlines()]
    assert lines[0] == "fence 7: FIX -> M, id 0, products.free.FIX.M"
    assert lines[1].startswith("why    WAR on products (L0C): FIX reads it by store at ")
    assert lines[2] == "WAR    on products"
    assert lines[3] == (
        f"from   FIX: store at {one}:24:13, trip 0, 0    pl.store(products[0], [panel * ROWS, block * BLOCK_COLS], y)"
    )
    assert lines[4] == (
        f"to     M: matmul at {one}:23:13, trip 0, 1    pl.tile.matmul_into(products[0], x_l0, blocks[block & 1])"
    )
    assert lines[5].startswith("costs  13 times a run; holds M for ")
    _, held, cycles, without = (int(word) for word in lines[5].split() if word.isdigit())
    assert 0 < held < cycles
    assert without < cycles
    assert lines[6] == "remove with two slots of products: M fills one while FIX is at another"


def test_one_fence_by_its_number(one: Path, capsys: pytest.CaptureFixture[str]):
    text = said(capsys, one, "--fence", 3)
    assert text.startswith("fence 3: MTE1 -> MTE2, ids 0, 1, panels.free.MTE1.MTE2\n")
    assert "remove it costs nothing here: nothing to gain" in text
    assert text.count("fence ") == 1


def test_all_fences_for_a_file_alone(one: Path, capsys: pytest.CaptureFixture[str]):
    text = said(capsys, one)
    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("fence")] == [
        f"fence {number}" for number in range(1, 8)
    ]


def test_what_is_not_there_is_said(one: Path, capsys: pytest.CaptureFixture[str]):
    assert "there is no fence 8\nhelp: there are 7\n" in said(capsys, one, "--fence", 8, status=2)
    text = said(capsys, f"{one}:3", status=2)
    assert "no fence orders an op of line 3\nhelp: there are fences at lines 16, 17, 18, 20, 21, 22, 23, 24" in text


def test_without_numbers_the_reasons_are_there_and_the_costs_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "halve.py"
    file.write_text(HALVE.partition("def inputs")[0])
    assert main(["explain", f"{file}:16"]) == 0
    found = capsys.readouterr()
    assert "why    RAW on half (UB)" in found.out
    assert "runs   no run was followed to it" in found.out
    assert (
        found.err == "what the fences cost is not known: argument 'tiles' of 'halve' needs a number (--arg tiles=8)\n"
    )
    assert "costs  3 times a run" in said(capsys, f"{file}:16", "--arg", "tiles=3", "--arg", "ROWS=96")


def test_anybodys_pto_by_the_line_of_its_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "stream.pto"
    file.write_text(stream(1))
    line = next(n for n, text in enumerate(stream(1).splitlines(), 1) if "wait_flag_dyn[<PIPE_V>, <PIPE_MTE2>" in text)
    text = said(capsys, f"{file}:{line}", "--arg", "n=4")
    assert text.startswith("fence 1: V -> MTE2, id 0\n  WAR    on UB+0\n  from   V: add at ")
    assert "remove with two slots of UB tiles of 4096 bytes" in text or "remove with 3 slots of UB tiles" in text
