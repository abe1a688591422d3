"""Variables of several loops that go through the same numbers."""

from collections.abc import Mapping

from pto_buf.check.facts.alike import alike, assigned_at
from pto_buf.check.terms import Term, Var, add, const, sub

A, B, C, D, ARGUMENT = (Var(key, name) for key, name in enumerate(("a", "b", "c", "d", "argument")))
ONE = const(1)


def firsts(*places: tuple[str, Mapping[Var, Term]]) -> list[str]:
    """The name of the first variable that each of a to d is like."""
    found = alike(assigned_at([(place, tuple(pairs.items())) for place, pairs in places]))
    return [found[var.key].name for var in (A, B, C, D)]


def test_what_starts_and_steps_alike_is_alike():
    start = ("start", {A: const(0), B: const(1), C: const(0), D: const(1)})
    step = ("step", {A: add(A, ONE), B: sub(ONE, B), C: add(C, ONE), D: add(D, ONE)})
    assert firsts(start, step) == ["a", "b", "a", "d"]


def test_pairs_that_depend_on_each_other_are_told_apart_by_what_they_start_with():
    step = ("step", {A: B, B: A, C: D, D: C})
    same = ("start", {A: ARGUMENT, B: const(0), C: ARGUMENT, D: const(0)})
    assert firsts(same, step) == ["a", "b", "a", "b"]
    other = ("start", {A: ARGUMENT, B: const(0), C: ARGUMENT, D: const(1)})
    assert firsts(other, step) == ["a", "b", "c", "d"]


def test_variables_assigned_at_different_places_are_not_alike():
    here, there = ("here", {A: const(0), B: const(0)}), ("there", {C: const(0), D: const(0)})
    assert firsts(here, there) == ["a", "a", "c", "c"]


def test_a_number_of_one_core_keeps_what_is_made_of_it_apart():
    start = ("start", {A: const(0), C: const(0), B: const(0), D: const(0)})
    step = ("step", {A: add(A, ARGUMENT), B: ONE, C: add(C, Var(9, "another")), D: ONE})
    assert firsts(start, step) == ["a", "b", "c", "b"]
