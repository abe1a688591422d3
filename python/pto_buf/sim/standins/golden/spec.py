"""What a kernel's arguments are: tensors and how they begin, and numbers."""

from dataclasses import dataclass
from typing import Any

from pto_buf.sim.standins.golden.tensors import torch


@dataclass
class TensorSpec:
    """A tensor argument. `init_value`: None for zeros, a number, a tensor, or a function that makes one.

    `is_output` says that the kernel writes it and that it is compared; where it is not given, the kernel's own `pl.Out`
    says so.
    """

    name: str
    shape: Any
    dtype: Any
    init_value: Any = None
    is_output: bool | None = None
    resident: Any = None

    def create_tensor(self) -> Any:
        """Its first content."""
        t, init = torch(), self.init_value
        if init is None:
            return t.zeros(self.shape, dtype=self.dtype)
        if isinstance(init, (int, float)):
            return t.full(self.shape, init, dtype=self.dtype)
        if isinstance(init, t.Tensor):
            return init.to(dtype=self.dtype)
        if not callable(init):
            raise TypeError(f"init_value of '{self.name}' is a {type(init).__name__}: no number, tensor or function")
        if any(init is getattr(t, name) for name in ("randn", "rand", "zeros", "ones")):
            return init(self.shape, dtype=self.dtype)
        return t.as_tensor(init(), dtype=self.dtype)


@dataclass
class ScalarSpec:
    """A number argument. `value` becomes a tensor without dimensions."""

    name: str
    dtype: Any
    value: Any
    compile_runtime: bool = False
    benchmark_step: Any = None

    def __post_init__(self) -> None:
        t = torch()
        if not isinstance(self.value, t.Tensor):
            self.value = t.tensor(self.value, dtype=self.dtype)
