"""How much of a slot is valid at a place.

A slot's type says its whole extent; an op that filled only part of it says so in the type of its value. A read of the
slot stands for that value where no other write can have come between. Where one can, all the writes that may have been
the last have to agree on the extent: those in the loops around the read, or all that there are where none of them is
known to come first.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pto_buf.errors import DiagnosticError, Note, Place
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.values import Slot, Static, Tile

Extent = tuple[int | None, int | None]
"""Rows and columns that are valid; None where that is known only at run time."""


@dataclass(frozen=True)
class _Index:
    """A run-time index by identity, so that it never equals a constant."""

    key: int


_Key = tuple[int, object]
_Places = dict[Extent, dict[object, Place | None]]
"""Where a slot is first written or read with an extent, by its index."""


def _key(slot: Slot) -> _Key:
    index = slot.index
    return id(slot.slots), index.value if isinstance(index, Static) else _Index(id(index.ssa))


def _may_meet(left: object, right: object) -> bool:
    """Whether two index keys can name one slot: two different constants cannot."""
    return left == right or not (isinstance(left, int) and isinstance(right, int))


@dataclass(frozen=True)
class _Taken:
    """What was read in a loop though it was written before it."""

    extent: Extent
    place: Place


@dataclass
class _Level:
    loop: bool
    values: dict[_Key, Tile] = field(default_factory=dict[_Key, Tile])
    taken: dict[_Key, _Taken] = field(default_factory=dict[_Key, _Taken])


@dataclass
class _Set:
    """A set of the user's: the extents written into its slots, and those that reads counted on."""

    name: str
    written: _Places = field(default_factory=_Places)
    read: _Places = field(default_factory=_Places)

    def others(self, extent: Extent, index: object) -> Iterator[Place | None]:
        """Writes of a slot that may be the one at `index`, with another extent or one that is not known."""
        for other, places in self.written.items():
            if other != extent or None in other:
                yield from (place for at, place in places.items() if _may_meet(at, index))


@dataclass
class Held:
    """The last value of each slot, by region."""

    _levels: list[_Level] = field(default_factory=lambda: [_Level(False)])
    _sets: dict[int, _Set] = field(default_factory=dict[int, _Set])

    def wrote(self, tile: Tile) -> None:
        """Remember a write; forget every slot of the set that may be the same one. Raises DiagnosticError."""
        if tile.home is None:
            return
        slots, index = key = _key(tile.home)
        extent = tile.spec.valid
        found = self._sets.setdefault(slots, _Set(tile.home.slots.name))
        found.written.setdefault(extent, {}).setdefault(index, tile.place)
        for level in self._levels:
            for other in [one for one in level.values if one[0] == slots and _may_meet(one[1], index)]:
                del level.values[other]
            for other, read in level.taken.items():
                if other[0] == slots and _may_meet(other[1], index) and (read.extent != extent or None in extent):
                    raise _unclear(found.name, read.place, tile.place)
        self._levels[-1].values[key] = tile

    def content(self, slot: Slot, place: Place, unwritten: Extent) -> Tile | Extent:
        """The value that the slot holds, or how much of it is valid where which value it is does not matter or vary.

        `unwritten` is the extent where nothing was written yet. Raises DiagnosticError where writes disagree.
        """
        key = _key(slot)
        for depth in range(len(self._levels) - 1, -1, -1):
            value = self._levels[depth].values.get(key)
            if value is None:
                continue
            extent = value.spec.valid
            loops = [level for level in self._levels[depth + 1 :] if level.loop]
            for level in loops:
                level.taken[key] = _Taken(extent, place)
            if extent == value.spec.shape or (loops and None not in extent):
                return extent
            return value
        return self._agreed(slot, place, unwritten)

    def _agreed(self, slot: Slot, place: Place, unwritten: Extent) -> Extent:
        """The extent that all writes so far have which may have been the last; those that follow must have it too."""
        slots, index = _key(slot)
        found = self._sets.setdefault(slots, _Set(slot.slots.name))
        extent = next(
            (one for one, places in found.written.items() if any(_may_meet(at, index) for at in places)), unwritten
        )
        for other in found.others(extent, index):
            raise _unclear(found.name, place, other)
        found.read.setdefault(extent, {}).setdefault(index, place)
        return extent

    @contextmanager
    def region(self, loop: bool) -> Generator[None]:
        """What is written inside is not known behind it; inside a loop, what stands before it may be overwritten."""
        self._levels.append(_Level(loop))
        try:
            yield
        finally:
            self._levels.pop()

    def errors(self) -> Iterator[DiagnosticError]:
        """Reads that counted on an extent which a later write does not have, one of each set."""
        for found in self._sets.values():
            for error in self._disagreements(found):
                yield error
                break

    @staticmethod
    def _disagreements(found: _Set) -> Iterator[DiagnosticError]:
        for extent, places in found.read.items():
            for index, place in places.items():
                for other in found.others(extent, index):
                    yield _unclear(found.name, place, other)


def _unclear(name: str, read: Place | None, write: Place | None) -> DiagnosticError:
    return DiagnosticError.at(
        read,
        f"how much of this slot of '{name}' is valid depends on which op wrote it last",
        Note(write, "this fills another part of the slot"),
        help="read the op's result instead of the slot: x = pl.tile.load_into(...)",
        kind=SHAPE,
    )
