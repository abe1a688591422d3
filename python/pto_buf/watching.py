"""Telling whoever watches how far long work has come. Pure: this module imports no xDSL."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Watcher: TypeAlias = Callable[[str, int, int], None]
"""`watcher(words, done, total)`: what is going on, and how many of how many steps are done."""

_watcher: ContextVar[Watcher | None] = ContextVar("_watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Generator[None]:
    """What `done` says inside the block goes to the watcher."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def done(words: str, count: int, total: int) -> None:
    """So many of the steps of what `words` names are done. Says it to nobody if nobody watches."""
    if (watcher := _watcher.get()) is not None:
        watcher(words, count, total)
