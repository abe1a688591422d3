"""Ops of the `pto` dialect that order pipes and cores, as instructions."""

from collections.abc import Mapping

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from pto_buf.check.program import Await, Barrier, Instruction, Lock, SetFlag, Signal, Site, WaitFlag
from pto_buf.check.terms import Term, const
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
from pto_buf.hw import Pipe

Terms = Mapping[SSAValue, Term]


def sync_instruction(op: Operation, site: Site, terms: Terms) -> Instruction | None:
    """The instruction of a synchronising op; None if it is none."""
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
