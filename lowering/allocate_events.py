"""Gives each lane of each event a hardware id.

An ordered pair of pipes has eight ids. The lanes of one event get consecutive ids, so that a computed lane stays one
addition, or none: the largest events come first for that. Events from one pipe get ids of their own while those last,
so that the program is right, too, where the hardware tells flags apart by source and id alone; after that ids are
counted for each pair of pipes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from pto_buf.dialect.ptobuf import EventOp
from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import DiagnosticError
from pto_buf.hw import EVENT_IDS, Pipe, Target
from pto_buf.source import place_of


@dataclass(frozen=True)
class AllocateEventsPass(ModulePass):
    """ptobuf-allocate-events."""

    name: ClassVar[str] = "ptobuf-allocate-events"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for function in op.walk():
            if isinstance(function, FuncOp):
                _allocate([event for event in function.walk() if isinstance(event, EventOp)], target)


def _allocate(events: Sequence[EventOp], target: Target) -> None:
    by_source: dict[Pipe, list[EventOp]] = {}
    by_pair: dict[tuple[Pipe, Pipe], list[EventOp]] = {}
    for event in events:
        spec = event.event.type.data
        by_source.setdefault(spec.src, []).append(event)
        by_pair.setdefault((spec.src, spec.dst), []).append(event)
    shared = {source for source, mine in by_source.items() if not _numbered(mine, target)}
    for (source, destination), mine in by_pair.items():
        if source in shared and not _numbered(mine, target):
            raise _short(source, destination, mine)


def _numbered(events: Sequence[EventOp], target: Target) -> bool:
    """Numbers the lanes of all these events apart from one another, if the ids suffice."""
    ids: dict[EventOp, int] = {}
    taken: set[int] = set()
    for event in sorted(events, key=lambda event: -event.event.type.data.lanes):
        spec = event.event.type.data
        reserved = {number for src, dst, number in target.reserved_ids if (src, dst) == (spec.src, spec.dst)}
        start = _room(spec.lanes, taken | reserved)
        if start is None:
            return False
        ids[event] = start
        taken.update(range(start, start + spec.lanes))
    for event, start in ids.items():
        lanes = event.event.type.data.lanes
        event.properties["ids"] = DenseArrayBase.from_list(i64, list(range(start, start + lanes)))
    return True


def _room(lanes: int, taken: set[int]) -> int | None:
    """The lowest start of `lanes` consecutive free ids."""
    for start in range(EVENT_IDS - lanes + 1):
        if taken.isdisjoint(range(start, start + lanes)):
            return start
    return None


def _short(source: Pipe, destination: Pipe, events: Sequence[EventOp]) -> DiagnosticError:
    wanted = sum(event.event.type.data.lanes for event in events)
    names = ", ".join(f"{event.event_name.data} ({event.event.type.data.lanes})" for event in events)
    return DiagnosticError.at(
        place_of(events[-1]),
        f"fences from {source} to {destination} need {wanted} event ids, there are {EVENT_IDS}: {names}",
        kind="event-ids",
        help="use fewer slots in the sets that these fences guard",
    )


def event_ids(event: EventOp) -> Sequence[int]:
    """The ids of the lanes, once they are given."""
    assert event.ids is not None
    return cast(DenseArrayBase[IntegerType], event.ids).get_values()
