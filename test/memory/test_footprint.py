"""Bytes of one slot, and the distance of slots."""

import pytest

from pto_buf.hw import A2A3, A5, Space, Target
from pto_buf.memory.footprint import set_bytes, slot_bytes, slot_stride
from pto_buf.tile import BLayout, SLayout, TileSpec, canonical_tile


def tile(space: Space, rows: int, cols: int, dtype: str, target: Target = A2A3) -> TileSpec:
    return canonical_tile(space, rows, cols, dtype, target)


@pytest.mark.parametrize(
    ("space", "rows", "cols", "dtype", "size"),
    [
        (Space.MAT, 128, 512, "bf16", 128 << 10),
        (Space.LEFT, 16, 128, "bf16", 4 << 10),
        (Space.RIGHT, 128, 128, "bf16", 32 << 10),
        (Space.ACC, 16, 128, "f32", 8 << 10),
        (Space.VEC, 64, 128, "f32", 32 << 10),
        (Space.VEC, 16, 1, "f32", 64),
        (Space.BIAS, 1, 64, "f32", 256),
        (Space.MAT, 1, 64, "f32", 256),
        (Space.VEC, 3, 8, "f32", 96),
    ],
)
def test_whole_tiles_have_no_padding(space: Space, rows: int, cols: int, dtype: str, size: int):
    for target in (A2A3, A5):
        assert slot_bytes(tile(space, rows, cols, dtype, target), target) == size


def test_the_cube_writes_accumulator_rows_in_blocks():
    assert slot_bytes(tile(Space.ACC, 8, 128, "f32"), A2A3) == 16 * 128 * 4
    assert slot_bytes(tile(Space.ACC, 17, 128, "f32"), A2A3) == 32 * 128 * 4
    assert slot_bytes(tile(Space.ACC, 16, 128, "i32"), A2A3) == 32 * 128 * 4
    assert slot_bytes(tile(Space.ACC, 16, 128, "i32"), A5) == 16 * 128 * 4
    assert slot_bytes(tile(Space.ACC, 16, 8, "f32"), A2A3) == 16 * 16 * 4


def test_matrix_spaces_hold_whole_boxes_and_a_single_row_whole_fractals():
    assert slot_bytes(tile(Space.LEFT, 8, 128, "bf16"), A2A3) == 16 * 128 * 2
    assert slot_bytes(tile(Space.LEFT, 1, 128, "bf16"), A2A3) == 512
    assert slot_bytes(tile(Space.LEFT, 1, 257, "bf16"), A2A3) == 1024
    assert slot_bytes(tile(Space.RIGHT, 100, 24, "i8"), A2A3) == 128 * 32


def test_boxes_in_ub_need_not_be_full():
    boxed = TileSpec(Space.VEC, 17, 16, "bf16", 17, 16, BLayout.COL_MAJOR, SLayout.ROW_MAJOR)
    assert slot_bytes(boxed, A2A3) == 17 * 16 * 2


def test_row_plus_one_keeps_a_block_behind_each_line():
    padded = TileSpec(Space.VEC, 4, 64, "f32", 4, 64, compact=2)
    assert slot_bytes(padded, A2A3) == 4 * (256 + 32)


def test_valid_extent_does_not_shrink_a_slot():
    assert slot_bytes(tile(Space.VEC, 32, 128, "f32").with_valid(None, 100), A2A3) == 32 * 128 * 4


@pytest.mark.parametrize(
    ("space", "rows", "cols", "dtype", "stride"),
    [
        (Space.LEFT, 1, 8, "f32", 512),
        (Space.ACC, 16, 16, "f32", 1024),
        (Space.BIAS, 1, 8, "f32", 64),
        (Space.SCALING, 1, 8, "i64", 128),
        (Space.VEC, 1, 8, "f32", 32),
        (Space.MAT, 1, 8, "f32", 32),
    ],
)
def test_slots_start_at_the_alignment_of_their_space(space: Space, rows: int, cols: int, dtype: str, stride: int):
    assert slot_stride(tile(space, rows, cols, dtype), A2A3) == stride


def test_the_last_slot_of_a_set_ends_with_its_bytes():
    assert set_bytes(3, tile(Space.BIAS, 1, 8, "f32"), A2A3) == 64 + 64 + 32
    assert set_bytes(16, tile(Space.VEC, 64, 128, "f32"), A2A3) == 16 * (32 << 10)
