"""`pto-buf`: the command line for people. `pto-buf-opt` is the one for IR."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pto_buf.errors import DiagnosticError, UsageError, render, render_usage
from pto_buf.hw import TARGETS
from pto_buf.tools.opt import EXIT_USAGE, EXIT_WRONG_PROGRAM

if TYPE_CHECKING:
    from pto_buf.lowering.pipeline import PipelineOptions

TOOL = "pto-buf"

_F = TypeVar("_F", bound=Callable[..., Any])


_BY_SOURCE = click.option(
    "--flags-by-source",
    is_flag=True,
    help="Let an event id of a source serve one destination only, for hardware that tells flags apart by these two.",
)


def _scheduling(command: _F) -> _F:
    """The options of every command that compiles."""
    return _with(
        command,
        click.option(
            "--arch", type=click.Choice(list(TARGETS)), help="The chip; without it a2a3, or what a text of IR says."
        ),
        click.option(
            "--interleave",
            type=click.IntRange(min=1),
            help="Put this many trips of the innermost loops side by side; without it the source's stage= says.",
        ),
    )


def _compiling(command: _F) -> _F:
    """The options of every command that compiles and proves."""
    return _scheduling(
        _with(
            command,
            click.option("--allow-unproven", is_flag=True, help="Accept fences whose proof is incomplete."),
            click.option(
                "--gm-raw",
                type=click.Choice(["refuse", "flag"]),
                default="refuse",
                help="Whether a flag orders a load behind a store to the same global memory.",
            ),
            click.option(
                "--lanes",
                type=click.Choice(["auto", "dynamic", "unroll"]),
                default="auto",
                show_default=True,
                help="Compute slots and lanes in each trip, or unroll loops and name them by constants.",
            ),
            click.option("--fail-on-lost-overlap", is_flag=True, help="Refuse kernels whose fences give up overlap."),
            _BY_SOURCE,
        )
    )


def _with(command: _F, *options: Callable[[_F], _F]) -> _F:
    for option in reversed(options):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def app() -> None:
    """Explicit buffer slots for Ascend NPU kernels: compile, run and check them on a laptop."""


@app.command("compile")
@click.argument("kernel", metavar="FILE[:KERNEL]")
@_compiling
@click.option("-o", "output", metavar="FILE", help="Where the .pto goes; - is standard output.")
@click.option("--ptoas-version", metavar="VERSION", help="Write for this version of ptoas, such as 0.48.")
@click.option("--loc", is_flag=True, help="Write behind each op of the .pto the place in the source that it is for.")
@click.option("--no-check-sync", is_flag=True, help="Do not prove the fences right.")
@click.option("--dump", type=click.Path(path_type=Path), metavar="FOLDER", help="Write the IR behind each pass there.")
@click.option(
    "--memory-map",
    metavar="FILE",
    help="Draw where each slot lies and when it is needed: a page for a name in .html, else text; - prints it.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no report.")
def compile_(
    kernel: str,
    arch: str | None,
    interleave: int | None,
    allow_unproven: bool,
    gm_raw: str,
    lanes: str,
    fail_on_lost_overlap: bool,
    flags_by_source: bool,
    output: str | None,
    ptoas_version: str | None,
    loc: bool,
    no_check_sync: bool,
    dump: Path | None,
    memory_map: str | None,
    quiet: bool,
) -> int:
    """Compile kernels to level-3 .pto, prove their fences, and report memory, order and fences.

    FILE is Python, which is read and never executed, or MLIR text with ptobuf (.mlir; - for standard input).
    """
    from pto_buf.tools.compile_command import run

    check = not no_check_sync
    options = _options(interleave, check, allow_unproven, gm_raw, fail_on_lost_overlap, lanes, flags_by_source)
    return run(
        kernel,
        target=arch,
        output=output,
        version=ptoas_version,
        places=loc,
        options=options,
        dump=dump,
        memory_map=memory_map,
        quiet=quiet,
    )


@app.command("run", context_settings={"ignore_unknown_options": True})
@click.argument("kernel", metavar="FILE.py[:KERNEL]")
@click.argument("arguments", metavar="[-- ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
@_compiling
@click.option(
    "--order", default="late", show_default=True, help="late, early or random:SEED: when each pipe does what it may."
)
@click.option("--stand-in", is_flag=True, help="Use our stand-ins for pypto, golden and torch even if installed.")
def run_(
    kernel: str,
    arguments: tuple[str, ...],
    arch: str | None,
    interleave: int | None,
    allow_unproven: bool,
    gm_raw: str,
    lanes: str,
    fail_on_lost_overlap: bool,
    flags_by_source: bool,
    order: str,
    stand_in: bool,
) -> int:
    """Execute a kernel file on the simulator and compare with its golden result.

    A file with CASES runs them; any other runs as the script that it is, with ARGUMENTS.
    """
    from pto_buf.tools.run_command import run

    options = _options(interleave, True, allow_unproven, gm_raw, fail_on_lost_overlap, lanes, flags_by_source)
    return run(kernel, arguments, target=arch or "a2a3", order=order, options=options, shadow=stand_in)


_ARG = click.option("--arg", "args", multiple=True, metavar="NAME=NUMBER", help="What a number argument is.")


@app.command("profile")
@click.argument("kernel", metavar="FILE[:KERNEL]")
@_scheduling
@_ARG
@click.option("--blocks", type=click.IntRange(min=1), default=1, show_default=True, help="How many blocks run.")
@click.option("--trace", metavar="FILE", help="Write a trace for ui.perfetto.dev: .json, or .pftrace in its own form.")
@click.option("--compare", metavar="OTHER", help="Time this one too, and print it and the kernel side by side.")
@click.option("--window", metavar="START:END", help="Show these cycles only.")
@click.option("--steps", type=click.IntRange(min=0), default=24, show_default=True, help="Ops that are listed.")
@click.option("--stalls", type=click.IntRange(min=0), default=8, show_default=True, help="Stalls that are listed.")
def profile(
    kernel: str,
    arch: str | None,
    interleave: int | None,
    **wanted: Any,
) -> int:
    """Time a kernel on the simulator: swimlanes, what each pipe waits for, and how close to the bound it is.

    FILE is Python, ptobuf text, or anybody's .pto. Numbers come from --arg, else from the first of the file's CASES.
    """
    from pto_buf.tools.profile_command import Wanted, run

    return run(kernel, target=arch, options=_options(interleave, False), wanted=Wanted(**wanted))


@app.command("explain")
@click.argument("place", metavar="FILE[:KERNEL][:LINE]")
@_scheduling
@_ARG
@click.option("--fence", type=click.IntRange(min=1), metavar="N", help="Only this one, by its number in the report.")
def explain(
    place: str,
    arch: str | None,
    interleave: int | None,
    **wanted: Any,
) -> int:
    """Say of each fence at a line of the source what it orders, what it costs, and what would make it go.

    FILE is Python, ptobuf text, or anybody's .pto. Numbers come from --arg, else from the first of the file's CASES.
    """
    from pto_buf.tools.explain_command import Wanted, run

    return run(place, target=arch, options=_options(interleave, False), wanted=Wanted(**wanted))


@app.command("check")
@click.argument("file", metavar="FILE.pto")
@click.option("--trip", "trips", multiple=True, metavar="NAME=NUMBER", help="Only runs in which this argument is so.")
@click.option("--arch", type=click.Choice(list(TARGETS)), help="The chip; without it the file says.")
@click.option(
    "--gm-raw",
    type=click.Choice(["refuse", "flag"]),
    default="refuse",
    help="Whether a flag orders a load behind a store to the same global memory.",
)
@_BY_SOURCE
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
@click.option("--timeline", is_flag=True, help="Show the run behind each finding, a column for each pipe.")
@click.option("--hints", is_flag=True, help="Name fences without which the kernel is proven too.")
@click.option("--max-parallelism", is_flag=True, help="Name ops that a run orders without need; needs --trip.")
@click.option("--certificate", metavar="FILE", help="Write the states of the proof there.")
@click.option("--verify-certificate", metavar="FILE", help="Only check such a certificate, without search.")
def check(file: str, trips: tuple[str, ...], arch: str | None, gm_raw: str, **wanted: Any) -> int:
    """Prove that a .pto has no race, no deadlock, and no flag set twice or left over, whoever wrote it.

    The status is 0 if that is proven, 1 if it is wrong, 3 if the proof is incomplete.
    """
    from pto_buf.tools.check_command import Wanted, run

    return run(file, trips=trips, arch=arch, gm_raw=gm_raw, wanted=Wanted(**wanted))


@app.command("demo")
@click.argument("files", metavar="FILE.py...", nargs=-1, required=True)
def demo(files: tuple[str, ...]) -> int:
    """Compile kernel files, show what became of them, and run them against their golden results."""
    from pto_buf.tools.demo_command import run

    return run(files)


@app.command("bench")
@click.argument("files", metavar="[FILE.py...]", nargs=-1)
def bench(files: tuple[str, ...]) -> int:
    """Measure reading, checking and lowering of long programs, and of kernel files, on this machine; prints JSON."""
    from pto_buf.tools.bench_command import run

    return run(files)


def _options(
    interleave: int | None,
    check: bool,
    allow_unproven: bool = False,
    gm_raw: str = "refuse",
    fail_on_lost_overlap: bool = False,
    lanes: str = "auto",
    flags_by_source: bool = False,
) -> "PipelineOptions":
    from pto_buf.lowering.pipeline import PipelineOptions

    return PipelineOptions(interleave, check, allow_unproven, gm_raw, fail_on_lost_overlap, lanes, flags_by_source)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool with these arguments, or those of the process.

    The exit status is 0, 1 for a wrong program, 2 for a wrong command line, or what the command says.
    """
    try:
        status = app.main(args=None if arguments is None else list(arguments), prog_name=TOOL, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as err:
        sys.stderr.write(f"{err.format_message()}\n")
        return EXIT_USAGE
    except click.ClickException as err:
        sys.stderr.write(render_usage(TOOL, UsageError(err.format_message())))
        return EXIT_USAGE
    except click.Abort:
        return EXIT_WRONG_PROGRAM
    except UsageError as err:
        sys.stderr.write(render_usage(TOOL, err))
        return EXIT_USAGE
    except DiagnosticError as err:
        sys.stderr.write(render(err.diagnostics))
        return EXIT_WRONG_PROGRAM
    return status if isinstance(status, int) else 0


if __name__ == "__main__":
    sys.exit(main())
