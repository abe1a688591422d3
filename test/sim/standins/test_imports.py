"""Stand-ins are found where the real packages are absent, and leave no trace."""

import importlib
import sys
from pathlib import Path

import pytest

from pto_buf.sim.standins.imports import PACKAGES, absent, standing_in


def test_every_package_is_found_under_its_usual_name_and_gone_afterwards() -> None:
    before = set(sys.modules)
    with standing_in(PACKAGES):
        torch = importlib.import_module("torch")
        golden = importlib.import_module("golden")
        language = importlib.import_module("pypto.language")
        assert torch.__name__ == "torch"
        assert callable(golden.run_jit)
        assert language.Mem.Mat is importlib.import_module("pto_buf.language").Mem.Mat
        assert importlib.import_module("pypto").language is language
    assert not any(name.partition(".")[0] in PACKAGES for name in set(sys.modules) - before)


def test_a_module_that_is_not_among_them_names_the_package() -> None:
    with standing_in(["pypto"]), pytest.raises(ModuleNotFoundError, match=r"module pypto\.backend .* install pypto"):
        importlib.import_module("pypto.backend")


def test_a_folder_of_the_name_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_checkout" / "python").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    assert absent(["some_checkout"]) == ("some_checkout",)


def test_real_packages_are_not_absent_and_are_hidden_only_on_request() -> None:
    assert absent(["numpy", "no_such_package_at_all"]) == ("no_such_package_at_all",)
    real = sys.modules["numpy"]
    with standing_in(["torch"]):
        assert importlib.import_module("numpy") is real
    with standing_in(["numpy"]), pytest.raises(ModuleNotFoundError, match="install numpy"):
        importlib.import_module("numpy")
    assert sys.modules["numpy"] is real


def test_names_that_start_and_end_with_underscores_are_just_absent() -> None:
    from pto_buf.sim.standins import golden, pypto, torch

    for module in (golden, pypto, torch):
        assert not hasattr(module, "__wrapped__")
        assert not hasattr(module, "no_such_name")
