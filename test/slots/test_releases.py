"""Giving leases back: in any order, once, and not where they are still used."""

from pto_buf.slots.leases import analyse
from pto_buf.slots.terms import Fn
from support.lease_checks import accepted, complaints
from support.slot_programs import Maker, binary


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
