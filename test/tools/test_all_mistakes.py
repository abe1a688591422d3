"""One run reports the mistakes of every kernel of a file, whatever part of the tool finds them."""

from pathlib import Path

import pytest

from pto_buf.compiler import compile_file
from pto_buf.errors import DiagnosticError

HEAD = """\
import pypto.language as pl


"""

KERNELS = {
    # what the front end finds
    "constant": "    pl.tile.load_into(ring[5], a, [0, 0], [16, 64])  # slot-index-out-of-range",
    # what the protocol of leases finds
    "unread": "    b = pl.store(ring[0], [0, 0], b)  # read-before-write",
    "modulus": "    for i in pl.range(9):\n"
    "        cell = ring[i % 4]  # slot-index-out-of-range\n"
    "        pl.tile.load_into(cell, a, [0, 0], [16, 64])\n"
    "        b = pl.store(cell, [0, 0], b)",
    # what the memory plan finds
    "large": "    wide = pl.create_tile_buffers(9, [128, 64], pl.FP32, pl.Mem.Vec)  # capacity-or-count\n"
    "    pl.tile.load_into(wide[0], a, [0, 0], [128, 64])",
}


def kernel(name: str, body: str) -> str:
    rows = 128 if name == "large" else 16
    tensor = f"pl.Tensor[[{rows}, 64], pl.FP32]"
    return (
        f"@pl.jit.incore\ndef {name}(a: {tensor}, b: pl.Out[{tensor}]):\n"
        f"    ring = pl.create_tile_buffers(3, [16, 64], pl.FP32, pl.Mem.Vec)\n{body}\n"
    )


@pytest.mark.parametrize("chosen", [[*KERNELS], ["unread", "large"], ["modulus"], ["large", "constant"]])
def test_every_marked_line_is_reported_once_with_its_kind(chosen: list[str], tmp_path: Path):
    text = HEAD + "\n\n".join(kernel(name, KERNELS[name]) for name in chosen)
    file = tmp_path / "kernels.py"
    file.write_text(text)
    marked = [
        (number, line.partition("# ")[2]) for number, line in enumerate(text.splitlines(), start=1) if "# " in line
    ]
    with pytest.raises(DiagnosticError) as caught:
        compile_file(file)
    found = [(one.place.line, one.kind) for one in caught.value.diagnostics if one.place is not None]
    assert found == marked
