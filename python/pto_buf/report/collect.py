"""Reading reports off the IR: fenced `ptobuf` for names and reasons, finished `pto` for what runs."""

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Block

from pto_buf.check.reading.build import build
from pto_buf.check.runs.concrete import Choice, data_dependent, open_arguments, steps_of
from pto_buf.check.runs.steps import Fence, Set
from pto_buf.dialect.attributes import KernelKindAttr
from pto_buf.dialect.cross_core import SyncSetOp
from pto_buf.dialect.pto import BarrierOp
from pto_buf.dialect.ptobuf import AllocSlotsOp, EventOp, SetOp, SlotSelectOp, WaitOp
from pto_buf.dialect.slot_op import IntoManyOp, IntoOp, SlotOp
from pto_buf.hw import Core, Pipe, Target
from pto_buf.lowering.allocate_events import event_ids
from pto_buf.lowering.core_signals import PART_OF, WHY
from pto_buf.lowering.fenced import DROPPED, DROPPED_BARRIERS, DROPPED_PAIRS, LOST
from pto_buf.memory.footprint import slot_bytes, slot_stride
from pto_buf.report.allocation import Resident
from pto_buf.report.expressions import branch_head, loop_head, words
from pto_buf.report.fences import Dropped, EventLine, Executed, SignalLine
from pto_buf.report.order import Issue, Line, Nest
from pto_buf.sim.naming import SlotRange
from pto_buf.source import place_of


def residents(function: FuncOp, target: Target) -> tuple[Resident, ...]:
    """The slot sets of a kernel that have an address."""
    return tuple(
        _resident(op, target) for op in function.walk() if isinstance(op, AllocSlotsOp) and op.addr is not None
    )


def _resident(op: AllocSlotsOp, target: Target) -> Resident:
    spec = op.slots.type.data
    tile = spec.tile
    assert op.addr is not None
    return Resident(
        op.set_name.data,
        tile.space,
        spec.count,
        tile.rows,
        tile.cols,
        tile.dtype,
        slot_bytes(tile, target),
        slot_stride(tile, target),
        op.addr.value.data,
        op.owned is not None,
    )


def slot_ranges(function: FuncOp, target: Target) -> tuple[SlotRange, ...]:
    """The same for the simulator."""
    return tuple(
        SlotRange(one.name, one.space, one.address, one.footprint, one.stride, one.count)
        for one in residents(function, target)
    )


def order(function: FuncOp, target: Target) -> tuple[Line, ...]:
    """The tile ops of a kernel in issue order."""
    return tuple(_lines(function.body.block, target))


def _lines(block: Block, target: Target) -> Iterator[Line]:
    for op in block.ops:
        match op:
            case SlotOp():
                yield Issue(op.row.dsl, op.form(target).pipes, _slot_of(op))
            case ForOp():
                yield from _nest(loop_head(op), op.body.block, target)
            case IfOp():
                yield from _nest(branch_head(op), op.true_region.block, target)
                if op.false_region.blocks:
                    yield from _nest("else:", op.false_region.block, target)
            case WhileOp():
                yield from _nest("while:", op.before_region.block, target)
                yield from _nest("do:", op.after_region.block, target)
            case _:
                pass


def _nest(head: str, block: Block, target: Target) -> Iterator[Line]:
    body = tuple(_lines(block, target))
    if body:
        yield Nest(head, body)


def _slot_of(op: SlotOp) -> str:
    value = op.outs[0] if isinstance(op, IntoOp | IntoManyOp) else op.ins[0]
    while isinstance(owner := value.owner, IntoOp | IntoManyOp):
        value = next(owner.outs[position] for position, one in owner.written if one is value)
    if not isinstance(owner, SlotSelectOp):
        return ""
    alloc = owner.slots.owner
    assert isinstance(alloc, AllocSlotsOp)
    count = alloc.slots.type.data.count
    return alloc.set_name.data if count == 1 else f"{alloc.set_name.data}[{words(owner.index)}]"


def events(function: FuncOp) -> tuple[EventLine, ...]:
    """The events of a kernel that have ids."""
    return tuple(_event(op) for op in function.walk() if isinstance(op, EventOp) and op.ids is not None)


def _event(op: EventOp) -> EventLine:
    spec = op.event.type.data
    users = [use.operation for use in op.event.uses]
    return EventLine(
        op.event_name.data,
        spec.src.value,
        spec.dst.value,
        tuple(event_ids(op)),
        sum(isinstance(user, SetOp) for user in users),
        sum(isinstance(user, WaitOp) for user in users),
        op.why.data if op.why is not None else "",
        tuple(dict.fromkeys(place for user in users if (place := place_of(user)) is not None)),
    )


def kernel_of(function: FuncOp) -> str:
    """The name of the kernel that a fenced function is, or is one core's part of."""
    found = function.attributes.get(PART_OF)
    return found.data if isinstance(found, StringAttr) else function.sym_name.data


def signals(function: FuncOp) -> tuple[SignalLine, ...]:
    """What one core's part of a mixed kernel sends to the other core, by its numbers, and why."""
    kind = function.attributes.get("pto.kernel_kind")
    target = "vector" if isinstance(kind, KernelKindAttr) and kind.data is Core.CUBE else "cube"
    found: dict[int, SignalLine] = {}
    for op in function.walk():
        if (
            isinstance(op, SyncSetOp)
            and op.event_id is not None
            and isinstance(why := op.attributes.get(WHY), StringAttr)
        ):
            id = op.event_id.value.data
            found.setdefault(id, SignalLine(id, op.pipe.data.value, target, why.data))
    return tuple(found[id] for id in sorted(found))


def dropped(function: FuncOp) -> Dropped:
    """What of a fenced kernel was left out because other fences imply it."""
    return Dropped(*(_noted(function, name) for name in (DROPPED, DROPPED_PAIRS, DROPPED_BARRIERS)))


def _noted(function: FuncOp, name: str) -> int:
    found = function.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else 0


def lost(function: FuncOp) -> tuple[str, ...]:
    """The overlap that the fences of a kernel give up, with what it costs."""
    found = function.attributes.get(LOST)
    return tuple(one.data for one in cast(ArrayAttr[StringAttr], found)) if found is not None else ()


def barriers(function: FuncOp) -> int:
    """How many barriers of one pipe a kernel holds."""
    return sum(isinstance(op, BarrierOp) and op.pipe.data is not Pipe.ALL for op in function.walk())


def executed(function: FuncOp) -> Executed | None:
    """What a run of finished `pto` executes; None where that depends on arguments or data."""
    program = build(function)
    if open_arguments(program) or data_dependent(program):
        return None
    steps = steps_of(program, Choice({}))
    return Executed(
        sum(isinstance(step, Set) for step in steps),
        sum(isinstance(step, Fence) and step.pipe is not Pipe.ALL for step in steps),
    )
