"""How many neighbouring trips of a loop may run side by side.

With F trips together, the first steps of all F trips come first, then the second steps of all, and so on. A later
trip's step so passes the earlier trips' later steps; it must not touch what those still need.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pto_buf.dialect.table.row import Role
from pto_buf.errors import Place

W = TypeVar("W")

_MOST_PLACES = 64
"""Places of one set or tensor that are compared with each other; with more, any two count as one."""


@dataclass(frozen=True)
class Use(Generic[W]):
    """A step's access of a slot set or a tensor: `where` says which slot or window of it."""

    step: int
    thing: int
    """Equal for the same slot set or tensor."""
    name: str
    where: W
    role: Role
    op: str
    place: Place | None


@dataclass(frozen=True)
class Clash(Generic[W]):
    """`later`, of a trip that comes `distance` trips after that of `earlier`, must not pass it."""

    earlier: Use[W]
    later: Use[W]
    distance: int


Meets = Callable[[W, W, int], bool]
"""Whether the first place in some trip may be the second one so many trips later."""


def first_clash(uses: Sequence[Use[W]], most: int, meets: Meets[W]) -> Clash[W] | None:
    """The clash of the nearest trips among `most` that are to run together, or None: then all may."""
    best: Clash[W] | None = None
    for earlier, later, certain in _pairs(uses):
        for distance in range(1, most if best is None else best.distance):
            if certain or meets(earlier.where, later.where, distance):
                best = Clash(earlier, later, distance)
                break
    return best


def _pairs(uses: Sequence[Use[W]]) -> Iterator[tuple[Use[W], Use[W], bool]]:
    """Conflicting uses (earlier trip's, later trip's) of which the second passes the first, each kind of pair once.

    Uses of one place in one role differ only in their steps: the last of them is passed by most, the first passes most.
    The third part says that there are too many places to compare them.
    """
    things: dict[int, dict[tuple[W, Role], tuple[Use[W], Use[W]]]] = {}
    for use in uses:
        kinds = things.setdefault(use.thing, {})
        first, last = kinds.get((use.where, use.role), (use, use))
        kinds[use.where, use.role] = (min(first, use, key=_step), max(last, use, key=_step))
    for kinds in things.values():
        many = len(kinds) > _MOST_PLACES
        for (_, role), (_, passed) in kinds.items():
            for (_, other), (passing, _) in kinds.items():
                if passing.step < passed.step and _conflict(role, other):
                    yield passed, passing, many
                    if many:
                        break


def _step(use: Use[W]) -> int:
    return use.step


def _conflict(left: Role, right: Role) -> bool:
    if left is Role.SCRATCH and right is Role.SCRATCH:  # neither looks at what the other left
        return False
    return left.writes or right.writes
