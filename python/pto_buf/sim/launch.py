"""From a compiled kernel and arguments by name to a launch: finds the extents that the arrays themselves tell."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

from pto_buf.dialect.gm import MakeTensorViewOp
from pto_buf.errors import UsageError
from pto_buf.machine.dtypes import NUMPY_DTYPES
from pto_buf.machine.exec import (
    DEFAULT_LIMIT,
    argument_names,
    kernel_named,
    pointer_arguments,
    scalar_arguments,
)
from pto_buf.sim.memory import Array
from pto_buf.sim.simulate import Launch


def launch_with(
    module: ModuleOp,
    arrays: Mapping[str, Array],
    scalars: Mapping[str, int | float],
    *,
    kernel: str | None = None,
    blocks: int = 1,
    limit: int = DEFAULT_LIMIT,
) -> Launch:
    """The launch of the module's kernel. A number that is not given but is the extent of an array is taken from there.

    Raises UsageError for an argument that is missing, unknown or contradicted by another.
    """
    function = kernel_named(module, kernel)
    pointers = [name for _, name, _ in pointer_arguments(function)]
    numbers = [name for _, name, _ in scalar_arguments(function)]
    names = argument_names(function)
    unknown = [name for name in arrays if name not in names] + [name for name in scalars if name not in numbers]
    if unknown:
        every = ", ".join((*pointers, *numbers))
        raise UsageError(f"'{function.sym_name.data}' has no argument '{unknown[0]}'", f"there is: {every}")
    extents = extents_of(function, arrays)
    used = {name: array for name, array in arrays.items() if name in pointers}
    return Launch(function, used, {**extents, **scalars}, blocks, limit)


def extents_of(function: func.FuncOp, arrays: Mapping[str, Array]) -> dict[str, int]:
    """The number arguments that are extents of global tensors, as the given arrays have them. Raises UsageError."""
    names = {number: name for number, name, _ in pointer_arguments(function)}
    numbers = {number: name for number, name, _ in scalar_arguments(function)}
    found: dict[str, int] = {}
    for op in function.walk():
        if not isinstance(op, MakeTensorViewOp) or not isinstance(op.ptr, BlockArgument):
            continue
        array = arrays.get(names.get(op.ptr.index, ""))
        if array is None or array.ndim != len(op.shape):
            continue
        for extent, value in zip(array.shape, op.shape, strict=True):
            if isinstance(value, BlockArgument) and value.index in numbers:
                _agree(found, numbers[value.index], extent)
    return found


def _agree(found: dict[str, int], name: str, extent: int) -> None:
    if found.setdefault(name, extent) != extent:
        raise UsageError(f"dimension '{name}' is {found[name]} in one array and {extent} in another")


def split_arguments(values: Mapping[str, Any]) -> tuple[dict[str, Array], dict[str, int | float]]:
    """Arrays and numbers apart."""
    arrays = {name: value for name, value in values.items() if hasattr(value, "shape") and value.shape != ()}
    return arrays, {name: value for name, value in values.items() if name not in arrays}


def narrowed(module: ModuleOp, values: Mapping[str, Any], kernel: str | None = None) -> dict[str, Any]:
    """The values with float arrays in the element types that the kernel takes. Raises UsageError as `launch_with`."""
    pointers = {name: dtype for _, name, dtype in pointer_arguments(kernel_named(module, kernel))}
    return {name: _narrowed(value, pointers.get(name)) for name, value in values.items()}


def _narrowed(value: Any, dtype: str | None) -> Any:
    if dtype is None or dtype not in NUMPY_DTYPES or getattr(value, "dtype", None) not in (np.float32, np.float64):
        return value
    wanted = NUMPY_DTYPES[dtype]
    return value if wanted.kind in "iu" else value.astype(wanted)
