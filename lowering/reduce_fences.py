"""Drops the events that other events imply; see `pto_buf.fences.reduction` for the rules."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from pto_buf.dialect.pto import BarrierOp
from pto_buf.dialect.ptobuf import EventOp, SetOp, WaitOp
from pto_buf.dialect.tile_op import TileOp, target_of
from pto_buf.fences.reduction import Body, Ends, Everything, Item, Nest, Signal, Work, droppable
from pto_buf.hw import Pipe, Target
from pto_buf.lowering.hoisting import repeatable


@dataclass(frozen=True)
class ReduceFencesPass(ModulePass):
    """ptobuf-reduce-fences."""

    name: ClassVar[str] = "ptobuf-reduce-fences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for function in [inner for inner in op.walk() if isinstance(inner, FuncOp) and not inner.is_declaration]:
            _reduce(function, target)


def _reduce(function: FuncOp, target: Target) -> None:
    events = [op for op in function.walk() if isinstance(op, EventOp)]
    reader = _Reader(target, {event.event: number for number, event in enumerate(events)})
    body = reader.body(function.body.block)
    ends = [Ends(event.event.type.data.src, event.event.type.data.dst) for event in events]
    for dropped in droppable(ends, body):
        event = events[dropped.event]
        for use in tuple(event.event.uses):
            use.operation.detach()
            use.operation.erase()
        event.detach()
        event.erase()


@dataclass
class _Reader:
    """Reads off the IR what reduction needs to know of it."""

    target: Target
    numbers: Mapping[SSAValue, int]
    lanes: dict[SSAValue, Hashable] = field(default_factory=dict[SSAValue, Hashable])
    classes: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def body(self, block: Block) -> Body:
        return tuple(item for op in block.ops if (item := self._item(op)) is not None)

    def _item(self, op: Operation) -> Item | None:
        match op:
            case TileOp():
                return Work(op.form(self.target).pipes)
            case SetOp() | WaitOp():
                return Signal(self.numbers[op.event], isinstance(op, SetOp), self._lane(op.lane))
            case BarrierOp():
                return Everything() if op.pipe.data is Pipe.ALL else None
            case ForOp() | WhileOp() | IfOp():
                bodies = tuple(self.body(block) for region in op.regions for block in region.blocks)
                if isinstance(op, IfOp) and len(bodies) == 1:
                    bodies = (*bodies, ())
                return Nest(not isinstance(op, IfOp), bodies)
            case _:
                return None

    def _lane(self, value: SSAValue) -> Hashable:
        """A name that equal computations of one lane share."""
        if value not in self.lanes:
            owner = value.owner
            if isinstance(owner, Block) or not repeatable(owner):
                self.lanes[value] = value
            else:
                attributes = tuple(sorted((name, str(attr)) for name, attr in owner.attributes.items()))
                properties = tuple(sorted((name, str(attr)) for name, attr in owner.properties.items()))
                operands = tuple(self._lane(operand) for operand in owner.operands)
                key = (owner.name, attributes, properties, operands)
                self.lanes[value] = self.classes.setdefault(key, len(self.classes))
        return self.lanes[value]
