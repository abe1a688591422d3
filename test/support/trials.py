"""Runs of compiled `SlotText` kernels on the simulator, with every pipe as late as its waits allow."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pto_buf.machine.dtypes import NUMPY_DTYPES
from pto_buf.machine.exec import argument_names, pointer_arguments
from pto_buf.sim.memory import Array
from pto_buf.sim.orders import ADVERSARIES, Order, Policy
from pto_buf.sim.simulate import Launch, simulate
from support.slot_text import ROWS

_TILES = 48
"""Tiles of rows that every array holds."""


def kernel_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.walk() if isinstance(op, FuncOp))


def wrong_runs(module: ModuleOp, numbers: Mapping[str, int], orders: Sequence[Order] = ADVERSARIES) -> list[str]:
    """What goes wrong in one run: faults, reads of another value than the order of issue gives, other results.

    `numbers` may name arguments that the kernel does not have.
    """
    function = kernel_of(module)
    arrays: dict[str, Array] = {}
    for number, name, dtype in pointer_arguments(function):
        width = 16 if dtype == "f16" or any("f16" in str(arg.type) for arg in function.args) else 64
        values = np.arange(_TILES * ROWS * width, dtype=np.int64) * (2 * number + 3) % 7 - 3
        arrays[name] = values.astype(NUMPY_DTYPES[dtype])
    names = argument_names(function)
    scalars = {name: value for name, value in {"real": 1.5, **numbers}.items() if name in names}
    launch = Launch(function, arrays, scalars)
    expected = simulate(launch, Order(Policy.EARLY))
    wrong = [f"early: {fault}" for fault in expected.faults]
    for order in orders:
        run = simulate(launch, order)
        wrong += [f"{order}: {fault}" for fault in run.faults]
        wrong += [f"{order}: {read}" for read in run.displaced]
        wrong += [
            f"{order}: another {name}"
            for name, array in run.arrays.items()
            if not np.array_equal(array, expected.arrays[name], equal_nan=True)
        ]
    return wrong
