"""Reading fenced `ptobuf` for the reasoning that needs no IR: events, and what stands between their sets and waits."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Block, Operation, SSAValue

from pto_buf.dialect.cross_core import CoreSignalOp, SyncAllOp
from pto_buf.dialect.groups import operands_of
from pto_buf.dialect.pto import BarrierOp, SetFlagDynOp, SetFlagOp, WaitFlagDynOp, WaitFlagOp
from pto_buf.dialect.ptobuf import EventOp, SetOp, WaitOp
from pto_buf.dialect.tile_op import TileOp, target_of
from pto_buf.fences.numbering.ids import Reserved
from pto_buf.fences.reducing.reduction import Body, Everything, Item, Nest, Signal, Work
from pto_buf.hw import EVENT_IDS, Pipe, Target
from pto_buf.lowering.hoisting import repeatable
from pto_buf.walking import ops_of

RETURNS = "ptobuf.returns"
"""On an event that is only there so that an id serves again: it is not reduced away."""

IMPLIED = "ptobuf.implied"
"""On a set, wait or barrier: others order all that it orders."""

LOST = "ptobuf.lost_overlap"
"""On a function: what overlap its fences gave up, in words."""

DROPPED = "ptobuf.dropped_events"
"""On a function: how many events reduction found implied by others."""

DROPPED_PAIRS = "ptobuf.dropped_pairs"
"""On a function: how many sets reduction found implied by others, of events of which other sets stay."""

DROPPED_BARRIERS = "ptobuf.dropped_barriers"
"""On a function: how many barriers of one pipe reduction left out, since flags tell their pipe as much."""

PLAIN = "ptobuf.plain_fences"
"""On a function that is to be fenced: its fences are to be easy to prove, whatever overlap that costs."""

NOTES = (PLAIN, LOST, DROPPED, DROPPED_PAIRS, DROPPED_BARRIERS)


def read_fenced(function: FuncOp) -> tuple[list[EventOp], Body]:
    """The events of a function, and its body with signals that name them by their position."""
    events = list(ops_of(function, EventOp))
    reader = _Reader(target_of(function), {event.event: number for number, event in enumerate(events)})
    return events, reader.body(function.body.block)


def is_ordered(function: FuncOp) -> bool:
    """Whether anything in it orders pipes yet: signals between cores, or sets, waits and barriers that others wrote."""
    own = (CoreSignalOp, SyncAllOp, SetFlagOp, WaitFlagOp, SetFlagDynOp, WaitFlagDynOp, BarrierOp, EventOp)
    return any(ops_of(function, *own))


def reserved_flags(function: FuncOp, target: Target) -> Reserved:
    """The flags that the target takes for itself, those that ops use inside themselves, and those that others wrote."""
    flagging = (TileOp, SetFlagOp, WaitFlagOp, SetFlagDynOp, WaitFlagDynOp)
    return target.reserved_ids.union(*(_flags_of(op) for op in ops_of(function, *flagging)))


def _flags_of(op: Operation) -> Reserved:
    match op:
        case TileOp():
            return op.row.internal_flags
        case SetFlagOp() | WaitFlagOp():
            return frozenset({(op.src.data, op.dst.data, op.event.data)})
        case SetFlagDynOp() | WaitFlagDynOp():
            return frozenset((op.src.data, op.dst.data, event) for event in range(EVENT_IDS))
        case _:
            return frozenset()


_Read = Callable[[Any], Item | None]


def _barrier(op: BarrierOp) -> Item | None:
    return Everything() if op.pipe.data is Pipe.ALL else None


def _of_others(op: Operation) -> Item:
    return Work(tuple(Pipe))  # what it orders is not looked at: nothing is moved over it


def _nothing(op: Operation) -> None:
    return None


@dataclass
class _Reader:
    """Reads off the IR what reduction needs to know of it."""

    target: Target
    numbers: Mapping[SSAValue, int]
    lanes: dict[SSAValue, Hashable] = field(default_factory=dict[SSAValue, Hashable])
    classes: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    readers: dict[type[Operation], _Read] = field(default_factory=dict[type[Operation], _Read])

    def body(self, block: Block) -> Body:
        return tuple(item for op in block.ops if (item := self._item(op)) is not None)

    def _item(self, op: Operation) -> Item | None:
        kind = type(op)
        if kind not in self.readers:
            self.readers[kind] = self._reader(kind)
        return self.readers[kind](op)

    def _reader(self, kind: type[Operation]) -> "_Read":
        """What reads the ops of one class: each class is asked once for those that it is made from."""
        if issubclass(kind, SetOp | WaitOp):
            return self._signal
        if issubclass(kind, TileOp):
            return self._work
        if issubclass(kind, BarrierOp):
            return _barrier
        if issubclass(kind, CoreSignalOp | SyncAllOp | SetFlagOp | WaitFlagOp | SetFlagDynOp | WaitFlagDynOp):
            return _of_others
        if issubclass(kind, ForOp | WhileOp | IfOp):
            return self._nest
        return _nothing

    def _signal(self, op: SetOp | WaitOp) -> Item:
        event, lane = operands_of(op)
        return Signal(self.numbers[event], type(op) is SetOp, self._lane(lane))

    def _work(self, op: TileOp) -> Item:
        return Work(op.form(self.target).pipes)

    def _nest(self, op: ForOp | WhileOp | IfOp) -> Item:
        bodies = tuple(self.body(block) for region in op.regions for block in region.blocks)
        if isinstance(op, IfOp) and len(bodies) == 1:
            bodies = (*bodies, ())
        return Nest(not isinstance(op, IfOp), bodies)

    def _lane(self, value: SSAValue) -> Hashable:
        """A name that equal computations of one lane share."""
        known = self.lanes.get(value)
        if known is None:
            known = self.lanes[value] = self._new_lane(value)
        return known

    def _new_lane(self, value: SSAValue) -> Hashable:
        owner = value.owner
        if isinstance(owner, Block) or not repeatable(owner):
            return value
        attributes = tuple(sorted((name, str(attr)) for name, attr in owner.attributes.items()))
        properties = tuple(sorted((name, str(attr)) for name, attr in owner.properties.items()))
        operands = tuple(self._lane(operand) for operand in owner.operands)
        return self.classes.setdefault((owner.name, attributes, properties, operands), len(self.classes))
