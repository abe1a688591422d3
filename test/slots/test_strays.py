"""Windows that leave their array, and the trips that show it."""

import pytest

from pto_buf.fences.windows import Array, View, Window
from pto_buf.hw import Pipe
from pto_buf.slots.program import Block, Branch, Loop, Op, Program
from pto_buf.slots.strays import strays
from pto_buf.slots.terms import COUNT_LIMIT, Apply, Const, Fn, Term, Var

OUTER, INNER, N = Var(1, "i"), Var(2, "j"), Var(3, "n")
EIGHT, ROWS, EXTENT = Const(8), Const(16), Const(32)
OP = Op(9, "load", (Pipe.MTE2,), (), None)


def rem(term: Term, by: int) -> Term:
    return Apply(Fn.REMS, term, Const(by))


def times(term: Term, by: int) -> Term:
    return Apply(Fn.MUL, term, Const(by))


def plus(left: Term, right: Term) -> Term:
    return Apply(Fn.ADD, left, right)


def loop(body: Block, upper: Term, var: Var = OUTER, step: int = 1) -> Block:
    return (Loop(var.key, var, Const(0), upper, Const(step), body, 1, None),)


def found(body: Block, row: Term, rows: Term = ROWS, extent: Term = EXTENT) -> list[tuple[str, bool]]:
    view = View(Array(0, "w", "f32"), Const(0), (extent, EIGHT), (EIGHT, Const(1)), 4)
    window = Window(view, True, False, (row, Const(0)), (rows, EIGHT))
    return [(str(one), one.sure) for one in strays(Program("k", (), body), {OP.key: (window,)})]


LEAVES = "the window [32, 48) of dimension 0 leaves 'w' of extent 32"


@pytest.mark.parametrize(
    ("row", "upper", "expected"),
    [
        (rem(OUTER, 2), N, []),
        (times(rem(OUTER, 2), 16), N, []),
        (times(rem(OUTER, 3), 16), N, [(f"{LEAVES} where i = 2", False)]),
        (times(rem(OUTER, 3), 16), Const(3), [(f"{LEAVES} where i = 2", True)]),
        (times(rem(OUTER, 3), 16), Const(2), []),
        (times(OUTER, 16), Const(3), [(f"{LEAVES} where i = 2", True)]),
        (times(OUTER, 16), N, []),
        (OUTER, N, []),
        (Apply(Fn.DIVS, OUTER, Const(64)), N, []),
        (plus(times(Apply(Fn.DIVS, OUTER, Const(2)), 16), times(rem(OUTER, 2), 16)), Const(3), []),
        (
            times(rem(plus(OUTER, Const(-1)), 2), 16),
            N,
            [(LEAVES.replace("[32, 48)", "[-16, 0)") + " where i = 0", False)],
        ),
    ],
)
def test_rows_of_a_loop(row: Term, upper: Term, expected: list[tuple[str, bool]]):
    assert found(loop((OP,), upper), row) == expected


def test_loops_in_each_other_are_tried_together():
    body = loop(loop((OP,), Const(2), INNER), Const(2))
    assert found(body, plus(times(OUTER, 16), times(INNER, 16))) == [(f"{LEAVES} where i = 1, j = 1", True)]


def test_a_loop_that_has_no_trips_leaves_nothing_for_sure():
    assert found(loop(loop((OP,), Const(0), INNER), Const(3)), times(OUTER, 16)) == [(f"{LEAVES} where i = 2", False)]


def test_what_a_condition_lets_through_is_not_known():
    branch = Branch(5, Apply(Fn.SLT, OUTER, Const(2)), (OP,), (), None)
    assert found(loop((branch,), Const(3)), times(OUTER, 16)) == []


def test_extents_that_are_not_known_are_left_alone():
    assert found((OP,), Const(32), extent=N) == []
    assert found((OP,), Const(32), rows=Var(4, "rows", 0, COUNT_LIMIT)) == []
    assert found((OP,), Const(32)) == [(LEAVES, True)]
