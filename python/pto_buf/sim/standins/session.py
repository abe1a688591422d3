"""What a running script's stand-ins work with: how to compile, in which order to simulate, where to leave files."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pto_buf.sim.orders import Order

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

Compile = Callable[[str, str | None, str, Path | None], "ModuleOp"]
"""`compile(file, entry, target, work_dir)`: the kernel `entry` of a Python file as `pto`, for a target's name; the
reports and the IR after each pass go to `work_dir` if it is given. Raises DiagnosticError."""


@dataclass(frozen=True)
class Session:
    """`root` is the folder below which each run gets a folder of its own."""

    compile: Compile
    order: Order
    root: Path


_CURRENT: ContextVar[Session | None] = ContextVar("session", default=None)


@contextmanager
def session(one: Session) -> Generator[None]:
    token = _CURRENT.set(one)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current() -> Session:
    """The session of the script that runs. Raises RuntimeError outside of one."""
    found = _CURRENT.get()
    if found is None:
        raise RuntimeError("this module stands in for golden while `pto-buf run` runs a script, and none runs")
    return found
