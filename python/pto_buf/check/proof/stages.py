"""In what stages a proof is tried: with few residues at first, since each one more multiplies the states. Pure."""

from collections.abc import Iterable, Sequence
from math import lcm, prod

from pto_buf.check.program import Code
from pto_buf.check.proof.demand import Demand
from pto_buf.check.terms import Term

Moduli = tuple[tuple[int, int], ...]
"""Variable and modulus, by key."""

BY_CASES, LAST_STAGE = 3, 4
"""From when on numbers that cannot be worked out are gone through case by case; and when a run is looked for."""


def demanded(code: Code, terms: Iterable[Term]) -> Moduli:
    """The residues that the values of these terms need."""
    demand = Demand()
    for term in terms:
        demand.exactly(term)
    if demand.moduli:
        demand.close(code, bounds=False)
    return tuple(sorted(demand.moduli.items()))


def tries(code: Code, stage: int, own: Moduli, every: Sequence[Moduli]) -> tuple[Moduli, ...]:
    """What residues to follow for a goal, one after the other.

    Its own; with those of bounds; with one other's; with all. With others' those of bounds are left out at first: what
    is right for any bounds needs no look at them. A last time with all, and small numbers told apart even where no
    comparison does, to find a run.
    """
    if stage == 0:
        return (own,)
    if stage == 1:
        return (_joined(code, own),)
    if stage == LAST_STAGE:
        return (_joined(code, *every),)
    sets = [(own, other) for other in every if other != own] if stage == 2 else [every]
    found = [_joined(code, *one, bounds=bounds) for bounds in (False, True) for one in sets]
    return tuple(sorted(dict.fromkeys(found), key=lambda moduli: prod(modulus for _, modulus in moduli)))


def _joined(code: Code, *parts: Moduli, bounds: bool = True) -> Moduli:
    demand = Demand()
    for part in parts:
        for key, modulus in part:
            demand.moduli[key] = lcm(demand.moduli.get(key, 1), modulus)
    demand.close(code, bounds=bounds)
    return tuple(sorted(demand.moduli.items()))
