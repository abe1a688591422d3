"""Putting signals between the cores into a mixed kernel that is still one function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from pto_buf.cores.handover import Handover, Unordered, plan_handovers
from pto_buf.dialect.attributes import PipeAttr
from pto_buf.dialect.cross_core import CoreSignalOp, SyncSetOp, SyncWaitOp
from pto_buf.dialect.ptobuf import AllocSlotsOp, EventOp, SetOp, WaitOp
from pto_buf.errors import DiagnosticError, Note, Place
from pto_buf.fences.windows import Windows
from pto_buf.hw import A5, Core, Pipe, Target
from pto_buf.lowering.constants import Constants
from pto_buf.slots.build import Built
from pto_buf.source import place_of
from pto_buf.walking import ops_of

SIGNALS = 11
"""How many signals one core may use: of 16, the run-time system and the assembler keep some for themselves."""

_SENDS: Mapping[Core, Pipe] = {Core.CUBE: Pipe.FIX, Core.VECTOR: Pipe.MTE3}
"""On a5, the one pipe of a core that can send."""

_SECOND_VECTOR_CORE = 16
"""On a5, what is added to the id of a signal from the second vector core."""

WHY = "ptobuf.why"
"""On a signal: what it orders, in words."""

PART_OF = "ptobuf.part_of"
"""On a function that holds one core's part of a mixed kernel: the kernel's name."""


@dataclass(frozen=True)
class PutSignals:
    """The ops that were put, with their cores, and what overlap that loses, by core, with the place."""

    cores: Mapping[Operation, Core]
    lost: tuple[tuple[Core, Place | None, str], ...]


def put_signals(
    function: FuncOp, built: Built, windows: Windows, cores: Mapping[Operation, Core], target: Target
) -> PutSignals:
    """Puts the signals that order the two cores' accesses to global memory.

    Raises DiagnosticError where no signals can, or too many would be needed.
    """
    by_key = {key: cores[op] for key, op in built.ops.items() if op in cores}
    sends = _SENDS if target is A5 else None
    found = plan_handovers(built.program, windows, by_key, sends=sends, most=SIGNALS)
    if isinstance(found, Unordered):
        earlier, later = built.ops[found.earlier], built.ops[found.later]
        raise DiagnosticError.at(
            place_of(later),
            "has to come behind work of the other core, which stands in another part of a 'while'",
            Note(place_of(earlier), "this is that work"),
            help="put both into the body of the loop",
            kind="two-cores",
        )
    ids = _numbered(function, found)
    writer = _Writer(function, built, target)
    for handover, id in zip(found, ids, strict=True):
        writer.put(handover, id)
    lost = tuple((one.target, place_of(built.ops[one.before]), one.lost) for one in found if one.lost)
    return PutSignals(writer.finish(), lost)


def _numbered(function: FuncOp, handovers: Sequence[Handover]) -> list[int]:
    """The id of each signal: of its own, or where there are too few, of its own among those of one core."""
    if len(handovers) <= SIGNALS:
        return list(range(len(handovers)))
    given = dict.fromkeys(Core, 0)
    found: list[int] = []
    for handover in handovers:
        found.append(given[handover.source])
        given[handover.source] += 1
    for core, wanted in given.items():
        if wanted > SIGNALS:
            raise DiagnosticError.at(
                place_of(function),
                f"the {core} core would need {wanted} signals to the other one, there are {SIGNALS}",
                help="let fewer ops of one core touch what the other core touches too, or put fewer trips side by side",
                kind="signals",
            )
    return found


class _Writer:
    def __init__(self, function: FuncOp, built: Built, target: Target):
        self.built = built
        self.target = target
        self.constants = Constants(function)
        self.allocs = list(ops_of(function, AllocSlotsOp))
        self.cores: dict[Operation, Core] = {}
        self._ahead: dict[int, list[Operation]] = {}
        self._waits: dict[int, list[Operation]] = {}
        self._sends: dict[int, list[Operation]] = {}
        self._heard: dict[int, list[Operation]] = {}
        """By the key of a node: before it, what is sent ahead, then waits; behind it, what is sent, then drains."""

    def put(self, handover: Handover, id: int) -> None:
        self._waits.setdefault(handover.before, []).extend(self._wait(handover, id))
        self._sends.setdefault(handover.after, []).extend(self._send(handover, id))
        if handover.around is None:
            return
        pipe = self._sending(handover)
        for _ in range(handover.lag):
            self._ahead.setdefault(handover.around, []).append(self._signal(SyncSetOp, pipe, id, handover.source))
            self._heard.setdefault(handover.around, []).extend(self._wait(handover, id))

    def finish(self) -> Mapping[Operation, Core]:
        for before in (self._ahead, self._waits):
            for key, ops in before.items():
                anchor = self.built.ops[key]
                assert anchor.parent is not None
                for op in ops:
                    op.location = anchor.location
                    anchor.parent.insert_op_before(op, anchor)
        for behind in (self._heard, self._sends):  # the last to be put stands closest
            for key, ops in behind.items():
                anchor = self.built.ops[key]
                assert anchor.parent is not None
                for op in reversed(ops):
                    op.location = anchor.location
                    anchor.parent.insert_op_after(op, anchor)
        return self.cores

    def _sending(self, handover: Handover) -> Pipe:
        return _SENDS[handover.source] if self.target is A5 else handover.pipe

    def _send(self, handover: Handover, id: int) -> list[Operation]:
        """The signal; where its pipe cannot send, it is another one's, which waits for it first."""
        pipe, core = self._sending(handover), handover.source
        signal = self._signal(SyncSetOp, pipe, id, core, handover.why)
        if pipe is handover.pipe:
            return [signal]
        ready = self._event(f"signal{id}", handover.pipe, pipe, handover)
        hop = [*self._both(ready, core), signal]
        if not handover.outermost:
            return hop
        heard = self._event(f"signal{id}_heard", pipe, handover.pipe, handover)
        sent, waited = self._both(heard, core)
        first, last = self._both(heard, core)
        self._ahead.setdefault(handover.outermost, []).append(first)
        self._heard.setdefault(handover.outermost, []).append(last)
        return [waited, hop[0], hop[1], sent, signal]

    def _event(self, name: str, source: Pipe, target: Pipe, handover: Handover) -> EventOp:
        event = EventOp(name, source, target, 1, f"so that {target} may send a signal: {handover.why}")
        last = self.allocs[-1]
        event.location = last.location
        assert last.parent is not None
        last.parent.insert_op_after(event, last)
        self.cores[event] = handover.source
        return event

    def _both(self, event: EventOp, core: Core) -> tuple[Operation, Operation]:
        """A set of an event, and a wait for it."""
        lane = self.constants.index(0)
        found = SetOp(event.event, lane), WaitOp(event.event, lane)
        self.cores |= dict.fromkeys(found, core)
        return found

    def _wait(self, handover: Handover, id: int) -> list[Operation]:
        ids = [id]
        if self.target is A5 and handover.source is Core.VECTOR:
            ids.append(id + _SECOND_VECTOR_CORE)
        return [self._signal(SyncWaitOp, handover.waiting, one, handover.target) for one in ids]

    def _signal(self, kind: type[CoreSignalOp], pipe: Pipe, id: int, core: Core, why: str | None = None) -> Operation:
        op = kind.create(properties={"pipe": PipeAttr(pipe), "event_id": IntegerAttr(id, IntegerType(32))})
        if why is not None:
            op.attributes[WHY] = StringAttr(why)
        self.cores[op] = core
        return op
