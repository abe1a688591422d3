"""`pto-buf profile`: what it takes, what it prints, what it writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from pto_buf.tools.cli import main
from support.kernels_in_python import HALVE, ONE_PRODUCT, SEED
from support.streams import stream


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {
        "seed": (tmp_path / "seed.py", SEED),
        "one": (tmp_path / "one.py", ONE_PRODUCT),
        "halve": (tmp_path / "halve.py", HALVE),
        "stream": (tmp_path / "stream.pto", stream(2)),
    }
    for path, text in found.values():
        path.write_text(text)
    return {name: path for name, (path, _) in found.items()}


def said(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> str:
    assert main([str(one) for one in arguments]) == status
    found = capsys.readouterr()
    return found.out if status == 0 else found.err


def numbers(text: str, start: str) -> list[int]:
    """The numbers of the line that begins like this."""
    line = next(line for line in text.splitlines() if line.startswith(start))
    return [int(word) for word in line.removeprefix(start).split() if word.isdigit()]


def test_fix_drains_one_slot_while_the_cube_fills_the_other(files: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    """Told in words, by cycles, and as slot numbers in the lanes of M and FIX."""
    text = said(capsys, "profile", files["seed"], "--arch", "a5", "--window", "1580:2480")
    cycles, busy = numbers(text, "products: FIX reads one while M writes another for")
    assert 0 < cycles < busy
    lanes = {line[:3].strip(): line[6:] for line in text.splitlines() if line[:3].strip() in ("M", "FIX")}
    at_once = {one + other for one, other in zip(lanes["M"], lanes["FIX"], strict=True) if (one + other).isdigit()}
    assert at_once == {"01", "10"}


def test_comparing_shows_what_the_second_slot_buys(files: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    """On a5 the cube would wait for the one slot; on a2a3 it waits for MTE1 anyway, and a second slot buys nothing."""
    text = said(capsys, "profile", "--compare", files["one"], files["seed"], "--arch", "a5")
    assert "one.py  seed.py" in text
    one, two = numbers(text, "cycles")
    assert two < one
    assert numbers(text, "M waits: slot")[0] > 500
    assert numbers(text, "M waits: slot")[1] == 0
    assert numbers(text, "products: FIX reads one, M writes another")[0] == 0
    assert numbers(text, "products: FIX reads one, M writes another")[1] > 300
    text = said(capsys, "profile", "--compare", files["one"], files["seed"], "--arch", "a2a3")
    one, two = numbers(text, "cycles")
    assert one == two


def test_numbers_come_from_the_command_line_then_from_cases(files: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    assert said(capsys, "profile", files["halve"]).startswith("with tiles = 5, ROWS = 160 (from CASES)\n")
    text = said(capsys, "profile", files["halve"], "--arg", "tiles=2", "--arg", "ROWS=64")
    assert text.startswith("with tiles = 2, ROWS = 64\n")
    assert "MTE2    2 " in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "argument 'n' of 'k' needs a number\nhelp: --arg n=8"),
        (["--arg", "m=3"], "argument 'n' of 'k' needs a number"),
        (["--arg", "n=3", "--arg", "m=3"], "'k' has no number 'm'\nhelp: there is: n"),
        (["--arg", "n=x"], "'n=x' gives no argument a number"),
        (["--arg", "n"], "'n' is no NAME=NUMBER"),
        (
            ["--arg", "n=3", "--trace", "t.txt"],
            "'t.txt' is no name of a trace\nhelp: a trace ends in ",
        ),
        (["--arg", "n=3", "--window", "9:3"], "'9:3' is no window"),
        (["--arg", "n=3", "--arch", "a5"], "stream.pto is for a2a3, not for a5"),
    ],
)
def test_a_wrong_command_line_says_what_mends_it(
    arguments: list[str], words: str, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
):
    text = said(capsys, "profile", files["stream"], *arguments, status=2)
    assert words in text


def test_anybodys_pto_is_timed(files: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    text = said(capsys, "profile", files["stream"], "--arg", "n=3")
    assert text.startswith("with n = 3\n")
    assert "UB tiles of 4096 bytes: V reads one while MTE2 writes another" in text
    assert "load UB+4096 :28" in text


def test_ptobuf_text_is_compiled_first(files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(files["seed"]), "-q", "--dump", str(tmp_path / "dump")]) == 0
    text = (tmp_path / "dump" / "00_frontend.mlir").read_text()
    file = tmp_path / "seed.mlir"
    file.write_text(text)
    assert "load panels[1] " in said(capsys, "profile", file)
    assert main(["compile", str(file), "-q", "-o", str(tmp_path / "again.pto")]) == 0
    assert main(["compile", str(files["seed"]), "-q", "-o", str(tmp_path / "first.pto")]) == 0
    assert (tmp_path / "again.pto").read_text() == (tmp_path / "first.pto").read_text()


def test_finished_pto_is_not_compiled_again(files: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    assert "error: the file is finished pto" in said(capsys, "compile", files["stream"], status=1)


def test_a_chrome_trace_names_slots_sources_and_counters(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "t.json"
    said(capsys, "profile", files["seed"], "--trace", out)
    events: list[dict[str, Any]] = json.loads(out.read_text())["traceEvents"]
    lanes = [one["args"]["name"] for one in events if one["ph"] == "M" and one["name"] == "thread_name"]
    assert lanes == ["MTE2", "MTE1", "M", "FIX"]
    product = next(one for one in events if one["ph"] == "X" and one["name"] == "matmul")
    assert product["args"]["writes"] == "products[0]"
    assert product["args"]["reads"] == "x_l0, blocks[0]"
    assert product["args"]["source"] == f"{files['seed']}:23:13"
    counters = {one["name"]: one["args"]["value"] for one in events if one["ph"] == "C"}
    assert {"products: slots in use", "panels: slots in use", "flags FIX -> M set", "L0C bytes in use"} <= set(counters)
    assert all(value == 0 for name, value in counters.items() if "bytes" not in name)


def test_a_native_trace_is_written_too(files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "t.pftrace"
    said(capsys, "profile", files["seed"], "--trace", out)
    assert b"products: slots in use" in out.read_bytes()


def test_a_kernel_of_several_has_to_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "two.py"
    file.write_text(SEED + SEED[SEED.index("\n@pl.jit") :].replace("panels_by_blocks", "other"))
    assert "the module has 2 kernels (panels_by_blocks, other); say which one" in said(
        capsys, "profile", file, status=2
    )
    assert said(capsys, "profile", f"{file}:other").startswith("other on a2a3")


def test_blocks_are_timed_each(files: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    text = said(capsys, "profile", files["stream"], "--arg", "n=3", "--blocks", "2")
    assert "\n2 cores, " in text
