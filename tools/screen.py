"""Printing for people: in colour on a terminal, as plain text into a file or a pipe."""

import shutil
import sys
from collections.abc import Sequence

from pto_buf.report.parts import Part, plain_text

_PLAIN_COLUMNS = 120


def on_terminal() -> bool:
    return sys.stdout.isatty()


def columns() -> int:
    """How wide to draw."""
    return shutil.get_terminal_size().columns if on_terminal() else _PLAIN_COLUMNS


def show(parts: Sequence[Part]) -> None:
    """Print the parts below one another."""
    if not on_terminal():
        sys.stdout.write(plain_text(parts))
        return
    from rich.console import Console

    from pto_buf.report.terminal import draw

    draw(parts, Console())
