"""Prefetches up to an end beyond which trips are not told apart one by one: what the guards say of it is kept."""

import pytest

from pto_buf.slots.complaints import USE_AFTER_RELEASE
from pto_buf.slots.leases import analyse
from pto_buf.slots.program import Program
from pto_buf.slots.spans import Horizon, Span
from pto_buf.slots.terms import Fn
from support.lease_checks import accepted, complaints
from support.slot_programs import Maker, Number, add, binary, mod


def prefetched(end: int, *, argument: bool, ahead: int = 1, slack: int = 0) -> Program:
    """Tiles up to `end`, or to `n` if that is less, each loaded `ahead` trips before and released where it is read.

    The guard of the loads ends `slack` trips later.
    """
    make = Maker()
    ring, n = make.ring(4), make.argument("n")
    upper: Number = binary(Fn.MINS, n, end) if argument else end
    i, key = make.counter("i", 0, upper), make.key()
    first = [make.branch(make.key(), binary(Fn.SLT, trip, upper), (make.load(ring, trip),)) for trip in range(ahead)]
    guard = make.key()
    load = make.load(ring, mod(add(i, ahead), 4))
    ahead_of_end = make.branch(guard, binary(Fn.SLT, add(i, ahead), add(upper, slack)), (load,))
    body = (ahead_of_end, make.store(ring, mod(i, 4)), make.release(ring, mod(i, 4)))
    return make.program(*first, make.loop(key, i, 0, upper, *body))


@pytest.mark.parametrize("ahead", [1, 3])
@pytest.mark.parametrize(("end", "argument"), [(36, True), (36, False), (1000, True), (1001, False)])
def test_the_last_trips_are_told_apart(end: int, argument: bool, ahead: int) -> None:
    accepted(prefetched(end, argument=argument, ahead=ahead))


@pytest.mark.parametrize("argument", [True, False])
def test_a_guard_that_ends_too_early_is_found_out(argument: bool) -> None:
    kinds = {kind for kind, _ in complaints(analyse(prefetched(36, argument=argument, slack=-1)))}
    assert USE_AFTER_RELEASE in kinds


@pytest.mark.parametrize(
    ("span", "kept"),
    [
        (Span(3, 5), Span(3, 5)),
        (Span(-9, 9), Span(None, None)),
        (Span(9, None), Span(6, None)),
        (Span(None, -9), Span(None, -6)),
        (Span(20, 38), Span(6, 38)),
        (Span(38, 60), Span(38, None)),
        (Span(60, 61), Span(43, None)),
        (Span(-52, -9), Span(-52, -6)),
        (Span(-60, -51), Span(None, -51)),
        (Span(None, -60), Span(None, -55)),
    ],
)
def test_what_is_remembered_of_an_interval(span: Span, kept: Span) -> None:
    assert Horizon(5, ((-54, -50), (36, 42))).clamped(span) == kept
    mirrored = Span(None if kept.high is None else -kept.high, None if kept.low is None else -kept.low)
    turned = Span(None if span.high is None else -span.high, None if span.low is None else -span.low)
    assert Horizon(5, ((-42, -36), (50, 54))).clamped(turned) == mirrored
