"""The scratch that a use wants has the extents of what it works on."""

import pytest

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.dialect.table.row import Use
from pto_buf.hw import A2A3, Space
from pto_buf.tile import canonical_tile


@pytest.mark.parametrize(
    ("rows", "cols", "packed"), [(0, 0, (0, 0)), (0, 64, (0, 8)), (5, 9, (5, 2)), (16, 64, (16, 8))]
)
def test_a_mask_covers_what_is_valid(rows: int, cols: int, packed: tuple[int, int]):
    row = rows_by_dsl()["prelu"]
    assert row.scratch is not None
    tile = canonical_tile(Space.VEC, 16, 64, "f32", A2A3).with_valid(rows, cols)
    operands = {"lhs": tile, "rhs": tile, "dst": tile}
    scratch = row.scratch(Use(row, operands, {}, A2A3))
    assert scratch is not None
    assert scratch.valid == packed
    row.form(Use(row, {**operands, "tmp": scratch}, {}, A2A3))  # its own rules take it


def test_a_copy_of_a_tile_for_nothing_is_valid_nowhere():
    row = rows_by_dsl()["row_max"]
    assert row.scratch is not None
    src = canonical_tile(Space.VEC, 16, 64, "f32", A2A3).with_valid(0, 0)
    scratch = row.scratch(Use(row, {"src": src, "dst": canonical_tile(Space.VEC, 16, 8, "f32", A2A3)}, {}, A2A3))
    assert scratch is not None
    assert (scratch.shape, scratch.valid) == ((16, 64), (0, 0))
