"""With which numbers two operations come to touch the same bytes of global memory."""

from collections.abc import Iterator

import pytest

from pto_buf.fences.global_memory.meetings import meetings
from pto_buf.fences.tree import build_tree
from pto_buf.fences.trials.runs import Run, always
from pto_buf.lowering.global_windows import global_windows
from pto_buf.slots.build import build
from pto_buf.slots.program import Block, Branch, Loop, Program, While
from pto_buf.slots.terms import Term, Var, leaves
from support.slot_text import SlotText
from support.trials import kernel_of


def _numbers(kernel: SlotText) -> list[dict[str, int]]:
    """The numbers of each meeting, by the names of arguments; `while` is how often such a loop goes
    around, `unknown` what an unknown condition is."""
    built = build(kernel_of(kernel.module()))
    numbers_of_text = [leaf for term in _terms(built.program.body) for leaf in leaves(term)]
    names = {one.key: one.name if isinstance(one, Var) else "unknown" for one in numbers_of_text}
    found: list[dict[str, int]] = []
    for one in meetings(build_tree(built.program), global_windows(built)):
        numbers = {names[key]: value for key, value in one.given.numbers}
        numbers.update(("while", trips) for _, trips in one.given.trips)
        found.append(numbers)
    return found


def _terms(block: Block) -> Iterator[Term]:
    for node in block:
        match node:
            case Loop():
                yield node.upper
                yield from _terms(node.body)
            case While():
                yield node.condition
                yield from _terms(node.after)
            case Branch():
                yield node.condition
                yield from _terms(node.then)
            case _:
                pass


def _stores(second: str, first: str = "i", upper: str = "n", step: int = 1, when: str = "0 < 1") -> SlotText:
    """Two loops store to y, the second one for as many trips as `upper` and in some of them."""
    kernel = SlotText("n m", P=1)
    with kernel.loop("i", 0, "n"):
        kernel.fill("P")
        kernel.store("P", row=first)
    with kernel.loop("i", 0, upper, step), kernel.when(when):
        kernel.fill("P")
        kernel.store("P", row=second)
    return kernel


@pytest.mark.parametrize(
    ("kernel", "numbers"),
    [
        (_stores("i"), {"n": 1}),
        (_stores("i + 40"), {"n": 41}),
        (_stores("i", "i + 40"), {"n": 41}),
        (_stores("i + 40", upper="m"), {"n": 41, "m": 1}),
        (_stores("i", "i + 40", upper="n // 3"), {"n": 123}),
        (_stores("i", "i + 5", step=2), {"n": 7}),
        (_stores("i + 5", when="i % 3 == 1"), {"n": 7}),
        (_stores("i + 5", when="i > 3"), {"n": 10}),
        (_stores("i", when="unknown(i)"), {"n": 1, "unknown": 1}),
    ],
)
def test_the_numbers_of_the_first_trips_that_overlap(kernel: SlotText, numbers: dict[str, int]):
    assert _numbers(kernel) == [numbers]


@pytest.mark.parametrize(
    "kernel", [_stores("i + n"), _stores("i + 9", when="i + 9 > n"), _stores("2 * i + 1", "2 * i")]
)
def test_no_numbers_where_windows_are_apart(kernel: SlotText):
    assert _numbers(kernel) == []


def test_trips_of_one_loop_that_overlap():
    kernel = SlotText("n m", P=1)
    with kernel.loop("i", 0, "n"):
        kernel.fill("P")
        for row in ("i", "i + 20"):
            kernel.store("P", row=row)
    assert _numbers(kernel) == [{"n": 21}]


def test_a_while_goes_around_until_windows_overlap():
    kernel = SlotText("n m", P=1)
    kernel.fill("P")
    with kernel.repeat("k", "k < n", lambda: None):
        kernel.store("P", row="k")
    kernel.store("P", row=30)
    assert _numbers(kernel) == [{"n": 31, "while": 31}]


def test_a_number_below_all_that_a_variable_may_be_is_tried_as_a_small_one():
    run = Run(build_tree(Program("kernel", (), ())), {}, always(-1))
    assert [run.value(Var(1, "n")), run.value(Var(2, "m", low=5))] == [1, 11]
