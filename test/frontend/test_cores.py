"""A kernel runs on the kinds of core whose memories it uses, unless its function names one."""

import pytest

from support.kernel_text import errors, ir, message

SIGNATURE = "def k(a: pl.Tensor[[32, 64], pl.FP16], o: pl.Out[pl.Tensor[[32, 64], pl.FP16]]):"
MATRIX = "t = pl.load(a, [0, 0], [32, 64], target_memory=pl.Mem.Mat)"
VECTOR = "u = pl.load(a, [0, 0], [32, 64])"


def text(*lines: str, decorator: str = "@pl.jit.incore") -> str:
    return "\n".join([decorator, SIGNATURE, *(f"    {line}" for line in lines), ""])


@pytest.mark.parametrize(("line", "core"), [(MATRIX, "cube"), (VECTOR, "vector"), ("pass", "vector")])
def test_the_core_is_the_one_whose_memories_are_used(line: str, core: str):
    assert f"pto.kernel_kind<{core}>" in str(ir(text(line)))


def test_a_kernel_that_uses_the_memories_of_both_names_no_core():
    assert "kernel_kind" not in str(ir(text(MATRIX, VECTOR)))


@pytest.mark.parametrize(
    ("kind", "line", "words"),
    [
        ("AIC", VECTOR, "'u' lies in Vec, which the cube core of this function does not have"),
        ("AIV", MATRIX, "'t' lies in Mat, which the vector core of this function does not have"),
    ],
)
def test_a_function_keeps_to_the_core_that_it_names(kind: str, line: str, words: str):
    wrong = text(line, decorator=f"@pl.function(type=pl.FunctionType.{kind})")
    assert errors(wrong) == [(4, "memory-space")]
    assert message(wrong) == words
