"""Running kernel files with CASES and scripts with a main(), as their authors write them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from pto_buf.errors import DiagnosticError, UsageError
from pto_buf.run import Case, load_cases, run_case, run_cases, run_pto, run_script
from pto_buf.sim.compare import compare
from pto_buf.sim.orders import order_named
from support.pto_text import parse
from support.streams import COLS, LOADED, ROWS, stream

ARRAYS = {"x": np.full((2 * ROWS, COLS), 3, np.float32), "z": np.zeros((2 * ROWS, COLS), np.float32)}


class Compiler:
    """Gives the stream kernel whatever is asked for, and remembers what was."""

    def __init__(self, text: str = stream(2)):
        self.text = text
        self.asked: list[tuple[str, str | None, str, Path | None]] = []

    def __call__(self, file: str, entry: str | None, target: str, work_dir: Path | None) -> ModuleOp:
        self.asked.append((file, entry, target, work_dir))
        return parse(self.text)


# --- pto text ---


def test_run_pto_takes_text_a_module_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    file.write_text(stream(2))
    for source in (stream(2), parse(stream(2)), file):
        run = run_pto(source, {**ARRAYS, "n": 2})
        assert (run.arrays["z"] == 6).all()
    assert not ARRAYS["z"].any()


def test_run_pto_raises_what_went_wrong() -> None:
    with pytest.raises(DiagnosticError, match="is set a second time while it is pending"):
        run_pto(stream(2, [LOADED]), {**ARRAYS, "n": 2}, order="late:V")
    with pytest.raises(UsageError, match="'k' has no argument 'm'"):
        run_pto(stream(2), {**ARRAYS, "m": 2})
    with pytest.raises(UsageError, match="argument 'n' needs a number"):
        run_pto(stream(2), ARRAYS)


def test_an_extent_is_taken_from_the_array() -> None:
    text = """
module attributes {pto.target_arch = "a3"} {
func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %ROWS: index) attributes {pto.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = arith.constant 0 : i64
  %v = pto.make_tensor_view %x, shape = [%ROWS, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xf32>
  %w = pto.make_tensor_view %y, shape = [%ROWS, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xf32>
  return
}
}
"""
    two, three = np.zeros((2, 8), np.float32), np.zeros((3, 8), np.float32)
    run_pto(text, {"x": two, "y": two})
    run_pto(text, {"x": two, "y": three, "ROWS": 1} | {"y": two})
    with pytest.raises(UsageError, match="dimension 'ROWS' is 2 in one array and 3 in another"):
        run_pto(text, {"x": two, "y": three})


# --- comparing ---


def test_compare_knows_what_a_type_can_promise() -> None:
    ones = np.ones((4, 4), np.float32)
    assert compare({"z": ones * 1.001}, {"z": ones}) == ()
    (found,) = compare({"z": ones + np.eye(4, dtype=np.float32)}, {"z": ones})
    assert str(found) == "'z' differs in 4 of 16 elements, most at [0, 0]: expected 1, found 2"
    (found,) = compare({"z": np.full((1, 2), np.nan, np.float32)}, {"z": np.array([[np.nan, 1]])})
    assert (found.count, found.at) == (1, (0, 1))
    assert compare({"z": np.array([1, 2])}, {"z": np.array([1, 3])})[0].count == 1
    assert compare({"z": ones.astype(np.float16) * np.float16(1.01)}, {"z": ones}) == ()
    assert len(compare({"z": ones.astype(np.float16) * np.float16(1.01)}, {"z": ones}, 1e-3)) == 1
    with pytest.raises(UsageError, match="'y' is no array of the kernel"):
        compare({"z": ones}, {"y": ones})
    with pytest.raises(UsageError, match=r"'z' is \(4, 4\), expected \(16,\)"):
        compare({"z": ones}, {"z": ones.reshape(-1)})


# --- files with CASES ---

CASES = f"""
import numpy as np
import pypto.language as pl
from golden import TensorSpec  # not installed here

@pl.jit.incore
def k(x: pl.Tensor[[{2 * ROWS}, {COLS}], pl.FP32], z: pl.Out[pl.Tensor[[{2 * ROWS}, {COLS}], pl.FP32]]):
    return z

def inputs(n):
    def make(rng):
        x = rng.standard_normal(({2 * ROWS}, {COLS})).astype(np.float32)
        return {{"x": x, "z": np.zeros_like(x), "n": n}}
    return make

def reference(t):
    z = t["z"].copy()
    z[: t["n"] * {ROWS}] = 2 * t["x"][: t["n"] * {ROWS}]
    return {{"z": z}}

CASES = {{"k": (inputs(2), reference), "k#one": (inputs(1), reference)}}
"""


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    file = tmp_path / "kernels.py"
    file.write_text(CASES)
    return file


def test_every_case_of_a_file_runs_and_its_kernel_is_compiled_once(cases: Path) -> None:
    compiler = Compiler()
    results = list(run_cases(cases, compiler, target="a5"))
    assert [(result.case.name, result.passed) for result in results] == [("k", True), ("k#one", True)]
    assert compiler.asked == [(str(cases), "k", "a5", None)]
    assert [result.case.name for result in run_cases(cases, compiler, only=["k#one"])] == ["k#one"]
    assert len(list(run_cases(cases, compiler, only=["k"]))) == 2


def test_a_wrong_result_says_where_and_who_read_what(cases: Path) -> None:
    (result, _) = run_cases(cases, Compiler(stream(2, [LOADED])), order="late:V")
    assert not result.passed
    assert any("read from UB" in reason or "second time" in reason for reason in result.reasons)


def test_inputs_are_rounded_to_the_type_that_the_kernel_takes() -> None:
    """The reference gets the rounded values too, in the type that it was written for."""
    text = stream(2).replace("f32", "f16")
    seen: list[np.dtype[np.generic]] = []

    def reference(t: object) -> dict[str, object]:
        assert isinstance(t, dict)
        seen.append(t["x"].dtype)
        return {"z": t["x"] * 2}

    third = np.full((2 * ROWS, COLS), 1 / 3, np.float32)
    case = Case("k", lambda rng: {"x": third, "z": third, "n": 2}, reference)
    result = run_case(case, parse(text), order_named("early"))
    assert result.passed
    assert seen == [np.dtype(np.float32)]


def test_a_file_without_cases_or_with_an_error_is_named_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text("X = 1\n")
    with pytest.raises(DiagnosticError, match=r"bad.py: error: has no CASES to run"):
        load_cases(file)
    file.write_text("X = 1\nX / 0\n")
    with pytest.raises(DiagnosticError, match=r"bad.py:2: error: ZeroDivisionError: division by zero"):
        load_cases(file)
    file.write_text("def f(:\n")
    with pytest.raises(DiagnosticError, match=r"bad.py:1:7: error: invalid syntax"):
        load_cases(file)
    with pytest.raises(DiagnosticError, match=r"none.py: error: no such file"):
        load_cases(tmp_path / "none.py")
    file.write_text(CASES)
    with pytest.raises(UsageError, match="has no such case"):
        list(run_cases(file, Compiler(), only=["j"]))


# --- scripts ---

SCRIPT = f"""
import argparse
import pypto.language as pl
import torch
from golden import ScalarSpec, TensorSpec, run_jit

R, C = {2 * ROWS}, {COLS}

@pl.jit
def double(x: pl.Tensor[[R, C], pl.FP32], z: pl.Out[pl.Tensor[[R, C], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    return z

def golden(t):
    t["z"][:] = t["x"] * FACTOR

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-p", "--platform", default="a2a3")
    parser.add_argument("-d", "--device", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(3)
    result = run_jit(
        fn=double,
        specs=[
            TensorSpec("x", [R, C], torch.float32, init_value=torch.randn),
            TensorSpec("z", [R, C], torch.float32, is_output=True),
            ScalarSpec("n", torch.int64, 2),
        ],
        golden_fn=golden,
        compile_cfg={{"dump_passes": True, "memory_planner": None}},
        runtime_cfg={{"platform": args.platform, "device_id": args.device}},
        rtol=1e-3,
        atol=1e-3,
    )
    if not result.passed:
        raise SystemExit(f"failed: {{result.error}}")

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT.replace("FACTOR", "2"))
    return file


def test_a_script_runs_unchanged(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiler = Compiler()
    assert run_script(script, ["-p", "a5", "-d", "3"], compiler, root=tmp_path / "out") == 0
    ((file, entry, target, work_dir),) = compiler.asked
    assert (file, entry, target) == (str(script), "double", "a5")
    assert work_dir is not None
    assert work_dir.is_dir()
    out = capsys.readouterr().out
    assert f"passed=True work_dir={work_dir}" in out
    assert "without effect on the simulator: memory_planner" in out
    run_script(script, [], compiler, root=tmp_path / "out")
    assert len({str(asked[3]) for asked in compiler.asked}) == 2


def test_a_wrong_result_reaches_the_script(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(SCRIPT.replace("FACTOR", "3"))
    assert run_script(script, [], Compiler(), root=tmp_path) == 1
    shown = capsys.readouterr()
    assert "passed=False" in shown.out
    assert "failed: 'z' differs from the golden result" in shown.err
    assert f" of {2 * ROWS * COLS} elements, rtol 0.001, atol 0.001" in shown.err


def test_a_fault_reaches_the_script(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(SCRIPT.replace("FACTOR", "2"))
    assert run_script(script, [], Compiler(stream(2, [LOADED])), root=tmp_path, order="late:V") == 1
    assert "is set a second time while it is pending" in capsys.readouterr().err


def test_what_the_script_exits_with_is_the_status(script: Path, tmp_path: Path) -> None:
    script.write_text("import sys\nsys.exit(7)\n")
    assert run_script(script, [], Compiler(), root=tmp_path) == 7
    script.write_text("raise SystemExit\n")
    assert run_script(script, [], Compiler(), root=tmp_path) == 0


def test_an_exception_is_shown_at_the_lines_of_the_script(script: Path, tmp_path: Path) -> None:
    script.write_text("import torch\n\ndef f():\n    torch.optim\n\nf()\n")
    with pytest.raises(DiagnosticError) as caught:
        run_script(script, [], Compiler(), root=tmp_path)
    (found,) = caught.value.diagnostics
    assert str(found.place) == f"{script}:4"
    assert found.message == "Missing: torch.optim is not among what stands in for torch here; install torch to use it"
    assert [str(note.place) for note in found.notes] == [f"{script}:6"]


def test_a_mistake_in_a_kernel_keeps_its_place(script: Path, tmp_path: Path) -> None:
    def fail(*asked: object) -> ModuleOp:
        raise DiagnosticError.at(None, "no such op")

    with pytest.raises(DiagnosticError, match="no such op"):
        run_script(script, [], fail, root=tmp_path)


def test_an_unknown_platform_is_a_usage_error(script: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no platform 'a9'"):
        run_script(script, ["-p", "a9"], Compiler(), root=tmp_path)


def test_modules_beside_the_script_can_be_imported(script: Path, tmp_path: Path) -> None:
    (tmp_path / "beside_the_script.py").write_text("STATUS = 4\n")
    script.write_text("import beside_the_script\nraise SystemExit(beside_the_script.STATUS)\n")
    assert run_script(script, [], Compiler(), root=tmp_path) == 4


def test_a_fault_of_ours_is_not_laid_at_the_scripts_door(script: Path, tmp_path: Path) -> None:
    def fail(*asked: object) -> ModuleOp:
        nothing: Any = None
        return parse(nothing)

    with pytest.raises(TypeError):
        run_script(script, [], fail, root=tmp_path)
