# pyright: reportUndefinedVariable=false, reportUnknownMemberType=false
# ruff: noqa: F821, `config` and `lit_config` are given by lit
"""For running lit by hand: `lit -v test`. `make test` executes the same lines inside pytest (test/conftest.py)."""

import os
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).parent
sys.path.insert(0, str(here))
from support.lit_lines import MACROS  # noqa: E402

config.name = "ptobuf"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir", ".pto"]
config.excludes = ["Inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(here.parent / "build" / "lit")
config.substitutions += [(rf"\b{word}\b", command) for word, command in MACROS.items()]
# `pto-buf-opt` and `filecheck` are those of the Python that runs lit.
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
for name in ("PYTHONPATH", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COVERAGE_RCFILE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
