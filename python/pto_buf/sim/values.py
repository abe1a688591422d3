"""What each op does to memory: the op table's numpy semantics between reading tiles and writing them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe, Space, Target
from pto_buf.machine.dtypes import NUMPY_DTYPES, numpy_dtype
from pto_buf.machine.steps import Exec, GlobalRegion, TileRef
from pto_buf.sim.faults import Fault, SimulationFault
from pto_buf.sim.history import Displaced, History
from pto_buf.sim.memory import Array, BoundsError, Global, OnChip

_INTERLOCKED = 10
"""16 x 16 blocks of an accumulator from which on the matrix unit itself holds back a dependent product."""


class Values:
    """The effects of steps on numbers, for `cores` cores that share global memory.

    With `overlap`, an op of a pipe that does not order its own ops writes its result only when the pipe is settled:
    an op behind it that reads the result without a barrier in between sees the old value.
    """

    def __init__(self, target: Target, memory: Global, cores: int, overlap: bool):
        self._target = target
        self._global = memory
        self._on_chip = [OnChip(target) for _ in range(cores)]
        sizes = {space: self._on_chip[0].size(space) for space in target.capacity} if cores else {}
        self._history = [History(sizes) for _ in range(cores)]
        self._overlap = overlap
        self._begun: dict[tuple[int, Pipe], list[tuple[Exec, Sequence[tuple[TileRef, Array]]]]] = {}

    @property
    def displaced(self) -> tuple[Displaced, ...]:
        """Reads of a value other than the one that the order of issue gives; the first hundred of each core."""
        return tuple(found for history in self._history for found in history.displaced)

    def issue(self, core: int, step: Exec) -> None:
        for name, value in step.operands.items():
            if isinstance(value, (TileRef, GlobalRegion)) and value.dtype not in NUMPY_DTYPES:
                message = f"{name} holds {value.dtype}, which numpy does not have: it cannot be simulated"
                raise DiagnosticError.at(step.place, message, kind="unsupported-type")
        self._history[core].issue(step)

    def execute(self, core: int, pipe: Pipe, step: Exec) -> Any:
        try:
            with np.errstate(all="ignore"):
                return self._run(core, pipe, step)
        except BoundsError as error:
            raise SimulationFault(Fault("bounds", f"{step.name} touches {error}", step.place)) from None

    def settle(self, core: int, pipe: Pipe) -> None:
        for step, results in self._begun.pop((core, pipe), ()):
            self._write(core, step, results)

    def _run(self, core: int, pipe: Pipe, step: Exec) -> Any:
        self._history[core].read(step)
        operands = {name: self._value(core, step, value) for name, value in step.operands.items()}
        out = step.row.out
        result = np.asarray(step.row.compute(operands, step.attrs))
        target = step.operands[out.name]
        if isinstance(target, GlobalRegion):
            self._global.write(target, _fitted(result, _folded(target), target.dtype, step))
        elif isinstance(target, TileRef):
            fitted = _fitted(result, (target.v_rows, target.v_cols), target.dtype, step)
            if self._finishes_late(pipe, step, target):
                self._begun.setdefault((core, pipe), []).append((step, ((target, fitted),)))
            else:
                self._write(core, step, ((target, fitted),))
        return None

    def _finishes_late(self, pipe: Pipe, step: Exec, target: TileRef) -> bool:
        if not self._overlap or pipe in self._target.ordered_pipes:
            return False
        blocks = -(-target.v_rows // 16) * -(-target.v_cols // 16)
        return target.space is not Space.ACC or blocks < _INTERLOCKED

    def _write(self, core: int, step: Exec, results: Sequence[tuple[TileRef, Array]]) -> None:
        for target, values in results:
            self._on_chip[core].write(target, values)
        self._history[core].wrote(step)

    def _value(self, core: int, step: Exec, value: Any) -> Any:
        if isinstance(value, TileRef):
            return self._on_chip[core].read(value)
        if isinstance(value, GlobalRegion):
            return self._global.read(value)
        return value


def _folded(region: GlobalRegion) -> tuple[int, int]:
    rows = 1
    for extent in region.extents[:-1]:
        rows *= extent
    return rows, region.extents[-1]


def _fitted(result: Array, extent: tuple[int, int], dtype: str, step: Exec) -> Array:
    """Cut to the extent and converted to the element type."""
    rows, cols = extent
    if result.ndim == 2 and result.shape != extent:
        result = result[:rows, :cols]
    if result.shape != extent and result.size == rows * cols:
        result = result.reshape(extent)
    if result.shape != extent:
        raise SimulationFault(
            Fault(
                "extent",
                f"{step.name} gives {'x'.join(map(str, result.shape))} values for {rows}x{cols} valid elements",
                step.place,
            )
        )
    return result.astype(numpy_dtype(dtype))
