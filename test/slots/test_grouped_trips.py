"""Prefetches in trips that run together: how many groups there are is a quotient, which the guards never name."""

import pytest

from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.errors import DiagnosticError
from pto_buf.lowering.verify_slots import VerifySlotsPass
from pto_buf.printing import text_of
from pto_buf.source import parse_text
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


def clamped(together: int, slots: int, ahead: int, *, read: int | None = None) -> SlotText:
    """As many trips as leave `ahead` tiles to load ahead of each other, from `m` on; what is loaded last is read behind
    them, `read` tiles of it."""
    kernel = SlotText("n m", P=slots)
    for trip in range(ahead):
        kernel.load(f"P[(m + {trip}) % {slots}]", row=trip)
    kernel.let("e", f"max(n, m + {ahead}) - {ahead}")
    kernel.let("groups", f"max(e - m, 0) // {together}")
    with kernel.loop("g", 0, "groups"):
        trips = [f"m + g * {together} + {trip}" for trip in range(together)]
        for trip in trips:
            kernel.load(f"P[({trip} + {ahead}) % {slots}]", row=trip)
        for trip in trips:
            kernel.store(f"P[({trip}) % {slots}]", row=trip)
    with kernel.loop("i", f"m + groups * {together}", "e"):
        kernel.load(f"P[(i + {ahead}) % {slots}]", row="i")
        kernel.store(f"P[i % {slots}]", row="i")
    for trip in range(ahead if read is None else read):
        kernel.store(f"P[(e + {trip}) % {slots}]", row=trip)
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


@pytest.mark.parametrize(("together", "slots", "ahead"), [(2, 4, 2), (3, 5, 2)])
def test_what_the_last_trip_loads_is_there_behind_them(together: int, slots: int, ahead: int) -> None:
    verify(clamped(together, slots, ahead))


def test_what_no_trip_loads_is_not() -> None:
    with pytest.raises(DiagnosticError, match=r"reads slot . of 'P', which is not written"):
        verify(clamped(2, 4, 2, read=3))


def test_trips_of_a_run_time_step_that_store_to_one_place() -> None:
    """Two groups take more than small numbers: what orders them must not be missed."""
    kernel = SlotText("n m", P=2)
    for slot in range(2):
        kernel.load(f"P[{slot}]")
    kernel.let("groups", "(n + m) // (m + 1) // 3")
    with kernel.loop("g", 0, "groups"):
        for trip in range(3):
            kernel.store(f"P[((3 * g + {trip}) * (m + 1)) % 2]", row=0)
    verdict = check(kernel_of(lowered(kernel)[0]))
    assert (verdict.status, verdict.reason, verdict.findings) == (Status.PROVEN, "", ())


@pytest.mark.parametrize("lower", ["0", "m"])
def test_its_fences_are_proven(lower: str) -> None:
    verdict = check(kernel_of(lowered(prefetched(2, 3, 1, lower=lower))[0]))
    assert (verdict.status, verdict.reason, verdict.findings) == (Status.PROVEN, "", ())


def test_a_guard_of_the_trips_left_over_that_is_one_too_wide_is_found() -> None:
    """It would load a tile for which no fence stands, since no trip that is left over has one to load."""
    text = text_of(lowered(prefetched(2, 3, 1, lower="m"))[0])
    last = text.rindex("arith.cmpi slt")
    spoilt = f"{text[:last]}arith.cmpi sle{text[last + len('arith.cmpi slt') :]}"
    assert check(kernel_of(parse_text(make_context(), spoilt, "kernel.mlir"))).status is Status.WRONG
