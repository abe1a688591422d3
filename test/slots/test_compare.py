"""Equality and ranges of index terms against going through all trips."""

import random

from pto_buf.slots.carried import evaluate
from pto_buf.slots.compare import Equality, compare, proven_within
from pto_buf.slots.program import Loop
from pto_buf.slots.terms import Const, Fn, Opaque, Term, Var
from support.slot_programs import Maker, add, binary, mod

TERMS = 400


def random_loop(rng: random.Random) -> tuple[Loop, int, int, int]:
    make = Maker()
    lower, trips, step = rng.choice([0, 0, 1, 3]), rng.choice([1, 2, 3, 5, 9]), rng.choice([1, 1, 2, 3])
    upper = lower + trips * step
    key = make.key()
    return make.loop(key, make.counter("i", lower, upper), lower, upper, step=step), lower, upper, step


def random_term(rng: random.Random, counter: Var, count: int) -> Term:
    """An affine term, taken modulo the number of slots in one of several spellings."""
    inner = add(binary(Fn.MUL, counter, rng.choice([1, 1, 2, 3, -1])), rng.choice([-2, -1, 0, 1, 2, count]))
    if rng.random() < 0.3:
        inner = binary(rng.choice([Fn.DIVS, Fn.DIVU, Fn.SHRS, Fn.FLOORDIVS]), inner, rng.choice([1, 2]))
    if rng.random() < 0.2:
        inner = binary(rng.choice([Fn.MINS, Fn.MAXS]), inner, rng.choice([0, 2, 4]))
    return binary(rng.choice([Fn.REMU, Fn.REMU, Fn.REMS]), inner, count)


def test_against_all_trips() -> None:
    rng = random.Random(11)
    decided = possible = 0
    for number in range(TERMS):
        loop, lower, upper, step = random_loop(rng)
        count = rng.choice([1, 2, 3, 4, 5, 8, 16])
        left, right = (random_term(rng, loop.var, count) for _ in range(2))
        distance = rng.choice([0, 0, 1, 2, -1])

        def at(term: Term, value: int, counter: Var = loop.var) -> int:
            values: dict[Var | Opaque, int] = {counter: value}
            found = evaluate(term, values)
            assert found is not None
            return found

        trips = [i for i in range(lower, upper, step) if lower <= i + distance * step < upper]
        equal = {at(left, i) == at(right, i + distance * step) for i in trips}
        found = compare(left, right, [loop], loop.key, distance)
        if found is Equality.EQUAL:
            assert equal <= {True}, number
        if found is Equality.DIFFERENT:
            assert equal <= {False}, number
        if len(equal) == 1:
            possible += 1
            decided += found is not Equality.UNKNOWN
        within = all(0 <= at(left, i) < count for i in range(lower, upper, step))
        assert proven_within(left, count, [loop]) == within, number
    assert possible > TERMS // 4 and decided >= 0.95 * possible


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
