"""How many set/wait pairs and barriers one further trip executes: as few as the order that the data ask for allows.

The figures are counted by hand. A lease costs a pair for each pipe that takes it over, the last one back to the first.
Of two pairs one goes where the other implies it: tiles that are read together need one READY, that of the last load.
`theirs` is what the assembler's own insertion executes, None where its output races or holds back what need not wait.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from xdsl.dialects.func import FuncOp

from fences.corpus import CASES
from pto_buf.check.reading.build import build
from pto_buf.check.runs.concrete import Choice, open_arguments, steps_of
from pto_buf.check.runs.steps import Fence, Step, Wait
from pto_buf.hw import Pipe
from support.slot_builder import lowered
from support.slot_text import SlotText
from support.trials import kernel_of


@dataclass(frozen=True)
class Count:
    """What a trip of the loop that runs to `bound` executes."""

    pairs: int
    barriers: int
    theirs: int | None
    bound: str = "n"


COUNTS: Mapping[str, Count] = {
    # load, store
    "B34": Count(2, 0, 2),
    "B25-8": Count(2, 0, 2),
    "B76": Count(2, 0, 3),
    # load, update, store: in one slot, so that the store tells the load of the update
    "B23": Count(3, 1, None),
    "B14": Count(3, 0, 4),
    # load, then add to a sum: V's own sum needs a barrier, which the assembler leaves out
    "B29": Count(2, 1, 2),
    "B70": Count(2, 1, 2),
    "B07": Count(2, 1, 2, bound="rows"),
    # the same in one slot: that it comes back says that the sum before is done, of the first sum, too
    "B16": Count(2, 0, 2),
    # the same, filled at the end of a trip for the next one: only the first sum needs a barrier, before the loop
    "B46": Count(2, 0, 2),
    # five tiles of a trip, each added to the sum
    "B26": Count(10, 5, 15),
    # two tiles of a trip, in slots of their own
    "B104": Count(4, 2, 6),
    # two tiles that are read together share a READY. A FREE is not shared: one tile is read later than the other, and
    # is loaded first. The assembler makes both loads wait for the later read, and so has one pair less.
    "B31": Count(3, 1, None),
    # two tiles a trip ahead, read together: one READY and one FREE, the tiles that no trip reads are closed together
    "B53": Count(4, 0, None),
    # to L0 and to the product, and from there to the store
    "B100": Count(2, 0, 2),
    "B04": Count(2, 1, 3),
    "B02": Count(4, 0, 4),
    # an operand in one slot: that it comes back says that the product before is done
    "B47": Count(4, 0, None),
    "B50": Count(2, 0, None),
    # product, to L1, to L0, product, store: one pair for each step, and L0A and L0C given back behind the last one
    "B59": Count(7, 0, 7),
}


def both_slots() -> SlotText:
    """V fills both slots of a set and copies them to another: one barrier before each half, none between two slots."""
    kernel = SlotText(P=2, Q=2)
    slots = ("[i % 2]", "[(i + 1) % 2]")
    with kernel.loop("i", 0, "n"):
        for slot in slots:
            kernel.fill(f"P{slot}")
        for slot in slots:
            kernel.vector(f"Q{slot}", f"P{slot}")
        for row, slot in enumerate(slots):
            kernel.store(f"Q{slot}", row=f"i * 2 + {row}")
    return kernel


def summed_while() -> SlotText:
    """A sum of tiles in one slot, loaded and added in front of a while loop's condition."""
    kernel = SlotText(P=1, Y=1)

    def trip() -> None:
        kernel.load("P", row="k")
        kernel.vector("Y", "Y", "P")

    kernel.fill("Y")
    with kernel.repeat("k", "k < n", trip):
        pass
    kernel.store("Y", "z")
    return kernel


def executed(function: FuncOp, numbers: Mapping[str, int]) -> tuple[int, int]:
    program = build(function)
    values = {var.key: numbers.get(var.name, 3) for var in open_arguments(program)}
    steps: list[Step] = list(steps_of(program, Choice(values)))
    barriers = sum(isinstance(step, Fence) and step.pipe is not Pipe.ALL for step in steps)
    return sum(isinstance(step, Wait) for step in steps), barriers


BARRIERS_LEFT_OUT = ("B29", "B70", "B07")
"""Here the assembler has no barrier between vector ops on one sum, which this hardware does not order."""


@pytest.mark.parametrize(("make", "pairs", "barriers"), [(both_slots, 4, 2), (summed_while, 2, 0)])
def test_barriers_stand_only_where_a_trip_needs_them(make: Callable[[], SlotText], pairs: int, barriers: int):
    kernel = kernel_of(lowered(make())[0])
    few, many = (executed(kernel, {"n": trips}) for trips in (8, 20))
    assert (many[0] - few[0], many[1] - few[1]) == (12 * pairs, 12 * barriers)


@pytest.mark.parametrize("name", COUNTS)
def test_a_further_trip_costs_no_more_than_its_order_asks_for(name: str):
    count = COUNTS[name]
    kernel = kernel_of(lowered(CASES[name].make())[0])
    few, many = (executed(kernel, {count.bound: trips}) for trips in (8, 20))
    pairs, barriers = many[0] - few[0], many[1] - few[1]
    assert (pairs, barriers) == (12 * count.pairs, 12 * count.barriers)
    if count.theirs is not None:
        assert pairs + barriers * (name not in BARRIERS_LEFT_OUT) <= 12 * count.theirs
