"""Writes that a schedule has copied: a copy that nothing reads is no clobber where another copy is read."""

import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.lowering.schedule import SchedulePass
from pto_buf.lowering.verify_slots import VerifySlotsPass
from pto_buf.universe import make_context
from support.slot_text import SlotText


def lagging(lag: int, *, reads: bool = True) -> SlotText:
    """Tiles stored `lag` trips behind their load, and their slots taken over by another stream behind the loop."""
    kernel = SlotText(P=8)
    for slot in range(8 - lag, 8):
        kernel.load(f"P[{slot}]", row=slot)
    with kernel.loop("i", 0, "n"):
        kernel.load("P[i % 8]", row="i")
        if reads:
            kernel.store(f"P[(i + {8 - lag}) % 8]", row="i")
    with kernel.loop("j", 0, "n"):
        kernel.load("P[j % 8]", row="j")
        kernel.store("P[j % 8]", row="j")
    return kernel


def verify_interleaved(kernel: SlotText, trips: int) -> None:
    module = kernel.module()
    VerifySlotsPass().apply(make_context(), module.clone())
    SchedulePass(interleave=trips).apply(make_context(), module)
    VerifySlotsPass().apply(make_context(), module)


@pytest.mark.parametrize(("lag", "trips"), [(1, 2), (2, 3), (3, 2)])
def test_the_last_trips_may_load_for_nothing_also_as_copies(lag: int, trips: int) -> None:
    verify_interleaved(lagging(lag), trips)


def test_what_no_copy_reads_is_still_a_clobber() -> None:
    with pytest.raises(DiagnosticError, match="whose value nothing has read"):
        VerifySlotsPass().apply(make_context(), lagging(2, reads=False).module())
