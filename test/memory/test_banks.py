"""The two sources of a vector op lie half a window apart where there is room."""

from pto_buf.hw import A2A3, A5, Space
from pto_buf.memory.banks import SourcePair
from pto_buf.memory.footprint import slot_stride
from pto_buf.memory.plan import Plan, plan
from support.tenants import KIB, at, check, tenant, vec


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
