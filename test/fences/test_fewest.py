"""No kernel of the corpus executes more set/wait pairs in a further trip than keep the order that its data ask for."""

from functools import cache

import pytest
from xdsl.dialects.func import FuncOp

from fences.corpus import CASES
from support.closure import closures
from support.fewest import fewest_pairs, working_pairs
from support.slot_builder import lowered
from support.trials import kernel_of

pytestmark = pytest.mark.campaign

IN_SOME_TRIPS = ("B38", "B41-3", "B41-5", "B71", "B103")
"""An inner loop starts again at slot 0 before its slots are through: the second slot comes back after the first has,
so the first tells of it. Its pair is needed in the middle of that loop, and cannot be left out in other trips alone."""
CLOSED = ("B52",)
"""What an inner loop has loaded ahead is closed in each trip of the outer one, though nobody reads it."""


@cache
def _kernel(name: str) -> FuncOp:
    return kernel_of(lowered(CASES[name].make())[0])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.lost])
def test_a_further_trip_has_as_few_pairs_as_can_be(name: str):
    for bound in ("n", "m", "rows"):
        few, many = (closures(_kernel(name), {"n": 3, "m": 3, "k": 3, "rows": 3, bound: trips}) for trips in (6, 12))
        executed = working_pairs(many.steps) - working_pairs(few.steps)
        fewest = fewest_pairs(many) - fewest_pairs(few)
        assert executed == fewest or (executed > fewest and name in IN_SOME_TRIPS + CLOSED)
