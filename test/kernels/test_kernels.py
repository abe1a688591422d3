"""Whole kernels, from their Python source: compiled, proven, run in several orders, and the wrong ones refused."""

import subprocess
from functools import cache
from pathlib import Path

import pytest

from pto_buf.compiler import Compiled, compile_file
from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import DiagnosticError
from pto_buf.hw import A5
from pto_buf.printing import text_of
from pto_buf.run import Case, load_cases, run_case
from pto_buf.sim.orders import order_named
from pto_buf.source import parse_text
from pto_buf.universe import make_context

FOLDER = Path(__file__).parent / "sources"
GOOD = ("accumulate", "panels", "products", "several", "streams", "spellings", "softmax")


def cases(name: str) -> tuple[Case, ...]:
    return load_cases(FOLDER / f"{name}.py")


@cache
def compiled(name: str, kernel: str, target: str) -> Compiled:
    return compile_file(FOLDER / f"{name}.py", kernel, target=target)


ALL = [(name, case) for name in GOOD for case in cases(name)]
KERNELS = sorted({(name, case.kernel) for name, case in ALL})


@pytest.mark.parametrize("order", ["late", "early", "random:5"])
@pytest.mark.parametrize(("name", "case"), ALL, ids=[case.name for _, case in ALL])
def test_values_are_right_in_every_order(name: str, case: Case, order: str):
    result = run_case(case, compiled(name, case.kernel, "a2a3").module, order_named(order))
    assert result.passed, result.reasons


@pytest.mark.parametrize(("name", "kernel"), KERNELS)
def test_it_compiles_and_is_proven_for_the_other_chips_too(name: str, kernel: str):
    result = compiled(name, kernel, "a5")
    assert target_of(result.module) is A5
    (case, *_) = [case for case in cases(name) if case.kernel == kernel]
    assert run_case(case, result.module, order_named("late")).passed


@pytest.mark.parametrize(("name", "kernel"), KERNELS)
def test_the_text_reads_back_as_what_it_was(name: str, kernel: str):
    text = compiled(name, kernel, "a2a3").text
    again = parse_text(make_context(), text, "again.pto")
    again.verify()
    assert text_of(again) == text
    assert "ptobuf" not in text
    assert "pto.set_flag[" in text


def test_mlir_reads_all_of_it(mlir_opt: str):
    texts = [
        text_of(compiled(name, kernel, target).module, generic=True)
        for name, kernel in KERNELS
        for target in ("a2a3", "a5")
    ]
    command = [mlir_opt, "--allow-unregistered-dialect", "--split-input-file"]
    done = subprocess.run(command, input="// -----\n".join(texts), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_marked_mistake_is_named_in_one_run():
    file = FOLDER / "mistakes.py"
    marked = [
        (number, line.partition("# ERROR: ")[2])
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if "# ERROR: " in line
    ]
    with pytest.raises(DiagnosticError) as caught:
        compile_file(file)
    found = [(one.place.line, one.kind) for one in caught.value.diagnostics if one.place is not None]
    assert found == marked
