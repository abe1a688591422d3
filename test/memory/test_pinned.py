"""Addresses that the user gives: honoured, and checked."""

import pytest

from pto_buf.hw import A2A3, Space
from pto_buf.memory.plan import plan
from pto_buf.memory.tenant import Tenant
from support.tenants import KIB, at, check, failure, tenant, vec


def test_a_pinned_address_is_honoured_and_others_go_around_it():
    tenants = [vec(0, 16), vec(1, 8, addr=8 * KIB), vec(2, 8, owned=True)]
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)
    assert found.addresses == {0: 16 * KIB, 1: 8 * KIB, 2: 0}


def test_a_finished_plan_is_accepted_again():
    tenants = [vec(0, 64, count=2), vec(1, 40, (0, 4), owned=True), vec(2, 40, (5, 9), owned=True)]
    found = plan(tenants, A2A3)
    again = [
        Tenant(t.key, t.name, t.count, t.tile, t.life, t.owned, found.addresses[t.key], t.share, t.place)
        for t in tenants
    ]
    assert plan(again, A2A3) == found


def test_small_pieces_between_pinned_sets_are_searched_exactly():
    # two gaps of 20 KiB: largest first puts 9 and 8 together, but only 9 + 6 + 5 and 8 + 7 + 5 fill them
    tenants = [
        vec(0, 72, addr=20 * KIB),
        vec(1, 72, addr=112 * KIB),
        *(vec(key, size) for key, size in enumerate((9, 8, 7, 6, 5, 5), 2)),
    ]
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)


@pytest.mark.parametrize(
    ("addr", "words", "help"),
    [
        (40, "'t0' is pinned to address 40; in vec (UB) a slot starts at a multiple of 32", "pin it to 32 or 64"),
        (-32, "'t0' is pinned to address -32; in vec (UB) a slot starts at a multiple of 32", "pin it to 0"),
        (
            180 * KIB,
            "'t0' 1 x 8x256xf32 = 8 KiB pinned to address 184320 ends at 192512, "
            "beyond the 184 KiB of vec (UB) on a2a3",
            "pin it to 180224 or below",
        ),
    ],
)
def test_a_pinned_address_is_checked(addr: int, words: str, help: str):
    found = failure([vec(0, 8, addr=addr)])
    assert (found.message, found.help, found.kind, found.place) == (words, help, "pinned-address", at(1))


def test_a_pinned_set_larger_than_its_space_is_an_overflow():
    assert failure([vec(0, 200, addr=0)]).kind == "capacity-or-count"


def test_a_cube_slot_is_pinned_to_whole_fractals():
    found = failure([tenant(0, "r", 2, Space.RIGHT, 16, 16, "bf16", addr=256)])
    assert "in right (L0B) a slot starts at a multiple of 512" in found.message


def test_pinned_sets_that_overlap_are_refused():
    found = failure([vec(0, 24, count=2, addr=0, life=(0, 3)), vec(1, 16, count=2, addr=32 * KIB, life=(5, 6))])
    assert found.message == ("'t1' pinned to [32768, 65536) overlaps 't0' at [0, 49152), and the two do not share")
    assert found.place == at(2)
    assert found.notes[0].place == at(1)
    assert found.help == "pin one of them elsewhere, or let 't1' share with 't0': their lives are apart"


def test_pinned_sets_may_overlap_on_request_while_their_lives_are_apart():
    tenants = [vec(0, 24, (0, 3), addr=0), vec(1, 16, (4, 6), addr=0, share=("t0",))]
    assert plan(tenants, A2A3).shared == ((0, 1),)
    meeting = [vec(0, 24, (0, 4), addr=0), vec(1, 16, (4, 6), addr=0, share=("t0",))]
    found = failure(meeting)
    assert found.message.endswith("and the two are both needed at once")
