"""Cost formulas against the published figures that they were taken from; each error is printed (pytest -s)."""

import tomllib
from importlib.resources import files
from typing import Any

import pytest

from pto_buf.hw import A2A3, A5, TARGETS
from pto_buf.machine.exec import execute, kernel_named
from pto_buf.machine.steps import Exec
from pto_buf.sim.costs import CostError, costs_of, parse_costs
from support.pto_text import kernel, parse


def tile(space: str, rows: int, cols: int, dtype: str, arch: str = "a3") -> str:
    layout = {
        "mat": ", blayout=col_major, slayout=row_major",
        "left": f", blayout={'col_major' if arch == 'a5' else 'row_major'}, slayout=row_major",
        "right": ", slayout=col_major",
        "acc": ", blayout=col_major, slayout=row_major, fractal=1024",
        "vec": "",
    }[space]
    return f"!pto.tile_buf<{space}, {rows}x{cols}x{dtype}{layout}>"


def cycles(op: str, *tiles: str, arch: str = "a3", addresses: tuple[int, ...] = (), extra: str = "") -> int:
    """What `op` costs; `T0`, `T1`, ... stand for the types and `%t0`, `%t1`, ... for the tiles."""
    lines = [extra, "%c0 = arith.constant 0 : index"]
    for number, one in enumerate(tiles):
        lines.append(f"%a{number} = arith.constant {addresses[number] if addresses else number * 65536 % 131072} : i64")
        lines.append(f"%t{number} = pto.alloc_tile addr = %a{number} : {one}")
    for number, one in enumerate(tiles):
        op = op.replace(f"T{number}", one)
    text = kernel("\n".join([*lines, op]), "%p: !pto.ptr<f32>, %h: !pto.ptr<f16>, %x: f32", "cube", arch)
    (step,) = execute(kernel_named(parse(text), None), {"x": 1.0})
    assert isinstance(step, Exec)
    return costs_of(A5 if arch == "a5" else A2A3).cycles(step)


def window(name: str, rows: int, cols: int, dtype: str) -> str:
    return (
        f"%cr = arith.constant {rows} : index\n%cc = arith.constant {cols} : index\n%c1 = arith.constant 1 : index\n"
        f"%o = arith.constant 0 : index\n"
        f"%v = pto.make_tensor_view %{name}, shape = [%cr, %cc], strides = [%cc, %c1] : !pto.tensor_view<?x?x{dtype}>\n"
        f"%g = pto.partition_view %v, offsets = [%o, %o], sizes = [%cr, %cc] "
        f": !pto.tensor_view<?x?x{dtype}> -> !pto.partition_tensor_view<{rows}x{cols}x{dtype}>"
    )


def near(what: str, found: float, published: float, allowed: float) -> None:
    error = found / published - 1
    print(f"{what}: {found:g} cycles, published {published:g}, error {100 * error:+.1f} %")
    assert abs(error) <= allowed


def test_products() -> None:
    """The GEMM of pto-isa takes 524 cycles for each 128 x 256 x 64 product of f16 (its README, derived)."""
    f16 = [tile("left", 128, 64, "f16"), tile("right", 64, 256, "f16"), tile("acc", 128, 256, "f32")]
    near("128x256x64 f16", cycles("pto.tmatmul ins(%t0, %t1 : T0, T1) outs(%t2 : T2)", *f16), 524, 0.01)
    f32 = [tile("left", 16, 128, "f32"), tile("right", 128, 128, "f32"), tile("acc", 16, 128, "f32")]
    assert cycles("pto.tmatmul ins(%t0, %t1 : T0, T1) outs(%t2 : T2)", *f32) == 14 + 2 * 8 * 16
    on_a5 = [tile("left", 16, 128, "f32", "a5"), *f32[1:]]
    assert cycles("pto.tmatmul ins(%t0, %t1 : T0, T1) outs(%t2 : T2)", *on_a5, arch="a5") == 20 + 8 * 8 * 16


def test_moves_into_the_matrix_unit() -> None:
    """411 cycles for the 16 KiB and 32 KiB of one step of the same GEMM."""
    left = cycles(
        "pto.textract ins(%t0, %c0, %c0 : T0, index, index) outs(%t1 : T1)",
        *(tile("mat", 128, 256, "f16"), tile("left", 128, 64, "f16")),
    )
    right = cycles(
        "pto.textract ins(%t0, %c0, %c0 : T0, index, index) outs(%t1 : T1)",
        *(tile("mat", 256, 256, "f16"), tile("right", 64, 256, "f16")),
    )
    near("16 KiB to L0A and 32 KiB to L0B", left + right, 411, 0.01)


def test_loads_and_stores() -> None:
    """81 to 85 bytes a cycle into L1 and 71 to 73 out of L0C in the same GEMM."""
    load = cycles(
        "pto.tload ins(%g : !pto.partition_tensor_view<128x256xf16>) outs(%t0 : T0)",
        tile("mat", 128, 256, "f16"),
        extra=window("h", 128, 256, "f16"),
    )
    near("64 KiB to L1", load, 65536 / 83, 0.05)
    store = cycles(
        "pto.tstore ins(%t0 : T0) outs(%g : !pto.partition_tensor_view<128x256xf32>)",
        tile("acc", 128, 256, "f32"),
        extra=window("p", 128, 256, "f32"),
    )
    near("128 KiB from L0C", store, 131072 / 72, 0.02)


def test_vector_ops() -> None:
    """pto-isa's fits: 2 cycles for each 256 bytes where the sources share banks, else 1."""
    three = [tile("vec", 32, 64, "f32")] * 3
    add = "pto.tadd ins(%t0, %t1 : T0, T1) outs(%t2 : T2)"
    assert cycles(add, *three, addresses=(0, 8192, 16384)) == 2 * 32 + 24
    assert cycles(add, *three, addresses=(0, 8448, 16896)) == 32 + 24
    assert cycles(add, *three, arch="a5") == round(1.25 * 32 + 55)
    assert cycles("pto.texp ins(%t0 : T0) outs(%t1 : T1)", *three[:2]) == 2 * 32 + 31
    assert cycles("pto.tneg ins(%t0 : T0) outs(%t1 : T1)", *three[:2]) == 32 + 25
    ragged = [tile("vec", 32, 40, "f32")] * 2
    assert cycles("pto.texp ins(%t0 : T0) outs(%t1 : T1)", *ragged) == 2 * 20 + 31 + 16


def test_a_path_without_a_figure_is_an_error() -> None:
    with pytest.raises(CostError, match="no cost for moving vec->mat"):
        text = kernel(
            """
%a = arith.constant 0 : i64
%v = pto.alloc_tile addr = %a : VEC
%m = pto.alloc_tile addr = %a : MAT
pto.tmov ins(%v : VEC) outs(%m : MAT)
""".replace("VEC", tile("mat", 16, 64, "f32").replace("mat", "vec")).replace("MAT", tile("mat", 16, 64, "f32")),
            arch="a5",
        )
        (step,) = execute(kernel_named(parse(text), None), {})
        assert isinstance(step, Exec)
        costs_of(A2A3).cycles(step)


def entries(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: value for name, value in table.items() if isinstance(value, dict)}


@pytest.mark.parametrize("target", TARGETS)
def test_every_figure_says_where_it_comes_from(target: str) -> None:
    text = files("pto_buf").joinpath("targets", f"{target}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    assert {"clock_source", "launch_source"} <= set(table)
    for name in ("issue", "queues", "matmul", "vector"):
        assert table[name]["source"], name
    for path, line in entries(table["move"]).items():
        assert line["source"], path
    assert parse_costs(text) == costs_of(TARGETS[target])
