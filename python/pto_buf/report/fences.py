"""The fence summary: each event with its ids and its reason, and how much of it runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.errors import Place


@dataclass(frozen=True)
class EventLine:
    """An event: `sets` and `waits` count the places in the program, not how often they run."""

    name: str
    src: str
    dst: str
    ids: tuple[int, ...]
    sets: int
    waits: int
    why: str
    places: tuple[Place, ...] = ()
    """Where the ops stand that it is set behind and waited for."""


@dataclass(frozen=True)
class SignalLine:
    """A signal that one kind of core sends to the other."""

    id: int
    pipe: str
    target: str
    why: str


@dataclass(frozen=True)
class Executed:
    """What one run does: set/wait pairs, and barriers without the last one over all pipes."""

    pairs: int
    barriers: int


@dataclass(frozen=True)
class Dropped:
    """What others imply: whole events, sets (with their waits) of events of which others stay, barriers of one pipe."""

    events: int = 0
    sets: int = 0
    barriers: int = 0


def fences_text(
    events: Sequence[EventLine],
    barriers: int,
    executed: Executed | None,
    dropped: Dropped = Dropped(),
    lost: Sequence[str] = (),
    signals: Sequence[SignalLine] = (),
    *,
    first: int = 1,
) -> str:
    """One numbered line for each event with its reason below it, then the barriers and what a run executes.

    `dropped`: what others imply. `lost`: overlap that was given up, and what that costs. `signals`: those that
    the core sends to the other kind. Events are numbered from `first`.
    """
    lines: list[str] = []
    for number, event in enumerate(events, start=first):
        ids = ", ".join(str(number) for number in event.ids)
        lines.append(f"  {number:>2}  {event.src} -> {event.dst}  ids {ids}  {event.name}")
        lines.append(f"      {event.why}")
    if dropped.events:
        lines.append(f"  events left out because others imply them: {dropped.events}")
    if dropped.sets:
        lines.append(f"  sets left out with their waits, of events that stay: {dropped.sets}")
    if dropped.barriers:
        lines.append(f"  barriers left out because flags tell their pipe as much: {dropped.barriers}")
    for signal in signals:
        lines.append(f"  signal {signal.id} to the {signal.target} core, from {signal.pipe}")
        lines.append(f"      {signal.why}")
    lines.append(f"  barriers on one pipe: {barriers}; and the last one over all pipes")
    if executed is not None:
        lines.append(f"  a run executes {executed.pairs} set/wait pairs and {executed.barriers} barriers on one pipe")
    lines += [f"  overlap is lost: {one}" for one in lost]
    return "\n".join(lines)
