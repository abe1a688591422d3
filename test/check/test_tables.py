"""Elements whose index other elements, branches and loops make, and operations as tables: the same for both cores."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TypeAlias

import pytest

from check.kernels import Kernel
from check.programs import program_of
from pto_buf.check.certificate.certify import certificate, check_certificate
from pto_buf.check.findings import Status
from pto_buf.check.model import model_of
from pto_buf.check.program import Fresh
from pto_buf.check.proof.prove import prove
from pto_buf.check.runs.concrete import check_run, search
from pto_buf.hw import A2A3

MODEL = model_of(A2A3)

Turns: TypeAlias = Callable[[Kernel], AbstractContextManager[None]]
"""The loop, and the condition in it, under which a core does its part."""


@contextmanager
def counted(kernel: Kernel, index: str = "i", bound: str = "n") -> Iterator[None]:
    with kernel.repeat("i", 0, f"i < {bound}", "i + 1"):
        kernel.read("v", index)
        with kernel.when("v > 0"):
            yield


@contextmanager
def sought(kernel: Kernel, index: str = "i") -> Iterator[None]:
    """Up to an element that is not above 0."""
    with kernel.repeat("i", 0, "i < n and e > 0", "i + 1", reads={"e": index}):
        yield


@contextmanager
def nested(kernel: Kernel, first: str = "i", second: str = "v") -> Iterator[None]:
    with kernel.loop("i", 0, "n"):
        kernel.read("v", first)
        kernel.read("v", second)
        with kernel.when("v > 0"):
            yield


@contextmanager
def chosen(kernel: Kernel, condition: str = "i > m", yes: str = "i - m", no: str = "i") -> Iterator[None]:
    with kernel.loop("i", 0, "n"):
        kernel.read("v", "i")
        kernel.choose("q", condition, yes, no)
        kernel.read("w", "q")
        with kernel.when("w > 0"):
            yield


@contextmanager
def summed(kernel: Kernel, step: str = "j", trips: str = "m", start: str = "i - n") -> Iterator[None]:
    """At an index that a loop makes of a chosen one."""
    with kernel.loop("i", 0, "n"):
        kernel.choose("q", "i > n", start, "i")
        with kernel.carrying("j", 0, trips, "c", "q", f"c + {step}"):
            pass
        kernel.read("v", "c")
        with kernel.when("v > 0"):
            yield


@contextmanager
def asked(kernel: Kernel, condition: str = "unknown(z)", of: str = "i") -> Iterator[None]:
    with kernel.loop("i", 0, "n"):
        kernel.read("v", "i")
        kernel.let("z", of)
        with kernel.when(condition):
            yield


def handed_over(give: Turns, take: Turns, *, asks: bool = False, stored: str = "") -> str:
    """Products that the cube hands over in its turns, and the vector core takes in its own."""
    kernel = Kernel(args="n m", kind=None, arrays="g h w")
    with kernel.section("cube"):
        kernel.slots("C", space="acc")
        if stored:
            kernel.write(stored)
        with give(kernel):
            kernel.hear("FIX", 4)
            kernel.barrier("FIX")
            kernel.store("C", "w")
            kernel.signal("FIX", 3)
        kernel.hear("FIX", 4)
        kernel.barrier()
    with kernel.section("vector", asks=asks):
        kernel.slots("P")
        kernel.signal("MTE2", 4)
        with take(kernel):
            kernel.hear("MTE2", 3)
            kernel.barrier("MTE2")
            kernel.load("P", "w")
            kernel.signal("MTE2", 4)
        kernel.barrier()
    return kernel.text()


SAME: dict[str, tuple[Turns, Turns]] = {
    "counted": (counted, counted),
    "sought": (sought, sought),
    "nested": (nested, nested),
    "nested-in-a-sum": (partial(nested, second="v * 4 + i"), partial(nested, second="i + 4 * v")),
    "nested-fixed": (partial(nested, first="0", second="v + m"), partial(nested, first="0", second="m + v")),
    "chosen": (chosen, chosen),
    "chosen-by-an-element": (partial(chosen, condition="v > 1"), partial(chosen, condition="v > 1")),
    "chosen-elements": (partial(chosen, yes="v"), partial(chosen, yes="v")),
    "chosen-by-floats": (partial(chosen, condition="unknown(i)"), partial(chosen, condition="unknown(i)")),
    "summed": (summed, summed),
    "floats": (asked, asked),
    "floats-of-elements": (partial(asked, condition="unknown(v)"), partial(asked, condition="unknown(v)")),
}


@pytest.mark.parametrize("name", SAME)
def test_cores_that_ask_the_same_go_one_way(name: str):
    program = program_of(handed_over(*SAME[name]))
    verdict = prove(program, MODEL)
    assert (verdict.status, verdict.reason) == (Status.PROVEN, "")
    assert search(program, MODEL, {}, 2) == ()


OTHER: dict[str, tuple[Turns, Turns]] = {
    "counted": (counted, partial(counted, index="i + 1")),
    "sought": (sought, partial(sought, index="i + 1")),
    "nested-second": (nested, partial(nested, second="v + 1")),
    "not-nested": (nested, partial(nested, second="i")),
    "chosen-condition": (chosen, partial(chosen, condition="i > 1")),
    "chosen-elements": (partial(chosen, yes="v"), partial(chosen, yes="v + 1")),
    "chosen-by-floats": (partial(chosen, condition="unknown(i)"), partial(chosen, condition="unknown(m)")),
    "summed-in-other-steps": (summed, partial(summed, step="1")),
    "floats": (asked, partial(asked, condition="unknown(n)")),
    "floats-of-elements": (partial(asked, condition="unknown(v)"), asked),
}


@pytest.mark.parametrize("name", OTHER)
def test_cores_that_may_ask_something_else(name: str):
    program = program_of(handed_over(*OTHER[name]))
    verdict = prove(program, MODEL)
    assert verdict.status is Status.WRONG
    for finding in verdict.findings:
        assert finding.choice is not None
        assert finding.key in {other.key for other in check_run(program, MODEL, finding.choice).findings}


def test_another_comparison_is_another_question():
    cube, vector = handed_over(asked, asked).split("pto.section.vector")
    text = f"{cube}pto.section.vector{vector.replace('cmpf olt', 'cmpf ole')}"
    assert prove(program_of(text), MODEL).status is Status.WRONG


@pytest.mark.parametrize(("put", "status"), [("i", Status.WRONG), ("m", Status.PROVEN)])
def test_an_index_that_no_loop_sets_may_be_another_one_each_time(put: str, status: Status):
    """What is set in one trip is waited for in the next one, if both find a number above 0."""
    kernel = Kernel("n m")
    kernel.ids("e", 1)
    with kernel.loop("i", 0, 2):
        kernel.put("e", 0, put)
        kernel.get("q", "e", 0)
        kernel.read("v", "q" if put == "i" else put)
        with kernel.when("v > 0 and i == 0"):
            kernel.set("V>MTE2")
        with kernel.when("v > 0 and i == 1"):
            kernel.wait("V>MTE2")
    kernel.barrier()
    assert prove(program_of(kernel.text()), MODEL).status is status


OWN: dict[str, tuple[Turns, Turns]] = {
    "nested": (nested, partial(nested, second="v + sub")),
    "floats": (asked, partial(asked, of="i + sub")),
}


@pytest.mark.parametrize("name", OWN)
def test_what_is_made_of_the_number_of_a_vector_core_is_its_own(name: str):
    assert prove(program_of(handed_over(*OWN[name], asks=True)), MODEL).status is Status.WRONG


@pytest.mark.parametrize("turns", [counted, sought, nested, chosen])
def test_an_array_that_a_core_stores_to_is_not_the_same_for_all(turns: Turns):
    program = program_of(handed_over(turns, turns, stored="m"))
    loads = [one for code in program.codes for one in code.instructions if isinstance(one, Fresh)]
    assert loads
    assert not any(one.loads for one in loads)


WAITS = {
    "for-one-element": ("0", "v < 1", "k + 1", True),
    "for-one-element-or-long-enough": ("0", "k < n and v < 1", "k + 1", True),
    "for-an-element-of-its-own": ("k * 2", "v < 1", "k * 2", True),
    "for-none": ("0", "k < n", "k + 1", False),
    "for-the-next-one": ("k + n", "v < 1", "k + 1", False),
    "for-every-third": ("k", "v < 1 and k < n", "k + 3", False),
    "for-the-same-one-on-and-on": ("k", "v < 1", "k", True),
}


@pytest.mark.parametrize("name", WAITS)
def test_which_loops_wait_for_a_store_of_somebody_else(name: str):
    """It may change while they do."""
    index, condition, after, waits = WAITS[name]
    kernel = Kernel()
    with kernel.repeat("k", 0, condition, after, reads={"v": index}):
        pass
    (code,) = program_of(kernel.text()).codes
    assert [one.loads for one in code.instructions if isinstance(one, Fresh)] == [not waits]


@pytest.mark.parametrize("name", ["counted", "chosen-by-an-element", "floats"])
def test_a_certificate(name: str):
    program = program_of(handed_over(*SAME[name]))
    found = certificate(program, MODEL)
    assert found is not None
    assert check_certificate(program, MODEL, found) == ""
