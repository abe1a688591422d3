"""Running kernels on a laptop: `pto` text on arrays, kernel files with their `CASES`, scripts with a `main()`."""

import ast
import os
import runpy
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from pto_buf.errors import DiagnosticError, Note, Place, UsageError
from pto_buf.frontend import blocks
from pto_buf.sim.compare import Mismatch, compare
from pto_buf.sim.launch import launch_with, narrowed, split_arguments
from pto_buf.sim.orders import Order, order_named
from pto_buf.sim.simulate import Run, simulate
from pto_buf.sim.standins.imports import PACKAGES, absent, standing_in
from pto_buf.sim.standins.runtime import launching
from pto_buf.sim.standins.session import Compile, Session, session
from pto_buf.source import parse_text, read_source
from pto_buf.universe import make_context

SEED = 0
"""Seed of the inputs of cases, unless another is asked for."""


def run_pto(
    source: ModuleOp | str | Path,
    arguments: Mapping[str, Any],
    *,
    kernel: str | None = None,
    order: str | Order = "late",
    blocks: int = 1,
) -> Run:
    """Run a `pto` kernel on the simulator: a module, its text, or the path of a `.pto` file.

    `arguments` gives arrays and numbers by the names of the function's arguments; a number that is an extent of an
    array may be left out. The arrays are not changed: the result holds those that the kernel leaves.
    Raises DiagnosticError for a fault (deadlock, second set of a pending flag, leftover flag, access out of bounds) and
    UsageError for wrong arguments.
    """
    if isinstance(source, Path):
        text = read_source(str(source))
        module = parse_text(make_context(), text.text, text.file)
    else:
        module = parse_text(make_context(), source, "<text>") if isinstance(source, str) else source
    arrays, numbers = split_arguments(arguments)
    launch = launch_with(module, arrays, numbers, kernel=kernel, blocks=blocks)
    return simulate(launch, order_named(order) if isinstance(order, str) else order).checked()


@dataclass(frozen=True)
class Case:
    """One entry of a kernel file's `CASES`: `name` is the kernel's, behind a `#` whatever tells its cases apart."""

    name: str
    inputs: Callable[[np.random.Generator], Mapping[str, Any]]
    reference: Callable[[Mapping[str, Any]], Mapping[str, Any]]

    @property
    def kernel(self) -> str:
        return self.name.partition("#")[0]


@dataclass(frozen=True)
class CaseResult:
    """How a case went: what differs, and what went wrong on the way."""

    case: Case
    run: Run
    mismatches: tuple[Mismatch, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.mismatches and not self.run.faults

    @property
    def reasons(self) -> tuple[str, ...]:
        """Each fault, each array that differs, and the first reads that saw another value than they should."""
        faults = (str(DiagnosticError(fault.diagnostic)) for fault in self.run.faults)
        displaced = self.run.displaced[:3] if self.mismatches else ()
        return (*faults, *(str(one) for one in self.mismatches), *(str(one) for one in displaced))


def load_cases(path: str | Path) -> tuple[Case, ...]:
    """The `CASES` of a kernel file, which is executed for them, with stand-ins for what is not installed.

    Raises DiagnosticError, at the file or the line that fails.
    """
    with _script(Path(path), ()), standing_in(absent()):
        names = runpy.run_path(str(path), run_name="pto_buf_cases")
    cases = names.get("CASES")
    if not isinstance(cases, dict) or not cases:
        raise DiagnosticError.at(
            Place(str(path)),
            "has no CASES to run",
            help="CASES = {kernel: (make_inputs(rng), reference(inputs))}, or a main() that calls run_jit",
            kind="no-cases",
        )
    return tuple(Case(name, *parts) for name, parts in cast(dict[str, tuple[Any, Any]], cases).items())


def has_cases(path: str) -> bool:
    """Whether the file assigns `CASES` at its top level; it is only read for that. Raises DiagnosticError."""
    source = read_source(path)
    try:
        body = ast.parse(source.text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(target, ast.Name) and target.id == "CASES" for target in targets)


def case_arguments(path: str, kernel: str, seed: int = SEED) -> Mapping[str, Any] | None:
    """The inputs of the file's first case for the kernel; None where it has none. Raises as `load_cases`."""
    if not has_cases(path):
        return None
    own = [case for case in load_cases(path) if case.kernel.rpartition(".")[2] == kernel]
    return own[0].inputs(np.random.default_rng(seed)) if own else None


def run_cases(
    path: str | Path,
    compile: Compile,
    *,
    target: str = "a2a3",
    order: str | Order = "late",
    seed: int = SEED,
    only: Iterable[str] | None = None,
) -> Generator[CaseResult]:
    """Compile and run each case of a kernel file, in their order, yielding each result as it comes.

    `only` picks kernels or cases by name. A kernel with several cases is compiled once.
    Raises DiagnosticError for a file or kernel that is wrong, UsageError for names that are not there.
    """
    cases = load_cases(path)
    wanted = None if only is None else frozenset(only)
    chosen = [case for case in cases if wanted is None or case.name in wanted or case.kernel in wanted]
    if not chosen:
        raise UsageError(f"{path} has no such case", f"there is: {', '.join(case.name for case in cases)}")
    how = order_named(order) if isinstance(order, str) else order
    modules: dict[str, ModuleOp] = {}
    for case in chosen:
        if case.kernel not in modules:
            modules[case.kernel] = compile(str(path), case.kernel, target, None)
        yield run_case(case, modules[case.kernel], how, seed, blocks(path, case.kernel))


def run_case(case: Case, module: ModuleOp, order: Order, seed: int = SEED, blocks: int = 1) -> CaseResult:
    """Run one case on a compiled kernel and compare what the reference names with what the kernel leaves.

    Inputs in a wider float type than the kernel takes are rounded to it first, for the reference too.
    """
    start = time.perf_counter()
    given = case.inputs(np.random.default_rng(seed))
    inputs = narrowed(module, given)
    expected = case.reference({name: _as(value, given[name]) for name, value in inputs.items()})
    arrays, numbers = split_arguments(inputs)
    run = simulate(launch_with(module, arrays, numbers, blocks=blocks), order)
    mismatches = compare(run.arrays, expected) if not run.faults else ()
    return CaseResult(case, run, mismatches, time.perf_counter() - start)


def _as(value: Any, like: Any) -> Any:
    return value.astype(like.dtype) if value is not like else value


def run_script(
    path: str | Path,
    arguments: Sequence[str],
    compile: Compile,
    *,
    order: str | Order = "late",
    root: str | Path = "build_output",
    shadow: bool = False,
) -> int:
    """Run a script as its author does, with `golden.run_jit` and calls of kernels on the simulator. Returns its status.

    `root` is the folder for what each kernel's compilation leaves. Packages that are installed are used, unless
    `shadow` asks for the stand-ins in their place.
    Raises DiagnosticError for a mistake in a kernel and for an exception of the script, at the script's line.
    """
    how = order_named(order) if isinstance(order, str) else order
    packages = PACKAGES if shadow else absent()
    with session(Session(compile, how, Path(root))), launching(), standing_in(packages), _script(Path(path), arguments):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as leaving:
            return _status(leaving)
    return 0


def _status(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    sys.stderr.write(f"{leaving.code}\n")
    return 1


@contextmanager
def _script(path: Path, arguments: Sequence[str]) -> Generator[None]:
    """As `python script.py arguments`: its folder first on the path; errors become diagnostics at its lines."""
    if not path.is_file():
        raise DiagnosticError.at(Place(str(path)), "no such file", kind="unreadable-file")
    argv, search = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        yield
    except (DiagnosticError, UsageError, SystemExit, KeyboardInterrupt):
        raise
    except SyntaxError as error:
        place = Place(error.filename or str(path), error.lineno or 0, error.offset or 0)
        raise DiagnosticError.at(place, error.msg, kind="syntax") from error
    except Exception as error:
        if _ours(error, path):
            raise
        raise _failed(error, path) from error
    finally:
        sys.argv = argv
        sys.path[:] = search


def _ours(error: Exception, script: Path) -> bool:
    """Whether it is a fault of this package: behind the script's last line, and not in what stands in for others."""
    here, own = Path(__file__).parent, os.path.realpath(script)
    asked = (here / "sim" / "standins", here / "language")
    trace, found, reached = error.__traceback__, False, False
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if os.path.realpath(file) == own:
            found, reached = False, True
        elif reached and file.is_relative_to(here):
            found = not any(file.is_relative_to(folder) for folder in asked)
        trace = trace.tb_next
    return found


def _failed(error: Exception, path: Path) -> DiagnosticError:
    """The exception at the innermost line of the script that led to it, the lines that led there as notes."""
    lines = list(_lines_of(error.__traceback__, os.path.realpath(path)))
    words = str(error) or "no message"
    message = f"{type(error).__name__}: {words}"
    if not lines:
        return DiagnosticError.at(Place(str(path)), message, kind="script")
    notes = tuple(Note(Place(str(path), line), "called from here") for line in reversed(lines[:-1]))
    return DiagnosticError.at(Place(str(path), lines[-1]), message, *notes, kind="script")


def _lines_of(trace: TracebackType | None, file: str) -> Iterable[int]:
    while trace is not None:
        if os.path.realpath(trace.tb_frame.f_code.co_filename) == file:
            yield trace.tb_lineno
        trace = trace.tb_next
