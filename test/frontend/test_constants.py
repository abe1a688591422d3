"""Constants of a file: folded, computed by its functions and records, and taken from modules beside it."""

from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import OpResult

from pto_buf.dialect.gm import MakeTensorViewOp
from pto_buf.errors import DiagnosticError
from pto_buf.frontend import read
from pto_buf.frontend.syntax.module import parse, scan
from support.kernel_text import ir, message

_KERNEL = """
import pypto.language as pl
{head}

@pl.jit.incore
def k(x: pl.Tensor[[{extent}, 64], pl.FP32]):
    t = pl.load(x, [0, 0], [8, 64])
"""


def rows(head: str, extent: str = "ROWS", folder: Path | None = None) -> int:
    """The extent that a kernel's annotation comes to."""
    path = (folder or Path("nowhere")) / "kernel.py"
    text = str(read(path, source=_KERNEL.format(head=head, extent=extent)))
    return int(text.partition("tensor_view<")[2].partition("x")[0])


def why_not(head: str, extent: str = "ROWS", folder: Path | None = None) -> str:
    """The error for an extent that is not known, whose place is the annotation."""
    with pytest.raises(DiagnosticError) as caught:
        rows(head, extent, folder)
    (found,) = caught.value.diagnostics
    assert found.place is not None and found.place.line == head.count("\n") + 6
    return found.message


RECORD = """
from dataclasses import dataclass, replace

@dataclass(frozen=True)
class Config:
    heads: int
    width: int = 4
    SCALE = 2

    @property
    def rows(self) -> int:
        half = self.heads // 2
        if self.width > 100:
            return 1
        return half * self.width * self.SCALE

BASE = Config(8)
"""


@pytest.mark.parametrize(
    ("head", "extent", "expected"),
    [
        ("ROWS = 2 ** 5 + (3 if 1 > 2 else 5)", "ROWS", 37),
        ("A, (B, C) = 1, (2, 30)", "A + B + C", 33),
        ('SIZES = {"small": 16, "large": 48}', 'SIZES["large"]', 48),
        ("import math", "math.ceil(math.sqrt(1000))", 32),
        ("from math import gcd as common", "common(48, 64)", 16),
        ("def up(x, to=8):\n    return -(-x // to) * to", "up(17)", 24),
        ("def up(x, *, to):\n    '''Rounds.'''\n    n = -(-x // to)\n    return n * to", "up(17, to=16)", 32),
        ("def pick(x):\n    if x > 3:\n        return 40\n    else:\n        return 8", "pick(2)", 8),
        ("def both():\n    return 8, 16\nA, B = both()", "A + B", 24),
        ("if 2 > 1:\n    ROWS = 24\nelse:\n    ROWS = 8", "ROWS", 24),
        ("class Tiles:\n    M = 16\n    N = M * 2", "Tiles.N", 32),
        (RECORD, "BASE.rows", 32),
        (RECORD, "replace(BASE, heads=4).rows", 16),
        (RECORD, "Config(width=6, heads=16).width + BASE.SCALE", 8),
    ],
)
def test_what_constants_come_to(head: str, extent: str, expected: int):
    assert rows(head, extent) == expected


@pytest.mark.parametrize(
    ("head", "extent", "words"),
    [
        ("ROWS = open('x')", "ROWS", "'ROWS' is not known while reading"),
        ("def f(n):\n    return f(n + 1)", "f(0)", "'f' calls too deep"),
        ("def f(n):\n    for i in range(n):\n        pass\n    return n", "f(8)", "its body is more than names"),
        ("def f(n):\n    return n", "f()", "'f' lacks its argument 'n'"),
        ("def f(n):\n    return n", "f(8, m=1)", "'f' has no argument 'm' left to give"),
        ("def f(n):\n    return n // 0", "f(8)", "division by zero"),
        (RECORD, "BASE.depth", "'depth' of 'Config' is not known while reading"),
        ('SIZES = {"small": 16}', 'SIZES["large"]', "the dictionary has no key 'large'"),
        ("A = 10 ** 1000\nB = A * A", "B", "'B' is not known while reading"),
        ("A = [1]" + "\nA = A + A" * 40, "len(A)", "'A' is not known while reading"),
    ],
)
def test_what_is_not_constant_is_named(head: str, extent: str, words: str):
    assert words in why_not(head, extent)


def test_functions_that_call_each_other_without_end_are_given_up():
    chain = "def f0(n):\n    return n\n" + "".join(
        f"def f{i}(n):\n    return f{i - 1}(2 * n) + f{i - 1}(2 * n + 1)\n" for i in range(1, 20)
    )
    assert "too long" in why_not(chain, "f19(1)")


def test_constants_come_from_modules_beside_the_file(tmp_path: Path):
    (tmp_path / "config.py").write_text("import torch\nfrom shapes import *\nROWS = BASE * 2\n_HIDDEN = 8\n")
    (tmp_path / "shapes.py").write_text("BASE = 16\n")
    assert rows("from config import ROWS as R", "R", tmp_path) == 32
    assert rows("import config as c", "c.BASE", tmp_path) == 16
    assert rows("from .config import ROWS", "ROWS", tmp_path) == 32
    assert "'ROWS' is not known" in why_not("from config import _NOTHING as ROWS", "ROWS", tmp_path)
    assert "'ROWS' is not known" in why_not("from elsewhere import ROWS", "ROWS", tmp_path)


def test_a_package_above_the_file_is_found(tmp_path: Path):
    (tmp_path / "models" / "kernels").mkdir(parents=True)
    (tmp_path / "models" / "sizes.py").write_text("ROWS = 40\n")
    assert rows("from models.sizes import ROWS", "ROWS", tmp_path / "models" / "kernels") == 40
    assert rows("from ..sizes import ROWS", "ROWS", tmp_path / "models" / "kernels") == 40


def test_modules_that_import_each_other_end(tmp_path: Path):
    (tmp_path / "one.py").write_text("from two import B\nA = 8\nC = B + 1\n")
    (tmp_path / "two.py").write_text("from one import A\nB = 16\nD = A + 1\n")
    assert rows("from one import A, C", "A + C", tmp_path) == 25
    assert "'D' is not known" in why_not("from one import A\nfrom two import D", "D", tmp_path)


@pytest.mark.parametrize("content", [b"def (", b"\xff\xfe\x00", b"x = " + b"(" * 5000])
def test_a_module_that_cannot_be_read_holds_nothing(tmp_path: Path, content: bytes):
    (tmp_path / "config.py").write_bytes(content)
    assert "'ROWS' is not known" in why_not("from config import ROWS", "ROWS", tmp_path)


def test_nothing_of_the_file_runs(tmp_path: Path):
    text = f"import os\nX = os.mkdir({str(tmp_path / 'made')!r})\n"
    assert scan(parse(text, "kernel.py")).functions == {}
    assert not (tmp_path / "made").exists()


def test_a_plain_function_is_evaluated_in_a_kernel_too():
    text = """
import pypto.language as pl

def half(n):
    return n // 2

@pl.jit.incore
def k(x: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX]):
    t = pl.load(x, [half(32), 0], [16, 64])
    u = pl.load(x, [{offset}, 0], [16, 64])
"""
    assert "arith.constant 16" in str(read("kernel.py", source=text.format(offset="half(8)")))
    with pytest.raises(DiagnosticError) as caught:
        read("kernel.py", source=text.format(offset="half(n)"))
    assert "'half' is no function of the DSL: only a call with constants" in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].place is not None and caught.value.diagnostics[0].place.line == 10


_DYNAMIC = """
M = pl.dynamic("M")
N = pl.dynamic("N")

@pl.jit.incore
def k(x: pl.Tensor[[{}, 64], pl.FP32], y: pl.Out[pl.Tensor[[N, 64], pl.FP32]]):
    for i in pl.range(x.shape[0]):
        y = pl.store(pl.load(x, [i, 0], [1, 64]), [i, 0], y)
"""


@pytest.mark.parametrize("extent", ["M * 2", "(M + N) // 4 + 1", "2 * M % 3", "M - 1"])
def test_an_extent_may_be_worked_out_of_dynamic_ones(extent: str):
    module = ir(_DYNAMIC.format(extent))
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    assert [argument.name_hint for argument in function.body.block.args] == ["x", "y", "M", "N"]
    (view, _) = (op for op in module.walk() if isinstance(op, MakeTensorViewOp))
    rows = view.shape[0]
    assert isinstance(rows, OpResult)
    assert rows.op.name.startswith("arith.")


@pytest.mark.parametrize(
    ("extent", "why"),
    [
        ("M ** 2", "there is no operator Pow for extents known at run time"),
        ("M / 2", "there is no operator Div for extents known at run time"),
        ("64 // M", "an extent known at run time is divided by a positive constant only"),
        ("(M - 1) // 2", "an extent known at run time from which something is taken is not divided"),
        ("M * 1.5", "an extent is worked out of integers and pl.dynamic, found 1.5"),
    ],
)
def test_other_extents_are_refused(extent: str, why: str):
    assert message(_DYNAMIC.format(extent)) == f"an annotation is made of constants: {why}"
