"""Writing results: a file appears whole or not at all. Pure: this module imports no xDSL."""

import os
import sys
from pathlib import Path

from pto_buf.errors import DiagnosticError, Place


def write_output(path: str, content: str | bytes) -> None:
    """Write text, as UTF-8, or bytes to the file, by way of a temporary file beside it; `-` is standard output.

    Raises DiagnosticError at the file if it cannot be written; nothing is left behind then.
    """
    if path == "-":
        if isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    data = content.encode() if isinstance(content, str) else content
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced, only written
            target.write_bytes(data)
            return
        _replace(target.resolve(), data)  # resolved, so that a link stays a link
    except OSError as err:
        words = (err.strerror or str(err)).lower()
        raise DiagnosticError.at(Place(path), f"cannot write the file: {words}", kind="unwritable-file") from None


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
