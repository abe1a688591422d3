"""Parts of a kernel that have a lane for each slot, where its slots as a whole have none."""

from contextlib import nullcontext

import pytest

from fences.test_spread_leases import STRICT, average
from pto_buf.check.runs.steps import Did
from pto_buf.compiler import compile_module
from pto_buf.lowering.pipeline import PipelineOptions
from support.closure import closures
from support.slot_text import SlotText
from support.trials import kernel_of, wrong_runs


def around_a_loop(slots: int, *, again: bool = False) -> SlotText:
    """B10 with more slots, and other pipes behind the loop than in it: a load before it, loads in it, one behind it."""
    kernel = SlotText("n m" if again else "n", P=slots, V=1)
    with kernel.loop("o", 0, "m") if again else nullcontext():
        kernel.load("P[0]")
        with kernel.loop("k", 0, "n"):
            kernel.vector("V", f"P[k % {slots}]")
            kernel.store("V", row="k")
            kernel.load(f"P[(k + 1) % {slots}]", row="k + 1")
        kernel.load("P[0]", "h")
        kernel.store("P[0]", "z")
    return kernel


@pytest.mark.parametrize("slots", [2, 4])
def test_a_loop_has_lanes_where_other_pipes_go_on_with_its_slots(slots: int):
    """Only what stands behind the loop waits for more than its data ask for: for the loop's end."""
    module = compile_module(around_a_loop(slots).module(), STRICT).module
    for n in range(2 * slots + 2):
        found = closures(kernel_of(module), {"n": n})
        loads = [at for at, step in enumerate(found.steps) if isinstance(step, Did) and step.site.name == "tload"]
        assert found.words(found.needed - found.held) == []
        assert {pair.second for pair in found.held - found.needed} <= {loads[-1]}
        assert wrong_runs(module, {"n": n}) == []


@pytest.mark.parametrize("kernel", [average(3, again=True), around_a_loop(2, again=True)], ids=["average", "around"])
def test_parts_with_lanes_come_round_with_a_loop_around_them(kernel: SlotText):
    module = compile_module(kernel.module(), PipelineOptions()).module
    for n in (0, 1, 2, 4):
        found = closures(kernel_of(module), {"n": n, "m": 2})
        assert found.words(found.needed - found.held) == []
        assert wrong_runs(module, {"n": n, "m": 2}) == []


@pytest.mark.parametrize("slots", [4, 5])
def test_a_part_whose_slots_are_filled_elsewhere_is_tried_out_with_that(slots: int):
    """Reads lag behind, so that some tiles of V die unread: no token of theirs may be left."""
    kernel = SlotText(P=slots)
    for row in range(slots - 3):
        kernel.load(f"P[{3 + row}]", row=row)
    with kernel.loop("i", 0, 3):
        kernel.fill(f"P[i % {slots}]")
        kernel.store(f"P[(i + 3) % {slots}]", row="i + 1")
    module = compile_module(kernel.module(), PipelineOptions()).module
    assert wrong_runs(module, {"n": 0}) == []
