"""Which variables go through the same numbers: those that are assigned alike, given that. Pure."""

from collections.abc import Hashable, Mapping, Sequence

from pto_buf.check.terms import Term, Var, substitute

Assigned = Mapping[Var, Mapping[Hashable, Term]]
"""For each variable, what it is assigned at which places. Places at which several cores meet are the same place."""


def alike(assigned: Assigned) -> dict[int, Var]:
    """By the key of each variable, the first one that holds what it holds at every place.

    All that are assigned at the same places are taken for alike, until what they are assigned tells them apart.
    """
    first = _first_of_each({var: tuple(terms) for var, terms in assigned.items()})
    while True:
        signs = {
            var: (first[var.key], tuple(substitute(term, first) for term in terms.values()))
            for var, terms in assigned.items()
        }
        after = _first_of_each(signs)
        if after == first:
            return first
        first = after


def _first_of_each(signs: Mapping[Var, Hashable]) -> dict[int, Var]:
    firsts: dict[Hashable, Var] = {}
    return {var.key: firsts.setdefault(sign, var) for var, sign in signs.items()}


def assigned_at(places: Sequence[tuple[Hashable, Sequence[tuple[Var, Term]]]]) -> Assigned:
    """The same by variable."""
    found: dict[Var, dict[Hashable, Term]] = {}
    for place, pairs in places:
        for var, term in pairs:
            found.setdefault(var, {})[place] = term
    return found
