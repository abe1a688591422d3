"""`pto-buf compile`."""

import sys
from pathlib import Path

from pto_buf.compiler import compile_file
from pto_buf.errors import render
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.output import write_output
from pto_buf.tools.report_text import report


def split_entry(kernel: str) -> tuple[str, str | None]:
    """`FILE.py:KERNEL` as path and kernel; a path without kernel means all of them."""
    path, colon, entry = kernel.rpartition(":")
    return (path, entry) if colon and path.endswith(".py") else (kernel, None)


def run(
    kernel: str,
    *,
    target: str,
    output: str | None,
    options: PipelineOptions,
    dump: Path | None,
    quiet: bool,
) -> int:
    """Compile, write the text, print the report. With the text on standard output the report goes to standard error."""
    path, entry = split_entry(kernel)
    if dump is not None:
        dump.mkdir(parents=True, exist_ok=True)
    compiled = compile_file(path, entry, target=target, options=options, dump=dump)
    sys.stderr.write(render(compiled.warnings))
    if output is not None:
        write_output(output, compiled.text)
    if not quiet:
        stream = sys.stderr if output == "-" else sys.stdout
        stream.write(report(compiled, checked=options.check))
    return 0
