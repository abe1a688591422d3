"""Stands in for `torch.testing`."""

from typing import Any

from pto_buf.sim.standins.missing import Missing
from pto_buf.sim.standins.torch.functions import isclose
from pto_buf.sim.standins.torch.tensor import Tensor

_TOLERANCES = {"torch.float32": (1.3e-6, 1e-5), "torch.float16": (1e-3, 1e-5), "torch.bfloat16": (1.6e-2, 1e-5)}


def assert_close(actual: Tensor, expected: Tensor, *, rtol: float | None = None, atol: float | None = None) -> None:
    """Raises AssertionError with how many elements differ and by how much."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise AssertionError(f"{actual.dtype} {list(actual.shape)}, expected {expected.dtype} {list(expected.shape)}")
    usual = _TOLERANCES.get(repr(actual.dtype), (0.0, 0.0))
    tolerances = (usual[0] if rtol is None else rtol, usual[1] if atol is None else atol)
    wrong = ~isclose(actual, expected, *tolerances).array
    if wrong.any():
        most = abs(actual.array.astype(float) - expected.array.astype(float)).max()
        raise AssertionError(f"tensors are not close: {wrong.sum()} of {wrong.size} elements differ, by up to {most:g}")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise Missing("torch", f"torch.testing.{name}")
