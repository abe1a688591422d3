"""Small kernels, each with the verdict that its shape has to get for every trip count."""

from collections.abc import Callable

import pytest

from check.kernels import Kernel
from check.programs import program_of
from pto_buf.check.findings import Fault, Status, Verdict
from pto_buf.check.model import model_of
from pto_buf.check.proof.prove import Prover, prove
from pto_buf.check.runs.concrete import search
from pto_buf.check.whole import one_core
from pto_buf.hw import A2A3

MODEL = model_of(A2A3)


def verdict_of(text: str, *, global_raw: bool = False) -> Verdict:
    """The verdict; what it says is wrong or proven must be so in small runs."""
    program, model = program_of(text), model_of(A2A3, global_raw=global_raw)
    verdict = prove(program, model)
    found = search(program, model, {})
    assert verdict.status is not Status.INCOMPLETE, verdict.reason
    if verdict.status is Status.PROVEN:
        assert not found
    return verdict


def faults(text: str, *, global_raw: bool = False) -> set[str]:
    return {finding.fault.value for finding in verdict_of(text, global_raw=global_raw).findings}


# --- global memory -----------------------------------------------------------------------------------------------


def in_place(step: int, *, source: str = "i", fenced: bool = True, slots: int = 2) -> str:
    """Loads a row block of g, changes it, and stores it to g; blocks are 16 rows high."""
    kernel = Kernel(arrays="g")
    kernel.slots("P", slots)
    lane = f"i % {slots}"
    kernel.prime("MTE3>MTE2", slots)
    with kernel.loop("i", 0, "n"):
        kernel.wait("MTE3>MTE2", lane)
        kernel.load(f"P[{lane}]", "g", f"({source}) * {step}")
        kernel.fence("MTE2>V", lane)
        kernel.vector(f"P[{lane}]", f"P[{lane}]")
        if fenced:
            kernel.fence("V>MTE3", lane)
        kernel.store(f"P[{lane}]", "g", f"i * {step}")
        kernel.set("MTE3>MTE2", lane)
    kernel.drain("MTE3>MTE2", slots)
    kernel.barrier()
    return kernel.text()


def test_in_place_blocks_that_never_meet():
    assert faults(in_place(16)) == set()


def test_in_place_blocks_that_overlap_the_next():
    assert "race" in faults(in_place(8))


def test_reading_ahead_in_place_is_ordered_by_the_slots_own_fences():
    assert faults(in_place(16, source="i + 1")) == set()


def test_reading_what_was_stored_is_refused_unless_a_flag_is_accepted():
    """The block read is the one stored a trip before, which the one slot's own flag orders."""
    text = in_place(16, source="max(i, 1) - 1", slots=1)
    assert faults(text) == {"global-read-after-write"}
    assert faults(text, global_raw=True) == set()


def test_reading_the_last_trips_block_races():
    assert "race" in faults(in_place(16, source="max(i, 1) - 1"), global_raw=True)


@pytest.mark.parametrize(("rows", "expected"), [("i * 16", set()), ("i * 8", {"same-pipe-hazard"})])
def test_stores_that_overlap(rows: str, expected: set[str]):
    kernel = Kernel()
    kernel.slots("P")
    kernel.load("P")
    kernel.fence("MTE2>MTE3")
    with kernel.loop("i", 0, "n"):
        kernel.store("P", "h", rows)
    kernel.barrier()
    assert faults(kernel.text()) == expected


def test_nested_offsets_are_compared_across_loops():
    """(o * 4 + i) * 16 with four inner trips never repeats; with five it does."""
    for inner, expected in ((4, set[str]()), (5, {"same-pipe-hazard"})):
        kernel = Kernel("m")
        kernel.slots("P")
        kernel.load("P")
        kernel.fence("MTE2>MTE3")
        with kernel.loop("o", 0, "m"), kernel.loop("i", 0, inner):
            kernel.store("P", "h", "(o * 4 + i) * 16")
        kernel.barrier()
        assert faults(kernel.text()) == expected


# --- flags -------------------------------------------------------------------------------------------------------


def test_flag_without_a_way_back_overflows_though_its_tokens_balance():
    kernel = Kernel()
    kernel.slots("P", 8)
    with kernel.loop("i", 0, "n"):
        kernel.load("P[i % 8]", row="i * 16")
        kernel.fence("MTE2>V", 0)
    kernel.barrier()
    assert "overflow" in faults(kernel.text())


@pytest.mark.parametrize("lane", ["i % 9", "i"])
def test_id_that_may_not_exist(lane: str):
    kernel = Kernel()
    kernel.slots("P")
    with kernel.loop("i", 0, "n"):
        kernel.fence("MTE2>V", lane)
        kernel.fence("V>MTE2", lane)
    kernel.barrier()
    found = verdict_of(kernel.text()).findings
    lanes = [finding for finding in found if finding.fault is Fault.LANE]
    assert lanes
    assert all(finding.flag is not None and finding.flag[2] > 7 for finding in lanes)


def test_ids_within_range_by_a_mask():
    kernel = Kernel()
    kernel.slots("P", 8)
    kernel.prime("V>MTE2", 8)
    with kernel.loop("i", 0, "n"):
        kernel.wait("V>MTE2", "i & 7")
        kernel.load("P[i & 7]")
        kernel.fence("MTE2>V", "i & 7")
        kernel.barrier("V")
        kernel.fill("P[i & 7]")
        kernel.set("V>MTE2", "i & 7")
    kernel.drain("V>MTE2", 8)
    kernel.barrier()
    assert faults(kernel.text()) == set()


def guarded_prefetch(upper: str = "n", drains: Callable[[Kernel], None] | None = None) -> str:
    """The next slot is filled only if there is a next trip."""
    kernel = Kernel()
    kernel.slots("P", 2)
    kernel.slots("Y")
    kernel.prime("V>MTE2", 2)
    with kernel.when("0 < n"):
        kernel.wait("V>MTE2", 0)
        kernel.load("P[0]")
        kernel.set("MTE2>V", 0)
    with kernel.loop("i", 0, upper):
        with kernel.when("i + 1 < n"):
            kernel.wait("V>MTE2", "(i + 1) % 2")
            kernel.load("P[(i + 1) % 2]")
            kernel.set("MTE2>V", "(i + 1) % 2")
        kernel.wait("MTE2>V", "i % 2")
        kernel.barrier("V")
        kernel.vector("Y", "P[i % 2]")
        kernel.set("V>MTE2", "i % 2")
    if drains is None:
        kernel.drain("V>MTE2", 2)
    else:
        drains(kernel)
    kernel.barrier()
    return kernel.text()


def test_guarded_prefetch():
    assert faults(guarded_prefetch()) == set()


def test_guarded_prefetch_that_runs_one_trip_too_many():
    assert "deadlock" in faults(guarded_prefetch("n + 1"))


def preloaded(slots: int, start: int, step: int, guard: str = "p < n") -> str:
    """The first slots are filled in a loop that may go past the end, each further one when one has been used."""
    kernel = Kernel()
    kernel.slots("P", slots)
    kernel.slots("Y")
    kernel.prime("V>MTE2", slots)
    ahead = slots - 1

    def fill(slot: str) -> None:
        kernel.wait("V>MTE2", slot)
        kernel.load(f"P[{slot}]")
        kernel.set("MTE2>V", slot)

    with kernel.loop("p", start, start + ahead * step, step), kernel.when(guard):
        fill(f"p // {step} % {slots}")
    with kernel.loop("i", start, "n", step):
        kernel.wait("MTE2>V", f"i // {step} % {slots}")
        kernel.barrier("V")
        kernel.vector("Y", f"P[i // {step} % {slots}]")
        kernel.set("V>MTE2", f"i // {step} % {slots}")
        with kernel.when(f"i + {ahead * step} < n"):
            fill(f"(i // {step} + {ahead}) % {slots}")
    kernel.drain("V>MTE2", slots)
    kernel.barrier()
    return kernel.text()


@pytest.mark.parametrize(("slots", "start", "step"), [(3, 0, 1), (8, 0, 1), (3, 5, 1), (4, 2, 2), (5, 0, 3)])
def test_a_loop_that_fills_ahead_stops_at_the_end(slots: int, start: int, step: int):
    """Where a trip finds that there is no more to fill, no later one does."""
    assert faults(preloaded(slots, start, step)) == set()


@pytest.mark.parametrize("guard", ["p <= n", "p + 1 < n"])
def test_a_loop_that_fills_ahead_and_not_as_much_as_is_used(guard: str):
    assert "deadlock" in faults(preloaded(3, 0, 1, guard)) | faults(preloaded(4, 0, 2, guard))


def test_drains_that_are_right_for_one_trip_count_only():
    """Without guard and with the drains that fit an even count."""
    kernel = Kernel()
    kernel.slots("P", 2)
    kernel.slots("Y")
    kernel.load("P[0]")
    kernel.set("MTE2>V", 0)
    kernel.set("V>MTE2", 1)
    with kernel.loop("i", 0, "n"):
        kernel.turn("(i + 1) % 2", "i % 2")
    kernel.wait("MTE2>V", 0)
    kernel.wait("V>MTE2", 1)
    kernel.barrier()
    verdict = verdict_of(kernel.text())
    assert {finding.fault for finding in verdict.findings} == {Fault.DEADLOCK}
    assert all(dict(finding.run)["n"] % 2 == 1 for finding in verdict.findings)


def test_drains_by_the_larger_of_two_bounds():
    """A loop from lo to n, and drains that count from max(n, lo)."""
    kernel = Kernel("n lo")
    kernel.slots("P", 2)
    kernel.slots("Y")
    kernel.load("P[lo % 2]")
    kernel.set("MTE2>V", "lo % 2")
    kernel.set("V>MTE2", "(lo + 1) % 2")
    with kernel.loop("i", "lo", "n"):
        kernel.turn("(i + 1) % 2", "i % 2")
    kernel.wait("MTE2>V", "max(n, lo) % 2")
    kernel.wait("V>MTE2", "(max(n, lo) + 1) % 2")
    kernel.barrier()
    assert faults(kernel.text()) == set()


def conditional(same: bool) -> str:
    """Fill and use each under a condition of the data: one worked out twice, or two."""
    kernel = Kernel()
    kernel.slots("X")
    kernel.slots("Y")
    kernel.set("V>MTE2")
    with kernel.loop("i", 0, "n"):
        kernel.let("c", "unknown(i)")
        kernel.let("j", "i + 1")
        kernel.let("d", "unknown(i)" if same else "unknown(j)")
        with kernel.when("c"):
            kernel.wait("V>MTE2")
            kernel.load("X")
            kernel.set("MTE2>V")
        with kernel.when("d"):
            kernel.wait("MTE2>V")
            kernel.barrier("V")
            kernel.vector("Y", "X")
            kernel.set("V>MTE2")
    kernel.wait("V>MTE2")
    kernel.barrier()
    return kernel.text()


def test_fill_and_use_under_one_condition_worked_out_twice():
    assert faults(conditional(True)) == set()


def test_fill_and_use_under_two_conditions():
    assert "deadlock" in faults(conditional(False))


@pytest.mark.parametrize("counts", [[11], [16], [11, 13, 15, 16]])
def test_many_slots_in_one_loop(counts: list[int]):
    """More slots than ids: a lane serves every fourth slot, and the order of a pipe does the rest."""
    kernel = Kernel()
    for number, count in enumerate(counts):
        kernel.slots(f"P{number}", count)
    kernel.slots("Y")
    kernel.prime("V>MTE2", 2 * len(counts))
    with kernel.loop("i", 0, "n"):
        for number, count in enumerate(counts):
            kernel.wait("V>MTE2", f"i % 2 + {2 * number}")
            kernel.load(f"P{number}[i % {count}]")
            kernel.set("MTE2>V", f"i % 2 + {2 * number}")
        for number, count in enumerate(counts):
            kernel.wait("MTE2>V", f"i % 2 + {2 * number}")
            kernel.barrier("V")
            kernel.vector("Y", f"P{number}[i % {count}]")
            kernel.set("V>MTE2", f"i % 2 + {2 * number}")
    kernel.drain("V>MTE2", 2 * len(counts))
    kernel.barrier()
    assert prove(program_of(kernel.text()), model_of(A2A3)).status is Status.PROVEN


def test_long_constant_loop_inside_a_loop_of_unknown_length():
    """A hundred inner trips are even: the slots come out where they went in. With 101 they do not."""
    for trips, expected in ((100, set[str]()), (101, {"deadlock"})):
        kernel = Kernel("m")
        kernel.slots("P", 2)
        kernel.slots("Y")
        kernel.load("P[0]")
        kernel.set("MTE2>V", 0)
        kernel.set("V>MTE2", 1)
        with kernel.loop("o", 0, "m"), kernel.loop("i", 0, trips):
            kernel.turn("(i + 1) % 2", "i % 2")
        kernel.wait("MTE2>V", 0)
        kernel.wait("V>MTE2", 1)
        kernel.barrier()
        assert faults(kernel.text()) >= expected
        assert bool(faults(kernel.text())) == bool(expected)


def rows_of_blocks(limit: str) -> str:
    """Stores blocks of rows, in each as many as there are, up to a limit."""
    kernel = Kernel("n m")
    kernel.slots("P", 3)
    kernel.let("q", limit)
    kernel.prime("MTE3>MTE2", 3)
    with kernel.loop("b", 0, "m"), kernel.loop("i", 0, "q"):
        kernel.wait("MTE3>MTE2", "i % 3")
        kernel.load("P[i % 3]")
        kernel.fence("MTE2>MTE3", "i % 3")
        kernel.store("P[i % 3]", "h", "(b * 20 + i) * 16")
        kernel.set("MTE3>MTE2", "i % 3")
    kernel.drain("MTE3>MTE2", 3)
    kernel.barrier()
    return kernel.text()


def test_a_limit_of_trips_is_followed_without_counting_up_to_it():
    program = program_of(rows_of_blocks("min(n, 18)"))
    proof = Prover(program, MODEL, one_core(program)).prove()
    assert not proof.open and not proof.findings
    assert proof.states < 500


def test_a_limit_of_trips_that_lets_blocks_overlap():
    """A run that shows it goes through more trips than any trail."""
    assert {finding.fault for finding in prove(program_of(rows_of_blocks("min(n, 21)")), MODEL).findings} == {
        Fault.SAME_PIPE
    }


def test_a_window_that_reaches_over_the_end_of_its_rows_meets_the_next_row():
    kernel = Kernel(arrays="g")
    kernel.slots("P")
    with kernel.loop("i", 0, "n"):
        kernel.load("P", "g", "i * 16")
        kernel.fence("MTE2>MTE3")
        kernel.store("P", "g", "i * 16", column=4)
        kernel.fence("MTE3>MTE2")
    kernel.barrier()
    assert faults(kernel.text()) == {"global-read-after-write"}


@pytest.mark.parametrize(("barrier", "expected"), [(True, set[str]()), (False, {"same-pipe-hazard"})])
@pytest.mark.parametrize("row", ["0", "m * 16"])
def test_one_place_stored_again_in_each_trip(row: str, barrier: bool, expected: set[str]):
    kernel = Kernel("n m")
    kernel.slots("P")
    kernel.load("P")
    kernel.fence("MTE2>MTE3")
    with kernel.loop("i", 0, "n"):
        if barrier:
            kernel.barrier("MTE3")
        kernel.store("P", "h", row)
    kernel.barrier()
    assert faults(kernel.text()) == expected


def test_loads_that_overlap_each_other_only():
    kernel = Kernel()
    kernel.slots("P", 2)
    kernel.slots("Y")
    kernel.prime("V>MTE2", 2)
    with kernel.loop("i", 0, "n"):
        kernel.wait("V>MTE2", "i % 2")
        kernel.load("P[i % 2]", "g", "i * 3")
        kernel.fence("MTE2>V", "i % 2")
        kernel.barrier("V")
        kernel.vector("Y", "P[i % 2]")
        kernel.set("V>MTE2", "i % 2")
    kernel.drain("V>MTE2", 2)
    kernel.barrier()
    assert faults(kernel.text()) == set()
