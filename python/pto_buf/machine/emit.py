"""Translates tile ops into makers of steps."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from xdsl.ir import SSAValue

from pto_buf.dialect.table.row import Kind, Operand, OpRow, TableError
from pto_buf.dialect.tile_op import TileOp, spec_of
from pto_buf.errors import DiagnosticError
from pto_buf.hw import Target
from pto_buf.machine.code import Registers
from pto_buf.machine.dtypes import NUMPY_DTYPES
from pto_buf.machine.layout import regions_of
from pto_buf.machine.scalar import ScalarError
from pto_buf.machine.steps import Exec, GlobalRegion, Region, Step, TileRef, Trips
from pto_buf.source import place_of
from pto_buf.tile import TileSpec

Maker = Callable[[Registers, Trips], Step]


def exec_maker(op: TileOp, site: int, target: Target, registers: Mapping[SSAValue, int]) -> Maker:
    """What makes the steps of a tile op. Raises DiagnosticError for an op that the table refuses."""
    place = place_of(op)
    row, name = op.row, op.name
    try:
        pipes = op.form(target).pipes
    except TableError as error:
        raise DiagnosticError.at(place, error.message, kind=error.kind) from None
    given = op.use(target).attrs
    attrs = {**{attr.name: attr.default for attr in row.attrs if attr.default is not None}, **given}
    named = [(operand, registers[value], _number_of(operand, value)) for operand, value in op.named_operands()]
    memory = _Memory()

    def make(held: Registers, trips: Trips) -> Step:
        operands = {operand.name: read(held[register]) for operand, register, read in named}
        reads, writes, global_reads, global_writes = memory.of(row, operands)
        return Exec(site, name, row, pipes, operands, attrs, reads, writes, global_reads, global_writes, place, trips)

    return make


def _number_of(operand: Operand, value: SSAValue) -> Callable[[Any], Any]:
    """Gives a scalar its element type; leaves everything else alone."""
    dtype = spec_of(value.type) if operand.kind is Kind.SCALAR else None
    if isinstance(dtype, str) and dtype in NUMPY_DTYPES:
        return NUMPY_DTYPES[dtype].type
    return _as_is


def _as_is(value: Any) -> Any:
    return value


_Footprints = tuple[tuple[Region, ...], tuple[Region, ...], tuple[GlobalRegion, ...], tuple[GlobalRegion, ...]]


class _Memory:
    """What an op reads and writes. A trip often touches the same tiles as one before it."""

    def __init__(self) -> None:
        self._regions: dict[tuple[TileSpec, int, int, int, int, int], tuple[Region, ...]] = {}

    def of(self, row: OpRow, operands: Mapping[str, Any]) -> _Footprints:
        """On-chip reads and writes, global reads and writes."""
        reads: list[Region] = []
        writes: list[Region] = []
        global_reads: list[GlobalRegion] = []
        global_writes: list[GlobalRegion] = []
        for operand in row.operands:
            value = operands.get(operand.name)
            if isinstance(value, TileRef):
                regions = self._of_tile(_touched(row, operand, value, operands))
                if operand.role.reads:
                    reads += regions
                if operand.role.writes:
                    writes += regions
            elif isinstance(value, GlobalRegion):
                if operand.role.reads:
                    global_reads.append(value)
                if operand.role.writes:
                    global_writes.append(value)
        return tuple(reads), tuple(writes), tuple(global_reads), tuple(global_writes)

    def _of_tile(self, ref: TileRef) -> tuple[Region, ...]:
        key = ref.base, ref.address, ref.row, ref.col, ref.rows, ref.cols
        if key not in self._regions:
            self._regions[key] = regions_of(ref)
        return self._regions[key]


_WINDOWED: Mapping[str, tuple[str, str]] = {"extract": ("src", "dst"), "insert": ("dst", "src")}
"""Ops that touch a window of one tile, as large as another, at (row, col)."""


def _touched(row: OpRow, operand: Operand, ref: TileRef, operands: Mapping[str, Any]) -> TileRef:
    """The part of the tile that the op touches."""
    outer, inner = _WINDOWED.get(row.dsl, ("", ""))
    if operand.name != outer:
        return ref
    extent = operands[inner]
    top, left = operands["row"], operands["col"]
    if not 0 <= top <= ref.rows - extent.rows or not 0 <= left <= ref.cols - extent.cols:
        raise ScalarError(
            f"a window of {extent.rows}x{extent.cols} at ({top}, {left}) leaves a tile of {ref.rows}x{ref.cols}"
        )
    return replace(ref, row=ref.row + top, col=ref.col + left, rows=extent.rows, cols=extent.cols)
