"""Index terms beyond remainders: least and greatest of quotients, flat indices, steps that are not known."""

import pytest

from check.kernels import Kernel
from check.programs import program_of
from pto_buf.check.findings import Status
from pto_buf.check.model import model_of
from pto_buf.check.proof.prove import prove
from pto_buf.hw import A2A3

MODEL = model_of(A2A3)


def ring(fill: str, use: str, slots: int, step: str | int = 1) -> str:
    kernel = Kernel("n m")
    kernel.slots("P", slots)
    kernel.slots("Y")
    kernel.prime("V>MTE2", slots)
    with kernel.loop("i", 0, "n", step):
        kernel.turn(fill, use)
    kernel.drain("V>MTE2", slots)
    kernel.barrier()
    return kernel.text()


@pytest.mark.parametrize(
    ("slot", "slots"),
    [
        ("min(i // 2, 1)", 2),
        ("min((i + 1) // 3, 2)", 3),
        ("max(i // 2, 1) % 2", 2),
        ("min(max(i - 2, 0), 2)", 3),
        ("min(i // 2, 1) + min(i // 4, 1)", 3),
        ("min(i * m, 1)", 2),
        ("i // m % 2", 2),
        ("min(i // 2, n // 2) % 2", 2),
        ("min(i // 2 * 2, 3)", 4),
        ("min(i // 2 + i // 3, 2)", 3),
        ("max(3 - i, 0)", 4),
        ("max(min(i, 3) - n, 0)", 4),
    ],
)
def test_slots_that_a_bound_chooses(slot: str, slots: int):
    assert prove(program_of(ring(slot, slot, slots)), MODEL).status is Status.PROVEN


@pytest.mark.parametrize(
    ("fill", "use"),
    [
        ("min(i // 2, 1)", "min((i + 1) // 2, 1)"),
        ("max(i // 2, 1) % 2", "i // 2 % 2"),
        ("min(i // 2, 1)", "i // 2"),
        ("i // m % 2", "(i + 1) // m % 2"),
    ],
)
def test_slots_that_part_in_some_trip(fill: str, use: str):
    verdict = prove(program_of(ring(fill, use, 2)), MODEL)
    assert verdict.status is Status.WRONG
    assert all(finding.run for finding in verdict.findings)


def flat(place: str, outer_step: str | int = 1) -> str:
    """Blocks of one array are loaded, changed and stored again, at a place that both counters make."""
    kernel = Kernel("n m")
    kernel.slots("P", 2)
    kernel.prime("MTE3>MTE2", 2)
    with kernel.loop("i", 0, "n", outer_step), kernel.loop("j", 0, "m"):
        kernel.wait("MTE3>MTE2", "j % 2")
        kernel.load("P[j % 2]", "g", place)
        kernel.fence("MTE2>V", "j % 2")
        kernel.vector("P[j % 2]", "P[j % 2]")
        kernel.fence("V>MTE3", "j % 2")
        kernel.store("P[j % 2]", "g", place)
        kernel.set("MTE3>MTE2", "j % 2")
    kernel.drain("MTE3>MTE2", 2)
    kernel.barrier()
    return kernel.text()


def test_flat_indices_are_apart():
    assert prove(program_of(flat("(i * m + j) * 16")), MODEL).status is Status.PROVEN


def test_flat_indices_that_meet():
    verdict = prove(program_of(flat("(i * 2 + j) * 16")), MODEL)
    assert [finding.fault.value for finding in verdict.findings] == ["global-read-after-write"]


@pytest.mark.parametrize(
    ("step", "place", "status"),
    [("n", "i", Status.PROVEN), ("m + 1", "i + m", Status.PROVEN), ("m", "i // 2", Status.WRONG)],
)
def test_steps_that_are_not_known(step: str, place: str, status: Status):
    """A step is positive, since a loop with another one has no meaning; nor is it ever run."""
    kernel = Kernel("n m")
    kernel.slots("P")
    kernel.load("P")
    kernel.fence("MTE2>MTE3")
    with kernel.loop("i", 0, "100", step):
        kernel.store("P", row=f"({place}) * 16")
    kernel.barrier()
    assert prove(program_of(kernel.text()), MODEL).status is status


@pytest.mark.parametrize(("use", "status"), [("min(k, 1)", Status.PROVEN), ("min(k + 1, 1)", Status.WRONG)])
def test_numbers_of_while_loops_have_a_sign(use: str, status: Status):
    kernel = Kernel("n")
    kernel.slots("P", 2)
    kernel.slots("Y")
    kernel.prime("V>MTE2", 2)
    with kernel.repeat("k", 0, "k < n", "k + 1"):
        kernel.turn("min(k, 1)", use)
    kernel.drain("V>MTE2", 2)
    kernel.barrier()
    assert prove(program_of(kernel.text()), MODEL).status is status


@pytest.mark.parametrize(("rows", "status"), [("n", Status.PROVEN), ("n + 1", Status.WRONG)])
def test_what_was_kept_is_bounded_by_what_is_learned_later(rows: str, status: Status):
    """Row 0 is loaded only in runs in which all that was stored lies behind it."""
    kernel = Kernel("n")
    kernel.slots("P")
    kernel.slots("Q")
    with kernel.loop("i", 0, "n + 1"):
        kernel.store("P", "g", "(i + n) * 16")
        kernel.barrier("MTE3")
    with kernel.loop("j", 0, rows):
        kernel.load("Q", "g", 0)
        kernel.barrier("MTE2")
    kernel.barrier()
    assert prove(program_of(kernel.text()), MODEL).status is status


def test_slots_of_a_counter_whose_step_is_not_known():
    kernel = Kernel("n m")
    kernel.slots("P", 3)
    kernel.slots("Y")
    kernel.prime("V>MTE2", 3)
    with kernel.loop("i", 0, 3, "m + 1"):
        kernel.turn("i", "i")
    kernel.drain("V>MTE2", 3)
    kernel.barrier()
    assert prove(program_of(kernel.text()), MODEL).status is Status.PROVEN


@pytest.mark.parametrize(("primed", "status"), [(3, Status.PROVEN), (2, Status.WRONG)])
def test_a_sum_that_stays_below_a_bound_has_no_residues_above_it(primed: int, status: Status):
    kernel = Kernel("n m")
    kernel.slots("P", 4)
    kernel.slots("Y")
    kernel.prime("V>MTE2", primed)
    with kernel.loop("i", 0, "max(3 - n, 0)"):
        kernel.turn("(i + n) % 4", "(i + n) % 4")
    kernel.drain("V>MTE2", primed)
    kernel.barrier()
    assert prove(program_of(kernel.text()), MODEL).status is status


@pytest.mark.parametrize("start", ["0", "m"])
def test_trips_are_counted_as_far_as_the_end_of_the_loop_is_asked_about(start: str):
    """What was fetched ahead and never used is handed back behind the loop: as much as it was short of."""
    slots, ahead = 8, 6
    kernel = Kernel("n m")
    kernel.slots("P", slots)
    kernel.slots("Y")
    kernel.prime("V>MTE2", slots)
    for number in range(ahead):
        fetch(kernel, f"({start} + {number}) % {slots}")
    with kernel.loop("k", 0, f"max(n - {start}, 0)"):
        with kernel.when(f"k + {start} + {ahead} < n"):
            fetch(kernel, f"(k + {start} + {ahead}) % {slots}")
        kernel.wait("MTE2>V", f"(k + {start}) % {slots}")
        kernel.barrier("V")
        kernel.vector("Y", f"P[(k + {start}) % {slots}]")
        kernel.set("V>MTE2", f"(k + {start}) % {slots}")
    with kernel.loop("j", 0, f"max({start} + {ahead} - max(n, {start}), 0)"):
        kernel.wait("MTE2>V", f"(j + max(n, {start})) % {slots}")
        kernel.set("V>MTE2", f"(j + max(n, {start})) % {slots}")
    kernel.drain("V>MTE2", slots)
    kernel.barrier()
    assert prove(program_of(kernel.text()), MODEL).status is Status.PROVEN


def fetch(kernel: Kernel, slot: str) -> None:
    kernel.wait("V>MTE2", slot)
    kernel.load(f"P[{slot}]")
    kernel.set("MTE2>V", slot)


def test_nothing_but_a_proof_of_so_many_states():
    right, wrong = (program_of(ring("i % 3", use, 3)) for use in ("i % 3", "(i + 1) % 3"))
    assert prove(right, MODEL, most=1000).status is Status.PROVEN
    verdict = prove(right, MODEL, most=3)
    assert verdict.status is Status.INCOMPLETE and "more than 3 states in all" in verdict.reason
    assert prove(wrong, MODEL).status is Status.WRONG
    assert prove(wrong, MODEL, most=1000).status is Status.INCOMPLETE  # no run is looked for that shows it


def stored_in_turn(first: tuple[int | str, int], second: tuple[int | str, int], row: str = "j * 16") -> str:
    """Two loops, with these starts and steps, that store to rows of one array; nothing keeps them in order."""
    kernel = Kernel("n m")
    kernel.slots("P")
    kernel.load("P")
    kernel.fence("MTE2>MTE3")
    for name, (start, step), at in (("i", first, "i * 16"), ("j", second, row)):
        with kernel.loop(name, start, "n", step):
            kernel.store("P", row=at)
    kernel.barrier()
    return kernel.text()


@pytest.mark.parametrize(
    ("first", "second", "row"),
    [
        ((0, 2), (1, 2), "j * 16"),
        ((1, 2), (0, 2), "j * 16 + 160"),
        ((0, 4), (3, 6), "j * 16"),
        ((1, 3), (0, 3), "(j + 2) * 16"),
        ((2, 2), (0, 1), "j * 32 + 16"),
    ],
)
def test_loops_in_steps_that_store_to_rows_of_their_own(first: tuple[int, int], second: tuple[int, int], row: str):
    assert prove(program_of(stored_in_turn(first, second, row)), MODEL).status is Status.PROVEN


@pytest.mark.parametrize(
    ("first", "second", "row"),
    [
        ((0, 2), (0, 2), "j * 16"),
        ((0, 2), (1, 2), "j * 16 + 16"),
        ((0, 2), (1, 2), "j * 16 + 8"),
        ((0, 4), (2, 6), "j * 16"),
        ((0, 2), (1, 1), "j * 16"),
        ((0, 2), ("m", 2), "j * 16"),
    ],
)
def test_loops_in_steps_that_store_to_a_row_of_the_other(
    first: tuple[int, int], second: tuple[int | str, int], row: str
):
    assert prove(program_of(stored_in_turn(first, second, row)), MODEL).status is Status.WRONG
