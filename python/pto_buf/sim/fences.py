"""What each fence of a run orders, and what it costs. No IR."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from pto_buf.errors import Place
from pto_buf.hw import Pipe
from pto_buf.machine.steps import Barrier, Exec, GlobalRegion, SetFlag, Step, WaitFlag
from pto_buf.sim.naming import Names, SlotName

_NEAR = 16
"""Ops of a pipe among which those that a fence is for are looked for, on either side of it."""


class Hazard(StrEnum):
    RAW = "RAW"
    WAR = "WAR"
    WAW = "WAW"


@dataclass(frozen=True)
class Ordered:
    """Two ops that a fence keeps in order, as they met first, and the slots on which they meet; None: global memory."""

    hazard: Hazard
    earlier: Exec
    later: Exec
    left: SlotName | None
    """What the earlier one touches."""
    slot: SlotName | None
    """What the later one does: another slot where two sets share bytes."""


@dataclass(frozen=True)
class Fence:
    """Sets and waits that belong together, or a barrier of one pipe; `src` and `dst` are the same pipe then.

    `sites` are the numbers of their ops; `times` counts the pairs, or the barriers, that the run executes.
    """

    src: Pipe
    dst: Pipe
    ids: tuple[int, ...]
    sites: tuple[int, ...]
    times: int
    ordered: tuple[Ordered, ...]
    places: tuple[Place, ...]
    """Where its ops stand."""
    owner: int | None = None
    """Which of somebody's events it is, if anybody said so."""

    @property
    def barrier(self) -> bool:
        return not self.ids


Owner: TypeAlias = Callable[[SetFlag, WaitFlag], int | None]
"""The event that a set and the wait which it releases come from, if that is known."""


def fences_of(steps: Sequence[Step], names: Names, owner: Owner | None = None) -> tuple[Fence, ...]:
    """The fences of one core's run, by the place of their first op.

    Sets and waits of one owner belong together; of those that nobody owns, those that meet.
    """
    found = _Fences(names, owner or (lambda given, taken: None))
    for step in steps:
        found.step(step)
    return tuple(found.finish())


@dataclass(frozen=True)
class _Pair:
    first: SetFlag | Barrier
    second: WaitFlag | Barrier
    before: tuple[Exec, ...]
    """The last ops of the source pipe before it, the last first."""
    behind: int
    """How many ops the destination pipe had issued before it."""


class _Fences:
    def __init__(self, names: Names, owner: Owner):
        self._names = names
        self._owner = owner
        self._ops: dict[Pipe, list[Exec]] = {}
        self._set: dict[tuple[Pipe, Pipe, int], list[tuple[SetFlag, tuple[Exec, ...]]]] = {}
        self._taken: dict[tuple[Pipe, Pipe, int], int] = {}
        self._pairs: list[_Pair] = []

    def step(self, step: Step) -> None:
        match step:
            case Exec():
                for pipe in step.pipes:
                    self._ops.setdefault(pipe, []).append(step)
            case SetFlag():
                self._set.setdefault((step.src, step.dst, step.id), []).append((step, self._before(step.src)))
            case WaitFlag():
                key = step.src, step.dst, step.id
                number = self._taken.get(key, 0)
                if number < len(self._set.get(key, ())):
                    self._taken[key] = number + 1
                    given, before = self._set[key][number]
                    self._pairs.append(_Pair(given, step, before, len(self._ops.get(step.dst, ()))))
            case Barrier() if step.pipe is not Pipe.ALL:
                before = self._before(step.pipe)
                self._pairs.append(_Pair(step, step, before, len(self._ops.get(step.pipe, ()))))
            case _:
                pass

    def _before(self, pipe: Pipe) -> tuple[Exec, ...]:
        return tuple(reversed(self._ops.get(pipe, [])[-_NEAR:]))

    def finish(self) -> Iterator[Fence]:
        groups: dict[tuple[int | None, int], list[_Pair]] = {}
        leaders = _joined([(pair.first.site, pair.second.site) for pair in self._pairs])
        for pair in self._pairs:
            owner = None
            if isinstance(pair.first, SetFlag) and isinstance(pair.second, WaitFlag):
                owner = self._owner(pair.first, pair.second)
            groups.setdefault((owner, leaders[pair.first.site] if owner is None else 0), []).append(pair)
        for (owner, _), pairs in sorted(groups.items(), key=lambda one: min(pair.first.site for pair in one[1])):
            yield self._fence(pairs, owner)

    def _fence(self, pairs: Sequence[_Pair], owner: int | None) -> Fence:
        first, second = pairs[0].first, pairs[0].second
        src = first.pipe if isinstance(first, Barrier) else first.src
        dst = second.pipe if isinstance(second, Barrier) else second.dst
        ids = sorted({pair.first.id for pair in pairs if isinstance(pair.first, SetFlag)})
        sites = sorted({site for pair in pairs for site in (pair.first.site, pair.second.site)})
        places = dict.fromkeys(
            step.place for pair in pairs for step in (pair.first, pair.second) if step.place is not None
        )
        ordered: dict[tuple[Hazard, int, int], Ordered] = {}
        for pair in pairs:
            if (one := self._ordered(pair, dst)) is not None:
                ordered.setdefault((one.hazard, one.earlier.site, one.later.site), one)
        return Fence(src, dst, tuple(ids), tuple(sites), len(pairs), tuple(ordered.values()), tuple(places), owner)

    def _ordered(self, pair: _Pair, dst: Pipe) -> Ordered | None:
        """The first op behind the wait that meets one before the set, and the last such one."""
        for later in self._ops.get(dst, [])[pair.behind : pair.behind + _NEAR]:
            for earlier in pair.before:
                if (found := self._conflict(earlier, later)) is not None:
                    return found
        return None

    def _conflict(self, earlier: Exec, later: Exec) -> Ordered | None:
        for hazard, first, second in (
            (Hazard.RAW, "writes", "reads"),
            (Hazard.WAR, "reads", "writes"),
            (Hazard.WAW, "writes", "writes"),
        ):
            for one in getattr(earlier, first):
                for other in getattr(later, second):
                    if one.overlaps(other):
                        return Ordered(hazard, earlier, later, self._names.of(one), self._names.of(other))
            if _meet_in_memory(getattr(earlier, f"global_{first}"), getattr(later, f"global_{second}")):
                return Ordered(hazard, earlier, later, None, None)
        return None


def _meet_in_memory(first: Sequence[GlobalRegion], second: Sequence[GlobalRegion]) -> bool:
    return any(
        one.argument == other.argument and one.bounds[0] < other.bounds[1] and other.bounds[0] < one.bounds[1]
        for one in first
        for other in second
    )


def _joined(pairs: Sequence[tuple[int, int]]) -> dict[int, int]:
    """For each number the least of those that pairs join it with, over others too."""
    leader: dict[int, int] = {}

    def find(number: int) -> int:
        while leader.setdefault(number, number) != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    for one, other in pairs:
        low, high = sorted((find(one), find(other)))
        leader[high] = low
    return {number: find(number) for number in leader}
