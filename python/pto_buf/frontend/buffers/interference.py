"""Whether a tile is still read once another one is written that is to take its place.

Both are compared in the order in which one trip of a loop, or one arm of a branch, runs.
"""

from collections.abc import Iterable, Iterator

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from pto_buf.dialect.slot_op import IntoOp, value_in
from pto_buf.dialect.table.row import Role
from pto_buf.dialect.tile_op import TileOp


def writers(slots: Iterable[SSAValue]) -> list[Operation]:
    """The ops that write one of the slots."""
    return [use.operation for slot in slots for use in slot.uses if value_in(use.operation, slot) is not None]


def readers(value: SSAValue) -> Iterator[Operation]:
    """The ops that read a slot or a lease's value, updates in place and the reads of what they yield included."""
    for use in value.uses:
        op = use.operation
        left = value_in(op, value)
        if left is not None:
            if isinstance(op, IntoOp) and op.row.out.role is Role.UPDATE:
                yield op
            yield from readers(left)
        if left is None or (isinstance(op, TileOp) and value in tuple(op.ins)):
            yield op


class Order:
    """The order in which the ops of one block, inner regions included, may run."""

    def __init__(self, block: Block):
        self._block = block
        self._number = {op: number for number, op in enumerate(_walk(block))}

    def holds(self, op: Operation) -> bool:
        """Whether the op lies in the block."""
        return op in self._number

    def follows(self, later: Operation, earlier: Operation) -> bool:
        """Whether `later` may run after `earlier` within one run of the block. An op does not follow itself."""
        if later is earlier:
            return False
        for one, other in zip(self._path(later), self._path(earlier), strict=False):
            if one is other:
                if isinstance(one, (scf.ForOp, scf.WhileOp)):
                    return True
                continue
            if one.parent_block() is not other.parent_block():
                return not isinstance(one.parent_op(), scf.IfOp)
            return self._number[one] > self._number[other]
        return True

    def _path(self, op: Operation) -> list[Operation]:
        """The op and those around it, outermost first."""
        path: list[Operation] = []
        current: Operation | None = op
        while current is not None:
            path.append(current)
            if current.parent_block() is self._block:
                break
            current = current.parent_op()
        return path[::-1]


def _walk(block: Block) -> Iterator[Operation]:
    for op in block.ops:
        yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from _walk(inner)


def reads_in_place(op: Operation, value: SSAValue) -> bool:
    """Whether an op may write its output over `value`, which it reads."""
    if not isinstance(op, TileOp):
        return False
    allowed = op.row.in_place
    return all(operand.name in allowed for operand, one in op.named_operands() if one is value and operand.role.reads)


def clobbers(block: Block, old: SSAValue, new: Iterable[SSAValue]) -> bool:
    """Whether writing the slots `new` where `old` lies would destroy what an op of the block still reads."""
    order = Order(block)
    writing = [op for op in writers(new) if order.holds(op)]
    for reader in readers(old):
        if not order.holds(reader):
            continue
        for writer in writing:
            if order.follows(reader, writer) or (reader is writer and not reads_in_place(reader, old)):
                return True
    return False
