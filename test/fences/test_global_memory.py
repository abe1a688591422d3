"""Global memory that a kernel touches twice: overlapping windows come in order, windows that are apart cost nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp

from pto_buf.check.checker import check
from pto_buf.check.findings import Fault, Status
from pto_buf.dialect.pto import BarrierOp
from pto_buf.dialect.ptobuf import EventOp
from pto_buf.errors import Diagnostic
from pto_buf.hw import Pipe
from support.slot_builder import FENCING, lowered
from support.slot_text import SlotText
from support.trials import kernel_of, wrong_runs

pytestmark = pytest.mark.campaign


@dataclass(frozen=True)
class Case:
    """`barriers` on the pipe that stores, and `events`, are there for global memory.

    `reads_back`: it loads what it stored.
    """

    make: Callable[[], SlotText]
    barriers: int = 0
    events: int = 0
    reads_back: bool = False
    lost: bool = False
    far: int = 0
    """How many trips it takes until windows overlap, if more than a few."""


def pass_through(slots: int = 2, row: str = "i", columns: str = "0", args: str = "n", wide: int = 1) -> SlotText:
    kernel = SlotText(args, wide=wide, P=slots)
    with kernel.loop("i", 0, "n"):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.store(f"P[i % {slots}]", row=row, column=columns)
    return kernel


def two_loops(second: str = "g", out: str = "y") -> SlotText:
    """A loop stores to y, another one behind it loads `second` and stores to `out`."""
    kernel = SlotText(P=2, Q=2)
    with kernel.loop("i", 0, "n"):
        kernel.load("P[i % 2]", row="i")
        kernel.store("P[i % 2]", row="i")
    with kernel.loop("i", 0, "n"):
        kernel.load("Q[i % 2]", second, row="i")
        kernel.store("Q[i % 2]", out, row="i")
    return kernel


def in_place(ahead: int = 0, rounds: bool = False) -> SlotText:
    """Each tile of y is loaded, changed and stored again, once or in each of `m` rounds."""
    kernel = SlotText("n m", P=2)
    with kernel.loop("o", 0, "m" if rounds else 1), kernel.loop("i", 0, "n"):
        kernel.load("P[i % 2]", "y", row=f"i + {ahead}")
        kernel.vector("P[i % 2]", "P[i % 2]")
        kernel.store("P[i % 2]", "y", row="i")
    return kernel


def in_place_of_another() -> SlotText:
    """A tile of y is loaded and overwritten by another one: no slot orders the two."""
    kernel = SlotText(P=2, Q=1)
    with kernel.loop("i", 0, "n"):
        kernel.load("P[i % 2]", "y", row="i")
        kernel.fill("Q")
        kernel.store("Q", "y", row="i")
        kernel.store("P[i % 2]", "z", row="i")
    return kernel


def sums(args: str = "n m") -> SlotText:
    """Adds to each tile of y in every round."""
    kernel = SlotText(args, P=2, Q=2)
    with kernel.loop("o", 0, "m"), kernel.loop("i", 0, "n"):
        kernel.load("P[i % 2]", row="i")
        kernel.load("Q[i % 2]", "y", row="i")
        kernel.vector("Q[i % 2]", "Q[i % 2]", "P[i % 2]")
        kernel.store("Q[i % 2]", "y", row="i")
    return kernel


def phases() -> SlotText:
    """In every round one loop stores to y, and the next one loads it."""
    kernel = SlotText("n m", P=2, Q=2)
    with kernel.loop("o", 0, "m"):
        with kernel.loop("i", 0, "n"):
            kernel.load("P[i % 2]", row="i")
            kernel.store("P[i % 2]", "y", row="i")
        with kernel.loop("i", 0, "n"):
            kernel.load("Q[i % 2]", "y", row="i")
            kernel.store("Q[i % 2]", "z", row="i")
    return kernel


def one_arm_to_one_place() -> SlotText:
    kernel = SlotText(P=2)
    with kernel.loop("i", 0, "n"):
        kernel.load("P[i % 2]", row="i")
        with kernel.when("unknown(i)"):
            kernel.store("P[i % 2]", row="i")
        with kernel.otherwise():
            kernel.store("P[i % 2]", row=0)
    return kernel


def behind_a_large_number() -> SlotText:
    """The second store is one of a run that small numbers do not show."""
    kernel = SlotText(P=2)
    kernel.load("P[0]")
    kernel.store("P[0]")
    with kernel.when("n > 1000"):
        kernel.load("P[1]")
        kernel.store("P[1]")
    return kernel


def products_in_one_place() -> SlotText:
    """FIX stores every product to one place."""
    kernel = SlotText(X=(1, "mat"), A=(1, "left"), B=(1, "right"), C=(2, "acc"))
    kernel.load("X")
    kernel.extract("A", "X")
    kernel.extract("B", "X")
    with kernel.loop("i", 0, "n"):
        kernel.matmul("C[i % 2]", "A", "B")
        kernel.store("C[i % 2]", row=0)
    return kernel


def in_a_while() -> SlotText:
    """Both regions of the loop store to one place."""
    kernel = SlotText(P=1, Q=1)

    def before() -> None:
        kernel.load("P", row="k")
        kernel.store("P", row=0)

    with kernel.repeat("k", "k < n", before):
        kernel.fill("Q")
        kernel.store("Q", row=0)
    return kernel


def of_a_resident_tile(step: int, *rows: str) -> SlotText:
    """One tile is stored in each trip, which no slot orders, to each of these rows."""
    kernel = SlotText(P=1)
    kernel.load("P")
    with kernel.loop("i", 0, "n", step):
        for row in rows:
            kernel.store("P", row=row)
    return kernel


def at_a_distance(rows: str, back: bool = False, args: str = "n") -> SlotText:
    """The second loop stores to (or loads from) rows of y so far behind those of the first one."""
    kernel = SlotText(args, P=3, Q=2)
    with kernel.loop("i", 0, "n"):
        kernel.load("P[i % 3]", row="i")
        kernel.store("P[i % 3]", row="i")
    with kernel.loop("i", 0, "n"):
        kernel.load("Q[i % 2]", "y" if back else "g", row=f"i + {rows}" if back else "i")
        kernel.store("Q[i % 2]", "z" if back else "y", row="i" if back else f"i + {rows}")
    return kernel


def behind_a_loop_that_orders() -> SlotText:
    """What a nest stores is loaded behind another loop: as soon as that has two trips it orders the two."""
    kernel = SlotText("n m", P=4, Q=2, R=1)
    with kernel.loop("o", 0, "m"), kernel.loop("i", 0, 2):
        kernel.load("P[(2 * o + i) % 4]", row="2 * o + i")
        kernel.store("P[(2 * o + i) % 4]", row="2 * o + i")
    with kernel.loop("i", 0, "n"):
        kernel.load("R", row="i")
        kernel.store("R", "z", row="i")
    with kernel.loop("i", 0, "n"):
        kernel.load("Q[i % 2]", "y", row="i + 2")
        kernel.store("Q[i % 2]", "z", row="i")
    return kernel


def under_conditions_in_a_while() -> SlotText:
    """A while stores in some of its trips what a loop loads behind it."""
    kernel = SlotText("n m", P=3, Q=2)
    with kernel.repeat("k", "k < m", lambda: None):
        kernel.load("P[k % 3]", row="k")
        with kernel.when("n < k"):
            kernel.store("P[k % 3]", row="k")
    with kernel.loop("i", 0, 2):
        kernel.load("Q[i % 2]", "y", row="i + 1")
        kernel.store("Q[i % 2]", "z", row="i")
    return kernel


def two_whiles() -> SlotText:
    """The second one stores where the last trip of the first one has stored."""
    kernel = SlotText(P=2, Q=2)
    for slots, row in (("P", "k"), ("Q", "k + 1")):
        with kernel.repeat("k", "k < n", lambda: None):
            kernel.load(f"{slots}[k % 2]", row="k")
            kernel.store(f"{slots}[k % 2]", row=row)
    return kernel


CASES: Mapping[str, Case] = {
    "apart by rows": Case(pass_through),
    "apart by columns": Case(lambda: pass_through(row="0", columns="i * 64", wide=8)),
    "apart from a computed row": Case(lambda: pass_through(row="i + m", args="n m")),
    "apart by a computed stride": Case(lambda: pass_through(row="i * (m + 1)", args="n m")),
    "one place": Case(lambda: pass_through(row="0"), barriers=1),
    "one place, one slot": Case(lambda: pass_through(1, row="0")),
    "every other place": Case(lambda: pass_through(4, row="i % 2"), barriers=1),
    "places that nothing is known of": Case(lambda: pass_through(row="min(i, m)", args="n m"), barriers=1),
    "two loops": Case(two_loops, barriers=1),
    "two loops, two arrays": Case(lambda: two_loops(out="z")),
    "loaded in the second loop": Case(lambda: two_loops("y", "z"), events=1, reads_back=True),
    "in place": Case(in_place),
    "in place, a tile ahead": Case(lambda: in_place(1)),
    "in place, in rounds": Case(lambda: in_place(rounds=True), barriers=1, reads_back=True),
    "in place, another tile": Case(in_place_of_another, events=2, lost=True),
    "sums": Case(sums, barriers=1, reads_back=True),
    "phases": Case(phases, events=2, reads_back=True),
    "one arm to one place": Case(one_arm_to_one_place, barriers=1),
    "behind a large number": Case(behind_a_large_number, barriers=1),
    "products in one place": Case(products_in_one_place, barriers=1),
    "in a while": Case(in_a_while, barriers=2),
    "one place, every seventh number": Case(lambda: of_a_resident_tile(7, "0"), barriers=1),
    "two loops, far apart": Case(lambda: at_a_distance("20"), barriers=1, far=21),
    "loaded from far": Case(lambda: at_a_distance("20", back=True), events=1, reads_back=True, far=21),
    "loaded behind a loop that orders": Case(behind_a_loop_that_orders, barriers=1, events=1, reads_back=True),
    "under conditions in a while": Case(under_conditions_in_a_while, events=1, reads_back=True),
    "two whiles": Case(two_whiles, barriers=1),
    "there and back, in turns": Case(lambda: of_a_resident_tile(1, "i % 2", "(i + 1) % 2", "i % 2"), barriers=2),
}


@cache
def _lowered(name: str) -> tuple[ModuleOp, list[Diagnostic]]:
    return lowered(CASES[name].make())


@pytest.mark.parametrize("name", CASES)
def test_right_for_every_trip_count(name: str):
    verdict = check(kernel_of(_lowered(name)[0]), global_raw=CASES[name].reads_back)
    assert (verdict.status, verdict.reason, verdict.findings) == (Status.PROVEN, "", ())


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.reads_back and not case.far])
def test_a_flag_between_store_and_load_is_not_enough_unless_it_is_asked_for(name: str):
    faults = {finding.fault for finding in check(kernel_of(_lowered(name)[0])).findings}
    assert faults == {Fault.GLOBAL_READ}


@pytest.mark.parametrize("name", CASES)
def test_right_values_however_late_the_pipes_run(name: str):
    far = CASES[name].far
    for n in (0, 1, 2, 3, 5, *((far - 1, far, far + 1) if far else ())):
        assert wrong_runs(_lowered(name)[0], {"n": n, "m": 2}) == []


@pytest.mark.parametrize("name", CASES)
def test_fenced_no_more_than_it_takes(name: str):
    module, _ = lowered(CASES[name].make(), FENCING)
    barriers = [op for op in module.walk() if isinstance(op, BarrierOp) and op.pipe.data in (Pipe.MTE3, Pipe.FIX)]
    events = [op for op in module.walk() if isinstance(op, EventOp) and op.event_name.data.startswith("gm.")]
    assert (len(barriers), len(events)) == (CASES[name].barriers, CASES[name].events)


@pytest.mark.parametrize("name", CASES)
def test_what_is_lost_is_said(name: str):
    lost = [warning.message for warning in _lowered(name)[1] if "gm.y" in warning.message]
    assert len(lost) == CASES[name].lost


def test_where_it_takes_too_many_trips_to_try_they_are_ordered():
    module, _ = lowered(at_a_distance("4000"))
    assert [op.pipe.data for op in module.walk() if isinstance(op, BarrierOp)] == [Pipe.MTE3, Pipe.ALL]
    assert check(kernel_of(module)).status is Status.PROVEN


def test_where_trying_takes_too_many_steps_they_are_ordered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pto_buf.fences.global_memory.global_order._MOST_STEPS", -1)
    module, _ = lowered(at_a_distance("20"))
    assert [op.pipe.data for op in module.walk() if isinstance(op, BarrierOp)] == [Pipe.MTE3, Pipe.ALL]
    assert check(kernel_of(module)).status is Status.PROVEN
