"""Signals between the cube core and the vector cores of a block, in one run. Pure.

A signal is a counter. On a2a3 the cube's goes to every vector core, and the cube hears of one only when all vector
cores have sent theirs; the waiting core's scalar unit stands still. On a5 a vector core has ids of its own (16 higher
for the second one), the cube's FIX sends to all of them by `sync.set`, and only the waiting pipe stands still.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from pto_buf.check.findings import Point
from pto_buf.check.runs.clocks import SCALAR, Clocks, Vector, number_of, pipes_of
from pto_buf.check.runs.steps import Signalled
from pto_buf.hw import Core, Pipe

MOST_PENDING = 15
_SECOND_CORE = 16


@dataclass(slots=True)
class _Line:
    """From one core to another, for one id."""

    sent: deque[tuple[Vector, Point]] = field(default_factory=deque[tuple[Vector, Point]])
    count: int = 0
    heard: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """For each wait that is over, the pipe that waited and the number of that step."""


class Lines:
    """Which line a signal goes along: sender, receiver and id."""

    def __init__(self, cores: Sequence[Core | None], broadcast: bool):
        self._cores = cores
        self._broadcast = broadcast
        self._vectors = [number for number, core in enumerate(cores) if core is Core.VECTOR]
        self._cubes = [number for number, core in enumerate(cores) if core is Core.CUBE]

    def sent_by(self, core: int, pipe: Pipe, id: int, single: bool = False) -> list[tuple[int, int, int]]:
        """The lines that a signal from this core takes."""
        if self._cores[core] is Core.VECTOR:
            shift = 0 if self._broadcast else _SECOND_CORE * self._vectors.index(core)
            return [(core, cube, id + shift) for cube in self._cubes]
        if self._broadcast:
            return [(core, vector, id) for vector in self._vectors]
        place, id = divmod(id, _SECOND_CORE)
        chosen = self._vectors if pipe is Pipe.FIX and place == 0 and not single else self._vectors[place : place + 1]
        return [(core, vector, id) for vector in chosen]

    def heard_by(self, core: int, id: int) -> list[tuple[int, int, int]]:
        """The lines that a wait on this core needs a signal from, each of them."""
        if self._cores[core] is Core.VECTOR:
            return [(cube, core, id) for cube in self._cubes]
        if self._broadcast:
            return [(vector, core, id) for vector in self._vectors]
        place = id // _SECOND_CORE
        return [(vector, core, id) for vector in self._vectors[place : place + 1]]

    def waits_on(self, core: int, pipe: Pipe) -> int:
        """The number of the pipe that stands still."""
        return pipes_of(core).start + SCALAR if self._broadcast else number_of(core, pipe)

    def told(self, core: int, pipe: Pipe) -> Sequence[int]:
        """The pipes that go on only when the wait is over."""
        return pipes_of(core) if self._broadcast or pipe is Pipe.S else (number_of(core, pipe),)


class Signals:
    """The lines of one run, and what is on them."""

    def __init__(self, cores: Sequence[Core | None], clocks: Clocks, broadcast: bool):
        self._clocks = clocks
        self._ways = Lines(cores, broadcast)
        self._lines: dict[tuple[int, int, int], _Line] = {}

    def _line(self, way: tuple[int, int, int]) -> _Line:
        return self._lines.setdefault(way, _Line())

    def send(self, core: int, step: Signalled) -> bool:
        """False if a counter may run over: more signals may be pending than it can count."""
        pipe = number_of(core, step.pipe)
        self._clocks.advance(pipe)
        token = self._clocks.token(pipe)
        self._clocks.done(pipe)
        held = True
        for way in self._ways.sent_by(core, step.pipe, step.lane, step.single):
            line = self._line(way)
            line.count += 1
            due = line.count - MOST_PENDING
            if due > 0:
                known = len(line.heard) >= due and self._knows(pipe, line.heard[due - 1])
                held = held and known
            line.sent.append((token, Point(step.site, step.pipe, step.trips)))
        return held

    def _knows(self, pipe: int, wait: tuple[int, int]) -> bool:
        return self._clocks.knows(pipe, wait[0]) >= wait[1]

    def hear(self, core: int, pipe: Pipe, id: int) -> bool:
        """A wait; False if its signal has not come."""
        lines = [self._line(way) for way in self._ways.heard_by(core, id)]
        if not lines or not all(line.sent for line in lines):
            return False
        waiting, told = self._ways.waits_on(core, pipe), self._ways.told(core, pipe)
        now = self._clocks.advance(waiting)
        for line in lines:
            token, _ = line.sent.popleft()
            line.heard.append((waiting, now))
            self._clocks.learn(told, token)
        if len(told) > 1:
            self._clocks.done(waiting)
            self._clocks.learn(told, self._clocks.token(waiting))
        return True

    def pending(self) -> list[tuple[int, Point]]:
        """The signals that nobody has waited for: id and where they were sent."""
        found: dict[tuple[int, int], tuple[int, Point]] = {}
        for (_, _, id), line in self._lines.items():
            for _, point in line.sent:
                found.setdefault((id, point.site.key), (id, point))
        return list(found.values())
