"""What slots are known to hold at a place, where a narrower valid extent makes it matter.

A slot's type says its whole extent; an op that filled only part of it says so in the type of its value. A read of the
slot then has to name that value, which is possible only where no other write can have come between.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pto_buf.errors import DiagnosticError, Note, Place
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.values import Slot, Static, Tile

_Key = tuple[int, object]


def _key(slot: Slot) -> _Key:
    index = slot.index
    return id(slot.slots), index.value if isinstance(index, Static) else _Index(id(index.ssa))


def _may_meet(left: object, right: object) -> bool:
    """Whether two index keys can name one slot: two different constants cannot."""
    return left == right or not (isinstance(left, int) and isinstance(right, int))


@dataclass(frozen=True)
class _Index:
    """A run-time index by identity, so that it never equals a constant."""

    key: int


@dataclass
class _Level:
    loop: bool
    values: dict[_Key, Tile] = field(default_factory=dict[_Key, Tile])
    taken: dict[_Key, Tile] = field(default_factory=dict[_Key, Tile])
    """What was read here though it was written before this loop."""


@dataclass
class Held:
    """The last value of each slot, by region."""

    _levels: list[_Level] = field(default_factory=lambda: [_Level(False)])
    _narrow: dict[int, Place] = field(default_factory=dict[int, Place])
    _unknown: dict[int, tuple[str, Place]] = field(default_factory=dict[int, tuple[str, Place]])

    def wrote(self, tile: Tile) -> None:
        """Remember a write; forget every slot of the set that may be the same one. Raises DiagnosticError."""
        if tile.home is None:
            return
        slots, index = key = _key(tile.home)
        narrow = _is_narrow(tile)
        if narrow and tile.place is not None:
            self._narrow.setdefault(slots, tile.place)
        for level in self._levels:
            for other in [one for one in level.values if one[0] == slots and _may_meet(one[1], index)]:
                del level.values[other]
            for other, read in level.taken.items():
                if other[0] == slots and _may_meet(other[1], index) and (narrow or _is_narrow(read)):
                    raise _unclear(tile.home.slots.name, read.place, tile.place)
        self._levels[-1].values[key] = tile

    def reading(self, slot: Slot, place: Place) -> Tile:
        """The slot as an operand: the value it holds if that is narrower than the slot, else whatever it holds."""
        key = _key(slot)
        for depth in range(len(self._levels) - 1, -1, -1):
            found = self._levels[depth].values.get(key)
            if found is not None:
                for level in self._levels[depth + 1 :]:
                    if level.loop:
                        level.taken[key] = found
                if _is_narrow(found):
                    return found
                break
        else:
            self._unknown.setdefault(key[0], (slot.slots.name, place))
        return Tile(slot.ssa, slot.ssa, slot, None, place=place)

    @contextmanager
    def region(self, loop: bool) -> Generator[None]:
        """What is written inside is not known behind it; inside a loop, what stands before it may be overwritten."""
        self._levels.append(_Level(loop))
        try:
            yield
        finally:
            self._levels.pop()

    def errors(self) -> Iterator[DiagnosticError]:
        """Reads of a slot as wholly valid though something fills only a part of a slot of that set."""
        for slots, (name, place) in self._unknown.items():
            if slots in self._narrow:
                yield _unclear(name, place, self._narrow[slots])


def _is_narrow(tile: Tile) -> bool:
    return tile.spec.valid != tile.spec.shape


def _unclear(name: str, read: Place | None, write: Place | None) -> DiagnosticError:
    return DiagnosticError.at(
        read,
        f"how much of this slot of '{name}' is valid depends on which op wrote it last",
        Note(write, "this fills a part of the slot"),
        help="read the op's result instead of the slot: x = pl.tile.load_into(...)",
        kind=SHAPE,
    )
