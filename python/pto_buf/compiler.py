"""Compiling: from a Python file of kernels, or a `ptobuf` module, to checked level-3 `pto`."""

from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from pto_buf import collector
from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import UNPROVEN, Diagnostic, DiagnosticError, UsageError, collecting_warnings, near_miss
from pto_buf.frontend import kernels, read
from pto_buf.hw import TARGETS, Target
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.output import write_output
from pto_buf.passes import available_passes, parse_passes, run_passes
from pto_buf.printing import text_of
from pto_buf.source import Source, parse_text, read_source
from pto_buf.universe import make_context
from pto_buf.verification import verify_module
from pto_buf.walking import ops_in
from pto_buf.ways import lower

DEFAULT_TARGET = "a2a3"


@dataclass(frozen=True)
class Loaded:
    """Kernels as `pto`. `compiled` is None where they were `pto` already; `python`: they were Python."""

    module: ModuleOp
    compiled: "Compiled | None" = None
    python: bool = False

    @staticmethod
    def of(compiled: "Compiled", *, python: bool = False) -> "Loaded":
        return Loaded(compiled.module, compiled, python)


@dataclass(frozen=True)
class Compiled:
    """A module of kernels as `pto`, with what reports are made from.

    `fenced` is the module before its last step: slot sets with addresses, events with ids and reasons.
    `warnings` is what the passes said without stopping.
    """

    module: ModuleOp
    fenced: ModuleOp
    warnings: tuple[Diagnostic, ...]

    @property
    def unproven(self) -> bool:
        """Whether the proof of a kernel was incomplete, and that was accepted."""
        return any(warning.kind == UNPROVEN for warning in self.warnings)

    @property
    def text(self) -> str:
        """The `.pto` text."""
        return text_of(self.module)


def target_named(name: str) -> Target:
    """Raises UsageError for a name that no target has."""
    if name not in TARGETS:
        raise UsageError(f"there is no target '{name}'", near_miss(name, TARGETS) or f"there are: {', '.join(TARGETS)}")
    return TARGETS[name]


@collector.paused()
def compile_module(module: ModuleOp, options: PipelineOptions, *, dump: Path | None = None) -> Compiled:
    """Lower a `ptobuf` module. `dump` is a folder for the IR behind each pass.

    Works in place unless the fences cannot be proven: then other ways are tried on a copy.
    Raises DiagnosticError for a mistake in the program; then nothing of the module is of use.
    """
    lowered = lower(module, options, dump)
    return Compiled(lowered.module, lowered.fenced, lowered.warnings)


@collector.paused()
def compile_file(
    path: str | Path,
    entry: str | None = None,
    *,
    target: str = DEFAULT_TARGET,
    options: PipelineOptions | None = None,
    dump: Path | None = None,
    source: str | None = None,
) -> Compiled:
    """Compile the kernels of a Python file, or the one named `entry`. The file is read, never executed.

    `source` is the text where it is not that of the file; `path` then only names it in errors.
    Raises DiagnosticError for mistakes in the file, UsageError for an unknown target or kernel.
    """
    chip = target_named(target)
    options = options or PipelineOptions()
    warnings: list[Diagnostic] = []
    try:
        module = read(str(path), entry, chip, source=source, warn=warnings.append)
        if dump is not None:
            write_output(str(dump / "00_frontend.mlir"), text_of(module))
        compiled = compile_module(module, options, dump=dump)
    except DiagnosticError as err:
        raise DiagnosticError(*_all_mistakes(err, path, entry, chip, source)) from err
    return Compiled(compiled.module, compiled.fenced, (*warnings, *compiled.warnings))


def load(
    path: str,
    entry: str | None = None,
    *,
    target: str | None = None,
    options: PipelineOptions | None = None,
    dump: Path | None = None,
) -> Loaded:
    """The kernels of a Python file, of `ptobuf` text or of `pto` text, as `pto`; `-` is text on standard input.

    `target` is for Python; a text names its own, which must not be another.
    Raises DiagnosticError for mistakes in the file, UsageError for a target that it is not for.
    """
    if path.endswith(".py"):
        compiled = compile_file(path, entry, target=target or DEFAULT_TARGET, options=options, dump=dump)
        return Loaded.of(compiled, python=True)
    return load_text(read_source(path), target=target, options=options, dump=dump)


def load_text(
    source: Source, *, target: str | None = None, options: PipelineOptions | None = None, dump: Path | None = None
) -> Loaded:
    """The kernels of `ptobuf` or `pto` text as `pto`. Raises as `load`."""
    module = parse_text(make_context(), source.text, source.file)
    return load_module(module, source.file, target=target, options=options, dump=dump)


def load_module(
    module: ModuleOp,
    called: str,
    *,
    target: str | None = None,
    options: PipelineOptions | None = None,
    dump: Path | None = None,
) -> Loaded:
    """The kernels of a `ptobuf` or `pto` module, lowered in place. `called` names it in errors. Raises as `load`."""
    verify_module(module)
    own = target_of(module).name
    if target is not None and target_named(target).name != own:
        raise UsageError(f"{called} is for {own}, not for {target}")
    if not any(op.name.startswith("ptobuf.") for op in ops_in(module)):
        return Loaded(module)
    return Loaded.of(compile_module(module, options or PipelineOptions(), dump=dump))


_PROGRAM_CHECKS = ("ptobuf-verify-slots", "ptobuf-reuse-in-place,ptobuf-plan-memory{check-only=true}")
"""The passes that judge a user's program."""


def _all_mistakes(
    first: DiagnosticError, path: str | Path, entry: str | None, target: Target, source: str | None
) -> list[Diagnostic]:
    """What stopped a compilation, and what is wrong with the file's other kernels, so that one run tells all."""
    found = list(first.diagnostics)
    try:
        names = [entry] if entry is not None else list(kernels(path, source))
    except DiagnosticError:
        return found
    for name in names:
        for check in _PROGRAM_CHECKS:
            try:
                with collecting_warnings():
                    module = read(str(path), name, target, source=source)
                    run_passes(make_context(), module, parse_passes(check, available_passes()))
            except DiagnosticError as err:
                found += [diagnostic for diagnostic in err.diagnostics if diagnostic not in found]
    return found
