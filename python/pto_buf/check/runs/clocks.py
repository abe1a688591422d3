"""How far each pipe of each core has come, and how much of it the others know to be complete. Pure."""

from collections.abc import Iterable

from pto_buf.hw import Pipe

PIPES = tuple(pipe for pipe in Pipe if pipe is not Pipe.ALL)
NUMBER = {pipe: number for number, pipe in enumerate(PIPES)}
SCALAR = NUMBER[Pipe.S]

Vector = list[int]
"""For each pipe of each core, how many of its steps are complete."""


class Clocks:
    """Pipes are numbered through all cores, core after core."""

    def __init__(self, cores: int, ordered: frozenset[Pipe]):
        self._ordered = [pipe in ordered for pipe in PIPES] * cores
        size = len(PIPES) * cores
        self._count = [0] * size
        self._known = [[0] * size for _ in range(size)]

    def advance(self, pipe: int) -> int:
        """The pipe takes one more step; its number."""
        self._count[pipe] += 1
        return self._count[pipe]

    def done(self, pipe: int) -> None:
        """Behind a step: a pipe that orders itself knows it complete."""
        if self._ordered[pipe]:
            self._known[pipe][pipe] = self._count[pipe]

    def knows(self, pipe: int, other: int) -> int:
        """Up to which step `pipe` knows `other` to be complete."""
        return self._known[pipe][other]

    def token(self, pipe: int) -> Vector:
        """What is complete when all that the pipe has taken is complete."""
        known = list(self._known[pipe])
        known[pipe] = self._count[pipe]
        return known

    def learn(self, pipes: Iterable[int], token: Vector) -> None:
        for pipe in pipes:
            self._known[pipe] = [max(pair) for pair in zip(self._known[pipe], token, strict=True)]

    def drain(self, pipes: range) -> None:
        """Everything that these pipes have taken is complete, and all of them know."""
        for pipe in pipes:
            self._known[pipe][pipes.start : pipes.stop] = self._count[pipes.start : pipes.stop]

    def drain_one(self, pipe: int) -> None:
        self._known[pipe][pipe] = self._count[pipe]


def pipes_of(core: int) -> range:
    """The pipe numbers of a core."""
    return range(core * len(PIPES), (core + 1) * len(PIPES))


def number_of(core: int, pipe: Pipe) -> int:
    return core * len(PIPES) + NUMBER[pipe]
