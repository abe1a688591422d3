"""Kernels for simulator tests, as text with the fences that they need, each of which a test may leave out."""

from collections.abc import Iterable
from dataclasses import dataclass

from support.pto_text import kernel

ROWS, COLS = 16, 64
TILE = f"!pto.tile_buf<vec, {ROWS}x{COLS}xf32>"
WINDOW = f"!pto.partition_tensor_view<{ROWS}x{COLS}xf32>"
VIEW = "!pto.tensor_view<?x?xf32>"
BYTES = ROWS * COLS * 4


@dataclass(frozen=True)
class Fence:
    """A set/wait pair of the stream kernel: source, destination, and whether it hands a slot back."""

    src: str
    dst: str
    back: bool

    def op(self, kind: str, lane: str) -> str:
        return f"pto.{kind}_flag_dyn[<PIPE_{self.src}>, <PIPE_{self.dst}>, {lane}]"


LOADED = Fence("MTE2", "V", False)
COMPUTED = Fence("V", "MTE3", False)
CONSUMED = Fence("V", "MTE2", True)
STORED = Fence("MTE3", "V", True)
FENCES = (LOADED, COMPUTED, CONSUMED, STORED)


def stream(slots: int, missing: Iterable[Fence] = ()) -> str:
    """`z = x + x`, tile after tile for `%n` tiles, with `slots` slots for inputs and as many for outputs."""
    fences = [fence for fence in FENCES if fence not in tuple(missing)]

    def lines(kind: str, *wanted: Fence) -> str:
        return "\n".join(f"  {fence.op(kind, '%s')}" for fence in wanted if fence in fences)

    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in dict.fromkeys((*range(slots + 1), ROWS, COLS)))
    primes, drains = (
        "\n".join(fence.op(kind, f"%c{lane}") for fence in fences if fence.back for lane in range(slots))
        for kind in ("set", "wait")
    )
    body = f"""
{constants}
%stride = arith.constant {BYTES} : i64
%half = arith.constant {slots * BYTES} : i64
%rows = arith.muli %n, %c{ROWS} : index
%vx = pto.make_tensor_view %x, shape = [%rows, %c{COLS}], strides = [%c{COLS}, %c1] : {VIEW}
%vz = pto.make_tensor_view %z, shape = [%rows, %c{COLS}], strides = [%c{COLS}, %c1] : {VIEW}
{primes}
scf.for %i = %c0 to %n step %c1 {{
  %s = arith.remui %i, %c{slots} : index
  %row = arith.muli %i, %c{ROWS} : index
  %si = arith.index_cast %s : index to i64
  %ain = arith.muli %si, %stride : i64
  %aout = arith.addi %ain, %half : i64
  %in = pto.alloc_tile addr = %ain : {TILE}
  %out = pto.alloc_tile addr = %aout : {TILE}
  %gx = pto.partition_view %vx, offsets = [%row, %c0], sizes = [%c{ROWS}, %c{COLS}] : {VIEW} -> {WINDOW}
  %gz = pto.partition_view %vz, offsets = [%row, %c0], sizes = [%c{ROWS}, %c{COLS}] : {VIEW} -> {WINDOW}
{lines("wait", CONSUMED)}
  pto.tload ins(%gx : {WINDOW}) outs(%in : {TILE})
{lines("set", LOADED)}
{lines("wait", LOADED, STORED)}
  pto.tadd ins(%in, %in : {TILE}, {TILE}) outs(%out : {TILE})
{lines("set", CONSUMED, COMPUTED)}
{lines("wait", COMPUTED)}
  pto.tstore ins(%out : {TILE}) outs(%gz : {WINDOW})
{lines("set", STORED)}
}}
{drains}
pto.barrier #pto.pipe<PIPE_ALL>
"""
    return kernel(body, "%x: !pto.ptr<f32>, %z: !pto.ptr<f32>, %n: index")
