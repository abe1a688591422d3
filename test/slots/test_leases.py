"""Leases that loops turn, carry and start anew: how they flow, and where they end unread."""

from collections.abc import Sequence

import pytest

from pto_buf.hw import Pipe
from pto_buf.slots.flow import Flow, SiteKey
from pto_buf.slots.leases import analyse
from pto_buf.slots.program import Access, Op, Program, Role
from pto_buf.slots.terms import Fn
from support.lease_checks import accepted, complaints, origins
from support.slot_programs import Maker, Number, add, binary, mod

TRIPS: Sequence[int | None] = (0, 1, 2, 3, 7, 8, 100, None)


def bound(make: Maker, trips: int | None) -> Number:
    return make.argument("n") if trips is None else trips


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 16])
def test_rotation(count: int, trips: int | None) -> None:
    make = Maker()
    ring, n = make.ring(count), bound(make, trips)
    key, i = make.key(), make.counter("i", 0, n)
    fill, drain = make.load(ring, mod(i, count)), make.store(ring, mod(i, count))
    flow = accepted(make.program(make.loop(key, i, 0, n, fill, drain)))
    if trips == 0:
        assert flow == Flow({}, {}, {})
        return
    assert origins(flow, drain) == [(fill.key, None)]
    reused = trips is None or trips > count
    assert flow.ends == ({SiteKey(fill.key, 0): flow.ends[SiteKey(fill.key, 0)]} if reused else {})
    if reused:
        assert [o.carried_by for o in flow.ends[SiteKey(fill.key, 0)]] == [key]
    assert flow.unread == {}


@pytest.mark.parametrize("trips", [1, 2, 7, 8, None])
@pytest.mark.parametrize(("count", "ahead"), [(2, 1), (3, 1), (3, 2), (5, 3), (16, 15)])
def test_prefetch_that_reads_past_the_end(count: int, ahead: int, trips: int | None) -> None:
    make = Maker()
    ring, n = make.ring(count), bound(make, trips)
    first = [make.load(ring, slot) for slot in range(ahead)]
    key, i = make.key(), make.counter("i", 0, n)
    fill, drain = make.load(ring, mod(add(i, ahead), count)), make.store(ring, mod(i, count))
    flow = accepted(make.program(*first, make.loop(key, i, 0, n, fill, drain)))
    early = [(op.key, None) for op in first if trips is None or op.key <= trips]
    late = [(fill.key, key)] if trips is None or trips > ahead else []
    assert origins(flow, drain) == early + late
    assert flow.unread[SiteKey(fill.key, 0)] == (None,)


@pytest.mark.parametrize("trips", [1, 2, 7, 8, None])
@pytest.mark.parametrize("count", [2, 3])
def test_guarded_prefetch(count: int, trips: int | None) -> None:
    make = Maker()
    ring, n = make.ring(count), bound(make, trips)
    first = make.load(ring, 0)
    key, branch, i = make.key(), make.key(), make.counter("i", 0, n)
    fill = make.load(ring, mod(add(i, 1), count))
    guarded = make.branch(branch, binary(Fn.SLT, add(i, 1), n), (fill,))
    drain = make.store(ring, mod(i, count))
    flow = accepted(make.program(first, make.loop(key, i, 0, n, guarded, drain)))
    assert SiteKey(fill.key, 0) not in flow.unread
    assert flow.unread == ({SiteKey(first.key, 0): (None,)} if trips is None else {})


@pytest.mark.parametrize("trips", [2, 3, 7, None])
def test_peeled_prefetch(trips: int | None) -> None:
    make = Maker()
    ring = make.ring(2)
    n = make.argument("n", low=1) if trips is None else trips
    first = make.load(ring, 0)
    key, i = make.key(), make.counter("i", 0, add(n, -1))
    fill, drain = make.load(ring, mod(add(i, 1), 2)), make.store(ring, mod(i, 2))
    loop = make.loop(key, i, 0, add(n, -1), fill, drain)
    tail = make.store(ring, mod(add(n, -1), 2))
    flow = accepted(make.program(first, loop, tail))
    assert flow.unread == {}
    assert (fill.key, None) in origins(flow, tail)


def test_a_second_prefetch_into_two_slots_clobbers_the_first() -> None:
    make = Maker()
    ring = make.ring(2)
    first = [make.load(ring, 0), make.load(ring, 1)]
    key, n = make.key(), make.argument("n")
    i = make.counter("i", 0, n)
    fill, drain = make.load(ring, mod(add(i, 2), 2)), make.store(ring, mod(i, 2))
    verdict = analyse(make.program(*first, make.loop(key, i, 0, n, fill, drain)))
    assert complaints(verdict) == [("clobber", fill.key), ("clobber", fill.key)]
    assert "when i = 0, n >= 1, whose value nothing has read" in verdict.errors[0].message
    assert [note.place.line if note.place else 0 for note in verdict.errors[1].notes] == [first[1].key]


def accumulate(make: Maker, trips: Number) -> tuple[Program, Op, Op, Op]:
    """`if k == 0: write else: update` over k, then a store."""
    ring = make.ring(1, "acc")
    key, branch, k = make.key(), make.key(), make.counter("k", 0, trips)
    start, more = make.load(ring, 0), make.update(ring, 0)
    body = make.branch(branch, binary(Fn.EQ, k, 0), (start,), (more,))
    loop = make.loop(key, k, 0, trips, body)
    final = make.store(ring, 0)
    return make.program(loop, final), start, more, final


@pytest.mark.parametrize("trips", [2, 3, 40])
def test_a_peeled_accumulation_is_one_lease(trips: int) -> None:
    program, start, more, final = accumulate(Maker(), trips)
    flow = accepted(program)
    assert origins(flow, more) == [(start.key, 1)]
    assert origins(flow, final) == [(start.key, None)]
    assert flow.unread == flow.ends == {}


def test_an_accumulation_that_may_not_run_is_an_unwritten_read() -> None:
    make = Maker()
    program, _, _, final = accumulate(make, make.argument("n"))
    verdict = analyse(program)
    assert complaints(verdict) == [("read-before-write", final.key)]
    (error,) = verdict.errors
    assert error.message == "'store' reads 'acc', which is not written"
    assert [note.message for note in error.notes] == [
        "the loop that writes it may run no trips, or may not reach this slot"
    ]
    assert error.help is not None and "peel its first step" in error.help


def test_resident_tiles_written_outside_and_read_inside() -> None:
    make = Maker()
    ring = make.ring(2)
    writes = [make.load(ring, 0), make.load(ring, 1)]
    key, n = make.key(), make.argument("n")
    i = make.counter("i", 0, n)
    read = make.store(ring, mod(i, 2))
    flow = accepted(make.program(*writes, make.loop(key, i, 0, n, read)))
    assert origins(flow, read) == [(writes[0].key, None), (writes[1].key, None)]
    assert flow.unread == {SiteKey(op.key, 0): (None,) for op in writes}


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_resident_slots_filled_in_one_loop_and_read_in_another(count: int) -> None:
    make = Maker()
    ring, n = make.ring(count), make.argument("n")
    key, i = make.key(), make.counter("i", 0, n)
    fill = make.load(ring, mod(i, count))
    loop = make.loop(key, i, 0, n, fill)
    key2, j = make.key(), make.counter("j", 0, n)
    read = make.store(ring, mod(j, count))
    flow = accepted(make.program(loop, make.loop(key2, j, 0, n, read)))
    assert origins(flow, read) == [(fill.key, None)]


def test_lagging_reads_with_a_last_loop() -> None:
    make = Maker()
    ring, n = make.ring(3), make.argument("n")
    key, i = make.key(), make.counter("i", 0, n)
    fill = make.load(ring, mod(i, 3))
    branch = make.key()
    late = make.store(ring, mod(add(i, -2), 3))
    loop = make.loop(key, i, 0, n, fill, make.branch(branch, binary(Fn.SGE, i, 2), (late,)))
    key2 = make.key()
    low = binary(Fn.MAXS, add(n, -2), 0)
    j = make.counter("j", low, n)
    rest = make.store(ring, mod(j, 3))
    flow = accepted(make.program(loop, make.loop(key2, j, low, n, rest)))
    assert origins(flow, late) == [(fill.key, key)]
    assert origins(flow, rest) == [(fill.key, None)]
    assert flow.unread == {}


@pytest.mark.parametrize("inner", [0, 1, 2, 3, None])
def test_a_rotation_re_entered_by_an_outer_loop(inner: int | None) -> None:
    make = Maker()
    ring, m, n = make.ring(2), make.argument("m"), bound(make, inner)
    outer_key, o = make.key(), make.counter("o", 0, m)
    first = make.load(ring, 0)
    key, i = make.key(), make.counter("i", 0, n)
    fill, drain = make.load(ring, mod(add(i, 1), 2)), make.store(ring, mod(i, 2))
    outer = make.loop(outer_key, o, 0, m, first, make.loop(key, i, 0, n, fill, drain))
    verdict = analyse(make.program(outer))
    if inner in (0, 1):  # what is loaded last in every trip overwrites that of the trip before, which nothing reads
        assert complaints(verdict) == [("clobber", fill.key if inner else first.key)]
        return
    assert complaints(verdict) == []
    assert all(carried in (None, outer_key) for _, carried in origins(verdict.flow, first))
    ended = {origin.carried_by for origin in verdict.flow.ends[SiteKey(first.key, 0)]}
    assert ended == {outer_key}


def test_two_slots_of_one_set_live_together() -> None:
    make = Maker()
    ring = make.ring(2)
    a, b = make.load(ring, 0), make.load(ring, 1)
    both = make.op(
        "add",
        Pipe.V,
        Access(ring, make.load(ring, 0).accesses[0].term, Role.READ, "lhs", a.key),
        Access(ring, make.load(ring, 1).accesses[0].term, Role.READ, "rhs", b.key),
    )
    flow = accepted(make.program(a, b, both))
    assert origins(flow, both, 0) == [(a.key, None)] and origins(flow, both, 1) == [(b.key, None)]


@pytest.mark.parametrize(("count", "ahead"), [(5, 1), (7, 2)])
def test_a_peeled_prefetch_of_at_least_so_many_trips(count: int, ahead: int) -> None:
    """The bound is compared with a small number; still as many trips are told apart as there are slots."""
    make = Maker()
    ring = make.ring(count)
    trips = binary(Fn.MAXS, make.argument("n"), ahead)
    first = [make.load(ring, slot) for slot in range(ahead)]
    last = add(trips, -ahead)
    key, i = make.key(), make.counter("i", 0, last)
    body = make.load(ring, mod(add(i, ahead), count)), make.store(ring, mod(i, count))
    rest = [make.store(ring, mod(add(last, trip), count)) for trip in range(ahead)]
    accepted(make.program(*first, make.loop(key, i, 0, last, *body), *rest))
