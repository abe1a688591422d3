"""Equality and ranges of index terms that people write."""

from pto_buf.slots.compare import Equality, compare, proven_within
from pto_buf.slots.terms import Const, Fn
from support.slot_programs import Maker, add, binary, mod


def test_any_number_of_trips() -> None:
    make = Maker()
    n, key = make.argument("n"), make.key()
    i = make.counter("i", 0, n)
    loop = make.loop(key, i, 0, n)
    assert compare(mod(i, 2), mod(add(i, 2), 2), [loop]) is Equality.EQUAL
    assert compare(mod(i, 2), binary(Fn.AND, i, 1), [loop]) is Equality.EQUAL
    assert compare(mod(i, 3), mod(add(i, 2), 3), [loop]) is Equality.DIFFERENT
    assert compare(mod(i, 3), mod(add(i, -1), 3), [loop]) is Equality.UNKNOWN  # equal at i = 0, where it wraps around
    assert compare(mod(i, 2), mod(i, 2), [loop], key, 1) is Equality.DIFFERENT
    assert compare(mod(i, 2), mod(i, 2), [loop], key, 2) is Equality.EQUAL
    assert proven_within(mod(n, 4), 4) and not proven_within(n, 4) and not proven_within(Const(4), 4)


def test_unknowns_of_another_trip_are_other_numbers() -> None:
    make = Maker()
    n, key = make.argument("n"), make.key()
    i, x = make.counter("i", 0, n), make.unknown("x", key, 0, 9)
    loop = make.loop(key, i, 0, n)
    assert compare(mod(x, 2), mod(x, 2), [loop]) is Equality.EQUAL
    assert compare(mod(x, 2), mod(x, 2), [loop], key, 1) is Equality.UNKNOWN


def test_a_quotient_that_the_facts_speak_of_is_judged_by_what_it_is_made_of() -> None:
    """The fact that compares the quotient with `i` once sent the analysis in circles."""
    make = Maker()
    n = make.argument("n", 0, 4)
    outer, inner = make.key(), make.key()
    i, j = make.counter("i", 0, 5), make.counter("j", 0, n)
    around = [make.loop(outer, i, 0, 5), make.loop(inner, j, 0, n)]
    left = mod(binary(Fn.DIVS, add(j, add(i, -2)), 3), 12)
    assert compare(left, mod(add(i, 11), 12), around, inner, 1) is Equality.UNKNOWN
