"""Every .mlir and .pto file under test/ is a test of its own: `pytest test/tools/opt.mlir` runs one."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.lit_lines import Outcome, run_line, run_lines, substituted

SUFFIXES = (".mlir", ".pto")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect lit tests. Files in a folder named Inputs belong to other tests."""
    if file_path.suffix in SUFFIXES and "Inputs" not in file_path.parts:
        return LitFile.from_parent(parent, path=file_path)
    return None


class LitFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield LitTest.from_parent(self, name="lit")


class LitFailure(Exception):
    pass


class LitTest(pytest.Item):
    """The RUN lines of one file; all must succeed."""

    def runtest(self) -> None:
        lines = run_lines(self.path)
        if not lines:
            raise LitFailure(f"{self.path} has no RUN line")
        root = self.config.rootpath
        scratch = root / "build" / "lit" / self.path.parent.relative_to(root)
        scratch.mkdir(parents=True, exist_ok=True)
        for line in lines:
            outcome = run_line(substituted(line, self.path, scratch))
            if outcome.status != 0:
                raise LitFailure(_log(line, outcome))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.relative_to(self.config.rootpath))


def _log(line: str, outcome: Outcome) -> str:
    return f"RUN: {line}\nexit status {outcome.status}\n--- out\n{outcome.out}--- err\n{outcome.err}"


@pytest.fixture(scope="session")
def mlir_opt() -> str:
    """The program that gives a second opinion on our text: optional for developers, compulsory under CI."""
    found = os.environ.get("MLIR_OPT") or shutil.which("mlir-opt-19") or shutil.which("mlir-opt")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have MLIR: install Debian's mlir-19-tools")
        pytest.skip("there is no mlir-opt here: install mlir-19-tools, or name one in MLIR_OPT")
    return found


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser in which pages are looked at: optional for developers, compulsory under CI."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have a browser: install Debian's chromium-headless-shell")
        pytest.skip("there is no Chromium here: install chromium-headless-shell, or name one in CHROMIUM")
    return found
