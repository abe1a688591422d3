"""`pto-buf explain`: why is a fence there, what does it cost, and what would make it go?"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pto_buf.errors import UsageError
from pto_buf.kernel import Kernel
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.report.collect_fences import without_run
from pto_buf.report.explain import Explanation, chosen_of, explanation_text
from pto_buf.tools.progress import progress
from pto_buf.tools.subject import Subject, subject


@dataclass(frozen=True)
class Wanted:
    """`fence` is a number of the report; `args` are numbers for arguments, as `NAME=NUMBER`."""

    args: Sequence[str] = ()
    fence: int | None = None


def run(place: str, *, target: str | None, options: PipelineOptions, wanted: Wanted) -> int:
    """Print what is known of the fences at `FILE:LINE`, of one by its number, or of all."""
    file, line = _split_line(place)
    with progress(f"timing {file} without its fences"):
        every = _explained(subject(file, wanted.args, target=target, options=options), line, wanted.fence)
    for number, found in enumerate(every):
        sys.stdout.write("\n" * bool(number) + explanation_text(found, _line_of))
    return 0


def _explained(one: Subject, line: int | None, fence: int | None) -> Sequence[Explanation]:
    kernel = one.kernel
    try:
        numbers = one.numbers
    except UsageError as missing:
        return _unrun(kernel, line, fence, missing)
    return kernel.explain(numbers, line=line, fence=fence)


def _unrun(kernel: Kernel, line: int | None, fence: int | None, missing: UsageError) -> Sequence[Explanation]:
    """What is known without numbers: what the compiler noted."""
    if not kernel.parts:
        raise missing
    sys.stderr.write(f"what the fences cost is not known: {missing.message} ({missing.help})\n")
    return chosen_of(without_run(kernel.parts), line, fence)


def _split_line(text: str) -> tuple[str, int | None]:
    """`FILE:LINE` or `FILE:KERNEL:LINE` as what is compiled and the line."""
    head, colon, last = text.rpartition(":")
    return (head, int(last)) if colon and last.isdigit() else (text, None)


def _line_of(file: str, line: int) -> str:
    lines = _lines_of(file)
    return lines[line - 1] if 0 < line <= len(lines) else ""


@cache
def _lines_of(file: str) -> Sequence[str]:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:  # standard input
        return ()
