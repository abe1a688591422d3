"""`pto-buf demo`: what a newcomer sees first."""

import sys
from collections.abc import Sequence

from pto_buf.compiler import compile_file
from pto_buf.errors import render
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.report.whole import report
from pto_buf.tools.run_command import run as run_kernels


def run(files: Sequence[str]) -> int:
    """Compile each file and show its report, then run it on the simulator against its golden result."""
    options = PipelineOptions()
    status = 0
    for file in files:
        sys.stdout.write(f"=== pto-buf compile {file}\n")
        compiled = compile_file(file, options=options)
        sys.stderr.write(render(compiled.warnings))
        sys.stdout.write(report(compiled, checked=True))
        sys.stdout.write(f"=== pto-buf run {file}\n")
        sys.stdout.flush()
        status = run_kernels(file, [], target="a2a3", order="late", options=options, shadow=False) or status
    return status
