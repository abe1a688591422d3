"""Flags and barriers that the user writes stay where they are; the fences beside them keep off their ids."""

import re

import pytest

from pto_buf.compiler import compile_module
from pto_buf.errors import DiagnosticError
from pto_buf.frontend import read
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.printing import text_of
from support.kernel_text import FILE, errors, marked, source

_HEAD = """
@pl.jit.incore
def k(x: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    ring = pl.create_tile_buffers(3, [16, 64], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        t = pl.load(x, [i % 4 * 16, 0], [16, 64], out=ring[i % 3])
"""
_TAIL = """
        t = pl.tile.add_into(ring[i % 3], t, t)
        pl.store(t, [i % 4 * 16, 0], y)
"""


def _flag(op: str, src: str, dst: str, event: int) -> str:
    return f"        pl.system.{op}(set_pipe=pl.PipeType.{src}, wait_pipe=pl.PipeType.{dst}, event_id={event})"


def _kernel(*lines: str) -> str:
    return source(_HEAD + "\n".join(lines) + _TAIL)


def _pair(src: str, dst: str, event: int) -> tuple[str, str]:
    return _flag("sync_src", src, dst, event), _flag("sync_dst", src, dst, event)


def _compiled(text: str) -> str:
    module = read(FILE, source=text)
    compile_module(module, PipelineOptions())
    return text_of(module)


@pytest.mark.parametrize("event", [0, 2, 7])
def test_fences_keep_off_the_ids_of_flags_that_the_user_sets(event: int):
    there, back = _pair("MTE2", "V", event), _pair("V", "MTE2", event)
    text = _compiled(_kernel(*there, *back))
    mine = f"pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID{event}>]"
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index(mine)
    assert lines[at + 1 : at + 4] == [
        mine.replace("set", "wait"),
        f"pto.set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID{event}>]",
        f"pto.wait_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID{event}>]",
    ], "they stay together, and in order"
    others = [line for line in lines if "<PIPE_MTE2>, <PIPE_V>" in line and f"EVENT_ID{event}>" not in line]
    assert len(others) >= 6, "the slots have fences of their own"


def test_a_flag_of_the_user_that_nothing_takes_back_is_shown():
    with pytest.raises(DiagnosticError) as caught:
        _compiled(_kernel(*_pair("MTE2", "V", 0)))
    first = caught.value.diagnostics[0]
    assert first.kind == "overflow"
    assert first.place is not None and first.place.line == 8


def test_barriers_stay():
    text = _compiled(_kernel("        pl.system.bar_v()", "        pl.system.bar_all()"))
    assert re.search(r"#pto.pipe<PIPE_V>\s+pto\.barrier #pto.pipe<PIPE_ALL>", text)


def test_what_is_no_flag_is_refused():
    text = _HEAD + "\n".join(
        (
            f"{_flag('sync_src', 'MTE2', 'V', 8)}  # ERROR: wrong-arguments",
            f"{_flag('sync_dst', 'V', 'V', 0)}  # ERROR: wrong-arguments",
            f"{_flag('sync_dst', 'ALL', 'V', 0)}  # ERROR: wrong-arguments",
            "        pl.system.sync_src(event_id=0, set_pipe=pl.PipeType.V)  # ERROR: wrong-arguments",
            "        pl.system.bar_v(1)  # ERROR: wrong-arguments",
            "        pl.system.sync_set(1, pipe=pl.PipeType.FIX)  # ERROR: unknown-op",
        )
    )
    assert errors(text) == marked(text)
