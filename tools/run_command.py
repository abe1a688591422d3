"""`pto-buf run`."""

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from pto_buf.compiler import compile_file
from pto_buf.errors import render
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.output import write_output
from pto_buf.run import run_cases, run_script
from pto_buf.source import read_source
from pto_buf.tools.compile_command import split_entry
from pto_buf.tools.report_text import report


def run(
    kernel: str, arguments: Sequence[str], *, target: str, order: str, options: PipelineOptions, shadow: bool
) -> int:
    """Run the file's cases, or the file as a script. The status is 1 if a result is wrong."""
    path, entry = split_entry(kernel)

    def compile(file: str, name: str | None, chip: str, work_dir: Path | None) -> ModuleOp:
        compiled = compile_file(file, name, target=chip, options=options, dump=work_dir)
        sys.stderr.write(render(compiled.warnings))
        if work_dir is not None:
            write_output(str(work_dir / "report.txt"), report(compiled, checked=options.check))
            write_output(str(work_dir / "kernel.pto"), compiled.text)
        return compiled.module

    if not _has_cases(path):
        return run_script(path, arguments, compile, order=order, shadow=shadow)
    passed = True
    for result in run_cases(path, compile, target=target, order=order, only=None if entry is None else [entry]):
        passed = passed and result.passed
        sys.stdout.write(f"{result.case.name}: {'matches its reference' if result.passed else 'WRONG'}\n")
        for reason in result.reasons:
            sys.stdout.write(f"  {reason}\n")
    return 0 if passed else 1


def _has_cases(path: str) -> bool:
    """Whether the file assigns `CASES` at its top level; it is only read for that."""
    source = read_source(path)
    try:
        body = ast.parse(source.text).body
    except (SyntaxError, ValueError, RecursionError):
        return False
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(target, ast.Name) and target.id == "CASES" for target in targets)
