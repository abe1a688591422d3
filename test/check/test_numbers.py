"""Slots, ids and places that are worked out in unusual ways: followed exactly, for every trip count."""

import pytest

from check.kernels import Kernel
from check.programs import program_of
from pto_buf.check.findings import Fault, Status
from pto_buf.check.guards import guards_of
from pto_buf.check.model import model_of
from pto_buf.check.program import Assign, Branch, End, Fresh, Instruction, Jump, Meet, Site
from pto_buf.check.proof.prove import prove
from pto_buf.check.terms import Var, add, const, equal, negate
from pto_buf.hw import A2A3

MODEL = model_of(A2A3)
SITE = Site(0, "op", None)


def turn(kernel: Kernel, slot: str) -> None:
    kernel.wait("V>MTE2", slot)
    kernel.load(f"P[{slot}]")
    kernel.fence("MTE2>V", slot)
    kernel.barrier("V")
    kernel.vector("Y", f"P[{slot}]")
    kernel.set("V>MTE2", slot)


def ring(slots: int) -> Kernel:
    kernel = Kernel("n m")
    kernel.slots("P", slots)
    kernel.slots("Y")
    kernel.prime("V>MTE2", slots)
    return kernel


def status_of(kernel: Kernel, slots: int) -> Status:
    kernel.drain("V>MTE2", slots)
    kernel.barrier()
    return prove(program_of(kernel.text()), MODEL).status


@pytest.mark.parametrize("slot", ["min(i, 2)", "select(i % 2 == 0, 2, 0)", "2 - i % 3", "(i + n) % 3", "i // 3 % 3"])
def test_slot_terms(slot: str):
    kernel = ring(3)
    with kernel.loop("i", 0, "n"):
        turn(kernel, slot)
    assert status_of(kernel, 3) is Status.PROVEN


@pytest.mark.parametrize("after", ["select(s + 1 == 3, 0, s + 1)", "(s + 1) % 3", "(s + 2) % 3", "2 - s"])
@pytest.mark.parametrize("start", ["0", "n % 3"])
def test_slots_handed_on_from_trip_to_trip(start: str, after: str):
    kernel = ring(3)
    with kernel.carrying("i", 0, "n", "s", start, after):
        turn(kernel, "s")
    assert status_of(kernel, 3) is Status.PROVEN


@pytest.mark.parametrize(
    ("condition", "yes", "no", "status"),
    [
        ("s == 2", "0", "s + 1", Status.PROVEN),
        ("s + 1 == 3", "0", "s + 1", Status.PROVEN),
        ("s < 2", "s + 1", "0", Status.PROVEN),
        ("s == 0", "2", "s + 2 - 3", Status.PROVEN),
        ("s == 3", "0", "s + 1", Status.WRONG),
    ],
)
def test_slots_handed_on_by_a_branch(condition: str, yes: str, no: str, status: Status):
    """What an arm makes of a number is made only of those that lead to it."""
    kernel = ring(3)
    with kernel.carrying("i", 0, "n", "s", 0, "t"):
        turn(kernel, "s")
        kernel.choose("t", condition, yes, no)
    assert status_of(kernel, 3) is status


@pytest.mark.parametrize(
    "between", [(), (Assign(((Var(0, "s"), const(5)),)),), (Fresh(SITE, Var(0, "s")),), (Meet(0, (0, 1)),)]
)
def test_a_condition_guards_only_what_leaves_its_numbers_alone(between: tuple[Instruction, ...]):
    s, t = Var(0, "s"), Var(1, "t")
    is_two = equal(s, const(2))
    over = 3 + len(between)
    arms = Branch(SITE, is_two, over), *between, Assign(((t, s),)), Jump(over + 1), Assign(((t, add(s, const(1))),))
    guards = guards_of((*arms, End(SITE)))
    assert guards[over - 2] == (() if between else (is_two,))
    assert guards[over:] == [(negate(is_two),), ()]


def test_a_proof_that_takes_too_many_states_is_left_open(monkeypatch: pytest.MonkeyPatch):
    kernel = ring(3)
    with kernel.loop("i", 0, "n"):
        turn(kernel, "i % 3")
    kernel.drain("V>MTE2", 3)
    kernel.barrier()
    monkeypatch.setattr("pto_buf.check.proof.prove.MOST_IN_ALL", 5)
    verdict = prove(program_of(kernel.text()), MODEL)
    assert (verdict.status, verdict.reason) == (Status.INCOMPLETE, "more than 5 states in all")


def test_slot_of_a_while_loop():
    kernel = ring(2)
    with kernel.repeat("k", 0, "k * 2 < n and unknown(k)", "k + 1"):
        turn(kernel, "k % 2")
    assert status_of(kernel, 2) is Status.PROVEN


@pytest.mark.parametrize("slots", [2, 8])
def test_slots_read_from_memory(monkeypatch: pytest.MonkeyPatch, slots: int):
    """Each slot is as it was left in any trip: not each of what all of them may have been left as is followed."""
    monkeypatch.setattr("pto_buf.check.proof.prove.MOST_IN_ALL", 20_000)
    kernel = ring(slots)
    with kernel.loop("i", 0, "n"):
        kernel.read("v", "i")
        turn(kernel, f"v % {slots}")
    assert status_of(kernel, slots) is Status.PROVEN


@pytest.mark.parametrize("put", [True, False])
def test_id_from_an_array_is_anything_until_it_is_put_there(put: bool):
    kernel = ring(1)
    kernel.ids("e", 2)
    if put:
        kernel.put("e", 0, 3)
        kernel.put("e", 1, 5)
    with kernel.loop("i", 0, "n"):
        kernel.get("id", "e", "i % 2")
        kernel.wait("V>MTE2", "0")
        kernel.load("P")
        kernel.fence("MTE2>V", "id")
        kernel.barrier("V")
        kernel.vector("Y", "P")
        kernel.set("V>MTE2", "0")
    assert status_of(kernel, 1) is (Status.PROVEN if put else Status.WRONG)


@pytest.mark.parametrize(("step", "right"), [(16, True), (8, False)])
def test_tiles_of_one_output_at_a_place_worked_out_from_an_argument(step: int, right: bool):
    kernel = Kernel("n m")
    kernel.slots("P")
    kernel.load("P")
    kernel.fence("MTE2>MTE3")
    with kernel.loop("i", 0, "n"):
        kernel.store("P", "h", f"m // 4 * 4096 + max(m % 4 * 1024, 0) + i * {step}")
    kernel.barrier()
    assert prove(program_of(kernel.text()), MODEL).status is (Status.PROVEN if right else Status.WRONG)


def test_a_run_names_the_loaded_values_that_show_it_and_no_others():
    kernel = ring(2)
    with kernel.loop("i", 0, "n"):
        kernel.read("v", "i")
        kernel.read("w", "i + 64")
        kernel.wait("V>MTE2", "v % 2")
        kernel.load("P[v % 2]")
        kernel.set("V>MTE2", "v % 2")
    kernel.drain("V>MTE2", 2)
    kernel.barrier()
    races = [one for one in prove(program_of(kernel.text()), MODEL).findings if one.fault is Fault.SAME_PIPE]
    loaded = [name for one in races for name, _ in one.run if name not in ("n", "m")]
    assert loaded
    assert all(0 <= int(name.removeprefix("table[").removesuffix("]")) < 64 for name in loaded)


def test_a_wrong_run_is_found_whatever_arguments_have_no_say_in_it():
    """Which do not are not tried over and over, once for each value of those that do."""
    kernel = Kernel("n a b c m")
    kernel.slots("P")
    kernel.slots("Y")
    with kernel.when("n + m == 80"):
        kernel.load("P")
        kernel.vector("Y", "P")
    kernel.barrier()
    (finding,) = (one for one in prove(program_of(kernel.text()), MODEL).findings if one.fault is Fault.RACE)
    values = dict(finding.run)
    assert values["n"] + values["m"] == 80
