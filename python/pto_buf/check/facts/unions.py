"""Facts that together are exactly one: those that differ in one thing only, and leave no gap between them. Pure.

A union that is exact says nothing less than its parts do together, so nothing is lost by going on with it alone.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pto_buf.check.facts.facts import Facts, Residue
from pto_buf.check.facts.poly import EVERYTHING, Form, Range, joined
from pto_buf.check.terms import Node

_V = TypeVar("_V")


@dataclass(frozen=True)
class United:
    """`members` are the places, in the list given, of the facts that `facts` is the union of; the first one leads."""

    facts: Facts
    members: tuple[int, ...]


def unite(every: Sequence[Facts]) -> list[United]:
    """As few facts as can be found that hold where any of those given do, and nowhere else."""
    found = [United(facts, (number,)) for number, facts in enumerate(every)]
    before = 0
    while 1 < len(found) != before:
        before = len(found)
        for form in _all(facts.facts.ranges for facts in found):
            found = _united(found, _without_form(form), _joined_ranges)
        for key in _all(facts.facts.residues for facts in found):
            found = _united(found, _without_residue(key), _joined_residues)
        for node in _all(facts.facts.outcomes for facts in found):
            found = _united(found, _without_outcome(node), _joined_outcomes)
    return found


def covers(claimed: Facts, facts: Facts) -> bool:
    """Whether the second facts say all that the first ones do."""
    for form, (low, high) in claimed.ranges.items():
        bottom, top = facts.ranges.get(form, EVERYTHING)
        if (low is not None and (bottom is None or bottom < low)) or (high is not None and (top is None or top > high)):
            return False
    for key, (residue, modulus) in claimed.residues.items():
        value, known = facts.residues.get(key, (0, 1))
        if known % modulus or value % modulus != residue:
            return False
    return all(facts.outcomes.get(node) == outcome for node, outcome in claimed.outcomes.items())


def _all(tables: "Iterable[Iterable[_V]]") -> list[_V]:
    return list(dict.fromkeys(one for table in tables for one in table))


_Split = Callable[[Facts], tuple[Hashable, _V, Callable[[_V], Facts]]]
"""What facts say beside one thing, what they say of it, and the same facts with it replaced."""


def _united(
    found: Sequence[United], apart: "_Split[_V]", union: Callable[[list[_V]], list[tuple[_V, list[int]]]]
) -> list[United]:
    """Unites those that differ in one thing only. `union` says which of its values go together."""
    groups: dict[Hashable, list[tuple[United, _V, Callable[[_V], Facts]]]] = {}
    for one in found:
        rest, value, rebuilt = apart(one.facts)
        groups.setdefault(rest, []).append((one, value, rebuilt))
    result: list[United] = []
    for group in groups.values():
        if len(group) == 1:
            result.append(group[0][0])
            continue
        for value, places in union([value for _, value, _ in group]):
            members = tuple(sorted(member for place in places for member in group[place][0].members))
            result.append(United(group[places[0]][2](value), members))
    return result


def _without_form(form: Form) -> "_Split[Range]":
    def apart(facts: Facts) -> tuple[Hashable, Range, Callable[[Range], Facts]]:
        rest = {other: known for other, known in facts.ranges.items() if other != form}

        def rebuilt(value: Range) -> Facts:
            return replace(facts, ranges=rest if value == EVERYTHING else {**rest, form: value})

        return replace(facts, ranges=rest).key(), facts.ranges.get(form, EVERYTHING), rebuilt

    return apart


def _without_residue(key: int) -> "_Split[Residue]":
    def apart(facts: Facts) -> tuple[Hashable, Residue, Callable[[Residue], Facts]]:
        rest = {other: known for other, known in facts.residues.items() if other != key}

        def rebuilt(value: Residue) -> Facts:
            return replace(facts, residues=rest if value[1] == 1 else {**rest, key: value})

        return replace(facts, residues=rest).key(), facts.residues.get(key, (0, 1)), rebuilt

    return apart


_Outcome = bool | None


def _without_outcome(node: Node) -> "_Split[_Outcome]":
    def apart(facts: Facts) -> tuple[Hashable, _Outcome, Callable[[_Outcome], Facts]]:
        rest = {other: outcome for other, outcome in facts.outcomes.items() if other != node}

        def rebuilt(value: _Outcome) -> Facts:
            return replace(facts, outcomes=rest if value is None else {**rest, node: value})

        return replace(facts, outcomes=rest).key(), facts.outcomes.get(node), rebuilt

    return apart


def _joined_ranges(ranges: list[Range]) -> list[tuple[Range, list[int]]]:
    """Ranges that overlap or lie next to each other."""
    found: list[tuple[Range, list[int]]] = []
    for place in sorted(range(len(ranges)), key=lambda place: (ranges[place][0] is not None, ranges[place][0] or 0)):
        low = ranges[place][0]
        top = found[-1][0][1] if found else 0
        if found and (top is None or low is None or low <= top + 1):
            found[-1] = joined(found[-1][0], ranges[place]), [*found[-1][1], place]
        else:
            found.append((ranges[place], [place]))
    return found


def _joined_residues(residues: list[Residue]) -> list[tuple[Residue, list[int]]]:
    """Residues that are all those of one modulus that a smaller one leaves open."""
    found: dict[Residue, list[int]] = {}
    for place, residue in enumerate(residues):
        found.setdefault(residue, []).append(place)
    before = 0
    while before != len(found):
        before = len(found)
        for residue, modulus in list(found):
            for prime in _primes(modulus):
                smaller = modulus // prime
                every = [(residue % smaller + number * smaller, modulus) for number in range(prime)]
                if all(one in found for one in every):
                    places = [place for one in every for place in found.pop(one)]
                    found.setdefault((residue % smaller, smaller), []).extend(places)
                    break
    return list(found.items())


def _joined_outcomes(outcomes: list[_Outcome]) -> list[tuple[_Outcome, list[int]]]:
    both = None in outcomes or (True in outcomes and False in outcomes)
    if both:
        return [(None, list(range(len(outcomes))))]
    return [(outcomes[0], list(range(len(outcomes))))]


def _primes(number: int) -> list[int]:
    found: list[int] = []
    by = 2
    while number > 1:
        if number % by:
            by += 1
            continue
        if by not in found:
            found.append(by)
        number //= by
    return found
