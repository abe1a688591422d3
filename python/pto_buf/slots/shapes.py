"""What tile ops that look alike have in common, worked out once: a long kernel has few kinds of ops."""

from collections.abc import Hashable
from dataclasses import dataclass

from pto_buf.dialect.groups import operands_of
from pto_buf.dialect.slot_op import SlotOp
from pto_buf.dialect.table.row import Role, TableError, Use
from pto_buf.dialect.tile_op import constant_of
from pto_buf.dialect.types import tile_of
from pto_buf.hw import Pipe, Target


@dataclass(frozen=True)
class Touched:
    """An operand in a slot: its position among the op's operands, its name and role in the row, the bytes touched."""

    position: int
    name: str
    role: Role
    start: int = 0
    end: int | None = None


@dataclass(frozen=True)
class Shape:
    name: str
    pipes: tuple[Pipe, ...]
    touched: tuple[Touched, ...]
    in_place: frozenset[str]
    kept: tuple[int, ...]
    """By the number of a result: the position in `touched` of the slot that holds it."""
    wrong: TableError | None
    """Why the table does not know such an op."""


class Shapes:
    """Ops that are equal in type, operand types, constant operands and attributes have one shape.

    Types of operands are told apart by identity, as by `VerifiedBySignature`.
    """

    def __init__(self, target: Target):
        self._target = target
        self._known: dict[Hashable, Shape] = {}
        self._by_op: dict[SlotOp, Shape] = {}

    def of(self, op: SlotOp) -> Shape:
        found = self._by_op.get(op)
        if found is None:
            found = self._by_op[op] = self._of_kind(op)
        return found

    def _of_kind(self, op: SlotOp) -> Shape:
        operands = operands_of(op)
        key = (
            type(op),
            tuple([id(value.type) for value in operands]),
            tuple([constant_of(value) for value in operands]),
            tuple(op.attributes.items()),
        )
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made(op)
        return found

    def _made(self, op: SlotOp) -> Shape:
        row, wrong = op.row, None
        pipes: tuple[Pipe, ...] = ()
        use = op.use(self._target)
        try:
            pipes = row.form(use).pipes
        except TableError as err:
            wrong = err
        touched = tuple(
            self._touched(use, position, operand.name, operand.role)
            for position, (operand, value) in enumerate(op.named_operands())
            if tile_of(value.type) is not None
        )
        outs = {operand.name for operand in row.outs}
        kept = tuple(i for i, one in enumerate(touched) if one.name in outs and one.role is not Role.SCRATCH)
        name = op.name.removeprefix("ptobuf.").removesuffix("_into")
        return Shape(name, pipes, touched, row.in_place, kept, wrong)

    def _touched(self, use: Use, position: int, name: str, role: Role) -> Touched:
        """An update that only overwrites some bytes of a slot is a write of these; else the whole slot is touched."""
        if role is not Role.UPDATE or use.row.window is None:
            return Touched(position, name, role)
        start, end = use.row.extent(use, name)
        source = use.tile("src")
        whole = source.valid == source.shape and end - start == source.footprint
        return Touched(position, name, Role.WRITE, start, end) if whole else Touched(position, name, role)
