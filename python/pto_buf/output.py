"""Writing results: a file appears whole or not at all. Pure: this module imports no xDSL."""

import os
import sys
from pathlib import Path

from pto_buf.errors import DiagnosticError, Place


def write_output(path: str, text: str) -> None:
    """Write `text` to the file, by way of a temporary file beside it; `-` is standard output.

    Raises DiagnosticError at the file if it cannot be written; nothing is left behind then.
    """
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced, only written
            target.write_text(text, encoding="utf-8")
            return
        _replace(target.resolve(), text)  # resolved, so that a link stays a link
    except OSError as err:
        words = (err.strerror or str(err)).lower()
        raise DiagnosticError.at(Place(path), f"cannot write the file: {words}", kind="unwritable-file") from None


def _replace(target: Path, text: str) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
