"""`pto-buf-opt`: reads IR, runs passes, prints IR, with the conventions of `mlir-opt`."""

import argparse
import os
import re
import sys
import time
import traceback
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from pto_buf import collector
from pto_buf.errors import (
    EXIT_USAGE,
    EXIT_WRONG_PROGRAM,
    Diagnostic,
    DiagnosticError,
    Severity,
    UsageError,
    collecting_warnings,
    render,
    render_usage,
)

# Imported where they are needed, after the arguments are understood: xDSL is most of the time to start.
if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from pto_buf.passes import PassRun
    from pto_buf.source import Source

TOOL = "pto-buf-opt"

_DESCRIPTION = """\
Read MLIR text that uses the ptobuf and pto dialects, run passes over it, and print the result."""

_EPILOG = """\
examples:
  pto-buf-opt kernel.mlir                                      check it and print it in its usual form
  pto-buf-opt kernel.mlir -p ptobuf-plan-memory,canonicalize   run passes in this order
  pto-buf-opt kernel.mlir -p 'ptobuf-schedule{interleave=2}'   a pass with an option
  pto-buf-opt bad.mlir --split-input-file --expect-errors      a test of error messages

exit status: 0 done; 1 the program is wrong (or, said so, a bug in this tool); 2 the command line is wrong."""


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"{TOOL} --help shows all options")


def _argument_parser() -> argparse.ArgumentParser:
    parser = _Arguments(
        prog=TOOL, description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", help="the file to read; - or nothing: standard input")
    add("-o", dest="output", default="-", metavar="FILE", help="where to write; - or nothing: standard output")
    add(
        "-p",
        "--passes",
        "--pass-pipeline",
        action="append",
        default=[],
        metavar="PASSES",
        help="passes to run, separated by commas, each with its options in braces",
    )
    add(
        "--check-sync",
        dest="passes",
        action="append_const",
        const="ptobuf-check-sync",
        help="after the passes named so far, prove that the fences are right for every run",
    )
    add("--list-passes", action="store_true", help="name the passes of this package, in the order of its pipeline")
    add("--split-input-file", action="store_true", help="treat the parts between `// -----` lines one by one")
    add(
        "--expect-errors",
        "--verify-diagnostics",
        action="store_true",
        help="check errors against `// expected-error@+1 {{words}}` comments (also -note, -warning, -help); "
        "print no program",
    )
    add(
        "--print-op-generic",
        "--mlir-print-op-generic",
        action="store_true",
        help="print every op in MLIR's generic form, which mlir-opt reads with --allow-unregistered-dialect",
    )
    add(
        "--ptoas-version",
        metavar="VERSION",
        help="write for this version of the assembler, such as 0.48; without it, as all read it where they agree",
    )
    add("--print-debuginfo", "--mlir-print-debuginfo", action="store_true", help="print the place of each op")
    add("--allow-unregistered-dialect", action="store_true", help="accept ops of dialects that are not known")
    add("--verify-each", action="store_true", help="verify what each pass leaves, not only what the last one does")
    add(
        "--print-ir-after-all",
        "--mlir-print-ir-after-all",
        action="store_true",
        help="print the program after each pass, on standard error",
    )
    add("--timing", "--mlir-timing", action="store_true", help="print the seconds of each step, on standard error")
    add("--debug", action="store_true", help="show a Python traceback with an error")
    return parser


@dataclass(frozen=True)
class _Options:
    """The arguments, with the names and meanings of `_argument_parser`."""

    input: str
    output: str
    passes: list[str]
    list_passes: bool
    split_input_file: bool
    expect_errors: bool
    print_op_generic: bool
    ptoas_version: str | None
    print_debuginfo: bool
    allow_unregistered_dialect: bool
    verify_each: bool
    print_ir_after_all: bool
    timing: bool
    debug: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool with these arguments, or those of the process. Returns the exit status."""
    debug = "--debug" in (sys.argv[1:] if arguments is None else arguments)
    try:
        with collector.paused():
            return _run(_Options(**vars(_argument_parser().parse_args(arguments))))
    except UsageError as err:
        sys.stderr.write(render_usage(TOOL, err))
        return EXIT_USAGE
    except DiagnosticError as err:
        _traceback_if(debug)
        sys.stderr.write(render(err.diagnostics))
    except BrokenPipeError:  # whoever read our output has seen enough; Python must not complain about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as err:
        _traceback_if(debug)
        sys.stderr.write(
            f"{TOOL}: bug: {_said_by(err)}\n"
            "this is a fault of ptobuf, not of the program; please report it with the program that shows it\n"
            + ("" if debug else "help: --debug shows the traceback\n")
        )
    return EXIT_WRONG_PROGRAM


def _traceback_if(debug: bool) -> None:
    if debug:
        traceback.print_exc()


def _said_by(err: Exception) -> str:
    from pto_buf.passes import BugError

    return str(err) if isinstance(err, BugError) else f"{type(err).__name__}: {err}"


def _run(options: _Options) -> int:
    from pto_buf.output import write_output
    from pto_buf.passes import available_passes, parse_passes
    from pto_buf.source import read_source

    if options.list_passes:
        return _list_passes()
    clock = _Clock(options.timing)
    passes = parse_passes(",".join(options.passes), available_passes())
    source = read_source(options.input)
    outputs: list[str] = []
    said: list[Diagnostic] = []
    for chunk, first_line in _chunks(source.text, options.split_input_file):
        found: tuple[Diagnostic, ...] = ()
        with collecting_warnings() as warnings:
            try:
                outputs.append(_transformed(options, passes, source, chunk, first_line, clock))
            except DiagnosticError as err:
                _traceback_if(options.debug)
                found = err.diagnostics
        found = (*warnings, *found)
        if options.expect_errors:
            from pto_buf.expectations import disagreements, expectations

            found = disagreements(expectations(chunk, source.file, first_line), found, source.file)
        said.extend(found)
    sys.stderr.write(render(said, {source.file: source.text}))
    if any(diagnostic.severity is Severity.ERROR for diagnostic in said):
        return EXIT_WRONG_PROGRAM
    if not options.expect_errors:
        write_output(options.output, "// -----\n".join(outputs))
    return 0


_SPLIT = re.compile(r"^[ \t]*// -----.*\n?", re.MULTILINE)
_NOTHING = re.compile(r"(?:\s++|//[^\n]*+)*+")


def _chunks(text: str, split: bool) -> Iterator[tuple[str, int]]:
    """The parts of the text, with the line that each starts on. When split, parts of comments alone are left out."""
    if not split:
        yield text, 1
        return
    start, line = 0, 1
    for match in [*_SPLIT.finditer(text), None]:
        end = match.start() if match else len(text)
        chunk = text[start:end]
        if not _NOTHING.fullmatch(chunk):
            yield chunk, line
        if match:
            line += text.count("\n", start, match.end())
            start = match.end()


def _transformed(
    options: _Options, passes: "Sequence[ModulePass]", source: "Source", chunk: str, first_line: int, clock: "_Clock"
) -> str:
    from pto_buf.passes import run_passes
    from pto_buf.printing import text_of
    from pto_buf.source import parse_text
    from pto_buf.universe import make_context
    from pto_buf.verification import verify_module

    ctx = make_context(allow_unregistered=options.allow_unregistered_dialect)

    def after(module: "ModuleOp", run: "PassRun") -> None:
        clock.show(run.name, run.seconds)
        if options.print_ir_after_all:
            sys.stderr.write(f"// -----// IR after {run.name} //----- //\n{text_of(module)}\n")

    with clock.measuring("read"):
        module = parse_text(ctx, chunk, source.file, first_line)
    with clock.measuring("verify"):
        verify_module(module)
    run_passes(ctx, module, passes, verify_each=options.verify_each, after=after)
    if options.ptoas_version is not None:
        from pto_buf.dialect.versions import parse_version, spell_for

        spell_for(module, parse_version(options.ptoas_version))
    with clock.measuring("print"):
        return text_of(module, generic=options.print_op_generic, debuginfo=options.print_debuginfo)


@dataclass(frozen=True)
class _Clock:
    """Shows how long the steps take, if that was asked for."""

    on: bool

    def show(self, step: str, seconds: float) -> None:
        if self.on:
            sys.stderr.write(f"{seconds:10.4f} s  {step}\n")

    @contextmanager
    def measuring(self, step: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self.show(step, time.perf_counter() - start)


def _list_passes() -> int:
    from pto_buf.lowering import PASSES

    for name, load in PASSES.items():
        summary = (load().__doc__ or "").strip().partition("\n")[0]
        sys.stdout.write(f"{name:26} {summary}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
