"""What the checker finds, as data, and the verdict. Pure."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from pto_buf.check.program import Site
from pto_buf.check.runs.run import Choice
from pto_buf.check.runs.steps import Trips
from pto_buf.hw import Pipe, Space

RunValues: TypeAlias = tuple[tuple[str, int], ...]
"""Names and values."""


class Fault(StrEnum):
    RACE = "race"
    SAME_PIPE = "same-pipe-hazard"
    GLOBAL_READ = "global-read-after-write"
    DEADLOCK = "deadlock"
    OVERFLOW = "overflow"
    CLASH = "flag-clash"
    SHARED_ID = "shared-id"
    LEFTOVER = "leftover"
    LANE = "lane"
    NO_FINAL_BARRIER = "no-final-barrier"


class Hazard(StrEnum):
    RAW = "RAW"
    WAR = "WAR"
    WAW = "WAW"


@dataclass(frozen=True)
class Point:
    """A step of a run: an op on a pipe, in certain trips of the loops around it."""

    site: Site
    pipe: Pipe
    trips: Trips = ()
    core: str = ""
    """Which core, where a run has several."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `second` is where it shows, `first` the other op it has to do with."""

    fault: Fault
    second: Point
    first: Point | None = None
    hazard: Hazard | None = None
    memory: Space | str | None = None
    """The space, or the name of the argument of a global array."""
    bytes: tuple[int, int] | None = None
    """One range of bytes (elements of a global array: None) that both touch."""
    flag: tuple[Pipe, Pipe, int] | None = None
    lock: int | None = None
    """The number of a buffer lock."""
    signal: int | None = None
    """The number of a signal between cores."""
    outside: tuple[str, int, int] | None = None
    """What is numbered, the number, and how many there are."""
    run: "RunValues" = ()
    """The arguments and data-dependent values of a run that shows it."""
    choice: Choice | None = field(default=None, compare=False, repr=False)
    """The same, for walking that run again."""

    @property
    def key(self) -> tuple[object, ...]:
        """Findings that differ only in the trips that show them have one key."""
        first = None if self.first is None else (self.first.site.key, self.first.pipe)
        second = self.second.site.key, self.second.pipe
        return self.fault, second, first, self.hazard, self.memory, self.flag, self.lock, self.signal


class Status(StrEnum):
    PROVEN = "proven"
    WRONG = "wrong"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True)
class Verdict:
    status: Status
    kernel: str
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    """Why the verdict is incomplete."""
    assumptions: tuple[str, ...] = ()
