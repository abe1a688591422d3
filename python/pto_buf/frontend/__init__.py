"""The bridge from the pypto DSL: reads Python source, never runs it, and yields the `ptobuf` form of its kernels."""

from pto_buf.frontend.read import blocks, from_pypto, kernels, outputs, read

__all__ = ["blocks", "from_pypto", "kernels", "outputs", "read"]
