"""`pto-buf`: the command line for people. `pto-buf-opt` is the one for IR."""

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import click
import typer

from pto_buf.errors import DiagnosticError, UsageError, render, render_usage
from pto_buf.tools.opt import EXIT_USAGE, EXIT_WRONG_PROGRAM

TOOL = "pto-buf"

app = typer.Typer(
    name=TOOL,
    help="Explicit buffer slots for Ascend NPU kernels: compile, run and check them on a laptop.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Arch(StrEnum):
    """Chip families."""

    A2A3 = "a2a3"
    A5 = "a5"


class GmRaw(StrEnum):
    """What to make of global memory that is read after it was written in one kernel."""

    REFUSE = "refuse"
    FLAG = "flag"


KernelArgument = Annotated[str, typer.Argument(metavar="FILE.py[:KERNEL]", help="The kernels of a Python file, or one.")]
ArchOption = Annotated[Arch, typer.Option("--arch", help="The chip to compile for.")]
OutputOption = Annotated[str | None, typer.Option("-o", metavar="FILE", help="Where the .pto goes; - is standard output.")]
InterleaveOption = Annotated[
    int | None, typer.Option(min=1, help="Put this many trips of the innermost loops side by side.")
]
NoCheckOption = Annotated[bool, typer.Option("--no-check-sync", help="Do not prove the fences right.")]
UnprovenOption = Annotated[bool, typer.Option("--allow-unproven", help="Accept a proof that is incomplete.")]
GmRawOption = Annotated[GmRaw, typer.Option("--gm-raw", help="Accept flags as order of global memory.")]
OrderOption = Annotated[str, typer.Option(help="late, early or random:SEED: when each pipe does what it may.")]


@app.command("compile")
def compile_(
    kernel: KernelArgument,
    arch: ArchOption = Arch.A2A3,
    output: OutputOption = None,
    interleave: InterleaveOption = None,
    no_check_sync: NoCheckOption = False,
    allow_unproven: UnprovenOption = False,
    gm_raw: GmRawOption = GmRaw.REFUSE,
    memory_map: Annotated[
        str | None, typer.Option(metavar="FILE.html", help="Draw the memory map there; - is the terminal.")
    ] = None,
    dump: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write the IR behind each pass there.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no report.")] = False,
) -> None:
    """Compile kernels to level-3 .pto, prove their fences, and report memory, order and fences."""
    from pto_buf.tools.compile_command import run

    run(
        kernel,
        target=arch.value,
        output=output,
        options=_options(interleave, no_check_sync, allow_unproven, gm_raw),
        memory_map=memory_map,
        dump=dump,
        quiet=quiet,
    )


@app.command("run", context_settings={"ignore_unknown_options": True})
def run_(
    kernel: KernelArgument,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[-- ARGUMENTS]", help="The script's own.")] = None,
    arch: ArchOption = Arch.A2A3,
    order: OrderOption = "late",
    interleave: InterleaveOption = None,
    allow_unproven: UnprovenOption = False,
    gm_raw: GmRawOption = GmRaw.REFUSE,
    stand_in: Annotated[
        bool, typer.Option("--stand-in", help="Use our stand-ins for pypto, golden and torch though they are installed.")
    ] = False,
) -> None:
    """Execute a kernel file on the simulator: its CASES, or the script itself, and compare with its golden result."""
    from pto_buf.tools.run_command import run

    run(
        kernel,
        arguments or [],
        target=arch.value,
        order=order,
        options=_options(interleave, False, allow_unproven, gm_raw),
        shadow=stand_in,
    )


@app.command("demo")
def demo() -> None:
    """Compile the examples in both forms, show what became of them, and run them."""
    from pto_buf.tools.demo_command import run

    run()


def _options(interleave: int | None, no_check_sync: bool, allow_unproven: bool, gm_raw: GmRaw):
    from pto_buf.lowering.pipeline import PipelineOptions

    return PipelineOptions(interleave, not no_check_sync, allow_unproven, gm_raw.value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool with these arguments, or those of the process. Returns the exit status."""
    return _with_errors(lambda: app(args=arguments, standalone_mode=False))


def _with_errors(command: Callable[[], object]) -> int:
    """The exit status: 0, 1 for a wrong program, 2 for a wrong command line, or what the command says."""
    try:
        command()
    except click.exceptions.NoArgsIsHelpError as err:
        sys.stderr.write(f"{err.format_message()}\n")
        return EXIT_USAGE
    except click.ClickException as err:
        sys.stderr.write(render_usage(TOOL, UsageError(err.format_message())))
        return EXIT_USAGE
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.Abort:
        return EXIT_WRONG_PROGRAM
    except UsageError as err:
        sys.stderr.write(render_usage(TOOL, err))
        return EXIT_USAGE
    except DiagnosticError as err:
        sys.stderr.write(render(err.diagnostics))
        return EXIT_WRONG_PROGRAM
    return 0


if __name__ == "__main__":
    sys.exit(main())
