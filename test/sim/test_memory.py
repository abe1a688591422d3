"""Bytes and layouts of on-chip memory and of windows of global memory."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pto_buf.hw import A2A3, A5, Space
from pto_buf.machine.layout import regions_of
from pto_buf.machine.steps import GlobalRegion, Region, TileRef
from pto_buf.sim.memory import BoundsError, Global, OnChip
from pto_buf.tile import BLayout, SLayout, TileSpec, canonical_tile


def ref(tile: TileSpec, address: int = 0) -> TileRef:
    return TileRef(tile, address, 0, 0, tile.rows, tile.cols, tile.v_rows or 0, tile.v_cols or 0)


def tile(space: Space, rows: int, cols: int, dtype: str = "f16") -> TileSpec:
    return canonical_tile(space, rows, cols, dtype, A2A3)


def test_fresh_memory_is_nan_in_every_float_type() -> None:
    memory = OnChip(A5)
    for dtype in ("f16", "bf16", "f32", "f8E4M3FN", "f8E5M2"):
        assert np.isnan(memory.read(ref(tile(Space.VEC, 16, 32, dtype))).astype(np.float32)).all()


@pytest.mark.parametrize("space", [Space.MAT, Space.LEFT, Space.RIGHT, Space.ACC, Space.VEC])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i8"])
def test_every_layout_gives_back_what_was_written(space: Space, dtype: str) -> None:
    memory = OnChip(A2A3)
    where = ref(tile(space, 32, 64, dtype), 1024)
    values = np.arange(32 * 64).reshape(32, 64) % 120
    memory.write(where, values.astype(memory.read(where).dtype))
    assert np.array_equal(memory.read(where).astype(np.float32), values)


def test_boxes_lie_in_column_order_in_l1_and_in_row_order_in_l0a() -> None:
    """Element order that the matrix unit's spaces define: 16 rows of 32 bytes make a box."""
    memory = OnChip(A2A3)
    values = np.arange(32 * 32).reshape(32, 32).astype(np.float16)
    flat = TileSpec(Space.MAT, 1, 1024, "f16", 1, 1024)
    memory.write(ref(tile(Space.MAT, 32, 32)), values)
    boxes = memory.read(ref(flat))[0].reshape(4, 16, 16)
    expected = [values[:16, :16], values[16:, :16], values[:16, 16:], values[16:, 16:]]
    assert np.array_equal(boxes, np.stack(expected))
    memory.write(ref(tile(Space.LEFT, 32, 32)), values)
    boxes = memory.read(ref(replace(flat, space=Space.LEFT)))[0].reshape(4, 16, 16)
    assert np.array_equal(boxes, np.stack([expected[0], expected[2], expected[1], expected[3]]))
    memory.write(ref(tile(Space.RIGHT, 32, 32)), values)
    boxes = memory.read(ref(replace(flat, space=Space.RIGHT)))[0].reshape(4, 16, 16)
    assert np.array_equal(boxes, np.stack([box.T for box in (expected[0], expected[2], expected[1], expected[3])]))


def test_tiles_that_overlap_clobber_each_other() -> None:
    memory = OnChip(A2A3)
    first, second = ref(tile(Space.VEC, 16, 16, "f32")), ref(tile(Space.VEC, 16, 16, "f32"), 512)
    memory.write(first, np.ones((16, 16), np.float32))
    memory.write(second, np.full((16, 16), 2, np.float32))
    assert np.array_equal(memory.read(first)[:8], np.ones((8, 16)))
    assert np.array_equal(memory.read(first)[8:], np.full((8, 16), 2))


def test_another_geometry_does_not_see_the_values_in_place() -> None:
    memory = OnChip(A2A3)
    values = np.arange(32 * 64).reshape(32, 64).astype(np.float16)
    memory.write(ref(tile(Space.MAT, 32, 64)), values)
    assert not np.array_equal(memory.read(ref(tile(Space.MAT, 64, 32))).reshape(32, 64), values)


def test_only_the_valid_extent_is_written() -> None:
    memory = OnChip(A2A3)
    for space in (Space.VEC, Space.MAT):
        whole = ref(tile(space, 32, 32, "f32"))
        part = replace(whole, v_rows=5, v_cols=17)
        memory.write(whole, np.zeros((32, 32), np.float32))
        memory.write(part, np.ones((5, 17), np.float32))
        assert memory.read(whole).sum() == 5 * 17
        assert np.array_equal(memory.read(part), np.ones((5, 17)))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_window_reads_what_the_tile_holds_there_and_its_regions_are_its_bytes(data: st.DataObject) -> None:
    space = data.draw(st.sampled_from([Space.VEC, Space.MAT, Space.LEFT, Space.RIGHT, Space.ACC]))
    base = tile(space, 32, 64, "f32" if space is Space.ACC else "f16")
    if space is Space.VEC and data.draw(st.booleans()):
        base = replace(base, blayout=BLayout.COL_MAJOR)
    row, col = data.draw(st.integers(0, 31)), data.draw(st.integers(0, 63))
    rows, cols = data.draw(st.integers(1, 32 - row)), data.draw(st.integers(1, 64 - col))
    window = TileRef(base, 2048, row, col, rows, cols, rows, cols)
    memory = OnChip(A2A3)
    whole = ref(base, 2048)
    values = np.arange(32 * 64).reshape(32, 64).astype(memory.read(whole).dtype)
    memory.write(whole, values)
    assert np.array_equal(memory.read(window), values[row : row + rows, col : col + cols])
    memory.write(window, np.zeros((rows, cols), values.dtype))
    flat = TileSpec(space, 1, 32 * 64, base.dtype, 1, 32 * 64)
    written = np.flatnonzero((memory.read(ref(flat, 2048)) == 0)[0]) * values.itemsize + 2048
    regions = regions_of(window)
    inside = {byte for region in regions for byte in range(region.start, region.end)}
    zero_before = 2048  # element 0 holds 0 already
    assert set(written.tolist()) - {zero_before} <= inside
    if len(inside) == rows * cols * values.itemsize:
        assert inside - {zero_before + i for i in range(values.itemsize)} <= {
            int(byte) + i for byte in written for i in range(values.itemsize)
        }
    else:
        assert base.boxed
        assert inside == set(range(2048, 2048 + base.footprint))


def test_regions_of_aligned_windows_are_exact() -> None:
    base = tile(Space.MAT, 64, 64)
    assert regions_of(ref(base, 512)) == (Region(Space.MAT, 512, 512 + 8192),)
    columns = TileRef(base, 0, 0, 16, 64, 32, 64, 32)
    assert regions_of(columns) == (Region(Space.MAT, 2048, 6144),)
    rows = TileRef(base, 0, 16, 0, 32, 64, 32, 64)
    assert [(region.start, region.end) for region in regions_of(rows)] == [
        (512 + 2048 * column, 1536 + 2048 * column) for column in range(4)
    ]
    plain = tile(Space.VEC, 16, 64, "f32")
    assert regions_of(TileRef(plain, 0, 4, 0, 8, 64, 8, 64)) == (Region(Space.VEC, 1024, 3072),)
    assert len(regions_of(TileRef(plain, 0, 0, 8, 16, 8, 16, 8))) == 16


def test_scale_tiles_have_boxes_of_16_by_2() -> None:
    memory = OnChip(A5)
    scales = TileSpec(Space.SCALING, 16, 4, "i8", 16, 4, BLayout.ROW_MAJOR, SLayout.ROW_MAJOR, fractal=32)
    values = np.arange(64).reshape(16, 4).astype(np.int8)
    memory.write(ref(scales), values)
    flat = memory.read(ref(TileSpec(Space.SCALING, 1, 64, "i8", 1, 64)))[0]
    assert np.array_equal(flat[:32].reshape(16, 2), values[:, :2])


def test_a_window_of_global_memory_folds_its_leading_extents() -> None:
    array = np.arange(2 * 3 * 4).reshape(2, 3, 4).astype(ml_dtypes.bfloat16)
    memory = Global({3: array}, {3: "x"})
    region = GlobalRegion(3, 1, (2, 3, 2), (12, 4, 1), "bf16")
    assert np.array_equal(memory.read(region), array[:, :, 1:3].reshape(6, 2))
    memory.write(region, np.zeros((6, 2), ml_dtypes.bfloat16))
    assert not memory.arrays[3][:, :, 1:3].any()
    assert array[0, 0, 1] == 1


def test_a_transposed_window_follows_its_strides() -> None:
    array = np.arange(12).reshape(3, 4).astype(np.float32)
    region = GlobalRegion(0, 0, (4, 3), (1, 4), "f32")
    assert np.array_equal(Global({0: array}, {0: "x"}).read(region), array.T)


@pytest.mark.parametrize(("offset", "extents"), [(-1, (1, 1)), (8, (2, 4)), (12, (1, 1))])
def test_a_window_outside_its_array_is_an_error(offset: int, extents: tuple[int, int]) -> None:
    memory = Global({0: np.zeros((3, 4), np.float32)}, {0: "x"})
    with pytest.raises(BoundsError, match="of 'x', which has 12 elements"):
        memory.read(GlobalRegion(0, offset, extents, (4, 1), "f32"))


def test_an_empty_window_touches_nothing() -> None:
    memory = Global({0: np.zeros(0, np.float32)}, {0: "x"})
    region = GlobalRegion(0, 400, (0, 8), (8, 1), "f32")
    assert memory.read(region).shape == (0, 8)
    memory.write(region, np.zeros((0, 8), np.float32))
