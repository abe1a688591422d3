"""Windows of global memory: which of them are apart whatever the arguments are."""

import pytest

from pto_buf.fences.windows import Array, Box, Boxes, Cells, View, Window
from pto_buf.slots.bounds import Interval
from pto_buf.slots.linear import Linear
from pto_buf.slots.simplify import apply
from pto_buf.slots.terms import Const, Fn, Opaque, Term, Var

N = Var(1, "n")
Y = Array(0, "y", "f32")


def _known(boxes: Boxes):
    def leaf(what: Var | Opaque) -> Linear:
        return boxes.leaf(what, Interval(what.low, what.high))

    return leaf


def _window(row: Term | int, rows: Term | int = 16, column: int = 0, width: int = 64, base: int = 0) -> Window:
    def term(value: Term | int) -> Term:
        return Const(value) if isinstance(value, int) else value

    view = View(Y, Const(base), (Const(4096), Const(width)), (Const(width), Const(1)), 4)
    return Window(view, True, True, (term(row), Const(column)), (term(rows), Const(32)))


def _box(boxes: Boxes, window: Window) -> Box:
    return boxes.box(window, _known(boxes))


def _times(term: Term, factor: int) -> Term:
    return apply(Fn.MUL, term, Const(factor))


def _plus(left: Term, right: Term | int) -> Term:
    return apply(Fn.ADD, left, Const(right) if isinstance(right, int) else right)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (_window(0), _window(16), True),
        (_window(0), _window(15), False),
        (_window(0, column=0), _window(0, column=32), True),
        (_window(0, column=0), _window(0, column=31), False),
        (_window(N), _window(_plus(N, 16)), True),
        (_window(N), _window(_plus(N, 8)), False),
        (_window(N), _window(0), False),
        (_window(_plus(N, 16)), _window(0), True),
        (_window(0, N), _window(N, N), True),
        (_window(_times(N, 2), N), _window(_times(N, 3), N), True),
        (_window(_times(N, 2), N), _window(_times(N, 3), _plus(N, 1)), True),
        (_window(_times(N, 2), _plus(N, 1)), _window(_times(N, 3), N), False),
        # Other views of the same array: by bytes, from the first to the last one.
        (_window(0, width=64), _window(7, width=128), False),
        (_window(0, width=64), _window(8, width=128), True),
        (_window(0), _window(0, base=16 * 64), True),
        (_window(0), _window(0, base=15 * 64), False),
    ],
)
def test_apart_in_every_run(one: Window, other: Window, apart: bool):
    boxes = Boxes()
    assert boxes.apart(_box(boxes, one), _box(boxes, other)) is apart
    assert boxes.apart(_box(boxes, other), _box(boxes, one)) is apart


def test_a_view_whose_rows_overlap_is_compared_by_bytes():
    boxes = Boxes()
    view = View(Y, Const(0), (Const(8), Const(64)), (Const(32), Const(1)), 4)
    narrow = Window(view, True, True, (Const(0), Const(0)), (Const(1),) * 2)
    assert not _box(boxes, narrow).frame.nested
    assert _box(boxes, _window(0)).frame.nested


def test_boxes_at_known_distances_share_a_cell_where_they_overlap():
    boxes = Boxes()
    cells = Cells(boxes)
    places = [
        cells.of(_box(boxes, window))
        for window in (_window(N), _window(_plus(N, 8)), _window(_plus(N, 64)), _window(0))
    ]
    (family, first), (second_family, second), (third_family, third), (other, _) = places
    assert family == second_family == third_family != other
    assert set(first) & set(second)
    assert not set(first) & set(third)


def test_a_box_of_unknown_size_is_in_no_cell_of_others():
    boxes = Boxes()
    cells = Cells(boxes)
    assert cells.of(_box(boxes, _window(0, N)))[0] != cells.of(_box(boxes, _window(0)))[0]
