"""Numbers that are loaded from arrays which a kernel only reads: the same for both cores, and each time."""

import pytest

from check.kernels import Kernel
from check.programs import function_of, program_of
from pto_buf.check.certificate.certify import certificate, check_certificate
from pto_buf.check.checker import check
from pto_buf.check.findings import Status, Verdict
from pto_buf.check.model import model_of
from pto_buf.check.program import Fresh
from pto_buf.check.proof.prove import prove
from pto_buf.check.runs.concrete import search
from pto_buf.hw import A2A3

MODEL = model_of(A2A3)


def handed_over(give: str, take: str, *, guard: str = "v > 0", bound: str = "n", stored: str = "") -> Kernel:
    """Products that the cube hands over where its element of the table says so, and the vector core where its does.

    `stored`: the element that the cube stores to in each trip.
    """
    kernel = Kernel(args="n m", kind=None, arrays="g h w")
    with kernel.section("cube"):
        for name, space in {"A": "left", "B": "right", "C": "acc"}.items():
            kernel.slots(name, space=space)
        kernel.set("FIX>M")
        kernel.read("t", "0")
        with kernel.loop("i", 0, bound):
            kernel.read("v", give)
            if stored:
                kernel.write(stored)
            with kernel.when(guard):
                kernel.wait("FIX>M")
                kernel.matmul("C", "A", "B")
                kernel.fence("M>FIX")
                kernel.hear("FIX", 4)
                kernel.store("C", "w")
                kernel.signal("FIX", 3)
                kernel.set("FIX>M")
        kernel.wait("FIX>M")
        kernel.hear("FIX", 4)
        kernel.barrier()
    with kernel.section("vector", asks="sub" in take):
        kernel.slots("P")
        kernel.signal("MTE2", 4)
        kernel.read("t", "0")
        with kernel.loop("i", 0, bound):
            kernel.read("v", take)
            with kernel.when(guard):
                kernel.hear("MTE2", 3)
                kernel.barrier("MTE2")
                kernel.load("P", "w")
                kernel.signal("MTE2", 4)
        kernel.barrier()
    return kernel


def verdict_of(text: str) -> Verdict:
    return prove(program_of(text), MODEL)


SAME = {
    "element": {"give": "i", "take": "i"},
    "spelt-otherwise": {"give": "i * 4 + 8 - i", "take": "8 + 3 * i"},
    "remainder": {"give": "i % 3 * 8", "take": "i % 3 * 8"},
    "fixed": {"give": "m", "take": "m"},
    "in-a-sum": {"give": "t + i", "take": "t + i"},
    "bound": {"give": "i", "take": "i", "bound": "t"},
}


@pytest.mark.parametrize("name", SAME)
def test_cores_that_load_one_element_go_one_way(name: str):
    program = program_of(handed_over(**SAME[name]).text())
    verdict = prove(program, MODEL)
    assert (verdict.status, verdict.reason) == (Status.PROVEN, "")
    assert search(program, MODEL, {}, 3) == ()


OTHER = {
    "next-element": {"give": "i", "take": "i + 1"},
    "fixed-and-not": {"give": "i", "take": "0"},
    "of-each-vector-core-in-turn": {"give": "i", "take": "i + sub"},
    "stored-there": {"give": "i", "take": "i", "stored": "i"},
    "stored-elsewhere": {"give": "0", "take": "0", "stored": "m"},
}


@pytest.mark.parametrize("name", OTHER)
def test_cores_that_may_load_different_numbers(name: str):
    assert verdict_of(handed_over(**OTHER[name]).text()).status is Status.WRONG


@pytest.mark.parametrize("index", ["m", "i + m"])
def test_an_index_may_have_an_argument_that_is_given(index: str):
    right, wrong = (function_of(handed_over(index, take).text()) for take in (index, "i + 9"))
    assert check(right, trips={"m": 3}).status is Status.PROVEN
    verdict = check(wrong, trips={"m": 3})
    assert verdict.status is Status.WRONG
    assert all(("m", 3) in finding.run for finding in verdict.findings)


def test_elements_of_different_arrays():
    cube, vector = handed_over("i", "i").text().split("pto.section.vector")
    text = cube.replace("%table:", "%other: !pto.ptr<i32>, %table:") + "pto.section.vector"
    assert verdict_of(text + vector).status is Status.PROVEN
    assert verdict_of(text + vector.replace("%table[", "%other[")).status is Status.WRONG


def test_an_element_that_a_while_loop_waits_for_may_change():
    """Somebody else may store there: what is behind the loop is reached."""
    kernel = Kernel()
    with kernel.repeat("k", 0, "k < 1", "v"):
        kernel.read("v", "0")
    kernel.read("w", "0")
    (code,) = program_of(kernel.text()).codes
    assert [one.element is None for one in code.instructions if isinstance(one, Fresh)] == [True, False]


def test_two_loads_of_one_element_agree():
    kernel = Kernel()
    kernel.slots("P")
    with kernel.loop("i", 0, "n"):
        kernel.read("v", "i")
        with kernel.when("v > 3"):
            kernel.set("V>MTE2")
        kernel.read("w", "i")
        with kernel.when("w > 3"):
            kernel.wait("V>MTE2")
        kernel.barrier()
    kernel.barrier()
    assert verdict_of(kernel.text()).status is Status.PROVEN


def test_a_certificate_of_cores_that_load_one_element():
    program = program_of(handed_over("i", "i").text())
    found = certificate(program, MODEL)
    assert found is not None
    assert check_certificate(program, MODEL, found) == ""
