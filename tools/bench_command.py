"""`pto-buf bench`: how long reading, checking and lowering take, as JSON. Figures are of this machine, this moment."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from pto_buf.lowering.pipeline import PipelineOptions, pipeline
from pto_buf.passes import PassRun, available_passes, parse_passes, run_passes
from pto_buf.printing import text_of
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from pto_buf.verification import verify_module

_TILE = "vec, 16x64xf32, valid=16x64, blayout=row_major, slayout=none_box, fractal=512, pad=0, compact=0"
_HEAD = """\
module attributes {pto.target_arch = "a3"} {
func.func @straight(%x: !pto.ptr<f32>) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c16 = arith.constant 16 : index
%c64 = arith.constant 64 : index
%v = pto.make_tensor_view %x, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<16x64xf32>
%w = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c64]
  : !pto.tensor_view<16x64xf32> -> !pto.partition_tensor_view<16x64xf32>
"""
_TAIL = "return\n}\n}\n"


def pto_text(ops: int) -> str:
    """A `pto` kernel of `ops` vector ops with three long tile types each."""
    tile = f"!pto.tile_buf<{_TILE}>"
    tiles = "".join(f"%t{n} = pto.alloc_tile addr = %a{n} : {tile}\n" for n in range(3))
    addresses = "".join(f"%a{n} = arith.constant {4096 * n} : i64\n" for n in range(3))
    op = f"pto.tadd ins(%t0, %t1 : {tile}, {tile}) outs(%t2 : {tile})\n"
    return _HEAD + addresses + tiles + op * ops + _TAIL


def ptobuf_text(ops: int) -> str:
    """A straight-line `ptobuf` kernel of about `ops` tile ops over two slot sets, each tile loaded and read."""
    lines = [f'%{name} = ptobuf.alloc_slots "{name}" : !ptobuf.slots<2, {_TILE}>\n' for name in ("ins", "outs")]
    lines.append("%f = arith.constant 1.0 : f32\n")
    slot, tile, view = f"!ptobuf.slot<{_TILE}>", f"!pto.tile_buf<{_TILE}>", "!pto.partition_tensor_view<16x64xf32>"
    for number in range(ops // 3):
        for name in ("ins", "outs"):
            lines.append(f"%{name}{number} = ptobuf.slot_select %{name}[%c{number % 2}] : !ptobuf.slots<2, {_TILE}>\n")
        lines.append(f"%l{number} = ptobuf.load_into ins(%w : {view}) outs(%ins{number} : {slot}) -> {tile}\n")
        lines.append(
            f"%r{number} = ptobuf.adds_into ins(%l{number}, %f : {tile}, f32) outs(%outs{number} : {slot}) -> {tile}\n"
        )
        lines.append(f"ptobuf.store ins(%r{number} : {tile}) outs(%w : {view})\n")
    return _HEAD + "".join(lines) + _TAIL


def run(sizes: tuple[int, ...] = (1_000, 10_000)) -> int:
    """Print microseconds an op for reading, verifying and printing, and seconds for each pass."""
    found = {"text": [_text(size) for size in sizes], "pipeline": [_pipeline(size) for size in (1_200, 12_000)]}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0


def _text(ops: int) -> dict[str, Any]:
    text = pto_text(ops)
    parse, module = _timed(lambda: parse_text(make_context(), text, "bench.pto"))
    verify, _ = _timed(lambda: verify_module(module))
    show, _ = _timed(lambda: text_of(module))
    return {
        "ops": ops,
        **{
            f"{name}_us_per_op": round(1e6 * s / ops, 1)
            for name, s in (("parse", parse), ("verify", verify), ("print", show))
        },
    }


def _pipeline(ops: int) -> dict[str, Any]:
    text = ptobuf_text(ops)
    parse, module = _timed(lambda: parse_text(make_context(), text, "bench.mlir"))
    passes: dict[str, float] = {}

    def after(_: object, one: PassRun) -> None:
        passes[one.name] = round(passes.get(one.name, 0.0) + one.seconds, 3)

    chosen = parse_passes(pipeline(PipelineOptions(check=False)), available_passes())
    run_passes(make_context(), module, chosen, verify_each=False, after=after)
    return {"ops": ops, "parse_s": round(parse, 3), "passes_s": passes}


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
