"""Translates the ops that order pipes and cores into makers of steps."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from pto_buf.dialect import cross_core, sync
from pto_buf.dialect.pointers import LoadScalarOp, StoreScalarOp
from pto_buf.errors import DiagnosticError, Place
from pto_buf.hw import BUFFER_IDS, CORE_SIGNALS, EVENT_IDS, Pipe, Target
from pto_buf.machine.code import Registers
from pto_buf.machine.emit import Maker
from pto_buf.machine.scalar import ScalarError
from pto_buf.machine.steps import (
    Barrier,
    GiveLock,
    GlobalRegion,
    ScalarAccess,
    SetFlag,
    Step,
    SyncSet,
    SyncWait,
    TakeLock,
    Trips,
    WaitFlag,
)
from pto_buf.machine.values import Pointer
from pto_buf.source import place_of

Number: TypeAlias = Callable[[Registers], int]


def sync_maker(op: Operation, site: int, target: Target, registers: Mapping[SSAValue, int]) -> Maker | None:
    """What makes the op's steps; None if it is no such op. Raises DiagnosticError for a form that cannot be run."""
    place = place_of(op)
    match op:
        case sync.SetFlagOp():
            return _flag(SetFlag, site, (op.src.data, op.dst.data), _fixed(op.event.data), place)
        case sync.WaitFlagOp():
            return _flag(WaitFlag, site, (op.src.data, op.dst.data), _fixed(op.event.data), place)
        case sync.SetFlagDynOp():
            return _flag(SetFlag, site, (op.src.data, op.dst.data), _event(registers[op.event]), place)
        case sync.WaitFlagDynOp():
            return _flag(WaitFlag, site, (op.src.data, op.dst.data), _event(registers[op.event]), place)
        case sync.RecordEventOp():
            return _flag(SetFlag, site, op.pipes, _fixed(op.event.data), place)
        case sync.WaitEventOp():
            return _flag(WaitFlag, site, op.pipes, _fixed(op.event.data), place)
        case sync.BarrierOp():
            return _barrier(site, op.pipe.data, place)
        case sync.BarrierSyncOp():
            return _barrier(site, op.pipe, place)
        case sync.GetBufOp() | sync.GetBufDynOp():
            return _lock(TakeLock, site, op, registers, place)
        case sync.RlsBufOp() | sync.RlsBufDynOp():
            return _lock(GiveLock, site, op, registers, place)
        case cross_core.SyncSetOp() | cross_core.SetIntraBlockOp():
            return _signal(SyncSet, site, op, target, registers, place)
        case cross_core.SyncWaitOp() | cross_core.WaitIntraBlockOp():
            return _signal(SyncWait, site, op, target, registers, place)
        case LoadScalarOp():
            return _access(site, registers[op.ptr], registers[op.offset], None, place)
        case StoreScalarOp():
            return _access(site, registers[op.ptr], registers[op.offset], registers[op.value], place)
        case _:
            return None


def _fixed(number: int) -> Number:
    return lambda _: number


def _bounded(register: int, count: int, what: str) -> Number:
    def read(held: Registers) -> int:
        number = held[register]
        if not 0 <= number < count:
            raise ScalarError(f"{what} {number} is outside 0 to {count - 1}")
        return number

    return read


def _event(register: int) -> Number:
    return _bounded(register, EVENT_IDS, "event id")


def _flag(
    kind: type[SetFlag] | type[WaitFlag], site: int, pipes: tuple[Pipe, Pipe], number: Number, place: Place | None
) -> Maker:
    src, dst = pipes
    return lambda held, trips: kind(site, src, dst, number(held), place, trips)


def _barrier(site: int, pipe: Pipe, place: Place | None) -> Maker:
    return lambda _, trips: Barrier(site, pipe, place, trips)


def _lock(
    kind: type[TakeLock] | type[GiveLock],
    site: int,
    op: sync.GetBufOp | sync.GetBufDynOp | sync.RlsBufOp | sync.RlsBufDynOp,
    registers: Mapping[SSAValue, int],
    place: Place | None,
) -> Maker:
    pipe = op.pipe
    if op.buf_id_dyn is not None:
        number = _bounded(registers[op.buf_id_dyn], BUFFER_IDS, "buffer id")
    else:
        assert op.buf_id is not None, "verified"
        number = _fixed(op.buf_id.value.data)
    return lambda held, trips: kind(site, pipe, number(held), place, trips)


def _signal(
    kind: type[SyncSet] | type[SyncWait],
    site: int,
    op: cross_core.CoreSignalOp,
    target: Target,
    registers: Mapping[SSAValue, int],
    place: Place | None,
) -> Maker:
    if op.mode_to_others is not None:
        message = f"signals of ffts_mode {op.mode_to_others} go to other blocks, which run one by one here"
        raise DiagnosticError.at(place, message, kind="unsupported")
    pipe = op.pipe.data
    plain = isinstance(op, (cross_core.SyncSetOp, cross_core.SyncWaitOp))
    mirrored = plain and (target.name == "a2a3" or (kind is SyncSet and pipe is Pipe.FIX))
    if op.event_id_dyn is not None:
        number = _bounded(registers[op.event_id_dyn], CORE_SIGNALS[target.name], "signal")
    else:
        assert op.event_id is not None, "verified"
        number = _fixed(op.event_id.value.data)
    return lambda held, trips: kind(site, pipe, number(held), mirrored, place, trips)


def _access(site: int, pointer: int, offset: int, value: int | None, place: Place | None) -> Maker:
    def make(held: Registers, trips: Trips) -> Step:
        start: Pointer = held[pointer]
        region = GlobalRegion(start.argument, start.offset + held[offset], (1,), (1,), start.dtype)
        return ScalarAccess(site, region, None if value is None else held[value], place, trips)

    return make
