"""The bridge from the pypto DSL: reads Python source, never runs it, and yields the `ptobuf` form of its kernels."""

from pto_buf.frontend.read import from_pypto, kernels, read

__all__ = ["from_pypto", "kernels", "read"]
