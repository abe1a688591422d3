"""What is said of sets that do not fit: who is there, for how long, and what would help."""

import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.hw import A2A3, Space
from pto_buf.memory.plan import plan
from support.tenants import KIB, at, failure, tenant, vec


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
    assert found.help == "in 't0', 1 slot instead of 2 fits; tiles of 64x128 instead of 64x256 would fit"


def test_bytes_that_the_library_keeps_are_told():
    assert failure([vec(0, 185)]).message.endswith("a2a3 has 184 KiB, besides 8 KiB that the library keeps")
    assert failure([tenant(0, "l", 3, Space.LEFT, 128, 128, "bf16")]).message.endswith("a2a3 has 64 KiB")


def test_a_tile_of_the_compiler_changes_with_those_that_it_is_made_of():
    tiles = [tenant(key, f"t{key}", 1, Space.VEC, 128, 64, "f32", (key, 9), owned=True) for key in range(7)]
    found = failure([*tiles, vec(7, 8)])
    assert found.place == at(6)
    assert found.help == "tiles of 64x64 instead of 128x64 would fit"


@pytest.mark.parametrize(
    ("space", "shape", "dtype", "words"),
    [
        (Space.ACC, (16, 512), "i32", "= 192 KiB (64 KiB a slot: the cube writes 32 rows at once), kept throughout"),
        (Space.LEFT, (16, 400), "i8", "= 19,968 B (6,656 B a slot: the space holds whole boxes), kept throughout"),
        (Space.BIAS, (1, 200), "f32", "= 2,464 B (832 B a slot: slots start at multiples of 64), kept throughout"),
    ],
)
def test_a_slot_larger_than_its_shape_says_why(space: Space, shape: tuple[int, int], dtype: str, words: str):
    large = [tenant(0, "large", 3, space, *shape, dtype), tenant(1, "more", 3, space, *shape, dtype)]
    assert failure([*large, tenant(2, "rest", 16, space, *shape, dtype)]).notes[0].message.endswith(words)


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
