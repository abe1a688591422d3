"""The plan of a function's sets: who lies where, who shares, and what is said when they do not fit."""

import itertools
import random
import sys
from collections.abc import Iterator, Sequence
from types import FrameType

import pytest

from pto_buf.errors import Diagnostic, DiagnosticError, Place
from pto_buf.hw import A2A3, A5, Space, Target
from pto_buf.memory.banks import SourcePair
from pto_buf.memory.footprint import slot_stride
from pto_buf.memory.plan import Plan, plan
from pto_buf.memory.tenant import Life, Tenant
from pto_buf.tile import canonical_tile

KIB = 1024


def at(line: int) -> Place:
    return Place("k.py", line, 5)


def tenant(
    key: int,
    name: str,
    count: int,
    space: Space,
    rows: int,
    cols: int,
    dtype: str,
    life: tuple[int, int] = (0, 100),
    *,
    owned: bool = False,
    addr: int | None = None,
    share: tuple[str, ...] = (),
    pipes: str = "",
) -> Tenant:
    tile = canonical_tile(space, rows, cols, dtype, A2A3)
    bounds = Life(life[0], life[1], at(life[0]), at(life[1]))
    return Tenant(key, name, count, tile, bounds, owned, addr, share, at(key + 1), frozenset(pipes.split()))


def vec(key: int, kib: int, life: tuple[int, int] = (0, 100), count: int = 1, **rest: object) -> Tenant:
    return tenant(key, f"t{key}", count, Space.VEC, kib, 256, "f32", life, **rest)  # pyright: ignore[reportArgumentType]


def apart(left: Tenant, right: Tenant, found: Plan, target: Target) -> bool:
    a, b = found.addresses[left.key], found.addresses[right.key]
    return a + left.size(target) <= b or b + right.size(target) <= a


def check(tenants: Sequence[Tenant], found: Plan, target: Target) -> None:
    assert sorted(found.addresses) == sorted(t.key for t in tenants)
    for one in tenants:
        space = one.tile.space
        assert found.addresses[one.key] % target.alignment[space] == 0
        assert 0 <= found.addresses[one.key] <= target.capacity[space] - one.size(target)
        assert one.addr in (None, found.addresses[one.key])
    for left, right in itertools.combinations(tenants, 2):
        if left.tile.space is right.tile.space and not apart(left, right, found, target):
            agreed = left.name in right.share or right.name in left.share
            assert (left.owned and right.owned) or agreed
            assert not left.life.meets(right.life)
    assert set(found.shared) == set(handed_over(tenants, found, target))
    assert len(set(found.shared)) == len(found.shared)


def handed_over(tenants: Sequence[Tenant], found: Plan, target: Target) -> Iterator[tuple[int, int]]:
    """Byte by byte, 32 at a time: who has it after whom."""
    holders: dict[tuple[Space, int], int] = {}
    for one in sorted(tenants, key=lambda one: (one.life.start, one.key)):
        start = found.addresses[one.key]
        for byte in range(start, start + one.size(target), 32):
            before = holders.get((one.tile.space, byte))
            if before is not None:
                yield before, one.key
            holders[one.tile.space, byte] = one.key


def failure(tenants: Sequence[Tenant], target: Target = A2A3) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        plan(tenants, target)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


# --- placing --------------------------------------------------------------------------------------------------------


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


# --- pinned addresses -----------------------------------------------------------------------------------------------


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


# --- overflow -------------------------------------------------------------------------------------------------------


def test_one_set_too_big():
    found = failure([tenant(0, "rights", 2, Space.RIGHT, 256, 256, "f16")])
    assert found.place == at(1)
    assert found.kind == "capacity-or-count"
    assert found.message == "'rights' does not fit in right (L0B): 256 KiB are needed at once, a2a3 has 64 KiB"
    assert [note.message for note in found.notes] == ["'rights' 2 x 256x256xf16 = 256 KiB, kept throughout"]
    assert found.help == "tile 128x128 would fit"


def test_fewer_slots_fit():
    found = failure([tenant(0, "left", 3, Space.LEFT, 128, 128, "bf16")])
    assert found.help == "2 slots instead of 3 fit; tile 64x128 would fit"


def test_two_sets_together_are_reported_at_the_second():
    found = failure([vec(0, 64, count=2), vec(1, 64, count=2)])
    assert found.place == at(2)
    assert "256 KiB are needed at once, a2a3 has 184 KiB" in found.message
    assert [note.place for note in found.notes] == [at(1), at(2)]
    assert found.help == "tile 64x64 would fit"


def test_a_set_beside_a_compiler_tile_is_reported_at_the_tile():
    tenants = [vec(0, 64, count=2), vec(1, 64, (7, 9), owned=True)]
    found = failure(tenants)
    assert found.place == at(2)
    assert "192 KiB are needed at once" in found.message
    assert [note.message for note in found.notes] == [
        "'t0' 2 x 64x256xf32 = 128 KiB, kept throughout",
        "'t1' 1 x 64x256xf32 = 64 KiB, live from line 7 to line 9",
    ]
    assert found.help == "tile 64x128 would fit"


def test_the_lever_may_lie_with_a_neighbour():
    tenants = [
        tenant(0, "big", 4, Space.LEFT, 128, 64, "bf16"),
        tenant(1, "tiny", 1, Space.LEFT, 16, 16, "bf16"),
    ]
    found = failure(tenants)
    assert found.place == at(2)
    assert found.help == "in 'big', 3 slots instead of 4 fit; tile 64x64 would fit"


def test_only_what_is_live_together_is_listed():
    tenants = [
        vec(0, 100, (0, 1), owned=True),
        vec(1, 100, (2, 4), owned=True),
        vec(2, 100, (3, 5), owned=True),
        vec(3, 100, (6, 7), owned=True),
    ]
    found = failure(tenants)
    assert found.place == at(3)
    assert [note.place for note in found.notes] == [at(2), at(3)]


def test_each_space_is_reported_once():
    with pytest.raises(DiagnosticError) as caught:
        plan([vec(0, 200), vec(1, 200), tenant(2, "left", 3, Space.LEFT, 128, 128, "bf16")], A2A3)
    assert [d.place for d in caught.value.diagnostics] == [at(1), at(3)]


def test_a_whole_accumulator_space_is_usable():
    assert plan([tenant(0, "c", 1, Space.ACC, 128, 256, "f32")], A2A3).used == {Space.ACC: 128 * KIB}


# --- bank groups ----------------------------------------------------------------------------------------------------


def difference(found: Plan, left: int, right: int) -> int:
    return (found.addresses[left] - found.addresses[right]) % 512


def test_sources_of_a_vector_op_lie_256_bytes_apart():
    tenants = [vec(0, 32, count=2), vec(1, 32, count=2), vec(2, 32, owned=True)]
    found = plan(tenants, A2A3, [SourcePair(0, 1, at(9))])
    check(tenants, found, A2A3)
    assert difference(found, 0, 1) == 256
    assert found.slow == ()
    assert found.padding == 256
    assert plan(tenants, A5, [SourcePair(0, 1, at(9))]).padding == 0


def test_room_that_a_pinned_set_leaves_is_no_padding():
    tenants = [vec(0, 8), vec(1, 8, addr=64 * KIB + 256), vec(2, 8)]
    found = plan(tenants, A2A3, [SourcePair(0, 1, at(9))])
    assert difference(found, 0, 1) == 256
    assert found.padding == 0


def test_the_preference_gives_way_to_capacity_and_its_cost_is_told():
    tenants = [vec(0, 46, count=2), vec(1, 46, count=2)]
    pair = SourcePair(0, 1, at(9))
    found = plan(tenants, A2A3, [pair])
    assert found.slow == (pair,)
    assert found.padding == 0


def test_the_preference_gives_way_to_privacy():
    tenants = [vec(0, 92, (0, 3), owned=True), vec(1, 92, (4, 5), owned=True)]
    found = plan(tenants, A2A3, [SourcePair(0, 1, at(9))])
    assert found.shared == ()


def test_a_triangle_of_sources_leaves_one_pair_aligned_alike():
    tenants = [vec(0, 8), vec(1, 8), vec(2, 8)]
    found = plan(tenants, A2A3, [SourcePair(0, 1, at(1)), SourcePair(1, 2, at(2)), SourcePair(0, 2, at(3))])
    assert len(found.slow) == 1


def test_a_chain_of_sources_alternates():
    tenants = [vec(key, 4) for key in range(6)]
    found = plan(tenants, A2A3, [SourcePair(key, key + 1, at(key)) for key in range(5)])
    check(tenants, found, A2A3)
    assert found.slow == ()


def test_a_chain_in_any_order_alternates():
    tenants = [vec(key, 4) for key in range(5)]
    pairs = [SourcePair(left, right, at(1)) for left, right in ((0, 3), (3, 4), (4, 1))]
    assert plan(tenants, A2A3, pairs).slow == ()


def test_sources_keep_clear_of_a_pinned_partner():
    tenants = [vec(0, 8, addr=32 * KIB + 32), vec(1, 8)]
    found = plan(tenants, A2A3, [SourcePair(0, 1, at(1))])
    assert difference(found, 1, 0) == 256


def test_short_rows_and_shifting_strides_are_left_alone():
    short = [tenant(0, "a", 1, Space.VEC, 16, 1, "f32"), tenant(1, "b", 1, Space.VEC, 16, 1, "f32")]
    assert plan(short, A2A3, [SourcePair(0, 1, at(1))]).paired == ()
    odd = [tenant(0, "a", 2, Space.VEC, 9, 8, "f32"), tenant(1, "b", 2, Space.VEC, 9, 8, "f32")]
    assert slot_stride(odd[0].tile, A2A3) % 512 != 0
    found = plan(odd, A2A3, [SourcePair(0, 1, at(1))])
    assert found.slow == ()


def test_two_slots_of_one_set_are_aligned_alike():
    pair = SourcePair(0, 0, at(4))
    assert plan([vec(0, 32, count=2)], A2A3, [pair]).slow == (pair,)
