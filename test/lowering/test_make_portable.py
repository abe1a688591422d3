"""What is said another way is proven for every trip count, and computes what it did."""

from pathlib import Path

import numpy as np
import pytest

from pto_buf.compiler import compile_file
from pto_buf.errors import DiagnosticError
from pto_buf.lowering.make_portable import MakePortablePass
from pto_buf.passes import available_passes, parse_passes, run_passes
from pto_buf.run import run_pto
from pto_buf.source import parse_text
from pto_buf.universe import make_context

ROWS, COLS = 16, 64

HEAD = """
import pypto.language as pl

@pl.jit.incore
def kernel(
    src: pl.Tensor[[128, 64], pl.FP32], dst: pl.Out[pl.Tensor[[128, 64], pl.FP32]]{arguments}
):
    ring = pl.create_tile_buffers(3, [16, 64], pl.FP32, pl.Mem.Vec)
"""

STEP = """
        pl.tile.load_into(ring[{slot}], src, [({source}) * 16, 0], [16, 64])
        out = pl.add(ring[{slot}], 1.0)
        dst = pl.store(out, [({target}) * 16, 0], dst)
"""


def kernel(tmp_path: Path, arguments: str, before: str, loop: str, step: str, after: str = "") -> Path:
    lines = [
        f"    {before}",
        f"    {loop}",
        step.strip("\n"),
        *([f"        {after}"] if after else []),
        "    return dst",
    ]
    path = tmp_path / "kernel.py"
    path.write_text(HEAD.format(arguments=arguments) + "\n".join(line for line in lines if line.strip()) + "\n")
    return path


def blocks(path: Path, **numbers: int) -> list[int]:
    """For each block of rows of the result, the block of the source that it was made from; -1 for none.

    The whole pipeline has to prove the kernel, and leaving the pass out has to give the same values.
    """
    x = np.repeat(np.arange(8.0, dtype=np.float32), ROWS * COLS).reshape(8 * ROWS, COLS)
    arrays = {"src": x, "dst": np.full_like(x, -2.0)}
    compiled = compile_file(path)
    found = run_pto(compiled.module, {**arrays, **numbers}).arrays["dst"]
    plain = compiled.fenced.clone()
    run_passes(make_context(), plain, parse_passes("ptobuf-convert-to-pto", available_passes()))
    assert np.array_equal(found, run_pto(plain, {**arrays, **numbers}).arrays["dst"])
    found = found.reshape(8, -1)
    assert (found == found[:, :1]).all()
    return [int(value) - 1 for value in found[:, 0]]


def padded(*expected: int) -> list[int]:
    return [*expected, *[-3] * (8 - len(expected))]


def test_numbers_that_change_places(tmp_path: Path):
    step = STEP.format(slot="a", source="a + 3 * b", target="i")
    path = kernel(tmp_path, ", n: pl.Scalar[pl.INDEX]", "a, b = 0, 1", "for i in pl.range(n):", step, "a, b = b, a")
    assert blocks(path, n=5) == padded(3, 1, 3, 1, 3)
    assert blocks(path, n=1) == padded(3)
    assert blocks(path, n=0) == padded()


def test_three_numbers_that_turn(tmp_path: Path):
    step = STEP.format(slot="a", source="a", target="i")
    loop = "for i in pl.range(n):"
    path = kernel(tmp_path, ", n: pl.Scalar[pl.INDEX]", "a, b, c = 0, 1, 2", loop, step, "a, b, c = b, c, a")
    assert blocks(path, n=5) == padded(0, 1, 2, 0, 1)


def test_slots_that_change_places(tmp_path: Path):
    step = STEP.replace("ring[{slot}]", "cur").format(source="i", target="i")
    before = "cur, nxt = ring[0], ring[1]"
    path = kernel(tmp_path, "", before, "for i in pl.range(6):", step, "cur, nxt = nxt, cur")
    assert blocks(path) == padded(0, 1, 2, 3, 4, 5)


def test_numbers_that_change_places_in_a_while(tmp_path: Path):
    step = STEP.format(slot="a", source="a", target="i")
    before = "i, a, b = 0, 0, 1"
    after = "i, a, b = i + 1, b, a"
    path = kernel(tmp_path, ", n: pl.Scalar[pl.INDEX]", before, "while i < n:", step, after)
    assert blocks(path, n=4) == padded(0, 1, 0, 1)
    assert blocks(path, n=0) == padded()


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [(-2, 3, (0, 1, 2, 3, 4)), (0, 2, (-3, -3, 2, 3)), (1, 2, (-3, -3, -3, 3)), (2, 2, ()), (2, -2, ()), (-3, -5, ())],
)
def test_bounds_of_any_sign(tmp_path: Path, lower: int, upper: int, expected: tuple[int, ...]):
    step = STEP.format(slot="(i + 2) % 3", source="i + 2", target="i + 2")
    arguments = ", lo: pl.Scalar[pl.INT32], hi: pl.Scalar[pl.INT32]"
    path = kernel(tmp_path, arguments, "", "for i in pl.range(lo, hi):", step)
    assert blocks(path, lo=lower, hi=upper) == padded(*expected)


def test_a_step_from_below_zero(tmp_path: Path):
    step = STEP.format(slot="i % 3", source="i + 3", target="i + 3")
    path = kernel(tmp_path, ", n: pl.Scalar[pl.INDEX]", "", "for i in pl.range(-3, n, 2):", step)
    assert blocks(path, n=4) == padded(0, -3, 2, -3, 4, -3, 6)
    assert blocks(path, n=0) == padded(0, -3, 2)


@pytest.mark.parametrize(("a", "b", "trips"), [(5, 2, 3), (2, 2, 0), (2, 5, 0), (-1, -3, 2)])
def test_narrow_bounds(tmp_path: Path, a: int, b: int, trips: int):
    step = STEP.format(slot="i % 3", source="i", target="i")
    arguments = ", a: pl.Scalar[pl.INT32], b: pl.Scalar[pl.INT32]"
    path = kernel(tmp_path, arguments, "", "for i in pl.range(a - b):", step)
    assert blocks(path, a=a, b=b) == padded(*range(trips))


def test_a_carried_clamp(tmp_path: Path):
    step = STEP.format(slot="i % 3", source="back", target="i")
    path = kernel(tmp_path, "", "back = 0", "for i in pl.range(6):", step, "back = pl.max(i - 2, 0)")
    assert blocks(path) == padded(0, 0, 0, 0, 1, 2)


def test_a_sum_of_floats(tmp_path: Path):
    step = STEP.replace("1.0", "p + q").format(slot="i % 3", source="i", target="i")
    arguments = ", p: pl.Scalar[pl.FP32], q: pl.Scalar[pl.FP32]"
    path = kernel(tmp_path, arguments, "", "for i in pl.range(4):", step)
    text = compile_file(path).text
    assert "arith.addf" not in text
    assert blocks(path, p=3, q=-2) == padded(0, 1, 2, 3)


def test_what_cannot_be_worked_out_anew_is_refused():
    text = """module attributes {pto.target_arch = "a3"} {
func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (!pto.ptr<f32>, !pto.ptr<f32>) {
    scf.yield %b, %a : !pto.ptr<f32>, !pto.ptr<f32>
  }
  return
}
}
"""
    module = parse_text(make_context(), text, "k.mlir")
    with pytest.raises(DiagnosticError) as caught:
        MakePortablePass().apply(make_context(), module)
    assert str(caught.value).splitlines()[0] == (
        "k.mlir:6:5: error: a loop passes a !pto.ptr<f32> from one carried name on to another, "
        "which the assembler gets wrong [unsupported-op]"
    )
