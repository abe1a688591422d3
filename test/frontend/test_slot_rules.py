"""Rules of slots that users of pypto have tripped over, each in the smallest kernel that shows it."""

import pytest

from pto_buf.dialect.ptobuf import AllocSlotsOp
from pto_buf.errors import DiagnosticError
from pto_buf.frontend import read
from pto_buf.passes import available_passes, parse_passes, run_passes
from pto_buf.universe import make_context
from support.kernel_text import FILE, ir, marked, source

_VECTOR = """
@pl.jit.incore
def k(x: pl.Tensor[[256, 64], pl.FP32], y: pl.Out[pl.Tensor[[256, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
"""
_CUBE = """
@pl.jit.incore
def k(a: pl.Tensor[[16, 64], pl.FP16], b: pl.Tensor[[64, 64], pl.FP16], c: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    left = pl.move(pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat), pl.Mem.Left)
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), pl.Mem.Right)
"""
_RING = "ring = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Vec)\n"
_TILE = "pl.Tile[[16, 64], pl.FP32, {ref}, pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])"


def _text(head: str, body: str) -> str:
    return head + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))


def found(text: str) -> list[tuple[int, str | None]]:
    """The lines and kinds of the mistakes that reading and the rules of slots find."""
    try:
        module = read(FILE, source=source(text))
        run_passes(make_context(), module, parse_passes("ptobuf-verify-slots", available_passes()))
    except DiagnosticError as err:
        return [(one.place.line if one.place else 0, one.kind) for one in err.diagnostics]
    return []


@pytest.mark.parametrize(
    "body",
    [
        # R6: the name of a declaration is no variable of the kernel
        'for i in pl.range(4):\n    t: ' + _TILE.format(ref='pl.MemRef("i", slots=2)[i % 2]')
        + "\n    pl.store(t, [i * 16, 0], y)",
        # R4: an index goes through a helper whose parameter has another name
        _RING + "for i in pl.range(4):\n    t = fill(ring, x, i)\n    pl.store(t, [i * 16, 0], y)",
        # R28, R30: `& 1`, counters that start late and take wide steps
        _RING + "for i in pl.range(16, 80, 16):\n    t = pl.tile.load_into(ring[(i // 16) & 1], x, [i, 0], [16, 64])\n"
        "    pl.store(t, [i, 0], y)",
        # R35: a name for a slot, and one for what it holds
        _RING + "s = ring[0]\nr = s\npl.tile.load_into(r, x, [0, 0], [16, 64])\nt = s\npl.store(t, [0, 0], y)",
        # R39: a guarded prefetch of the next trip
        _RING + "pl.tile.load_into(ring[0], x, [0, 0], [16, 64])\nfor i in pl.range(7):\n    if i + 1 < 7:\n"
        "        pl.tile.load_into(ring[(i + 1) % 2], x, [0, 0], [16, 64])\n    pl.store(ring[i % 2], [0, 0], y)",
        # R40: no trip at all
        _RING + "for i in pl.range(n):\n    t = pl.tile.load_into(ring[i % 2], x, [0, 0], [16, 64])\n"
        "    pl.store(t, [0, 0], y)",
        # R8, R11: a declaration that a variable holds is told apart by the variable, not by a name in text
        "one = pl.MemRef(slots=2)\ntwo = pl.MemRef(slots=2)\nfor i in pl.range(4):\n    t: "
        + _TILE.format(ref="one[i % 2]") + "\n    u: " + _TILE.format(ref="two[i % 2]")
        + "\n    pl.store(pl.add(t, u), [i * 16, 0], y)",
        # R75: one slot selected twice is one lease
        _RING + "pl.tile.load_into(ring[n % 2], x, [0, 0], [16, 64])\npl.store(ring[n % 2], [0, 0], y)",
    ],
)  # fmt: skip
def test_it_is_right(body: str):
    helper = (
        "@pl.inline\ndef fill(slots, where, j):\n    return pl.tile.load_into(slots[j % 2], where, [0, 0], [16, 64])\n"
    )
    assert found(helper + _text(_VECTOR, body)) == []


@pytest.mark.parametrize(
    "body",
    [
        # R7: one name, two declarations
        # Printed IR repeats where a tile lies at each of its names.
        "one: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)\ntwo: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)\n"
        "t: " + _TILE.format(ref="pl.MemRef(one, 0, 4096)")
        + "\nu: pl.Tile[[16, 64], pl.FP32, pl.MemRef(one, 0, 4096), pl.Mem.Vec] = t"
        + "\nv: pl.Tile[[16, 64], pl.FP32, pl.MemRef(two, 0, 4096), pl.Mem.Vec] = u  # ERROR: shape-or-dtype",
        't: ' + _TILE.format(ref='pl.MemRef("m", slots=2)[0]')
        + "\nu: " + _TILE.format(ref='pl.MemRef("m", slots=3)[0]') + "  # ERROR: capacity-or-count",
        # R12: no slots, and fewer
        "t: " + _TILE.format(ref='pl.MemRef("m", slots=0)[0]') + "  # ERROR: capacity-or-count",
        "t: " + _TILE.format(ref='pl.MemRef("m", slots=-1)[0]') + "  # ERROR: capacity-or-count",
        "r = pl.create_tile_buffers(0, [16, 64], pl.FP32, pl.Mem.Vec)  # ERROR: capacity-or-count",
        # R26: a constant index out of range, either way
        _RING + "t = pl.tile.load_into(ring[-1], x, [0, 0], [16, 64])  # ERROR: slot-index-out-of-range",
        "t: " + _TILE.format(ref='pl.MemRef("m", slots=2)[2]') + "  # ERROR: slot-index-out-of-range",
        # R27: an index that nothing keeps in range
        _RING + "t = pl.tile.load_into(ring[n], x, [0, 0], [16, 64])  # ERROR: slot-index-out-of-range",
        # R33, R34: two values in one slot, constant or congruent
        _RING + "t = pl.tile.load_into(ring[0], x, [0, 0], [16, 64])\n"
        "u = pl.tile.load_into(ring[0], x, [16, 0], [16, 64])  # ERROR: clobber\npl.store(t, [0, 0], y)",
        _RING + "for i in pl.range(4):\n    t = pl.tile.load_into(ring[i % 2], x, [0, 0], [16, 64])\n"
        "    u = pl.tile.load_into(ring[(i + 2) % 2], x, [16, 0], [16, 64])  # ERROR: clobber\n"
        "    pl.store(t, [0, 0], y)",
        # how much of a slot is valid does not depend on the way that led to the read
        _RING + "if n == 0:\n    pl.tile.load_into(ring[0], x, [0, 0], [16, 64], valid_shape=[10, 64])\nelse:\n"
        "    pl.tile.load_into(ring[0], x, [0, 0], [16, 64])\npl.store(ring[0], [0, 0], y)  # ERROR: shape-or-dtype",
        _RING + "pl.tile.load_into(ring[0], x, [0, 0], [16, 64])\nfor i in pl.range(4):\n"
        "    pl.store(ring[0], [0, 0], y)  # ERROR: shape-or-dtype\n"
        "    pl.tile.load_into(ring[i % 2], x, [0, 0], [16, 64], valid_shape=[10, 64])",
        _RING + "for i in pl.range(4):\n    if i > 0:\n        pl.store(ring[0], [0, 0], y)  # ERROR: shape-or-dtype\n"
        "    pl.tile.load_into(ring[0], x, [0, 0], [16, 64], valid_shape=[10, 64])",
        "if n == 0:\n    t = pl.load(x, [0, 0], [16, 64], valid_shape=[n, 64])\nelse:\n"
        "    t = pl.load(x, [16, 0], [16, 64], valid_shape=[n, 64])\npl.store(t, [0, 0], y)  # ERROR: undefined-name",
        # R50: a view is its source's buffer
        "t = pl.load(x, [0, 0], [16, 64])\n"
        'u: pl.Tile[[32, 32], pl.FP32, pl.MemRef("m", slots=2)[0], pl.Mem.Vec] = pl.reshape(t, [32, 32])'
        "  # ERROR: wrong-arguments",
    ],
)  # fmt: skip
def test_it_is_wrong_at_its_line(body: str):
    text = _text(_VECTOR, body)
    assert found(text) == marked(text)


def test_an_accumulator_is_added_to_where_it_lies():
    """R61: the matrix unit reads the accumulator from the destination."""
    body = (
        "sums = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Acc)\n"
        "pl.tile.matmul_into(sums[0], left, right)\n"
        "pl.tile.matmul_acc(sums[0], left, right, out=sums[1])  # ERROR: shape-or-dtype"
    )
    text = _text(_CUBE, body)
    assert found(text) == marked(text)


def test_a_tile_that_is_read_as_a_whole_does_not_become_a_part_of_it():
    body = (
        "part = pl.load(a, [0, 0], [16, 64], valid_shape=[10, 64], target_memory=pl.Mem.Mat)\n"
        "sum = pl.create_tile([16, 64], pl.FP32, target_memory=pl.Mem.Acc)\n"
        "for i in pl.range(4):  # ERROR: shape-or-dtype\n    pl.store(sum, [0, 0], c)\n"
        "    sum = pl.matmul_acc(sum, part, right, init_cond=i == 0)"
    )
    text = _text(_CUBE, body)
    assert found(text) == marked(text)


def test_a_peeled_accumulate_may_share_one_slot():
    """R60: two producers under `if`, one slot."""
    body = (
        "sums = pl.create_tile_buffers(1, [16, 64], pl.FP32, pl.Mem.Acc)\nfor i in pl.range(4):\n    if i == 0:\n"
        "        pl.tile.matmul_into(sums[0], left, right)\n    else:\n"
        "        pl.tile.matmul_acc_into(sums[0], left, right)\npl.store(sums[0], [0, 0], c)"
    )
    assert found(_text(_CUBE, body)) == []


def test_a_declared_slot_is_as_large_as_the_largest_tile_bound_to_it():
    """R13, R16: and there are as many as declared, whichever are bound."""
    body = (
        't: pl.Tile[[8, 64], pl.FP32, pl.MemRef("m", slots=4)[3], pl.Mem.Vec] = pl.load(x, [0, 0], [8, 64])\n'
        "pl.store(t, [0, 0], y)\n"
        'u: pl.Tile[[32, 64], pl.FP32, pl.MemRef("m", slots=4)[3], pl.Mem.Vec] = pl.load(x, [0, 0], [32, 64])\n'
        "pl.store(u, [0, 0], y)"
    )
    (alloc,) = [op for op in ir(_text(_VECTOR, body)).walk() if isinstance(op, AllocSlotsOp)]
    spec = alloc.slots.type.data
    assert (spec.count, spec.tile.rows, spec.tile.cols) == (4, 32, 64)


def test_an_annotation_says_the_extent_of_a_window():
    body = (
        "t = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)\nw: pl.Tile[[{rows}, 64], pl.FP16, pl.Mem.Mat] = "
    )
    body += "pl.slice(t, [32, 64], [32, 0])  # ERROR: shape-or-dtype\nr = pl.move(w, pl.Mem.Right)"
    assert found(_text(_CUBE, body.format(rows=32))) == []
    wrong = _text(_CUBE, body.format(rows=64))
    assert found(wrong) == marked(wrong)


def test_another_name_for_a_slot_repeats_where_it_lies():
    body = (
        "one: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 8192)\n"
        "for i, (t,) in pl.range(n, init_values=(pl.load(x, [0, 0], [16, 64], out=ring[0]),)):\n"
        "    u: pl.Tile[[16, 64], pl.FP32, pl.MemRef(one, 0, 4096), pl.Mem.Vec] = t  # ERROR: shape-or-dtype\n"
        "    t = pl.yield_(u)\n"
    )
    wrong = _text(_VECTOR, _RING + body)
    assert found(wrong) == marked(wrong)
