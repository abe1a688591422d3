"""The kernels in `kernels/` compile, are proven, and give their reference results on the simulator."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from pto_buf.compiler import compile_file
from pto_buf.run import load_cases, run_cases

FILES = sorted((Path(__file__).parent / "kernels").glob("*.py"))
CASES = [pytest.param(path, case.name, id=f"{path.stem}:{case.name}") for path in FILES for case in load_cases(path)]

_compiled: dict[tuple[str, str | None, str], ModuleOp] = {}


def _compile(path: str, entry: str | None, target: str, dump: Path | None) -> ModuleOp:
    """Each kernel once, however many cases it has."""
    key = (path, entry, target)
    if key not in _compiled:
        _compiled[key] = compile_file(path, entry, target=target, dump=dump).module
    return _compiled[key]


@pytest.mark.parametrize(("path", "case"), CASES)
def test_a_kernel_gives_its_reference_result(path: Path, case: str):
    (result,) = run_cases(path, _compile, only=[case])
    assert result.passed, result.reasons
