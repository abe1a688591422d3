"""Explicit buffer slots for Ascend NPU kernels.

`compile` turns a kernel into a `Kernel`: its `pto` text, its report, and ways to run, time and explain it on a laptop.
`from_pypto` turns pypto's own objects into a module of the `ptobuf` dialect, which `compile` takes too.
The kernel language is `pto_buf.language`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pto_buf.kernel import Kernel, compile, from_pypto

__all__ = ["Kernel", "compile", "from_pypto"]


def __getattr__(name: str) -> Any:
    """What the package offers, loaded when it is first asked for: the compiler takes a while to load."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from pto_buf import kernel

    return getattr(kernel, name)
