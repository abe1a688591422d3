"""Handing a module to MLIR's own Python bindings: for tools that work on `mlir.ir`, and as a second opinion.

The dialects of this package are unknown to MLIR, so the module goes over in generic form, as ops of dialects that are
not registered; MLIR checks what it knows of: names, types, nesting, definitions before uses, and its own dialects.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from pto_buf.errors import Diagnostic, DiagnosticError, Note, Place
from pto_buf.printing import text_of

BINDINGS = ("mlir.ir", "iree.compiler.ir")
"""Where bindings may be, in the order in which they are tried."""

_NONE_THERE = """\
no MLIR Python bindings can be imported (tried: {tried}); one of these brings them:
  pip install iree-base-compiler     imported as iree.compiler.ir
  an LLVM built with -DMLIR_ENABLE_BINDINGS_PYTHON=ON, its mlir_core folder on PYTHONPATH     imported as mlir.ir
(the package mlir-python-bindings on PyPI is an empty placeholder)"""


def find_bindings() -> ModuleType:
    """The first of BINDINGS that can be imported. Raises ImportError, which says what to install, if none can."""
    for name in BINDINGS:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError(_NONE_THERE.format(tried=", ".join(BINDINGS)))


def to_mlir(module: ModuleOp, context: Any = None) -> Any:
    """The module as an `mlir.ir.Module`, verified by MLIR. Ops keep their places as MLIR locations.

    `context` is an `mlir.ir.Context` of the same bindings; a new one if none is given. Dialects that are not registered
    are allowed in it from then on. Raises DiagnosticError with what MLIR says, at the places in the user's text, and
    ImportError if there are no bindings.
    """
    ir: Any = find_bindings()
    context = ir.Context() if context is None else context
    context.allow_unregistered_dialects = True
    text = text_of(module, generic=True, debuginfo=True)
    try:
        with context:
            parsed = ir.Module.parse(text, context)
            parsed.operation.verify()
    except ir.MLIRError as err:
        raise DiagnosticError(*_diagnostics(err)) from None
    return parsed


def _diagnostics(err: Any) -> Iterator[Diagnostic]:
    for said in err.error_diagnostics:
        told = [note for note in said.notes if not note.message.startswith(_DUMP)]
        notes = tuple(Note(_place(note.location), note.message) for note in told)
        yield Diagnostic(said.message, _place(said.location), notes, kind="mlir")


def _place(location: Any) -> Place | None:
    """Where MLIR's location is in a file, if it is in one. Read from its text, which is alike in all versions."""
    found = _IN_FILE.fullmatch(str(location))
    return Place(found["file"], int(found["line"]), int(found["col"])) if found else None


_DUMP = "see current operation"
"""Begins a note that is the whole op, with all that is in it, as text."""

_IN_FILE = re.compile(r'loc\("(?P<file>.*)":(?P<line>\d+):(?P<col>\d+)\)')
