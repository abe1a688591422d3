"""Computed lanes or constant ones: whether a loop is worth unrolling, and by how much.

A loop unrolled by P trips names its slots and lanes by constants where their indices come back every P trips; the trips
that are left over compute theirs. What it saves in each trip is scalar work: a mask for a count that is a power of two,
a division for any other, with a multiplication and an addition for each address behind it. What it costs is code.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import lcm

from pto_buf.slots.bounds import Interval
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import Linear, constant
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Select, Term, Var

LONGEST = 16
"""Trips that are unrolled at most: as many as a set has slots."""

MOST_OPS = 128
"""Ops in the body of a loop that is unrolled without being asked for."""

_DIVISIONS = frozenset(
    {Fn.REMS, Fn.REMU, Fn.DIVS, Fn.DIVU, Fn.FLOORDIVS, Fn.CEILDIVS, Fn.CEILDIVU},
)


class Lanes(StrEnum):
    AUTO = "auto"
    """Unroll where each trip would divide, as long as the unrolled body has no more than `MOST_OPS` ops."""
    DYNAMIC = "dynamic"
    """Compute every lane and address that is not constant."""
    UNROLL = "unroll"
    """Unroll every loop whose indices come back within `LONGEST` trips."""


@dataclass(frozen=True)
class Rotation:
    """A loop from `lower` in steps of `step`, both constants, and the slot indices and lanes that turn with it."""

    counter: Var
    lower: int
    step: int
    indices: Sequence[Term]
    ops: int
    """Ops in the body, those of loops inside included."""


def trips_together(rotations: Sequence[Rotation], lanes: Lanes) -> int:
    """By how many trips to unroll loops that are to stay alike; 1 leaves them as they are."""
    if lanes is Lanes.DYNAMIC:
        return 1
    periods = [(term, period(term, one)) for one in rotations for term in dict.fromkeys(one.indices)]
    turning = [(term, found) for term, found in periods if found is not None and found > 1]
    together = lcm(*(found for _, found in turning))
    if together > LONGEST:
        return 1
    most = max(one.ops for one in rotations)
    if lanes is Lanes.AUTO and (together * most > MOST_OPS or not any(_divides(term) for term, _ in turning)):
        return 1
    return together


def period(term: Term, rotation: Rotation) -> int | None:
    """After how many trips the term comes back, if it depends on nothing but the trip and does so soon enough."""
    return next((trips for trips in range(1, LONGEST + 1) if _is_constant_every(term, trips, rotation)), None)


def _is_constant_every(term: Term, trips: int, rotation: Rotation) -> bool:
    atoms = Atoms()
    group = Linear(((atoms.leaf("group", Interval(0, rotation.counter.high)), 1),), 0)
    for trip in range(trips):
        counter = group.times(trips * rotation.step) + constant(rotation.lower + trip * rotation.step)

        def known(what: Var | Opaque, counter: Linear = counter) -> Linear:
            if what == rotation.counter:
                return counter
            return Linear(((atoms.leaf(what, Interval(what.low, what.high)), 1),), 0)

        if atoms.form_where(term, known).parts:
            return False
    return True


def _divides(term: Term) -> bool:
    """Whether working the term out takes a division by a number that is no power of two."""
    match term:
        case Apply():
            power = isinstance(term.right, Const) and term.right.value.bit_count() == 1
            return (term.fn in _DIVISIONS and not power) or _any_divides((term.left, term.right))
        case Select():
            return _any_divides((term.condition, term.if_true, term.if_false))
        case _:
            return False


def _any_divides(terms: Iterable[Term]) -> bool:
    return any(_divides(term) for term in terms)
