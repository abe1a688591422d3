"""Who wrote which bytes: by order of issue, and as it came. A difference is a value read too early or too late."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pto_buf.hw import Space
from pto_buf.machine.steps import Exec, Region

_GRAIN = 32
"""Bytes told apart. Regions that do not start and end at a multiple are not followed."""

_KEPT = 100
"""Displaced reads that are remembered; the first tell what there is to know."""


@dataclass(frozen=True)
class Displaced:
    """`reader` saw what `found` wrote in `region`; in the order of issue it would have seen what `expected` wrote.

    None stands for bytes that nothing had written.
    """

    reader: Exec
    region: Region
    expected: Exec | None
    found: Exec | None

    def __str__(self) -> str:
        where = f"{self.region.space.buffer} [{self.region.start}, {self.region.end})"
        found = "nothing wrote" if self.found is None else f"{_spelt(self.found)} wrote"
        expected = "nothing" if self.expected is None else _spelt(self.expected)
        return f"{_spelt(self.reader)} read from {where} what {found}, not what {expected} writes"


def _spelt(step: Exec) -> str:
    place = f" at {step.place}" if step.place is not None else ""
    trips = f" (trip {', '.join(str(trip) for _, trip in step.trips)})" if step.trips else ""
    return f"{step.name}{place}{trips}"


@dataclass(frozen=True)
class _Read:
    region: Region
    grains: slice
    expected: NDArray[np.int32]


class History:
    """For one core. Ops are numbered from 1 as they are issued; 0 is nobody."""

    def __init__(self, sizes: "dict[Space, int]"):
        self._issued = {space: np.zeros(-(-size // _GRAIN), np.int32) for space, size in sizes.items()}
        self._actual = {space: marks.copy() for space, marks in self._issued.items()}
        self._steps: list[Exec | None] = [None]
        self._reads: dict[int, tuple[_Read, ...]] = {}
        self._forgotten: set[Space] = set()
        self._number: dict[int, int] = {}
        self.displaced: list[Displaced] = []

    def forget(self, space: Space) -> None:
        """Follow this space no longer: others write it too."""
        self._forgotten.add(space)

    def issue(self, step: Exec) -> None:
        """The op is issued: remember whose values it is to read."""
        self._steps.append(step)
        number = len(self._steps) - 1
        self._number[id(step)] = number
        reads: list[_Read] = []
        for region in step.reads:
            if (grains := _grains(region)) is not None:
                reads.append(_Read(region, grains, self._issued[region.space][grains].copy()))
        self._reads[number] = tuple(reads)
        for region in step.writes:
            if (grains := _grains(region)) is not None:
                self._issued[region.space][grains] = number

    def read(self, step: Exec) -> None:
        """The op reads now."""
        for read in self._reads.pop(self._number[id(step)]):
            if read.region.space in self._forgotten:
                continue
            found = self._actual[read.region.space][read.grains]
            if len(self.displaced) < _KEPT and (wrong := np.flatnonzero(found != read.expected)).size:
                at = wrong[0]
                expected, seen = self._steps[read.expected[at]], self._steps[found[at]]
                self.displaced.append(Displaced(step, read.region, expected, seen))

    def wrote(self, step: Exec) -> None:
        """What the op wrote is there now."""
        number = self._number[id(step)]
        for region in step.writes:
            if (grains := _grains(region)) is not None:
                self._actual[region.space][grains] = number


def _grains(region: Region) -> "slice[Any, Any, Any] | None":
    if region.start % _GRAIN or region.end % _GRAIN:
        return None
    return slice(region.start // _GRAIN, region.end // _GRAIN)
