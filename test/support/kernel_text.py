"""Reading kernels that a test spells out."""

import re
import textwrap

from xdsl.dialects.builtin import ModuleOp

from pto_buf.errors import DiagnosticError
from pto_buf.frontend import read
from pto_buf.hw import A2A3, Target
from pto_buf.verification import verify_module

FILE = "kernel.py"

_HEAD = "import pypto.language as pl\n"


def source(text: str) -> str:
    """The text of a file with the usual import."""
    return _HEAD + textwrap.dedent(text)


def ir(text: str, entry: str | None = None, target: Target = A2A3) -> ModuleOp:
    """The verified IR of the kernels in `text`."""
    module = read(FILE, entry, target, source=source(text))
    verify_module(module)
    return module


def errors(text: str) -> list[tuple[int, str | None]]:
    """The lines and kinds of the mistakes reported for `text`."""
    try:
        read(FILE, source=source(text))
    except DiagnosticError as err:
        return [(d.place.line if d.place else 0, d.kind) for d in err.diagnostics]
    return []


def marked(text: str) -> list[tuple[int, str | None]]:
    """The lines and kinds that `text` marks with `# ERROR: kind`."""
    lines = source(text).split("\n")
    found = [(number, re.search(r"# ERROR: ([\w-]+)", line)) for number, line in enumerate(lines, 1)]
    return [(number, match[1]) for number, match in found if match]


def message(text: str) -> str:
    """The first error of `text` in words."""
    try:
        read(FILE, source=source(text))
    except DiagnosticError as err:
        return str(err.diagnostics[0].message)
    raise AssertionError("there is no error")
