"""What the op table says of an op, looked up once for each combination of op, operand types and attributes."""

from dataclasses import dataclass

from pto_buf.dialect.table.row import Use
from pto_buf.dialect.tile_op import TileOp, constant_of
from pto_buf.hw import Pipe, Target
from pto_buf.tile import TileSpec

_VECTORS = {
    "single_mode_vec1": (1,),
    "dual_mode_split_m": (0, 1),
    "dual_mode_split_n": (0, 1),
}
"""The vector cores that a move out of the accumulator reaches, by its mode; the first one where none is named."""


@dataclass(frozen=True)
class Effect:
    """On the operand at `position`. `extent` are the bytes of a whole tile that are touched; None for a view."""

    position: int
    name: str
    reads: bool
    writes: bool
    extent: tuple[int, int] | None


@dataclass(frozen=True)
class OpUse:
    """`vectors`: the vector cores whose buffer the op reaches, if it runs on the cube core.

    `hidden`: the bytes of UB that the library works in besides the operands.
    """

    pipes: tuple[Pipe, ...]
    effects: tuple[Effect, ...]
    raises: tuple[tuple[Pipe, Pipe, int], ...]
    vectors: tuple[int, ...]
    hidden: tuple[int, int] | None


class Uses:
    def __init__(self, target: Target):
        self._target = target
        self._known: dict[tuple[object, ...], OpUse] = {}

    def of(self, op: TileOp) -> OpUse:
        """Raises TableError for an op that the table does not allow, which the verifier refuses."""
        # Types are read once for each text that names them, so that equal ones are mostly the same object.
        operands = [(id(value.type), constant_of(value)) for value in op.operands]
        attributes = [(name, id(value)) for name, value in op.attributes.items()]
        key = (type(op), len(op.ins), *operands, *attributes)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._look_up(op)
        return found

    def _look_up(self, op: TileOp) -> OpUse:
        use = op.use(self._target)
        effects: list[Effect] = []
        for position, (operand, _) in enumerate(op.named_operands()):
            if operand.in_memory:
                extent = _extent(use, operand.name)
                effects.append(Effect(position, operand.name, operand.role.reads, operand.role.writes, extent))
        vectors = _VECTORS.get(use.attr("accToVecMode") or "", (0,))
        hidden = None if use.row.hidden is None else use.row.hidden(use)
        return OpUse(use.row.form(use).pipes, tuple(effects), tuple(sorted(use.row.internal_flags)), vectors, hidden)


def _extent(use: Use, name: str) -> tuple[int, int] | None:
    return use.row.extent(use, name) if isinstance(use.operands[name], TileSpec) else None
