"""What a timed run looks like: slices on pipes, arrows between them, and why a pipe stood still. No IR."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from pto_buf.errors import Place
from pto_buf.hw import Pipe
from pto_buf.machine.steps import Exec, GiveLock, SetFlag, SyncSet, SyncWait, TakeLock, WaitFlag

LANES = (Pipe.MTE2, Pipe.MTE1, Pipe.M, Pipe.V, Pipe.FIX, Pipe.MTE3, Pipe.S)
"""The order in which people on this hardware look at pipes: along the flow of data."""


class Cause(StrEnum):
    """Why a pipe stood still before an op."""

    DATA = "data"
    """What it reads was not there yet."""
    SLOT = "slot"
    """What it writes was still in use."""
    FLAG = "flag"
    """A flag that guards no bytes of the op: an id that serves twice, or order asked for by hand."""
    BARRIER = "barrier"
    """A barrier over all pipes."""
    ISSUE = "issue"
    """The scalar unit had not issued it."""
    QUEUE = "queue"
    """The scalar unit waited for room in the queue of a pipe."""


Giver: TypeAlias = SetFlag | SyncSet | GiveLock
Taker: TypeAlias = WaitFlag | SyncWait | TakeLock


@dataclass(frozen=True, slots=True)
class Stall:
    """`pipe` stood still for [start, end) before `step`. `why` is for people, `given` the set that let it go on."""

    pipe: Pipe
    start: int
    end: int
    cause: Cause
    why: str
    step: Exec
    given: Giver | None = None

    @property
    def cycles(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Slice:
    """`step` occupied `pipe` for [start, end). `issued` is when the scalar unit had handed it over."""

    pipe: Pipe
    start: int
    end: int
    issued: int
    step: Exec


@dataclass(frozen=True, slots=True)
class Arrow:
    """A flag, signal or lock that was given at `at` and let its taker go at `taken`.

    Slices are numbers in this timeline, None for none: the last before it was given, the first behind its taker. A
    signal of another core has no source here.
    """

    label: str
    set: Giver
    wait: Taker
    at: int
    taken: int
    source: int | None
    target: int | None


@dataclass(frozen=True)
class Timeline:
    """One core's run, in cycles from the start of the kernel. `core` is for people: `block 0`, `block 0 vector 1`."""

    block: int
    core: str
    slices: tuple[Slice, ...]
    arrows: tuple[Arrow, ...]
    stalls: tuple[Stall, ...]
    end: int
    """When the last pipe and the scalar unit are done."""
    issue: int
    """Cycles that the scalar unit spent on instructions."""

    @property
    def busy(self) -> Mapping[Pipe, int]:
        """Cycles for which each pipe that did anything was occupied."""
        total: dict[Pipe, int] = {pipe: 0 for pipe in LANES if any(one.pipe is pipe for one in self.slices)}
        for one in self.slices:
            total[one.pipe] += one.end - one.start
        return total

    @property
    def busiest(self) -> Pipe | None:
        busy = self.busy
        return max(busy, key=lambda pipe: busy[pipe]) if busy else None

    @property
    def bound(self) -> int:
        """No order of these ops is faster than the busiest pipe, what has to come before it and what has to follow."""
        pipe = self.busiest
        if pipe is None:
            return self.end
        own = [one for one in self.slices if one.pipe is pipe]
        return own[0].start + self.busy[pipe] + self.end - own[-1].end

    def stalled(self) -> Mapping[tuple[Pipe, Cause], int]:
        """Cycles that each pipe stood still between its ops, by cause."""
        total: dict[tuple[Pipe, Cause], int] = {}
        for stall in self.stalls:
            key = stall.pipe, stall.cause
            total[key] = total.get(key, 0) + stall.cycles
        return total


def spelt(step: Exec) -> str:
    """The op and where it stands, for people."""
    place: Place | None = step.place
    return f"{step.row.dsl}{f' at line {place.line}' if place is not None and place.line else ''}"
