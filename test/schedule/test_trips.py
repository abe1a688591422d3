"""Terms of two trips compared: whatever is said to differ does so, by brute force."""

import random

import pytest

from pto_buf.schedule.trips import Trips, Window, may_be_equal, may_overlap
from pto_buf.slots.carried import evaluate
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Term, Var

ITER = Var(1, "i")
N = Var(2, "n")
OUTER = Var(3, "outer")
J = Var(4, "j", 0, 3)
SEEN = Opaque(5, "seen", 7, 0, 1)
ONE_BY_ONE = Trips(ITER, Const(0), Const(1), frozenset({J}), frozenset({7}))


def rem(term: Term, modulus: int) -> Term:
    return Apply(Fn.REMU, term, Const(modulus))


def plus(term: Term, amount: int) -> Term:
    return Apply(Fn.ADD, term, Const(amount))


@pytest.mark.parametrize(
    ("first", "second", "distance", "expected"),
    [
        (rem(ITER, 2), rem(ITER, 2), 1, False),
        (rem(ITER, 2), rem(ITER, 2), 2, True),
        (rem(ITER, 3), rem(ITER, 3), 1, False),
        (rem(ITER, 3), rem(ITER, 3), 2, False),
        (rem(ITER, 3), rem(ITER, 3), 3, True),
        (Apply(Fn.AND, ITER, Const(1)), rem(ITER, 2), 1, False),
        (rem(plus(ITER, 1), 2), rem(ITER, 2), 1, True),
        (rem(plus(ITER, 1), 2), rem(ITER, 2), 2, False),
        (rem(plus(ITER, 2), 3), rem(ITER, 3), 1, False),
        (rem(plus(ITER, 2), 3), rem(ITER, 3), 2, True),
        (Const(0), Const(0), 1, True),
        (Const(0), Const(1), 1, False),
        (Const(0), rem(ITER, 2), 1, True),
        (ITER, ITER, 1, False),
        (rem(OUTER, 2), rem(OUTER, 2), 1, True),
        (rem(OUTER, 2), rem(plus(OUTER, 1), 2), 1, False),
        (rem(Apply(Fn.ADD, Apply(Fn.MUL, OUTER, Const(4)), ITER), 2),) * 2 + (1, False),
        (rem(Apply(Fn.ADD, OUTER, ITER), 2),) * 2 + (1, False),
        (rem(J, 2), rem(J, 2), 1, True),
        (SEEN, SEEN, 1, True),
        (N, N, 1, True),
        (Apply(Fn.MINS, ITER, Const(1)), Const(0), 1, True),
    ],
)
def test_known_answers(first: Term, second: Term, distance: int, expected: bool):
    assert may_be_equal(first, second, ONE_BY_ONE, distance) is expected


def test_the_step_counts():
    term = rem(Apply(Fn.DIVU, ITER, Const(128)), 2)
    assert not may_be_equal(term, term, Trips(ITER, Const(0), Const(128)), 1)
    assert may_be_equal(term, term, Trips(ITER, Const(0), Const(64)), 1)
    # from 1 on, in steps of 2, the remainder by 2 never changes
    assert may_be_equal(rem(ITER, 2), rem(ITER, 2), Trips(ITER, Const(1), Const(2)), 1)
    assert not may_be_equal(rem(ITER, 4), rem(ITER, 4), Trips(ITER, Const(1), Const(2)), 1)
    assert may_be_equal(rem(ITER, 2), rem(ITER, 2), Trips(ITER, Const(0), N), 1)


def test_the_start_counts():
    term = rem(Apply(Fn.DIVU, ITER, Const(2)), 2)
    assert not may_be_equal(term, term, Trips(ITER, N, Const(2)), 1)
    third = rem(Apply(Fn.DIVU, plus(ITER, 1), Const(2)), 2)
    # (i + 1) / 2 grows in each trip only if i is even, or odd, throughout
    assert not may_be_equal(third, third, Trips(ITER, Const(0), Const(2)), 1)


def test_the_trip_since_an_unknown_start():
    since = Apply(Fn.SUB, ITER, N)
    term = rem(Apply(Fn.DIVU, since, Const(3)), 2)
    trips = Trips(ITER, N, Const(3))
    assert not may_be_equal(term, term, trips, 1)
    assert may_be_equal(term, term, trips, 2)
    # the start of the trips that a scheduled loop leaves over
    start = Apply(Fn.MUL, Apply(Fn.DIVU, N, Const(2)), Const(2))
    assert not may_be_equal(rem(ITER, 2), rem(ITER, 2), Trips(ITER, start, Const(1)), 1)


def test_signs_count():
    lag = plus(ITER, -1)
    signed = Apply(Fn.REMS, lag, Const(3))
    assert not may_be_equal(signed, signed, ONE_BY_ONE, 1)
    assert may_be_equal(signed, signed, ONE_BY_ONE, 3)
    # read without a sign, -1 is a multiple of 3, as is 0 in the trip behind it
    assert may_be_equal(rem(lag, 3), rem(lag, 3), ONE_BY_ONE, 1)


def any_term(rng: random.Random, depth: int) -> Term:
    if depth == 0:
        return rng.choice((ITER, ITER, ITER, OUTER, J, Const(rng.randint(0, 5))))
    inner = any_term(rng, depth - 1)
    fn = rng.choice((Fn.ADD, Fn.MUL, Fn.DIVU, Fn.REMU, Fn.REMS, Fn.DIVS, Fn.AND, Fn.SHRU, Fn.SUB))
    amount = {Fn.AND: rng.choice((1, 3)), Fn.SHRU: rng.randint(0, 2)}.get(fn, rng.randint(1, 4))
    right = any_term(rng, depth - 1) if fn in (Fn.ADD, Fn.SUB) and rng.random() < 0.3 else Const(amount)
    return Apply(fn, inner, right)


def test_random_terms_that_are_said_to_differ_do():
    decided = 0
    for seed in range(1500):
        rng = random.Random(seed)
        first = Apply(Fn.REMU, any_term(rng, 2), Const(rng.randint(2, 4)))
        second = Apply(Fn.REMU, any_term(rng, 2), Const(rng.randint(2, 4))) if rng.random() < 0.3 else first
        lower, step, distance = rng.randint(0, 3), rng.randint(1, 3), rng.randint(1, 3)
        trips = Trips(ITER, Const(lower), Const(step), frozenset({J}))
        if may_be_equal(first, second, trips, distance):
            continue
        decided += 1
        for outer in (0, 1, 5):
            for trip in range(16):
                then = lower + (trip + distance) * step
                before = {evaluate(first, {ITER: lower + trip * step, OUTER: outer, J: j}) for j in (0, 1, 2)}
                after = {evaluate(second, {ITER: then, OUTER: outer, J: j}) for j in (0, 1, 2)}
                assert not before & after, (first, second, lower, step, distance)
    assert decided > 100


# --- windows ------------------------------------------------------------------------------------------------------


def window(row: Term, rows: int, col: Term | None = None) -> Window:
    return Window((row, col or Const(0)), (Const(rows), Const(128)))


def rows(factor: int, amount: int = 0) -> Term:
    return plus(Apply(Fn.MUL, ITER, Const(factor)), amount)


@pytest.mark.parametrize(
    ("first", "second", "distance", "expected"),
    [
        (window(rows(16), 16), window(rows(16), 16), 1, False),
        (window(rows(16), 17), window(rows(16), 16), 1, True),
        (window(rows(16), 17), window(rows(16), 16), 2, False),
        (window(rows(16), 16), window(rows(16, 16), 16), 1, False),
        (window(rows(16, 16), 16), window(rows(16), 16), 1, True),
        (window(rows(32), 16), window(rows(32, 16), 16), 1, False),
        (window(Const(0), 16), window(Const(0), 16), 1, True),
        (window(Const(0), 16), window(Const(16), 16), 1, False),
        (window(N, 16), window(N, 16), 1, True),
        (window(Apply(Fn.ADD, N, rows(16)), 16),) * 2 + (1, False),
        (window(Const(0), 16, Apply(Fn.MUL, ITER, Const(128))),) * 2 + (1, False),
        (window(Const(0), 16, Apply(Fn.MUL, ITER, Const(64))),) * 2 + (1, True),
        (window(Apply(Fn.REMU, ITER, Const(2)), 1),) * 2 + (1, False),
        (window(Apply(Fn.REMU, ITER, Const(2)), 1),) * 2 + (2, True),
        (window(Apply(Fn.REMU, ITER, Const(2)), 2),) * 2 + (1, True),
        (window(Apply(Fn.MUL, Apply(Fn.REMS, ITER, Const(3)), Const(16)), 16),) * 2 + (2, False),
        (window(Apply(Fn.MUL, Apply(Fn.REMS, ITER, Const(3)), Const(16)), 16),) * 2 + (3, True),
    ],
)
def test_windows(first: Window, second: Window, distance: int, expected: bool):
    assert may_overlap(first, second, ONE_BY_ONE, distance) is expected


def test_a_window_of_unknown_height_may_overlap_anything():
    tall = Window((rows(16), Const(0)), (N, Const(128)))
    assert may_overlap(tall, tall, ONE_BY_ONE, 1)
    least = Window((rows(16), Const(0)), (Apply(Fn.MINS, N, Const(16)), Const(128)))
    assert not may_overlap(least, least, ONE_BY_ONE, 1)
