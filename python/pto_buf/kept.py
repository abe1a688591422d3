"""What passes find out about functions, kept from pass to pass until a function changes.

Reading the program of slots off a function, and checking it, is half the work of several passes; most of them leave
it as it was.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from xdsl.ir import Operation

_Found = TypeVar("_Found")
_Function = TypeVar("_Function", bound=Operation)

_kept: ContextVar[dict[Operation, dict[object, Any]] | None] = ContextVar("_kept", default=None)


class Keeps:
    """A pass that calls `changed` for every function in which it changes what others may have found out about it.

    That is more than addresses, and more than which of several equal selections of a slot an op names. What was found
    out before any other pass is forgotten behind it.
    """


@contextmanager
def keeping() -> Generator[Callable[[], None]]:
    """Keep what `kept` finds until the end of the block. Yields what forgets all of it."""
    found: dict[Operation, dict[object, Any]] = {}
    token = _kept.set(found)
    try:
        yield found.clear
    finally:
        _kept.reset(token)


def kept(function: _Function, find: Callable[[_Function], _Found]) -> _Found:
    """What `find` finds of the function; outside of `keeping` it is called each time, and again if it raised."""
    found = _kept.get()
    if found is None:
        return find(function)
    known = found.setdefault(function, {})
    if find not in known:
        known[find] = find(function)
    return known[find]


def changed(function: Operation) -> None:
    """Forget what was found out about a function that is no more as it was."""
    found = _kept.get()
    if found is not None:
        found.pop(function, None)
