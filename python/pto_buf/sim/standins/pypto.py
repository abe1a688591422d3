"""Stands in for the package `pypto`; its `language` is `pto_buf.language`."""

from typing import Any

from pto_buf.sim.standins.missing import Missing


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise Missing("pypto", f"pypto.{name}")
