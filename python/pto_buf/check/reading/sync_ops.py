"""Ops of the `pto` dialect that order pipes and cores, as instructions."""

from collections.abc import Mapping

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from pto_buf.check.program import Await, Barrier, Instruction, Lock, SetFlag, Signal, Site, WaitFlag, Within
from pto_buf.check.terms import Term, const, constant_of
from pto_buf.dialect.cross_core import (
    CoreSignalOp,
    FenceBarrierAllOp,
    SetIntraBlockOp,
    SyncSetOp,
    SyncWaitOp,
    WaitIntraBlockOp,
)
from pto_buf.dialect.sync import (
    BarrierOp,
    BarrierSyncOp,
    GetBufDynOp,
    GetBufOp,
    RecordEventOp,
    RlsBufDynOp,
    RlsBufOp,
    SetFlagDynOp,
    SetFlagOp,
    WaitEventOp,
    WaitFlagDynOp,
    WaitFlagOp,
)
from pto_buf.errors import DiagnosticError
from pto_buf.hw import BUFFER_IDS, CORE_SIGNALS, Pipe, Target
from pto_buf.source import place_of

Terms = Mapping[SSAValue, Term]


def sync_instructions(op: Operation, site: Site, terms: Terms, target: Target) -> list[Instruction] | None:
    """What a synchronising op does; None if it is none. Raises DiagnosticError for a signal to other blocks."""
    if isinstance(op, CoreSignalOp) and op.mode_to_others is not None:
        message = f"signals of ffts_mode {op.mode_to_others} go to other blocks, which check-sync does not follow"
        raise DiagnosticError.at(place_of(op), message, kind="unsupported-op")
    one = _instruction(op, site, terms)
    match one:
        case None:
            return None
        case Lock():
            what, count = "buffer lock", BUFFER_IDS
        case Signal() | Await():
            what, count = "signal", CORE_SIGNALS[target.name]
        case _:
            return [one]
    known = constant_of(one.lane)
    inside = known is not None and 0 <= known < count
    return [one] if inside else [Within(site, what, one.lane, count), one]


def _instruction(op: Operation, site: Site, terms: Terms) -> Instruction | None:
    match op:
        case SetFlagOp():
            return SetFlag(site, op.src.data, op.dst.data, const(op.event.data))
        case WaitFlagOp():
            return WaitFlag(site, op.src.data, op.dst.data, const(op.event.data))
        case SetFlagDynOp():
            return SetFlag(site, op.src.data, op.dst.data, terms[op.event])
        case WaitFlagDynOp():
            return WaitFlag(site, op.src.data, op.dst.data, terms[op.event])
        case RecordEventOp():
            return SetFlag(site, *op.pipes, const(op.event.data))
        case WaitEventOp():
            return WaitFlag(site, *op.pipes, const(op.event.data))
        case BarrierOp():
            return Barrier(site, op.pipe.data)
        case BarrierSyncOp():
            return Barrier(site, op.pipe)
        case FenceBarrierAllOp():
            return Barrier(site, Pipe.ALL, memory=True)
        case GetBufOp() | GetBufDynOp() | RlsBufOp() | RlsBufDynOp():
            take = isinstance(op, GetBufOp | GetBufDynOp)
            return Lock(site, op.pipe, _number(op.buf_id, op.buf_id_dyn, terms), take)
        case SyncSetOp() | SetIntraBlockOp():
            return Signal(site, op.pipe.data, _id(op, terms), isinstance(op, SetIntraBlockOp))
        case SyncWaitOp() | WaitIntraBlockOp():
            return Await(site, op.pipe.data, _id(op, terms))
        case _:
            return None


def _id(op: CoreSignalOp, terms: Terms) -> Term:
    return _number(op.event_id, op.event_id_dyn, terms)


def _number(known: IntegerAttr | None, dynamic: SSAValue | None, terms: Terms) -> Term:
    if known is not None:
        return const(known.value.data)
    assert dynamic is not None
    return terms[dynamic]
