"""Views of global arrays whose rows run backwards, or one on the other."""

import pytest

from check.programs import function_of
from pto_buf.check.checker import check
from pto_buf.check.findings import Status

TILE = "!pto.tile_buf<vec, 16x64xf32>"
VIEW = "!pto.tensor_view<?x?xf32>"
WINDOW = "!pto.partition_tensor_view<16x64xf32>"


def loads_and_stores(stride: str, column: str = "%c1", fenced: bool = False) -> str:
    """Loads rows from `n` on of a view with such strides, and stores to the same ones."""
    pair = "[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]"
    fence = f"pto.set_flag{pair} pto.wait_flag{pair}" if fenced else ""
    return f"""module attributes {{pto.target_arch = "a3"}} {{
      func.func @kernel(%h: !pto.ptr<f32>, %n: index, %m: index)
          attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>}} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c16 = arith.constant 16 : index
        %c64 = arith.constant 64 : index
        %rows = arith.constant 128 : index
        %last = arith.constant 8128 : index
        %back = arith.constant -64 : index
        %less = arith.subi %m, %c64 : index
        %end = pto.addptr %h, %last : !pto.ptr<f32> -> !pto.ptr<f32>
        %v = pto.make_tensor_view %end, shape = [%rows, %c64], strides = [{stride}, {column}] : {VIEW}
        %a0 = arith.constant 0 : i64
        %a1 = arith.constant 4096 : i64
        %p = pto.alloc_tile addr = %a0 : {TILE}
        %q = pto.alloc_tile addr = %a1 : {TILE}
        %w = pto.partition_view %v, offsets = [%n, %c0], sizes = [%c16, %c64] : {VIEW} -> {WINDOW}
        pto.tload ins(%w : {WINDOW}) outs(%q : {TILE})
        {fence}
        pto.tstore ins(%p : {TILE}) outs(%w : {WINDOW})
        pto.barrier #pto.pipe<PIPE_ALL>
        return
      }}
    }}"""


@pytest.mark.parametrize(("row", "column"), [("%back", "%c1"), ("%less", "%c1"), ("%back", "%back"), ("%c0", "%c0")])
def test_a_window_overlaps_itself_whichever_way_its_rows_run(row: str, column: str):
    assert check(function_of(loads_and_stores(row, column)), most_states=1000).status is not Status.PROVEN
    assert check(function_of(loads_and_stores(row, column, fenced=True))).status is Status.PROVEN


def apart(stride: str) -> str:
    """Each trip loads 16 rows of such a view, and stores to 16 others that no other trip loads."""
    text = loads_and_stores(stride)
    start, end = text.index("%w ="), text.index("pto.barrier")
    loop = f"""%c32 = arith.constant 32 : index
        %two = arith.muli %n, %c32 : index
        %most = arith.constant 96 : index
        %first = arith.minsi %two, %most : index
        %second = arith.addi %first, %c16 : index
        %w = pto.partition_view %v, offsets = [%first, %c0], sizes = [%c16, %c64] : {VIEW} -> {WINDOW}
        %x = pto.partition_view %v, offsets = [%second, %c0], sizes = [%c16, %c64] : {VIEW} -> {WINDOW}
        pto.tload ins(%w : {WINDOW}) outs(%q : {TILE})
        pto.tstore ins(%p : {TILE}) outs(%x : {WINDOW})
        """
    return text[:start] + loop + text[end:]


@pytest.mark.parametrize("stride", ["%c64", "%back"])
def test_windows_of_different_rows_are_apart_whichever_way_these_run(stride: str):
    assert check(function_of(apart(stride))).status is Status.PROVEN
