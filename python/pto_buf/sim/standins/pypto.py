"""Stands in for the package `pypto`; its `language` is `pto_buf.language`."""

from enum import Enum, auto
from typing import Any

from pto_buf.sim.standins.missing import Missing


class MemoryPlanner(Enum):
    """Whose planner a script asks for. Addresses are ours whichever it is."""

    PYPTO = auto()
    PTOAS = auto()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise Missing("pypto", f"pypto.{name}")
