"""Values of the matrix unit's kernels: layouts of L1, L0A, L0B and L0C in between, rounding at the end."""

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from pto_buf.machine.exec import kernel_named
from pto_buf.sim.orders import order_named
from pto_buf.sim.simulate import Launch, simulate
from support.pto_text import kernel, parse


def mat(rows: int, cols: int, dtype: str) -> str:
    return f"!pto.tile_buf<mat, {rows}x{cols}x{dtype}, blayout=col_major, slayout=row_major>"


def left(rows: int, cols: int, dtype: str, arch: str) -> str:
    layout = "col_major" if arch == "a5" else "row_major"
    return f"!pto.tile_buf<left, {rows}x{cols}x{dtype}, blayout={layout}, slayout=row_major>"


def right(rows: int, cols: int, dtype: str) -> str:
    return f"!pto.tile_buf<right, {rows}x{cols}x{dtype}, slayout=col_major>"


def acc(rows: int, cols: int) -> str:
    return f"!pto.tile_buf<acc, {rows}x{cols}xf32, blayout=col_major, slayout=row_major, fractal=1024>"


def fence(src: str, dst: str) -> str:
    return "".join(f"pto.{kind}_flag[<PIPE_{src}>, <PIPE_{dst}>, <EVENT_ID0>]\n" for kind in ("set", "wait"))


def product(m: int, n: int, k: int, dtype: str, out: str, arch: str = "a3", barrier: str = "M") -> str:
    """`c = a @ b` in two steps of half the depth each, the second added to the first."""
    half = k // 2
    numbers = "\n".join(f"%c{v} = arith.constant {v} : index" for v in dict.fromkeys((0, 1, m, n, k, half)))
    a, b, c, la, rb = mat(m, k, dtype), mat(k, n, dtype), acc(m, n), left(m, half, dtype, arch), right(half, n, dtype)
    views = "".join(
        f"%v{name} = pto.make_tensor_view %{name}, shape = [%c{rows}, %c{cols}], strides = [%c{cols}, %c1] "
        f": !pto.tensor_view<?x?x{kind}>\n"
        f"%g{name} = pto.partition_view %v{name}, offsets = [%c0, %c0], sizes = [%c{rows}, %c{cols}] "
        f": !pto.tensor_view<?x?x{kind}> -> !pto.partition_tensor_view<{rows}x{cols}x{kind}>\n"
        for name, rows, cols, kind in (("a", m, k, dtype), ("b", k, n, dtype), ("c", m, n, out))
    )
    window = f"!pto.partition_tensor_view<{m}x{k}x{dtype}>", f"!pto.partition_tensor_view<{k}x{n}x{dtype}>"
    body = f"""
{numbers}
%z = arith.constant 0 : i64
%far = arith.constant 131072 : i64
%step = arith.constant 16384 : i64
{views}
%ta = pto.alloc_tile addr = %z : {a}
%tb = pto.alloc_tile addr = %far : {b}
%tc = pto.alloc_tile addr = %z : {c}
%l0 = pto.alloc_tile addr = %z : {la}
%l1 = pto.alloc_tile addr = %step : {la}
%r0 = pto.alloc_tile addr = %z : {rb}
%r1 = pto.alloc_tile addr = %step : {rb}
pto.tload ins(%ga : {window[0]}) outs(%ta : {a})
pto.tload ins(%gb : {window[1]}) outs(%tb : {b})
{fence("MTE2", "MTE1")}
pto.textract ins(%ta, %c0, %c0 : {a}, index, index) outs(%l0 : {la})
pto.textract ins(%tb, %c0, %c0 : {b}, index, index) outs(%r0 : {rb})
pto.textract ins(%ta, %c0, %c{half} : {a}, index, index) outs(%l1 : {la})
pto.textract ins(%tb, %c{half}, %c0 : {b}, index, index) outs(%r1 : {rb})
{fence("MTE1", "M")}
pto.tmatmul ins(%l0, %r0 : {la}, {rb}) outs(%tc : {c})
pto.barrier #pto.pipe<PIPE_{barrier}>
pto.tmatmul.acc ins(%tc, %l1, %r1 : {c}, {la}, {rb}) outs(%tc : {c})
{fence("M", "FIX")}
pto.tstore ins(%tc : {c}) outs(%gc : !pto.partition_tensor_view<{m}x{n}x{out}>)
pto.barrier #pto.pipe<PIPE_ALL>
"""
    arguments = f"%a: !pto.ptr<{dtype}>, %b: !pto.ptr<{dtype}>, %c: !pto.ptr<{out}>"
    return kernel(body, arguments, "cube", arch)


KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


def run(text: str, m: int, n: int, k: int, dtype: str, out: str, order: str) -> tuple[NDArray[np.float32], ...]:
    """What the kernel stores, and the exact product."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(shape).astype(KINDS[dtype]) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), KINDS[out])
    found = simulate(Launch(kernel_named(parse(text), None), {"a": a, "b": b, "c": c}, {}), order_named(order))
    return found.checked().arrays["c"].astype(np.float32), a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("arch", ["a3", "a5"])
@pytest.mark.parametrize("order", ["early", "late", "late:M", "late:MTE2"])
@pytest.mark.parametrize(("dtype", "out"), [("f16", "f32"), ("bf16", "bf16"), ("f32", "f32"), ("f16", "f16")])
def test_products_are_right_through_all_layouts(dtype: str, out: str, order: str, arch: str) -> None:
    m, n, k = 32, 48, 64
    found, exact = run(product(m, n, k, dtype, out, arch), m, n, k, dtype, out, order)
    tolerance = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}[out]
    assert np.allclose(found, exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("arch", "held"), [("a3", False), ("a5", True)])
@pytest.mark.parametrize(("m", "n"), [(16, 128), (64, 64)])
def test_dependent_products_need_a_barrier_on_a2a3(m: int, n: int, arch: str, held: bool) -> None:
    """Sources differ on products of ten blocks of 16 x 16 and more: what is right for all of them holds here."""
    text = product(m, n, 64, "f16", "f32", arch, barrier="MTE2")
    found, exact = run(text, m, n, 64, "f16", "f32", "late")
    assert np.allclose(found, exact, rtol=1e-5, atol=1e-4) is held
    found, exact = run(text, m, n, 64, "f16", "f32", "early")
    assert np.allclose(found, exact, rtol=1e-5, atol=1e-4)


def test_stores_round_to_nearest_even() -> None:
    found, exact = run(product(16, 16, 32, "f32", "bf16"), 16, 16, 32, "f32", "bf16", "early")
    assert np.array_equal(found, exact.astype(ml_dtypes.bfloat16).astype(np.float32))
