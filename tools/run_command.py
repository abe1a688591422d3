"""`pto-buf run`."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from pto_buf.compiler import compile_file
from pto_buf.errors import render
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.output import write_output
from pto_buf.report.whole import report
from pto_buf.run import CaseResult, has_cases, run_cases, run_script
from pto_buf.tools.names import split_kernel
from pto_buf.tools.progress import progress


def run(
    kernel: str, arguments: Sequence[str], *, target: str, order: str, options: PipelineOptions, shadow: bool
) -> int:
    """Run the file's cases, or the file as a script. The status is 1 if a result is wrong."""
    path, entry = split_kernel(kernel)

    def compile(file: str, name: str | None, chip: str, work_dir: Path | None) -> ModuleOp:
        compiled = compile_file(file, name, target=chip, options=options, dump=work_dir)
        sys.stderr.write(render(compiled.warnings))
        if work_dir is not None:
            write_output(
                str(work_dir / "report.txt"), report(compiled, checked=options.check and not compiled.unproven)
            )
            write_output(str(work_dir / "kernel.pto"), compiled.text)
        return compiled.module

    if not has_cases(path):
        return run_script(path, arguments, compile, order=order, shadow=shadow)
    passed = True
    results = run_cases(path, compile, target=target, order=order, only=None if entry is None else [entry])
    while (result := _next(results)) is not None:
        passed = passed and result.passed
        sys.stdout.write(f"{result.case.name}: {'matches its reference' if result.passed else 'WRONG'}\n")
        for reason in result.reasons:
            sys.stdout.write(f"  {reason}\n")
    return 0 if passed else 1


def _next(results: Iterator[CaseResult]) -> CaseResult | None:
    """The next case, compiled and run."""
    with progress("running"):
        return next(results, None)
