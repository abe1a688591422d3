"""What an op touches unnamed: on a2a3 the library works in UB 184 to 192 KiB where it has no scratch tile."""

import pytest

from check.programs import program_of
from pto_buf.check.findings import Status
from pto_buf.check.model import model_of
from pto_buf.check.proof.prove import prove
from pto_buf.hw import A2A3, A5

PLAIN, COLUMN = "!pto.tile_buf<vec, 16x64xf32>", "!pto.tile_buf<vec, 16x1xf32, blayout=col_major>"
SHORT = "!pto.tile_buf<vec, 16x64xi16>"
FENCE = "set_flag wait_flag"
LIBRARY = 184 * 1024

OPS = {
    "broadcast": f"pto.trowexpandsub ins(%x, %y : {PLAIN}, {COLUMN}) outs(%o : {PLAIN})",
    "broadcast-with-scratch": f"pto.trowexpandsub ins(%x, %y, %s : {PLAIN}, {COLUMN}, {PLAIN}) outs(%o : {PLAIN})",
    "narrowing": f"pto.tcvt ins(%x : {PLAIN}) outs(%n : {SHORT})",
    "narrowing-with-saturation": (
        f"pto.tcvt ins(%x {{satmode = #pto<saturation_mode ON>}} : {PLAIN}) outs(%n : {SHORT})"
    ),
}


def beside(op: str, address: int, fenced: bool = False, arch: str = "a3") -> str:
    """A load to `address`, perhaps a fence, and an op on other tiles."""
    tiles = (("x", 0, PLAIN), ("y", 8192, COLUMN), ("o", 16384, PLAIN), ("s", 32768, PLAIN), ("n", 40960, SHORT))
    lines = [f"%{name} = pto.alloc_tile addr = %a{name} : {type}" for name, _, type in (*tiles, ("t", address, PLAIN))]
    constants = [f"%a{name} = arith.constant {at} : i64" for name, at, _ in (*tiles, ("t", address, PLAIN))]
    constants += [f"%c{value} = arith.constant {value} : index" for value in (0, 1, 16, 64)]
    pair = "[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID1>]"
    fence = [f"pto.{word}{pair}" for word in FENCE.split()] if fenced else []
    body = [
        *constants,
        "%v = pto.make_tensor_view %g, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>",
        "%w = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c64] "
        ": !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>",
        *lines,
        f"pto.tload ins(%w : !pto.partition_tensor_view<16x64xf32>) outs(%t : {PLAIN})",
        *fence,
        OPS[op],
        "pto.barrier #pto.pipe<PIPE_ALL>",
        "return",
    ]
    head = "func.func @kernel(%g: !pto.ptr<f32>) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {"
    return "\n".join([f'module attributes {{pto.target_arch = "{arch}"}} {{', head, *body, "}", "}"])


@pytest.mark.parametrize("op", ["broadcast", "narrowing"])
@pytest.mark.parametrize("address", [LIBRARY - 4096 + 32, LIBRARY, 191 * 1024])
def test_a_tile_where_the_library_works_needs_a_fence(op: str, address: int):
    verdict = prove(program_of(beside(op, address)), model_of(A2A3))
    assert {finding.fault.value for finding in verdict.findings} == {"race"}
    assert prove(program_of(beside(op, address, fenced=True)), model_of(A2A3)).status is Status.PROVEN


@pytest.mark.parametrize(
    ("op", "address"),
    [
        ("broadcast", LIBRARY - 4096),
        ("narrowing", LIBRARY - 4096),
        ("broadcast-with-scratch", LIBRARY),
        ("narrowing-with-saturation", LIBRARY),
    ],
)
def test_none_elsewhere_or_with_a_scratch_tile(op: str, address: int):
    assert prove(program_of(beside(op, address)), model_of(A2A3)).status is Status.PROVEN


def test_none_on_a5():
    assert prove(program_of(beside("broadcast", LIBRARY, arch="a5")), model_of(A5)).status is Status.PROVEN
