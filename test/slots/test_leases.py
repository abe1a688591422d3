"""Leases over all paths: what is accepted, what is refused and where, and how leases flow."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pto_buf.hw import Pipe
from pto_buf.slots.flow import Flow, SiteKey
from pto_buf.slots.leases import Verdict, analyse
from pto_buf.slots.program import Access, Op, Program, Role, SlotSet
from pto_buf.slots.terms import Fn
from support.slot_programs import Maker, Number, add, binary, mod


def complaints(verdict: Verdict) -> list[tuple[str, int]]:
    """Kind and line of each error, in order."""
    return sorted((error.kind or "", error.place.line if error.place else -1) for error in verdict.errors)


def origins(flow: Flow, op: Op, access: int = 0) -> list[tuple[int, int | None]]:
    """The openers of an access's leases, and the loops that carry them."""
    return [(origin.opener.op, origin.carried_by) for origin in flow.origins[SiteKey(op.key, access)]]


def accepted(program: Program) -> Flow:
    verdict = analyse(program)
    assert complaints(verdict) == []
    return verdict.flow


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


def test_releases_in_any_order_of_leases_taken_together() -> None:
    make = Maker()
    ring = make.ring(2)
    nodes = (
        make.load(ring, 0),
        make.load(ring, 1),
        make.store(ring, 0),
        make.store(ring, 1),
        make.release(ring, 1),
        make.release(ring, 0),
    )
    accepted(make.program(*nodes))


def test_use_after_release_on_one_arm_only() -> None:
    make = Maker()
    ring, n = make.ring(2), make.argument("n")
    taken = make.load(ring, 0)
    key = make.key()
    given_back = make.release(ring, 0)
    branch = make.branch(key, binary(Fn.SGT, n, 3), (given_back,))
    use = make.store(ring, 0)
    verdict = analyse(make.program(taken, branch, use))
    assert complaints(verdict) == [("use-after-release", use.key)]
    (error,) = verdict.errors
    assert [note.place.line if note.place else 0 for note in error.notes] == [given_back.key]


def test_a_use_that_the_release_excludes_is_accepted() -> None:
    make = Maker()
    ring, flag = make.ring(2), make.unknown("flag")
    taken = make.load(ring, 0)
    key = make.key()
    first = make.branch(key, flag, (make.release(ring, 0),))
    key = make.key()
    second = make.branch(key, binary(Fn.EQ, flag, 0), (make.store(ring, 0),))
    accepted(make.program(taken, first, second))


def test_release_in_a_loop_of_a_lease_taken_outside() -> None:
    make = Maker()
    ring = make.ring(2)
    taken = make.load(ring, 0)
    key, i = make.key(), make.counter("i", 0, 4)
    use, given_back = make.store(ring, 0, taken.key), make.release(ring, 0, taken.key)
    verdict = analyse(make.program(taken, make.loop(key, i, 0, 4, use, given_back)))
    assert complaints(verdict) == [("release-misuse", given_back.key), ("use-after-release", use.key)]
    messages = sorted(error.message for error in verdict.errors)
    assert messages == [
        "'store' uses slot 0 of 'r' after its release when i = 1",
        "releases slot 0 of 'r' again when i = 1: the lease was taken outside of this loop",
    ]


def test_release_in_a_loop_of_one_trip_is_accepted() -> None:
    make = Maker()
    ring = make.ring(2)
    taken = make.load(ring, 0)
    key, i = make.key(), make.counter("i", 0, 1)
    accepted(make.program(taken, make.loop(key, i, 0, 1, make.store(ring, 0), make.release(ring, 0))))


def test_a_slot_released_twice_and_one_never_taken() -> None:
    make = Maker()
    ring = make.ring(2)
    nodes = (make.load(ring, 0), make.release(ring, 0), make.release(ring, 0), make.release(ring, 1))
    assert complaints(analyse(make.program(*nodes))) == [
        ("release-misuse", nodes[2].key),
        ("release-misuse", nodes[3].key),
    ]


def test_a_value_named_after_its_slot_was_written_again() -> None:
    make = Maker()
    ring = make.ring(2)
    first, second = make.load(ring, 0), make.load(ring, 0)
    late = make.store(ring, 0, first.key)
    verdict = analyse(make.program(first, make.store(ring, 0), second, late))
    assert complaints(verdict) == [("clobber", second.key)]
    assert [note.place.line if note.place else 0 for note in verdict.errors[0].notes] == [first.key, late.key]


@pytest.mark.parametrize(("shift", "count", "same"), [(2, 2, True), (1, 2, False), (3, 3, True), (2, 3, False)])
def test_clobbers_are_decided_on_congruences(shift: int, count: int, same: bool) -> None:
    make = Maker()
    ring, n = make.ring(count), make.argument("n")
    key, i = make.key(), make.counter("i", 0, n)
    a, b = make.load(ring, mod(i, count)), make.load(ring, mod(add(i, shift), count))
    reads = make.store(ring, mod(i, count), a.key), make.store(ring, mod(add(i, shift), count), b.key)
    verdict = analyse(make.program(make.loop(key, i, 0, n, a, b, *reads)))
    assert complaints(verdict) == ([("clobber", b.key)] if same else [])


def test_unknown_indices_count_as_equal() -> None:
    make = Maker()
    ring, n = make.ring(2), make.argument("n")
    key = make.key()
    i, x = make.counter("i", 0, n), make.unknown("x", key, 0, 9)
    a, b = make.load(ring, mod(i, 2)), make.load(ring, mod(x, 2))
    reads = make.store(ring, mod(i, 2), a.key), make.store(ring, mod(x, 2), b.key)
    verdict = analyse(make.program(make.loop(key, i, 0, n, a, b, *reads)))
    assert complaints(verdict) == [("clobber", b.key)]
    assert verdict.errors[0].message.endswith(": cannot prove that the indices i % 2 and x % 2 differ")


def test_an_unknown_index_is_one_slot_within_a_trip() -> None:
    make = Maker()
    ring, n = make.ring(3), make.argument("n")
    key = make.key()
    i, x = make.counter("i", 0, n), make.unknown("x", key, 0, 1 << 40)
    fill, drain = make.load(ring, mod(x, 3)), make.store(ring, mod(x, 3))
    accepted(make.program(make.loop(key, i, 0, n, fill, drain)))


def test_a_read_guarded_by_another_condition_is_refused_and_by_the_same_accepted() -> None:
    for same in (True, False):
        make = Maker()
        ring, n = make.ring(3), make.argument("n")
        key = make.key()
        i, c, d = make.counter("i", 0, n), make.unknown("c", key), make.unknown("d", key)
        one, two = make.key(), make.key()
        fill = make.branch(one, c, (make.load(ring, mod(i, 3)),))
        read = make.store(ring, mod(i, 3))
        drain = make.branch(two, c if same else d, (read,))
        verdict = analyse(make.program(make.loop(key, i, 0, n, fill, drain)))
        assert complaints(verdict) == ([] if same else [("read-before-write", read.key)])


@pytest.mark.parametrize(
    ("fn", "shift", "count", "witness"),
    [
        (Fn.REMS, -1, 3, "is -1 when i = 0, n >= 1"),
        (Fn.REMU, -1, 3, None),
        (Fn.REMS, 2, 3, None),
        (Fn.REMU, 0, 4, "is 3 when i = 3, n >= 4"),
    ],
)
def test_ranges_of_indices(fn: Fn, shift: int, count: int, witness: str | None) -> None:
    make = Maker()
    ring, n = make.ring(3), make.argument("n")
    key, i = make.key(), make.counter("i", 0, n)
    fill = make.load(ring, binary(fn, add(i, shift), count))
    drain = make.store(ring, binary(fn, add(i, shift), count))
    verdict = analyse(make.program(make.loop(key, i, 0, n, fill, drain)))
    if witness is None:
        assert complaints(verdict) == []
    else:
        assert complaints(verdict)[0] == ("slot-index-out-of-range", fill.key)
        assert witness in verdict.errors[0].message


def test_wrap_around_meets_the_slot_in_use() -> None:
    """(i - 1) % 3 without a sign is 0 at i = 0, not 2: the read is of the slot just written."""
    make = Maker()
    ring, n = make.ring(3), make.argument("n")
    first = [make.load(ring, slot) for slot in range(3)]
    key, i = make.key(), make.counter("i", 0, n)
    fill, read = make.load(ring, mod(i, 3)), make.store(ring, mod(add(i, -1), 3))
    flow = analyse(make.program(*first, make.loop(key, i, 0, n, fill, read))).flow
    assert (fill.key, None) in origins(flow, read)


def test_an_op_in_place_continues_the_lease_where_its_row_allows() -> None:
    for allowed in (True, False):
        make = Maker()
        ring = make.ring(1)
        start = make.load(ring, 0)
        zero = start.accesses[0].term
        accesses = Access(ring, zero, Role.READ, "src", None), Access(ring, zero, Role.WRITE, "dst", None)
        work = make.op("exp", Pipe.V, *accesses, in_place=["src"] if allowed else [])
        verdict = analyse(make.program(start, work, make.store(ring, 0)))
        assert complaints(verdict) == ([] if allowed else [("clobber", work.key)])
        assert origins(verdict.flow, work, 1) == [(start.key, None)]


def test_scratch_is_no_lease_to_read() -> None:
    make = Maker()
    ring = make.ring(1, "tmp")
    zero = make.load(ring, 0).accesses[0].term
    key, n = make.key(), make.argument("n")
    i = make.counter("i", 0, n)
    sums = make.op("row_sum", Pipe.V, Access(ring, zero, Role.SCRATCH, "tmp", None))
    flow = accepted(make.program(make.loop(key, i, 0, n, sums)))
    assert [o.opener.op for o in flow.ends[SiteKey(sums.key, 0)]] == [sums.key] and flow.unread == {}
    read = make.store(ring, 0)
    assert complaints(analyse(make.program(make.loop(key, i, 0, 2, sums), read))) == [("read-before-write", read.key)]


def test_dead_tiles_of_the_compiler_are_no_clobber() -> None:
    for owned in (True, False):
        make = Maker()
        ring = make.ring(1, owned=owned)
        key, i = make.key(), make.counter("i", 0, 4)
        fill = make.load(ring, 0)
        verdict = analyse(make.program(make.loop(key, i, 0, 4, fill)))
        assert complaints(verdict) == ([] if owned else [("clobber", fill.key)])


def test_all_errors_of_a_program_are_reported() -> None:
    make = Maker()
    ring, other = make.ring(2), make.ring(3, "s")
    nodes = (
        make.store(ring, 0),
        make.load(ring, 2),
        make.load(other, 0),
        make.release(other, 0),
        make.store(other, 0),
        make.release(other, 1),
    )
    assert complaints(analyse(make.program(*nodes))) == [
        ("read-before-write", 1),
        ("release-misuse", 6),
        ("slot-index-out-of-range", 2),
        ("use-after-release", 5),
    ]


def part(make: Maker, ring: SlotSet, index: Number, start: int, end: int) -> Op:
    """A load into some bytes of a slot."""
    (access,) = make.load(ring, index).accesses
    return make.op("load", Pipe.MTE2, replace(access, start=start, end=end))


HALF = 16 * 64 * 4 // 2


def test_halves_fill_one_lease_in_every_trip() -> None:
    make = Maker()
    ring, n = make.ring(2), make.argument("n")
    key, i = make.key(), make.counter("i", 0, n)
    top, bottom = part(make, ring, mod(i, 2), 0, HALF), part(make, ring, mod(i, 2), HALF, 2 * HALF)
    read = make.store(ring, mod(i, 2))
    flow = accepted(make.program(make.loop(key, i, 0, n, top, bottom, read)))
    assert origins(flow, bottom) == origins(flow, read) == [(top.key, None)]
    assert [o.opener.op for o in flow.ends[SiteKey(top.key, 0)]] == [top.key] and SiteKey(
        bottom.key, 0
    ) not in flow.ends


def test_a_read_of_more_than_was_filled_is_refused() -> None:
    make = Maker()
    ring = make.ring(2)
    top = part(make, ring, 0, 0, HALF)
    read = make.store(ring, 0)
    assert complaints(analyse(make.program(top, read))) == [("read-before-write", read.key)]
    (access,) = make.store(ring, 0).accesses
    half = make.op("store", Pipe.MTE3, replace(access, start=16, end=HALF))
    accepted(make.program(top, half))


def test_a_part_written_later_keeps_the_rest_and_the_value() -> None:
    make = Maker()
    ring = make.ring(1)
    whole = make.load(ring, 0)
    first = make.store(ring, 0, whole.key)
    top = part(make, ring, 0, 0, HALF)
    second = make.store(ring, 0, whole.key)
    flow = accepted(make.program(whole, first, top, second))
    assert origins(flow, second) == [(top.key, None)]
