"""A progress bar for work that takes longer than a second, on a terminal only."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from pto_buf.watching import watching

DELAY = 1.0
"""Seconds before the bar appears."""


@contextmanager
def progress(words: str) -> Generator[None]:
    """While the block runs, standard error shows what is going on, and how far it is where that is known."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(words, total=None)
    late = threading.Timer(DELAY, bar.start)
    late.daemon = True
    late.start()
    try:
        with watching(lambda now, count, total: bar.update(task, description=now, completed=count, total=total)):
            yield
    finally:
        late.cancel()
        late.join()
        bar.stop()
