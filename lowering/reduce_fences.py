"""Drops the events that other events imply; see `pto_buf.fences.reduction` for the rules."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from pto_buf.dialect.tile_op import target_of
from pto_buf.fences.reduction import Ends, droppable
from pto_buf.hw import Target
from pto_buf.lowering.fenced import DROPPED, RETURNS, read_fenced


@dataclass(frozen=True)
class ReduceFencesPass(ModulePass):
    """ptobuf-reduce-fences."""

    name: ClassVar[str] = "ptobuf-reduce-fences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for function in [inner for inner in op.walk() if isinstance(inner, FuncOp) and not inner.is_declaration]:
            _reduce(function, target)


def _reduce(function: FuncOp, target: Target) -> None:
    events, body = read_fenced(function, target)
    ends = [Ends(event.event.type.data.src, event.event.type.data.dst) for event in events]
    keep = {number for number, event in enumerate(events) if RETURNS in event.attributes}
    found = droppable(ends, body, keep)
    function.attributes[DROPPED] = IntegerAttr(len(found), i64)
    for dropped in found:
        event = events[dropped.event]
        for use in tuple(event.event.uses):
            use.operation.detach()
            use.operation.erase()
        event.detach()
        event.erase()
