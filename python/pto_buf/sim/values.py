"""What each op does to memory: the op table's numpy semantics between reading tiles and writing them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from pto_buf.dialect.table.row import Compute, Role
from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe, Space, Target
from pto_buf.machine.dtypes import NUMPY_DTYPES, numpy_dtype
from pto_buf.machine.steps import Exec, GlobalRegion, ScalarAccess, TileRef
from pto_buf.sim.faults import Fault, SimulationFault
from pto_buf.sim.history import Displaced, History
from pto_buf.sim.memory import FILL, Array, BoundsError, Global, OnChip, folded

_PHYSICAL = ("move", "extract")
"""Ops that read a tile in L1 as it lies there, whatever part of it is valid."""


class Values:
    """The effects of steps on numbers, for cores that share global memory.

    `homes` says for each core whose memory each of its spaces is: the UB that a cube core fills is a vector core's.
    With `ahead`, ops of a pipe that does not order its own ops overlap until the pipe is settled. Those of the pipe
    `ahead` have read by then and write, the last first; those of the others run, the last first: what depends on an op
    before it, without a barrier in between, goes wrong on the one if it reads too early, on the others if it writes so.
    """

    def __init__(self, target: Target, memory: Global, homes: Sequence[Mapping[Space, int]], ahead: Pipe | None):
        self._target = target
        self._global = memory
        self._homes = homes
        self._on_chip = [OnChip(target) for _ in homes]
        sizes = {space: self._on_chip[0].size(space) for space in target.capacity} if homes else {}
        self._history = [History(sizes) for _ in homes]
        self._overlapping = frozenset(pipe for pipe in Pipe if ahead is not None and pipe not in target.ordered_pipes)
        self._ahead = ahead
        self._begun: dict[tuple[int, Pipe], list[tuple[Exec, _Results | None]]] = {}
        """What overlaps, with its results where it has read."""

    @property
    def displaced(self) -> tuple[Displaced, ...]:
        """Reads of a value other than the one that the order of issue gives; the first hundred of each core."""
        return tuple(found for history in self._history for found in history.displaced)

    def issue(self, core: int, step: Exec) -> None:
        for name, value in step.operands.items():
            if isinstance(value, (TileRef, GlobalRegion)) and value.dtype not in NUMPY_DTYPES:
                message = f"{name} holds {value.dtype}, which numpy does not have: it cannot be simulated"
                raise DiagnosticError.at(step.place, message, kind="unsupported-type")
        for region in (*step.reads, *step.writes):
            home = self._homes[core][region.space]
            if home != core:  # the order of issue says nothing of another core
                self._history[home].forget(region.space)
                self._history[core].forget(region.space)
        self._history[core].issue(step)

    def access(self, core: int, step: ScalarAccess) -> Any:
        try:
            if step.value is None:
                found = self._global.read(step.region)[0, 0]
                return int(found) if found.dtype.kind in "iu" else found
            self._global.write(step.region, np.asarray(step.value).reshape(1, 1))
        except BoundsError as error:
            raise SimulationFault(Fault("bounds", f"the scalar unit touches {error}", step.place)) from None
        return None

    def execute(self, core: int, pipe: Pipe, step: Exec) -> Any:
        if step.row.out.name not in step.operands:
            return self._computed(core, step)  # a number for the scalar unit
        if pipe not in self._overlapping:
            self._write(core, step, self._results(core, step))
        else:
            results = self._results(core, step) if pipe is self._ahead else None
            self._begun.setdefault((core, pipe), []).append((step, results))
        return None

    def unfinished(self, core: int, pipe: Pipe) -> bool:
        return (core, pipe) in self._begun

    def settle(self, core: int, pipe: Pipe) -> None:
        for step, results in reversed(self._begun.pop((core, pipe), [])):
            self._write(core, step, self._results(core, step) if results is None else results)

    def _computed(self, core: int, step: Exec) -> Any:
        """What the op makes of what it reads."""
        self._history[core].read(step)
        try:
            operands = {name: self._value(core, step, _counted(step, name)) for name in step.operands}
            with np.errstate(all="ignore"):
                return _semantics(step)(operands, step.attrs)
        except BoundsError as error:
            raise _out_of_bounds(step, error) from None
        except (ValueError, IndexError) as error:  # numpy refuses extents that do not go together
            message = f"{step.name} on valid extents that do not go together: {error}"
            raise SimulationFault(Fault("extent", message, step.place)) from None

    def _results(self, core: int, step: Exec) -> "_Results":
        """What the op writes where."""
        computed = self._computed(core, step)
        values = cast(tuple[Any, ...], computed) if isinstance(computed, tuple) else (computed,)
        results: list[tuple[TileRef | GlobalRegion, Array]] = []
        with np.errstate(all="ignore"):
            for out, value in zip(step.row.outs, values, strict=True):
                target, result = _counted(step, out.name), np.asarray(value)
                if isinstance(target, GlobalRegion):
                    results.append((target, _fitted(result, folded(target.extents), target.dtype, step)))
                elif isinstance(target, TileRef):
                    fitted = _fitted(result, (target.v_rows, target.v_cols), target.dtype, step)
                    results.append(_filled(step, out.role, target, fitted))
        return [*results, *self._scratch(step)]

    @staticmethod
    def _scratch(step: Exec) -> Iterator[tuple[TileRef, Array]]:
        """What the op leaves in its working space: nothing that anybody may rely on."""
        for operand in step.row.ins:
            ref = step.operands.get(operand.name)
            if operand.role is Role.SCRATCH and isinstance(ref, TileRef):
                dtype = numpy_dtype(ref.dtype)
                filled = np.full((ref.v_rows, ref.v_cols * dtype.itemsize), FILL, np.uint8).view(dtype)
                yield ref, filled

    def _write(self, core: int, step: Exec, results: "_Results") -> None:
        try:
            for target, values in results:
                if isinstance(target, GlobalRegion):
                    self._global.write(target, values)
                else:
                    self._on_chip[self._homes[core][target.space]].write(target, values)
        except BoundsError as error:
            raise _out_of_bounds(step, error) from None
        self._history[core].wrote(step)

    def _value(self, core: int, step: Exec, value: Any) -> Any:
        if isinstance(value, TileRef):
            if value.space is Space.MAT and step.row.dsl in _PHYSICAL:
                value = replace(value, v_rows=value.rows, v_cols=value.cols)
            return self._on_chip[self._homes[core][value.space]].read(value)
        if isinstance(value, GlobalRegion):
            return self._global.read(value)
        return value


def _filled(step: Exec, role: Role, target: TileRef, values: Array) -> tuple[TileRef, Array]:
    """What is written of a tile: not more than the window of it that the op fills."""
    source, row, col = (step.operands.get(name) for name in ("src", "row", "col"))
    if role is not Role.UPDATE or step.row.window is None or not isinstance(source, TileRef):
        return target, values
    assert isinstance(row, int) and isinstance(col, int)
    rows, cols = source.v_rows, source.v_cols
    part = replace(target, row=target.row + row, col=target.col + col, v_rows=rows, v_cols=cols)
    return part, values[row : row + rows, col : col + cols]


def _counted(step: Exec, name: str) -> Any:
    """An operand; the whole of a tile, whatever part of it is valid, where the op counts elements in it."""
    value = step.operands[name]
    if isinstance(value, TileRef) and name in step.row.whole:
        return replace(value, v_rows=value.rows, v_cols=value.cols)
    return value


_Results: TypeAlias = Sequence[tuple[TileRef | GlobalRegion, Array]]


def _out_of_bounds(step: Exec, error: BoundsError) -> SimulationFault:
    return SimulationFault(Fault("bounds", f"{step.name} touches {error}", step.place))


def _element(operands: Mapping[str, Any], attrs: Mapping[str, str]) -> Any:
    found = operands["src"].reshape(-1)[int(operands["offset"])]
    return int(found) if found.dtype.kind in "iu" else found


def _with_element(operands: Mapping[str, Any], attrs: Mapping[str, str]) -> Array:
    result = operands["dst"].copy()
    result.reshape(-1)[int(operands["offset"])] = operands["value"]
    return result


_SCALAR: Mapping[str, Compute] = {"read": _element, "write": _with_element}
"""Single elements, by their number in the order of rows."""


def _semantics(step: Exec) -> Compute:
    """What the op computes. Raises DiagnosticError for one of which the table does not say it."""
    own = _SCALAR.get(step.row.dsl)
    if own is not None:
        return own
    try:
        return step.row.compute
    except KeyError:
        message = f"{step.name} is not simulated: the op table does not say what it computes"
        raise DiagnosticError.at(step.place, message, kind="unsupported-op") from None


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
