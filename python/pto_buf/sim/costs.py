"""What an instruction costs in cycles, from the tables in `pto_buf/targets`. No IR."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, cast

from pto_buf.hw import Pipe, Space, Target
from pto_buf.machine.steps import Exec, GlobalRegion, TileRef
from pto_buf.tile import DTYPE_BITS

_MOVES = frozenset({"load", "store", "move", "extract", "insert"})
_BLOCK = 16
_DEPTH_BYTES = 32
_REPEAT_BYTES = 256
_BANK_PERIOD = 512


class CostError(Exception):
    """The table of the target has no figure for an op."""


@dataclass(frozen=True)
class Line:
    """`fixed + size / rate`: the size in bytes of the narrower side, in elements, or in bytes as f32."""

    fixed: float
    rate: float
    unit: str = "byte"


@dataclass(frozen=True)
class VectorOp:
    """`slope * repeats + fixed`; with `banked`, half the slope where the two sources do not share memory banks."""

    slope: float
    fixed: float
    banked: bool = False


@dataclass(frozen=True)
class Costs:
    """The figures of one target. Cycles unless said otherwise."""

    clock_mhz: float
    launch: int
    instruction: int
    branch: int
    dynamic_flag: int
    queue: int
    """Instructions that the queue of a pipe holds."""
    moves: Mapping[str, Line]
    matmul_fixed: int
    matmul_steps: Mapping[str, int]
    vector: VectorOp
    ragged: int
    """Added when a row of a vector op is no multiple of 256 bytes."""
    apart: int | None
    """Distance modulo 512 bytes at which two sources do not share banks; None where they never do."""
    vector_ops: Mapping[str, VectorOp] = field(default_factory=dict[str, VectorOp])

    def microseconds(self, cycles: float) -> float:
        return cycles / self.clock_mhz

    def cycles(self, step: Exec) -> int:
        """How long the op occupies its pipe. Raises CostError."""
        row = step.row
        if Pipe.M in step.pipes:
            return self._product(step)
        if row.dsl in _MOVES:
            return self._move(step)
        return self._vector(step)

    def _move(self, step: Exec) -> int:
        source, target = step.memory("src"), step.memory("dst")
        path = f"{_space(source)}->{_space(target)}"
        line = self.moves.get(path)
        if line is None:
            raise CostError(f"no cost for moving {path}")
        smaller = target if step.row.dsl != "insert" else source
        elements = _elements(smaller)
        width = min(_bytes(source.dtype), _bytes(target.dtype))
        size = elements * {"byte": width, "element": 1, "f32": 4}[line.unit]
        return round(line.fixed + size / line.rate)

    def _product(self, step: Exec) -> int:
        lhs, target = step.tile("lhs"), step.tile("dst")
        depth = _up(lhs.v_cols * _bytes(lhs.dtype), _DEPTH_BYTES)
        blocks = _up(target.v_rows, _BLOCK) * _up(target.v_cols, _BLOCK)
        per_step = self.matmul_steps.get(lhs.dtype, self.matmul_steps["default"])
        return self.matmul_fixed + per_step * blocks * depth

    def _vector(self, step: Exec) -> int:
        sources = [step.operands[one.name] for one in step.row.ins if one.name in step.operands and one.role.reads]
        tiles = [one for one in sources if isinstance(one, TileRef)] or [step.tile(step.row.out.name)]
        widest = max(tiles, key=lambda tile: tile.v_rows * tile.v_cols)
        row_bytes = widest.v_cols * _bytes(widest.dtype)
        dense = widest.v_cols == widest.base.cols
        repeats = (
            _up(widest.v_rows * row_bytes, _REPEAT_BYTES) if dense else widest.v_rows * _up(row_bytes, _REPEAT_BYTES)
        )
        known = self.vector_ops.get(step.row.mnemonic, self.vector)
        slope = known.slope
        if known.banked and self.apart is not None and len(tiles) == 2:
            distance = (tiles[0].address - tiles[1].address) % _BANK_PERIOD
            slope = slope / 2 if distance == self.apart else slope
        ragged = self.ragged if row_bytes % _REPEAT_BYTES else 0
        return round(slope * repeats + known.fixed + ragged)


def _space(value: TileRef | GlobalRegion) -> Space:
    return Space.GM if isinstance(value, GlobalRegion) else value.space


def _elements(value: TileRef | GlobalRegion) -> int:
    if isinstance(value, TileRef):
        return value.v_rows * value.v_cols
    count = 1
    for extent in value.extents:
        count *= extent
    return count


def _bytes(dtype: str) -> int:
    return DTYPE_BITS[dtype] // 8


def _up(value: int, unit: int) -> int:
    return -(-value // unit)


def costs_of(target: Target) -> Costs:
    """The table that comes with the package for this target."""
    return _shipped(target.name)


@cache
def _shipped(name: str) -> Costs:
    return parse_costs(files("pto_buf").joinpath("targets", f"{name}.toml").read_text(encoding="utf-8"))


def parse_costs(text: str) -> Costs:
    """A cost table from its text. Raises KeyError or TypeError for one that lacks a figure."""
    table = tomllib.loads(text)
    vector = cast(dict[str, Any], table["vector"])
    return Costs(
        clock_mhz=table["clock_mhz"],
        launch=table["launch"],
        instruction=table["issue"]["instruction"],
        branch=table["issue"]["branch"],
        dynamic_flag=table["issue"]["dynamic_flag"],
        queue=table["queues"]["default"],
        moves={path: Line(**_figures(line)) for path, line in table["move"].items()},
        matmul_fixed=table["matmul"]["fixed"],
        matmul_steps=table["matmul"]["steps"],
        vector=VectorOp(vector["slope"], vector["fixed"]),
        ragged=vector["ragged"],
        apart=vector.get("apart"),
        vector_ops={name: VectorOp(**one) for name, one in vector["ops"].items()},
    )


def _figures(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "source"}
