"""The plan of a function's sets: who lies where, and who shares."""

import itertools
import random
import sys
from collections.abc import Sequence
from types import FrameType

import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.hw import A2A3, A5, Space
from pto_buf.memory.banks import SourcePair
from pto_buf.memory.plan import plan
from pto_buf.memory.tenant import Tenant
from support.tenants import KIB, at, check, failure, tenant, vec


def test_sets_of_the_issue_lie_side_by_side():
    tenants = [
        tenant(0, "wide", 2, Space.MAT, 128, 512, "bf16"),
        tenant(1, "thin", 2, Space.RIGHT, 128, 128, "bf16"),
        tenant(2, "sums", 2, Space.ACC, 16, 128, "f32"),
        tenant(3, "q1", 1, Space.MAT, 16, 128, "bf16", (1, 2), owned=True),
        tenant(4, "q0", 1, Space.LEFT, 16, 128, "bf16", (2, 99), owned=True),
    ]
    found = plan(tenants, A2A3)
    assert found.addresses == {0: 0, 3: 256 * KIB, 1: 0, 2: 0, 4: 0}
    assert found.shared == ()
    assert found.used == {
        Space.MAT: 260 * KIB, Space.RIGHT: 64 * KIB, Space.ACC: 16 * KIB, Space.LEFT: 4 * KIB
    }  # fmt: skip


def test_compiler_tiles_do_not_share_while_there_is_room():
    found = plan([vec(0, 32, (0, 1), owned=True), vec(1, 32, (5, 6), owned=True)], A2A3)
    assert found.addresses == {0: 0, 1: 32 * KIB}


def test_compiler_tiles_share_when_the_space_would_overflow():
    tenants = [vec(0, 64, count=2), vec(1, 40, (0, 4), owned=True), vec(2, 40, (5, 9), owned=True)]
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)
    assert found.shared == ((1, 2),)


def test_one_reuse_is_not_the_end_of_all_privacy():
    tenants = [vec(key, 30, (key * 2, key * 2 + 1), owned=True) for key in range(8)]
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)
    # six fit beside each other; the seventh takes over what was left longest ago
    assert found.shared == ((0, 6), (1, 7))


def test_a_place_is_taken_over_whole():
    tenants = [
        vec(0, 64, count=2),
        vec(1, 20, (0, 2), owned=True),
        vec(2, 30, (1, 3), owned=True),
        vec(3, 30, (4, 6), owned=True),
        vec(4, 20, (5, 6), owned=True),
    ]
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)
    assert sorted(found.shared) == [(1, 4), (2, 3)]


def test_a_place_is_taken_over_on_the_pipes_that_it_was_left_by():
    tenants = [
        vec(0, 60, (0, 2), owned=True, pipes="MTE2 V"),
        vec(1, 60, (1, 3), owned=True, pipes="V"),
        vec(2, 60, (2, 4), owned=True, pipes="V MTE3"),
        vec(3, 60, (5, 6), owned=True, pipes="V"),
        vec(4, 60, (5, 7), owned=True, pipes="V MTE3"),
        vec(5, 60, (5, 7), owned=True, pipes="MTE2 V"),
    ]
    assert sorted(plan(tenants, A2A3).shared) == [(0, 5), (1, 3), (2, 4)]


def test_lives_that_touch_at_one_op_do_not_share():
    tenants = [vec(0, 120, (0, 5), owned=True), vec(1, 120, (5, 9), owned=True)]
    assert "does not fit" in failure(tenants).message


def test_named_sets_keep_their_bytes_whatever_their_lives():
    assert "does not fit" in failure([vec(0, 100, (0, 1)), vec(1, 100, (5, 6))]).message


def test_named_sets_share_on_request():
    tenants = [vec(0, 100, (0, 1)), vec(1, 100, (5, 6), share=("t0",)), vec(2, 64)]
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)
    assert found.shared == ((0, 1),)


def test_a_request_to_share_is_not_used_while_there_is_room():
    assert plan([vec(0, 50, (0, 1)), vec(1, 50, (5, 6), share=("t0",))], A2A3).shared == ()


def test_a_request_to_share_does_not_make_live_sets_overlap():
    assert "does not fit" in failure([vec(0, 100, (0, 5)), vec(1, 100, (5, 6), share=("t0",))]).message


def test_a_request_to_share_names_another_set_of_the_users_in_the_same_space():
    left = tenant(1, "left", 1, Space.LEFT, 16, 16, "bf16")
    unknown = failure([vec(0, 8, share=("t7",)), left])
    assert (unknown.message, unknown.place) == (
        "'t0' wants to share with 't7', but there is no slot set of that name",
        at(1),
    )
    assert failure([vec(0, 8, share=("t0",))]).message == "'t0' wants to share with itself"
    other = failure([vec(0, 8, share=("left",)), left])
    assert other.message == "'t0' wants to share with 'left', but one is in vec, the other in left"
    assert other.notes[0].place == at(2)
    owned = failure([vec(0, 8, share=("t1",)), vec(1, 8, owned=True)])
    assert owned.kind == "slot-set"


def test_a_request_to_share_is_between_two_sets_only():
    tenants = [vec(0, 60, (0, 1)), vec(1, 60, (2, 3), share=("t0",)), vec(2, 60, (4, 5), share=("t1",)), vec(3, 30)]
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)
    assert (0, 2) not in found.shared


def test_compiler_tiles_do_not_lie_on_named_sets_that_share():
    tenants = [vec(0, 90, (0, 1)), vec(1, 90, (5, 6), share=("t0",)), vec(2, 80, (8, 9), owned=True)]
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)


def test_named_and_compiler_sets_share_together_when_both_must():
    tenants = [
        vec(0, 90, (0, 1)),
        vec(1, 90, (5, 6), share=("t0",)),
        vec(2, 80, (1, 2), owned=True),
        vec(3, 80, (8, 9), owned=True),
    ]
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)
    assert sorted(found.shared) == [(0, 1), (2, 3)]


def test_slots_of_a_set_never_land_apart():
    # two gaps of 92 KiB beside the pinned set hold one slot each, but a set is placed whole
    tenants = [vec(0, 8, addr=88 * KIB), vec(1, 60, count=2)]
    text = failure(tenants)
    assert "no gap of 120 KiB is left" in text.message


def test_a5_has_more_ub():
    tenants = [vec(0, 120, count=2)]
    assert plan(tenants, A5).addresses == {0: 0}
    assert "184 KiB" in failure(tenants).message


def test_random_plans_are_sound():
    fits = 0
    for seed in range(400):
        rng = random.Random(seed)
        target = rng.choice((A2A3, A5))
        tenants: list[Tenant] = []
        for key in range(rng.randint(1, 9)):
            start = rng.randint(0, 20)
            share = tuple(f"t{rng.randrange(key)}" for _ in range(rng.choice((0, 0, 1, 2))) if key)
            addr = rng.randint(0, 100) * KIB if rng.random() < 0.1 else None
            owned = rng.random() < 0.6
            life = (start, start + rng.randint(0, 8))
            size, count = rng.choice((1, 3, 8, 17, 30, 60)), rng.choice((1, 1, 2, 3))
            tenants.append(
                vec(key, size, life, count, owned=owned, addr=None if owned else addr, share=() if owned else share)
            )
        pairs = [SourcePair(rng.randrange(len(tenants)), rng.randrange(len(tenants)), at(1)) for _ in range(3)]
        try:
            found = plan(tenants, target, pairs)
        except DiagnosticError:
            continue
        fits += 1
        check(tenants, found, target)
    assert 150 < fits < 390


@pytest.mark.parametrize("seed", range(40))
def test_random_lives_pack_as_tightly_as_any_order_of_first_fit(seed: int):
    """The best of first fit over all orders fits exactly into what is left of UB: so must the plan."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 60) for _ in range(5)]
    lives = [(start, start + rng.randint(0, 5)) for start in (rng.randint(0, 8) for _ in sizes)]
    best = min(_first_fit(order, sizes, lives) for order in itertools.permutations(range(5)))
    if best > 184:
        return
    tenants = [vec(key, size, life, owned=True) for key, (size, life) in enumerate(zip(sizes, lives, strict=True))]
    if best < 184:
        tenants.append(vec(9, 184 - best))
    found = plan(tenants, A2A3)
    check(tenants, found, A2A3)


def _first_fit(order: Sequence[int], sizes: Sequence[int], lives: Sequence[tuple[int, int]]) -> int:
    placed: dict[int, int] = {}
    for one in order:
        address = 0
        meeting = [k for k in placed if lives[k][0] <= lives[one][1] and lives[one][0] <= lives[k][1]]
        for other in sorted(meeting, key=lambda k: placed[k]):
            if address + sizes[one] <= placed[other]:
                break
            address = max(address, placed[other] + sizes[other])
        placed[one] = address
    return max(placed[k] + sizes[k] for k in placed)


def test_twelve_thousand_tiles_take_linear_work():
    def calls(count: int) -> int:
        """How many calls planning so many tiles takes: the same on every machine."""
        tenants = [vec(key, 1, (key, key + 20), owned=True) for key in range(count)]
        made = 0

        def seen(frame: FrameType, event: str, arg: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(seen)
        try:
            found = plan(tenants, A2A3)
        finally:
            sys.setprofile(None)
        assert len(found.addresses) == count
        return made

    small, large = calls(3000), calls(12000)
    assert large < 5 * small, (small, large)
