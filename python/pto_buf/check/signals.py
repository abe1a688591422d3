"""Signals between the cube core and the vector cores of a block, in one run. Pure.

A signal is a counter. On a2a3 the cube's goes to every vector core, and the cube hears of one only when all vector
cores have sent theirs; the waiting core's scalar unit stands still. On a5 a vector core has ids of its own (16 higher
for the second one), the cube's FIX sends to all of them, and only the waiting pipe stands still.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from pto_buf.check.clocks import SCALAR, Clocks, Vector, number_of, pipes_of
from pto_buf.check.findings import Point
from pto_buf.check.steps import Signalled
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


class Signals:
    def __init__(self, cores: Sequence[Core | None], clocks: Clocks, broadcast: bool):
        self._cores = cores
        self._clocks = clocks
        self._broadcast = broadcast
        self._lines: dict[tuple[int, int, int], _Line] = {}
        self._vectors = [number for number, core in enumerate(cores) if core is Core.VECTOR]
        self._cubes = [number for number, core in enumerate(cores) if core is not Core.VECTOR]

    def _line(self, sender: int, receiver: int, id: int) -> _Line:
        return self._lines.setdefault((sender, receiver, id), _Line())

    def _targets(self, core: int, step: Signalled) -> list[tuple[int, int]]:
        """The cores that a signal goes to, and the id that it has there."""
        if self._cores[core] is Core.VECTOR:
            place = self._vectors.index(core)
            shift = 0 if self._broadcast else _SECOND_CORE * place
            return [(cube, step.lane + shift) for cube in self._cubes]
        if self._broadcast:
            return [(vector, step.lane) for vector in self._vectors]
        place, id = divmod(step.lane, _SECOND_CORE)
        chosen = self._vectors if step.pipe is Pipe.FIX and place == 0 else self._vectors[place : place + 1]
        return [(vector, id) for vector in chosen]

    def send(self, core: int, step: Signalled) -> bool:
        """False if a counter may run over: more signals may be pending than it can count."""
        pipe = number_of(core, step.pipe)
        self._clocks.advance(pipe)
        token = self._clocks.token(pipe)
        self._clocks.done(pipe)
        held = True
        for receiver, id in self._targets(core, step):
            line = self._line(core, receiver, id)
            line.count += 1
            due = line.count - MOST_PENDING
            if due > 0:
                known = len(line.heard) >= due and self._knows(pipe, line.heard[due - 1])
                held = held and known
            line.sent.append((token, Point(step.site, step.pipe, step.trips)))
        return held

    def _knows(self, pipe: int, wait: tuple[int, int]) -> bool:
        return self._clocks.knows(pipe, wait[0]) >= wait[1]

    def _awaited(self, core: int, id: int) -> list[_Line]:
        if self._cores[core] is Core.VECTOR:
            return [self._line(cube, core, id) for cube in self._cubes]
        if self._broadcast:
            return [self._line(vector, core, id) for vector in self._vectors]
        place = id // _SECOND_CORE
        return [self._line(vector, core, id) for vector in self._vectors[place : place + 1]]

    def hear(self, core: int, pipe: Pipe, id: int) -> bool:
        """A wait; False if its signal has not come."""
        lines = self._awaited(core, id)
        if not lines or not all(line.sent for line in lines):
            return False
        waiting = pipes_of(core).start + SCALAR if self._broadcast else number_of(core, pipe)
        now = self._clocks.advance(waiting)
        told = pipes_of(core) if self._broadcast or pipe is Pipe.S else [waiting]
        for line in lines:
            token, _ = line.sent.popleft()
            line.heard.append((waiting, now))
            self._clocks.learn(told, token)
        if waiting == pipes_of(core).start + SCALAR:
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
