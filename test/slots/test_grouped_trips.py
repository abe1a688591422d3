"""Prefetches in trips that run together: how many groups there are is a quotient, which the guards never name."""

import pytest

from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.errors import DiagnosticError
from pto_buf.lowering.verify_slots import VerifySlotsPass
from pto_buf.universe import make_context
from support.slot_builder import lowered
from support.slot_text import SlotText
from support.trials import kernel_of


def prefetched(together: int, slots: int, ahead: int, *, lower: str = "0", guard: str = "n") -> SlotText:
    """Tiles of `n` trips from `lower` on, `together` in a group and then one by one, loaded `ahead` trips before."""
    kernel = SlotText("n m", P=slots)

    def load(trip: str) -> None:
        with kernel.when(f"{trip} < {guard}"):
            kernel.load(f"P[({trip}) % {slots}]", row=trip)

    for trip in range(ahead):
        load(f"{lower} + {trip}")
    kernel.let("groups", f"max(n - {lower}, 0) // {together}")
    with kernel.loop("g", 0, "groups"):
        trips = [f"{lower} + g * {together} + {trip}" for trip in range(together)]
        for trip in trips:
            load(f"{trip} + {ahead}")
        for trip in trips:
            kernel.store(f"P[({trip}) % {slots}]", row=trip)
    with kernel.loop("i", f"{lower} + groups * {together}", "n"):
        load(f"i + {ahead}")
        kernel.store(f"P[i % {slots}]", row="i")
    return kernel


def verify(kernel: SlotText) -> None:
    VerifySlotsPass().apply(make_context(), kernel.module())


@pytest.mark.parametrize(("together", "slots", "ahead"), [(2, 4, 2), (3, 4, 1), (2, 5, 3)])
def test_a_guarded_prefetch_is_complete(together: int, slots: int, ahead: int) -> None:
    verify(prefetched(together, slots, ahead))


def test_so_is_one_from_a_run_time_start() -> None:
    verify(prefetched(2, 4, 2, lower="m"))


def test_a_guard_that_is_one_too_strict_leaves_a_slot_unwritten() -> None:
    with pytest.raises(DiagnosticError, match=r"reads slot . of 'P', which is not written"):
        verify(prefetched(2, 4, 2, guard="n - 1"))


def test_its_fences_are_proven() -> None:
    verdict = check(kernel_of(lowered(prefetched(2, 3, 1))[0]))
    assert (verdict.status, verdict.reason, verdict.findings) == (Status.PROVEN, "", ())
