"""Gives each lane of each event a hardware id; `pto_buf.fences.numbering.ids` says how."""

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
from pto_buf.fences.numbering.ids import Ids, Lanes, Shortage, number_events
from pto_buf.hw import EVENT_IDS
from pto_buf.kept import kept
from pto_buf.lowering.fenced import read_fenced, reserved_flags
from pto_buf.source import place_of
from pto_buf.walking import functions


@dataclass(frozen=True)
class AllocateEventsPass(ModulePass):
    """ptobuf-allocate-events."""

    name: ClassVar[str] = "ptobuf-allocate-events"

    flags_by_source: bool = False
    """Each event id of a source is to serve one destination only."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for function in functions(op):
            _allocate(function, Ids(reserved_flags(function, target), self.flags_by_source))


def _allocate(function: FuncOp, ids: Ids) -> None:
    events, body = kept(function, read_fenced)
    specs = [event.event.type.data for event in events]
    found = number_events([Lanes(spec.src, spec.dst, spec.lanes) for spec in specs], body, ids)
    if isinstance(found, Shortage):
        raise _short(function, found, events, ids)
    for number, event in enumerate(events):
        mine = list(range(found[number], found[number] + specs[number].lanes))
        event.properties["ids"] = DenseArrayBase.from_list(i64, mine)


def _short(function: FuncOp, short: Shortage, events: Sequence[EventOp], ids: Ids) -> DiagnosticError:
    scope = ids.scope((short.src, short.dst))
    mine = [event for event in events if ids.scope((event.event.type.data.src, event.event.type.data.dst)) == scope]
    taken = len(ids.taken(scope))
    there = f"{EVENT_IDS}, of which others use {taken}" if taken else f"{EVENT_IDS}"
    names = ", ".join(f"{event.event_name.data} ({event.event.type.data.lanes})" for event in mine)
    return DiagnosticError.at(
        place_of(function),
        f"fences from {' to '.join(scope)} need {short.wanted} event ids at once, there are {there}: {names}",
        kind="event-ids",
        help="use fewer slots in the sets that these fences guard",
    )


def event_ids(event: EventOp) -> Sequence[int]:
    """The ids of the lanes, once they are given."""
    assert event.ids is not None
    return cast(DenseArrayBase[IntegerType], event.ids).get_values()
