"""Files that nobody should have written: a located error within bounded work, never a crash."""

import sys
from pathlib import Path

import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.frontend import context, read
from support.kernel_text import errors, ir, message

HEAD = """
@pl.jit.incore
def k(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
"""
DEEP = "python cannot read this: "


def nest(depth: int) -> str:
    loops = "".join("    " * (level + 1) + f"for i{level} in pl.range(2):\n" for level in range(depth))
    return HEAD + loops + "    " * (depth + 1) + "t = pl.load(x, [0, 0], [16, 64])\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (f"{HEAD}    a = {'(' * 5000}n{')' * 5000}\n", 5, DEEP),
        # Up to 3.12 Python's own parser gives up, without a place.
        (f"{HEAD}    a = {'-' * 5000}n\n", *((5, "stands too deep") if sys.version_info >= (3, 13) else (0, DEEP))),
        (f"{HEAD}    a = {'+'.join(['n'] * 500)}\n", 4, "stand too deep inside one another"),
        (f"{HEAD}    a = {'+'.join(['n'] * 900)}\n", 5, "this stands too deep inside other expressions"),
        (f"{HEAD}    a = 0x{'f' * 100_000}\n    t = pl.load(x, [a, 0], [16, 64])\n", 6, "an integer of 400000 bits"),
        (f"{HEAD}    a = {'9' * 5000}\n", 5, DEEP),
        (f"{HEAD}    t = pl.load(x, [n * {'9' * 20}, 0], [16, 64])\n", 5, "is an integer of 67 bits"),
        (f"{HEAD}    # {'x' * 10_000_000}\n    t = pl.nonsense(x)\n", 6, "there is no op"),
        (f"{HEAD}    a = \0\n", 0, DEEP),
        (f"{HEAD}\tif n:\n        a = 1\n", 6, DEEP),
        (f"{HEAD}    a = '\\ud800'\n    b = pl.nonsense(a)\n", 6, "there is no op"),
        (f"{HEAD.replace('64, 64', '10 ** 30, 64', 1)}    pass\n", 4, "an extent of 100 bits is larger than any"),
        (
            "@pl.inline\ndef f(a):\n    return g(a)\n@pl.inline\ndef g(a):\n    return f(a)\n"
            + HEAD
            + "    z = f(n)\n",
            7,
            "'f' calls itself",
        ),
    ],
    ids=[
        "brackets",
        "signs",
        "terms",
        "more terms",
        "hex",
        "digits",
        "product",
        "long line",
        "nul",
        "tabs",
        "surrogate",
        "extent",
        "ring",
    ],
)
def test_it_is_an_error_at_its_place(text: str, line: int, words: str):
    assert errors(text)[0][0] == line
    assert words in message(text)


@pytest.mark.parametrize(
    "loop", ["for i in pl.unroll(10 ** 9):\n        a = i", "for i in pl.unroll(99):\n        b = f(n)"]
)
def test_what_is_written_out_is_bounded(loop: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(context, "MOST_STATEMENTS", 500)
    text = f"@pl.inline\ndef f(a):\n    b = a\n    c = b\n    d = c\n    e = d\n    return e\n{HEAD}    {loop}\n"
    (found,) = errors(text)
    assert found[1] == "too-large"
    assert message(text) == "the kernel comes to more than 500 statements"


def test_helpers_that_double_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(context, "MOST_STATEMENTS", 500)
    helpers = "@pl.inline\ndef f0(a):\n    return a + 1\n" + "".join(
        f"@pl.inline\ndef f{i}(a):\n    return f{i - 1}(a) + f{i - 1}(a + 1)\n" for i in range(1, 30)
    )
    assert [kind for _, kind in errors(f"{helpers}{HEAD}    z = f29(n)\n")] == ["too-large"]


def test_deep_nesting_that_python_takes_is_read():
    assert "scf.for" in str(ir(nest(18)))


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path):
    path = tmp_path / "kernel.py"
    path.write_bytes(b"import pypto.language as pl\n\xff\xfe\n")
    with pytest.raises(DiagnosticError, match="is no UTF-8 text"):
        read(path)


def test_every_mistake_of_a_long_file_is_reported():
    assert len(errors(HEAD + "    t = pl.nonsense(x)\n" * 2000)) == 2000
