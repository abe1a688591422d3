"""Streams whose trips fill and read a slot only where data says so: what each slot holds is followed by itself.

The ways to fill N slots or not are 2 to the power of N, and every one of them happens.
"""

from collections.abc import Callable, Iterator

import pytest

from pto_buf.slots import explore
from pto_buf.slots.complaints import CLOBBER, READ_BEFORE_WRITE, USE_AFTER_RELEASE
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.leases import analyse
from pto_buf.slots.program import Carried, Node, Program
from pto_buf.slots.simplify import select
from pto_buf.slots.terms import TRIP_LIMIT, Fn, Term
from support.lease_checks import accepted, complaints, origins
from support.slot_programs import Maker, Number, add, binary, mod

COUNTS = range(1, 17)
Body = Callable[[Maker, int, Term], Iterator[Node]]
"""The body of the loop of this key, given the index of its trips."""


def stream(count: int, step: int, body: Body) -> Program:
    make = Maker()
    make.ring(count)
    n = make.argument("n")
    i = make.counter("i", 0, n)
    return make.program(make.loop(key := make.key(), i, 0, n, *body(make, key, mod(i, count)), step=step))


def plain(make: Maker, loop: int, index: Term) -> Iterator[Node]:
    ring = make.sets[0]
    yield make.load(ring, index)
    yield make.store(ring, index)


def guarded(make: Maker, loop: int, index: Term) -> Iterator[Node]:
    yield make.branch(make.key(), make.unknown("f", loop), tuple(plain(make, loop, index)))


def twice_guarded(make: Maker, loop: int, index: Term) -> Iterator[Node]:
    yield make.branch(make.key(), make.unknown("e", loop), tuple(guarded(make, loop, index)))


def with_else(make: Maker, loop: int, index: Term) -> Iterator[Node]:
    key, ring = make.key(), make.sets[0]
    then = (*plain(make, loop, index), make.release(ring, index))
    yield make.branch(key, make.unknown("f", loop), then, tuple(twice_guarded(make, loop, index)))


@pytest.mark.parametrize("body", [guarded, twice_guarded, with_else])
def test_guards_are_followed_in_a_few_steps_for_each_slot(body: Body, monkeypatch: pytest.MonkeyPatch) -> None:
    for count in COUNTS:
        monkeypatch.setattr(explore, "MOST_STEPS", 50 * (count + 2))
        accepted(stream(count, 3 if count % 3 else 1, body))


def test_the_lease_of_an_earlier_trip_is_met_beside_none() -> None:
    make = Maker()
    ring, n, loop = make.ring(16), make.argument("n"), make.key()
    i = make.counter("i", 0, n)
    load, store = make.load(ring, mod(i, 16)), make.store(ring, mod(i, 16))
    guard = make.branch(make.key(), make.unknown("f", loop), (load, store))
    flow = accepted(make.program(make.loop(loop, i, 0, n, guard, step=3)))
    assert origins(flow, store) == [(load.key, None)]
    assert [(end.opener.op, end.carried_by) for end in flow.ends[SiteKey(load.key, 0)]] == [(load.key, loop)]


@pytest.mark.parametrize("count", COUNTS)
def test_a_while_and_a_ring_that_moves_on_where_it_was_filled(count: int) -> None:
    make = Maker()
    ring = make.ring(count)
    key = make.key()
    trips, slot = make.counter("trip", 0, TRIP_LIMIT), make.argument("slot", 0, count)
    filled = make.unknown("f", key)
    body = make.branch(make.key(), filled, (make.load(ring, slot), make.store(ring, slot)))
    onward = Carried(slot, mod(0, count), select(filled, mod(add(slot, 1), count), slot))
    accepted(make.program(make.repeat(key, trips, make.unknown("again", key), (), body, carried=(onward,))))


# --- what branches have in common is not lost ---


def same_condition(read_in: int) -> Program:
    """A slot filled where a flag holds, and read where it holds (1) or does not (0), behind a guarded stream."""
    make = Maker()
    ring, flag, n = make.ring(9), make.unknown("f"), make.argument("n")
    fill = make.branch(make.key(), flag, (make.load(ring, 8),))
    i, key = make.counter("i", 0, n), make.key()
    between = make.loop(key, i, 0, n, *guarded(make, key, mod(i, 8)))
    read = make.branch(make.key(), binary(Fn.EQ, flag, read_in), (make.store(ring, 8),))
    return make.program(fill, between, read)


def test_a_flag_that_guards_both_the_write_and_the_read() -> None:
    accepted(same_condition(1))
    (error,) = analyse(same_condition(0)).errors
    assert error.kind == READ_BEFORE_WRITE
    assert error.message.startswith("'store' reads slot 8 of 'r', which is not written")


def wrong(count: int, nodes: Callable[[Maker, Number], tuple[Node, ...]]) -> list[tuple[str, int]]:
    def body(make: Maker, loop: int, index: Term) -> Iterator[Node]:
        yield make.branch(make.key(), make.unknown("f", loop), nodes(make, index))

    return complaints(analyse(stream(count, 1, body)))


@pytest.mark.parametrize("count", [1, 5, 13, 16])
def test_what_is_wrong_under_a_guard_is_named_with_many_slots_too(count: int) -> None:
    def late(make: Maker, index: Number) -> tuple[Node, ...]:
        ring = make.sets[0]
        return make.load(ring, index), make.release(ring, index), make.store(ring, index)

    assert wrong(count, late) == [(USE_AFTER_RELEASE, 5)]
    assert wrong(count, lambda make, index: (make.store(make.sets[0], index),)) == [(READ_BEFORE_WRITE, 3)]
    assert wrong(count, lambda make, index: (make.load(make.sets[0], index),)) == [(CLOBBER, 3)]
