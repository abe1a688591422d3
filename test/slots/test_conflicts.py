"""Which indices are one slot: values lost, ranges left, ops in place, and what is reported of all."""

import pytest

from pto_buf.hw import Pipe
from pto_buf.slots import explore
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.leases import analyse
from pto_buf.slots.program import Access, Role
from pto_buf.slots.terms import Fn
from support.lease_checks import accepted, complaints, origins
from support.slot_programs import Maker, add, binary, mod


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


def test_what_a_last_trip_leaves_out_is_left_out_of_what_is_made_of_it() -> None:
    """The counter is 1 and never 2, so `i & m` is 0 or 1: its remainder was dropped for that, and once forgotten."""
    make = Maker()
    ring, m = make.ring(2), make.argument("m")
    key, i = make.key(), make.counter("i", 1, 2)
    index = mod(binary(Fn.AND, i, m), 2)
    accepted(make.program(make.loop(key, i, 1, 2, make.load(ring, index), make.store(ring, index))))


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


def test_what_is_too_much_to_follow_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "MOST_STEPS", 4)
    monkeypatch.setattr(explore, "_STEPS_PER_NODE", 0)
    make = Maker()
    ring, n = make.ring(5), make.argument("n")
    key, i = make.key(), make.counter("i", 0, n)
    loop = make.loop(key, i, 0, n, make.load(ring, mod(i, 5)), make.store(ring, mod(i, 5)))
    verdict = analyse(make.program(loop))
    assert complaints(verdict) == [("slots-too-complex", key)]
    (error,) = verdict.errors
    assert error.message == "the ways in which 'r' can be used here are too many to follow"
    assert error.help is not None and "one counter (i % N)" in error.help
