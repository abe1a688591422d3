"""Drops the events that other events imply; see `pto_buf.fences.reducing.reduction` for the rules."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Operation, Region
from xdsl.passes import ModulePass

from pto_buf.dialect.pto import BarrierOp
from pto_buf.dialect.ptobuf import EventOp, SetOp
from pto_buf.fences.reducing.reduction import Ends, droppable
from pto_buf.kept import Keeps, changed, kept
from pto_buf.lowering.fenced import DROPPED, DROPPED_BARRIERS, DROPPED_PAIRS, IMPLIED, RETURNS, read_fenced
from pto_buf.lowering.hoisting import repeatable
from pto_buf.walking import functions, ops_in, ops_of


@dataclass(frozen=True)
class ReduceFencesPass(ModulePass, Keeps):
    """ptobuf-reduce-fences."""

    name: ClassVar[str] = "ptobuf-reduce-fences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _reduce(function)


def _reduce(function: FuncOp) -> None:
    """First what insertion has marked, then what the order of the sets and waits alone shows to be implied."""
    marked = [op for op in ops_in(function) if IMPLIED in op.attributes]
    barriers = sum(isinstance(op, BarrierOp) for op in marked)
    sets = Counter(op.event for op in marked if isinstance(op, SetOp))
    for op in marked:
        _erase(op)
    unused = [op for op in ops_of(function, EventOp) if not op.event.uses]
    pairs = sum(count for event, count in sets.items() if event.uses)
    for op in unused:
        op.detach()
        op.erase()
    changed(function)
    events, body = kept(function, read_fenced)
    ends = [Ends(event.event.type.data.src, event.event.type.data.dst) for event in events]
    keep = {number for number, event in enumerate(events) if RETURNS in event.attributes}
    found = droppable(ends, body, keep)
    noted = {DROPPED: len(found) + len(unused), DROPPED_PAIRS: pairs, DROPPED_BARRIERS: barriers}
    function.attributes.update({name: IntegerAttr(number, i64) for name, number in noted.items()})
    for dropped in found:
        event = events[dropped.event]
        for use in tuple(event.event.uses):
            _erase(use.operation)
        event.detach()
        event.erase()
    if found:
        changed(function)


def _erase(op: Operation) -> None:
    """Erases a set or wait, and the loop or branch around it if that was made for it and is empty now."""
    outer = op.parent_op()
    op.detach()
    op.erase()
    while isinstance(outer, ForOp | IfOp) and not outer.results and not any(map(_does_anything, outer.regions)):
        op, outer = outer, outer.parent_op()
        op.detach()
        op.erase()


def _does_anything(region: Region) -> bool:
    return any(not isinstance(op, YieldOp) and not repeatable(op) for block in region.blocks for op in block.ops)
