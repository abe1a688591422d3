"""Giving the compiler's tiles of a loop a slot for each trip that runs together."""

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from pto_buf.dialect.ptobuf import AllocSlotsOp, SlotSelectOp
from pto_buf.dialect.tile_op import constant_of
from pto_buf.lowering.constants import Constants


def widen_sets(loop: scf.ForOp, sets: Sequence[AllocSlotsOp], count: int, constants: Constants) -> None:
    """Make each set `count` slots wide, and let every trip take the slot of its number modulo `count`.

    All selections from the sets stand inside the loop, whose counter is an index.
    """
    if not sets:
        return
    index = _slot_of_trip(loop, count, constants)
    for old in sets:
        new = AllocSlotsOp(old.set_name.data, count, old.slots.type.data.tile, owned=True)
        new.location = old.location
        new.slots.name_hint = old.slots.name_hint
        block = old.parent
        assert block is not None
        block.insert_op_before(new, old)
        for use in tuple(old.slots.uses):
            assert isinstance(use.operation, SlotSelectOp)
            use.operation.operands = (new.slots, index)
        old.detach()
        old.erase()


def _slot_of_trip(loop: scf.ForOp, count: int, constants: Constants) -> SSAValue:
    block = loop.body.block
    first = block.first_op
    assert first is not None

    def add(op: Operation) -> SSAValue:
        op.location = loop.location
        block.insert_op_before(op, first)
        return op.results[0]

    trip: SSAValue = block.args[0]
    if constant_of(loop.lb) != 0:
        trip = add(arith.SubiOp(trip, loop.lb))
    if constant_of(loop.step) != 1:
        trip = add(arith.DivUIOp(trip, loop.step))
    return add(arith.RemUIOp(trip, constants.get(count, IndexType())))
