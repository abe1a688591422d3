"""Stands in for `torch.nn`, of which only `functional` is there."""

from typing import Any

from pto_buf.sim.standins.missing import Missing
from pto_buf.sim.standins.torch import functional as functional


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise Missing("torch", f"torch.nn.{name}")
