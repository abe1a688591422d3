"""Tiles that are other tiles seen differently: what bytes an op on them touches."""

import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.hw import Space
from pto_buf.machine.exec import execute, kernel_named
from pto_buf.machine.steps import CoreId, Exec, Region, SetFlag, TileRef
from support.pto_text import kernel, parse

T = "!pto.tile_buf<vec, 32x64xf32>"
HALF = "!pto.tile_buf<vec, 16x64xf32>"
COLUMNS = "!pto.tile_buf<vec, 32x16xf32>"
MAT = "!pto.tile_buf<mat, 64x64xf16, blayout=col_major, slayout=row_major>"
LEFT = "!pto.tile_buf<left, 32x64xf16, slayout=row_major>"

HEAD = f"""
%c0 = arith.constant 0 : index
%c16 = arith.constant 16 : index
%a0 = arith.constant 0 : i64
%a1 = arith.constant 16384 : i64
%t = pto.alloc_tile addr = %a1 : {T}
"""


def execs(body: str, arguments: str = "", kind: str = "vector", **scalars: int) -> list[Exec]:
    text = kernel(HEAD.strip("\n") + body, arguments, kind)
    found = execute(kernel_named(parse(text), None), scalars, limit=1000)
    return [step for step in found if isinstance(step, Exec)]


def vec(start: int, end: int) -> Region:
    return Region(Space.VEC, start, end)


def test_a_window_of_rows_is_one_run_of_bytes() -> None:
    body = f"""
%s = pto.subview %t[%n, %c0] sizes [16, 64] : {T} -> {HALF}
pto.tabs ins(%s : {HALF}) outs(%s : {HALF})
"""
    (step,) = execs(body, "%n: index", n=8)
    assert step.reads == step.writes == (vec(16384 + 2048, 16384 + 2048 + 4096),)
    with pytest.raises(DiagnosticError, match=r"test.pto:8:1: error: a window of 16x64 at \(17, 0\) leaves a tile"):
        execs(body, "%n: index", n=17)


def test_a_window_of_columns_is_a_run_for_each_row() -> None:
    body = f"""
%s = pto.subview %t[%c0, %c16] sizes [32, 16] : {T} -> {COLUMNS}
pto.tabs ins(%s : {COLUMNS}) outs(%s : {COLUMNS})
"""
    (step,) = execs(body)
    assert step.reads == tuple(vec(16384 + row * 256 + 64, 16384 + row * 256 + 128) for row in range(32))


def test_a_window_of_a_window_adds_up() -> None:
    body = f"""
%s = pto.subview %t[%c16, %c0] sizes [16, 64] : {T} -> {HALF}
%u = pto.subview %s[%n, %c0] sizes [1, 64] : {HALF} -> !pto.tile_buf<vec, 1x64xf32>
pto.tabs ins(%u : !pto.tile_buf<vec, 1x64xf32>) outs(%u : !pto.tile_buf<vec, 1x64xf32>)
"""
    (step,) = execs(body, "%n: index", n=3)
    assert step.reads == (vec(16384 + 19 * 256, 16384 + 20 * 256),)


def test_a_reshaped_tile_has_the_same_bytes() -> None:
    wide = "!pto.tile_buf<vec, 16x64xf32>"
    flat = "!pto.tile_buf<vec, 8x128xf32>"
    body = f"""
%s = pto.subview %t[%c16, %c0] sizes [16, 64] : {T} -> {wide}
%r = pto.treshape %s : {wide} -> {flat}
%b = pto.bitcast %t : {T} -> !pto.tile_buf<vec, 32x64xi32>
pto.tabs ins(%r : {flat}) outs(%r : {flat})
pto.tadds ins(%b, %i : !pto.tile_buf<vec, 32x64xi32>, i32) outs(%b : !pto.tile_buf<vec, 32x64xi32>)
"""
    first, second = execs(body, "%i: i32", i=1)
    assert first.reads == (vec(16384 + 4096, 16384 + 8192),)
    ref = first.operands["src"]
    assert isinstance(ref, TileRef)
    assert (ref.v_rows, ref.v_cols) == (8, 128)
    assert second.reads == (vec(16384, 24576),)


def test_tassign_moves_the_tile_under_all_its_names() -> None:
    body = f"""
%u = pto.tassign %t, %a0 : {T} -> {T}
pto.tabs ins(%u : {T}) outs(%t : {T})
%v = pto.tassign %u, %a1 : {T} -> {T}
pto.tabs ins(%u : {T}) outs(%t : {T})
"""
    first, second = execs(body)
    assert (first.reads, first.writes) == ((vec(0, 8192),), (vec(0, 8192),))
    assert (second.reads, second.writes) == ((vec(16384, 24576),), (vec(16384, 24576),))


def test_set_validshape_changes_what_is_valid_from_there_on() -> None:
    tile = "!pto.tile_buf<vec, 32x64xf32, valid=?x?>"
    body = f"""
%c64 = arith.constant 64 : index
%d = pto.alloc_tile addr = %a0 valid_row = %c16 valid_col = %c16 : {tile}
pto.tabs ins(%d : {tile}) outs(%d : {tile})
pto.set_validshape %d, %n, %c64 : {tile}
pto.tabs ins(%d : {tile}) outs(%d : {tile})
"""
    refs = [step.operands["src"] for step in execs(body, "%n: index", n=7)]
    assert [(ref.v_rows, ref.v_cols) for ref in refs if isinstance(ref, TileRef)] == [(16, 16), (7, 64)]
    with pytest.raises(DiagnosticError, match=r"test.pto:11:1: error: 40 valid rows of a tile with 32"):
        execs(body, "%n: index", n=40)


def test_an_extract_touches_only_its_window_of_the_source() -> None:
    body = f"""
%m = pto.alloc_tile addr = %a1 : {MAT}
%l = pto.alloc_tile addr = %a0 : {LEFT}
pto.textract ins(%m, %n, %c0 : {MAT}, index, index) outs(%l : {LEFT})
"""
    (step,) = execs(body, "%n: index", "cube", n=32)
    column = 64 * 32  # bytes of a column of boxes
    assert step.reads == tuple(
        Region(Space.MAT, 16384 + column * box + 1024, 16384 + column * (box + 1)) for box in range(4)
    )
    assert step.writes == (Region(Space.LEFT, 0, 4096),)
    with pytest.raises(DiagnosticError, match=r"test.pto:10:1: error: a window of 32x64 at \(40, 0\) leaves a tile"):
        execs(body, "%n: index", "cube", n=40)


def test_a_block_number_is_what_the_launch_says() -> None:
    text = kernel(
        """
%b = pto.get_block_idx
%i = arith.index_cast %b : i64 to index
pto.set_flag_dyn[<PIPE_V>, <PIPE_MTE3>, %i]
"""
    )
    (step,) = execute(kernel_named(parse(text), None), {}, core=CoreId(block=5, blocks=8))
    assert isinstance(step, SetFlag)
    assert step.id == 5
