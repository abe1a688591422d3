"""More of what users of pypto have tripped over: identity, sizes, branches, lifetimes and hygiene of slots.

The numbers R1 to R78 are those of the list that test_slot_rules.py and test_staging.py cite, too.
"""

import pytest
from xdsl.dialects.builtin import ModuleOp

from pto_buf.compiler import compile_module
from pto_buf.dialect.ptobuf import INTO_BY_DSL, AllocSlotsOp
from pto_buf.dialect.types import tile_of
from pto_buf.errors import DiagnosticError
from pto_buf.frontend import read
from pto_buf.hw import A2A3, A5, Space, Target
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.memory.footprint import slot_stride
from pto_buf.passes import available_passes, parse_passes, run_passes
from pto_buf.source import parse_text
from pto_buf.tile import canonical_tile
from pto_buf.universe import make_context
from support.kernel_text import FILE, ir, marked, source

_HEAD = """
@pl.jit.incore
def k(x: pl.Tensor[[256, 64], pl.FP32], y: pl.Out[pl.Tensor[[256, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Vec)
"""
_CUBE = """
@pl.jit.incore
def k(a: pl.Tensor[[16, 64], pl.FP16], b: pl.Tensor[[64, 64], pl.FP16], n: pl.Scalar[pl.INDEX],
      c: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    left = pl.move(pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat), pl.Mem.Left)
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), pl.Mem.Right)
"""
_FILL = "pl.tile.load_into({slot}, x, [0, 0], [16, 64])"


def fill(slot: str) -> str:
    return _FILL.format(slot=slot)


def text(body: str, head: str = _HEAD) -> str:
    return head + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))


def found(whole: str) -> list[tuple[int, str | None]]:
    """The lines and kinds of the mistakes that reading, the rules of slots and the memory plan find."""
    try:
        module = read(FILE, source=source(whole))
        passes = "ptobuf-verify-slots,ptobuf-canonicalize,ptobuf-plan-memory"
        run_passes(make_context(), module, parse_passes(passes, available_passes()))
    except DiagnosticError as err:
        return [(one.place.line if one.place else 0, one.kind) for one in err.diagnostics]
    return []


def sets(module: ModuleOp) -> dict[str, int]:
    allocs = [op for op in module.walk() if isinstance(op, AllocSlotsOp)]
    return {op.set_name.data: op.slots.type.data.count for op in allocs}


WRONG = [
    # R1: a set is no tile and no tuple
    "u = pl.exp(ring)  # ERROR: set-misuse",
    "a, b = ring  # ERROR: shape-or-dtype",
    # R11: one slot is not "not slotted by accident": it is not indexed
    't: pl.Tile[[16, 64], pl.FP32, pl.MemRef("m")[0], pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])'
    "  # ERROR: wrong-arguments",
    # R15, R17: all slots count, whichever are bound, and a run-time index hides none
    "big = pl.create_tile_buffers(3, [256, 64], pl.FP32, pl.Mem.Vec)  # ERROR: capacity-or-count",
    'for i in pl.range(4):\n    t: pl.Tile[[256, 64], pl.FP32, pl.MemRef("m", slots=3)[i % 3], pl.Mem.Vec] = '
    "pl.load(x, [0, 0], [256, 64])  # ERROR: capacity-or-count\n    pl.store(t, [0, 0], y)",
    # R18: sizes that no machine counts
    "big = pl.create_tile_buffers(16, [1 << 40, 1 << 40], pl.FP32, pl.Mem.Vec)  # ERROR: capacity-or-count",
    # R23: more slots than there are events to tell them apart by
    "many = pl.create_tile_buffers(17, [16, 8], pl.FP32, pl.Mem.Vec)  # ERROR: capacity-or-count",
    # R37: a loop that may carry either slot on leaves one of which only some are written
    "s = ring[0]\nfor i in pl.range(2):  # ERROR: slot-index-out-of-range\n    s = ring[(n - i) % 3]\n"
    "pl.store(s, [0, 0], y)  # ERROR: read-before-write",
    # R41: the next trip's load overwrites what this trip still reads
    f"{fill('ring[0]')}\nfor i in pl.range(n):\n    t = ring[i % 2]\n"
    f"    {fill('ring[(i + 2) % 2]')}  # ERROR: clobber\n    pl.store(t, [0, 0], y)",
    # R42: released in each trip of a loop, taken outside; and used in the trip after
    f"t = {fill('ring[0]')}\nfor i in pl.range(3):\n"
    "    pl.store(t, [0, 0], y)  # ERROR: use-after-release\n    pl.release(t)  # ERROR: release-misuse",
    # R43: through an alias, twice, and of what is no slot
    f"t = {fill('ring[0]')}\nu = t\npl.release(t)\npl.store(u, [0, 0], y)  # ERROR: use-after-release",
    f"t = {fill('ring[0]')}\nu = t\npl.release(t)\npl.tile.release(u)  # ERROR: release-misuse",
    "pl.release(x)  # ERROR: release-misuse",
    # R44: released on one arm, it is dead behind the branch
    f"t = {fill('ring[0]')}\nif n > 3:\n    pl.release(t)\npl.store(t, [0, 0], y)  # ERROR: use-after-release",
    # R51: what cannot be told apart counts as one
    f"t = {fill('ring[n % 2]')}\nu = {fill('ring[(n // 2) % 2]')}  # ERROR: clobber\npl.store(t, [0, 0], y)",
    # R52: a constant slot in a pipeline that has two trips in flight
    f"for i in pl.pipeline(4, stage=2):\n    t = {fill('ring[0]')}  # ERROR: clobber\n    pl.store(t, [0, 0], y)",
    # R63: slots of one set of which different parts are valid
    f"t = pl.tile.load_into(ring[0], x, [0, 0], [16, 64], valid_shape=[9, 64])\nu = {fill('ring[1]')}\n"
    "pl.store(pl.add(t, u), [0, 0], y)  # ERROR: shape-or-dtype",
    # R69: nothing of a window is valid
    "t = pl.load(x, [0, 0], [16, 64], valid_shape=[8, 64])\n"
    "u = pl.slice(t, [8, 64], [8, 0])  # ERROR: shape-or-dtype\npl.store(u, [0, 0], y)",
    # R65: a set without its index
    't: pl.Tile[[16, 64], pl.FP32, pl.MemRef("m", slots=2), pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])'
    "  # ERROR: wrong-arguments",
]


@pytest.mark.parametrize("body", WRONG)
def test_it_is_wrong_at_its_line(body: str):
    assert found(text(body)) == marked(text(body))


RIGHT = [
    # R36, R57: a slot that a branch chooses, the second one first
    f"if n > 3:\n    s = ring[1]\nelse:\n    s = ring[0]\n{fill('s')}\npl.store(s, [0, 0], y)",
    # R37: a loop that carries what a slot holds, the same slot all the way
    f"t = {fill('ring[0]')}\nfor i in pl.range(2):\n    for j in pl.range(2):\n        pl.store(t, [0, 0], y)",
    # R38: two slots of one set live in one trip
    f"for i in pl.range(n):\n    t = {fill('ring[i % 2]')}\n    u = {fill('ring[(i + 1) % 2]')}\n"
    "    pl.store(pl.add(t, u), [0, 0], y)",
    # R44: released on both arms, and the slot filled anew
    f"t = {fill('ring[0]')}\nif n > 3:\n    pl.release(t)\nelse:\n    pl.store(t, [0, 0], y)\n    pl.release(t)\n"
    f"u = {fill('ring[0]')}\npl.store(u, [0, 0], y)",
    # R45: carries are copied all at once
    "a = pl.load(x, [0, 0], [16, 64])\nb = pl.load(x, [16, 0], [16, 64])\nfor i in pl.range(n):\n    a, b = b, a\n"
    "    y = pl.store(a, [0, 0], y)",
    # R46: an arm that leaves the carried tile as it is
    "s = pl.load(x, [0, 0], [16, 64])\nfor i in pl.range(n):\n    if i > 2:\n        s = pl.add(s, s)\n"
    "pl.store(s, [0, 0], y)",
    # R52: a slot that is filled once and read in every trip, and a set of one
    f"for i in pl.pipeline(4, stage=2):\n    if i == 0:\n        {fill('ring[0]')}\n    t = pl.exp(ring[0])\n"
    "    pl.store(t, [0, 0], y)",
    "one = pl.create_tile_buffers(1, [16, 64], pl.FP32, pl.Mem.Vec)\nfor i in pl.pipeline(4, stage=2):\n"
    f"    t = {fill('one[0]')}\n    pl.store(t, [0, 0], y)",
    # R69: a window of a tile that is valid in part is valid in part
    "t = pl.load(x, [0, 0], [16, 64], valid_shape=[9, 64])\nu = pl.slice(t, [8, 64], [8, 0])\n"
    "pl.store(pl.add(u, pl.load(x, [0, 0], [8, 64], valid_shape=[1, 64])), [0, 0], y)",
    # R64: the run-time extent is the use's, not the slot's
    "for i in pl.range(4):\n    t = pl.tile.load_into(ring[i % 2], x, [0, 0], [16, 64], valid_shape=[n, 64])\n"
    "    pl.store(t, [0, 0], y)",
]


@pytest.mark.parametrize("body", RIGHT)
def test_it_is_right(body: str):
    assert found(text(body)) == []


def test_no_window_of_an_accumulator_is_a_destination():
    """R62: its rows do not lie one behind the other."""
    body = "acc = pl.matmul(left, right)\npl.tile.matmul_into(acc[0:8, :], left, right)"
    assert found(text(body, _CUBE)) != []


def test_two_accumulators_are_two():
    """R48: independent sums never share a buffer, however alike they are."""
    body = (
        "one = pl.matmul(left, right)\ntwo = pl.matmul(left, right)\nfor i in pl.range(n):\n"
        "    one = pl.matmul_acc(one, left, right)\n    two = pl.matmul_acc(two, left, right)\n"
        "c = pl.store(one, [0, 0], c)\nc = pl.store(two, [0, 0], c)"
    )
    found = sets(ir(text(body, _CUBE)))
    assert (found["one"], found["two"]) == (1, 1)


def test_a_transpose_is_a_buffer_of_its_own():
    """R49: a view is its source's buffer, a transpose is not."""
    body = "t = pl.load(x, [0, 0], [64, 64])\nu = pl.transpose(t, 0, 1)\npl.store(u, [0, 0], y)"
    assert {"t", "u"} <= set(sets(ir(text(body))))


@pytest.mark.parametrize("rows", [1, 9, 15])
def test_a_product_of_few_rows_is_padded_to_a_box(rows: int):
    """R66, R68: an operand below 16 rows lies in whole boxes, and product and store agree on what is valid."""
    whole = _CUBE.replace("[16, 64]", f"[{16 if rows == 1 else rows}, 64]") + "    acc = pl.matmul(left, right)\n"
    (product,) = (op for op in ir(whole).walk() if isinstance(op, INTO_BY_DSL["matmul"]))
    tile = tile_of(product.results[0].type)
    assert tile is not None
    assert (tile.rows, tile.v_rows) == (16, 16 if rows == 1 else rows)


@pytest.mark.parametrize(
    ("space", "rows", "cols", "dtype", "target", "stride"),
    [
        (Space.LEFT, 16, 8, "f16", A2A3, 512),  # R19: slots start where the assembler aligns them
        (Space.BIAS, 1, 8, "f32", A2A3, 64),
        (Space.VEC, 1, 9, "f32", A2A3, 64),
        (Space.ACC, 17, 16, "f32", A2A3, 2048),  # R20: the cube writes 16 rows at once,
        (Space.ACC, 17, 16, "i32", A2A3, 2048),  # or 32 of integers
        (Space.ACC, 16, 16, "i32", A2A3, 2048),
        (Space.ACC, 16, 16, "i32", A5, 1024),
    ],
)
def test_the_stride_of_slots(space: Space, rows: int, cols: int, dtype: str, target: Target, stride: int):
    assert slot_stride(canonical_tile(space, rows, cols, dtype, target), target) == stride


def test_what_of_the_vector_buffer_is_usable():
    """R24: less than the part has."""
    assert (A2A3.capacity[Space.VEC], A5.capacity[Space.VEC]) == (184 * 1024, 240 * 1024)


def test_text_and_identity_keep_the_slots():
    """R3, R9, R73: the count is part of what a kernel is, and printing and reading keep it."""
    body = f"for i in pl.range(4):\n    t = {fill('ring[i % 2]')}\n    pl.store(t, [0, 0], y)"
    two, three = ir(text(body)), ir(text(body).replace("buffers(2", "buffers(3"))
    again = parse_text(make_context(), str(two), "again.mlir")
    assert again.is_structurally_equivalent(two)
    assert str(again) == str(two) != str(three)


def test_clones_name_the_slots_of_their_own_trips():
    """R4, R52: a loop written out four times takes the slots in turn."""
    body = f"for i in pl.unroll(4):\n    t = {fill('ring[i % 2]')}\n    pl.store(t, [i * 16, 0], y)"
    picked = [str(op.operands[1].name_hint) for op in ir(text(body)).walk() if op.name == "ptobuf.slot_select"]
    assert picked == ["c0", "c1", "c0", "c1"]


def test_an_index_reaches_the_flags_as_it_is():
    """R29, R31, R32: the lane is the slot's index, not an address; reports name it by the user's variable."""
    body = f"for trip in pl.range(8):\n    t = {fill('ring[trip % 2]')}\n    pl.store(t, [0, 0], y)"
    compiled = compile_module(ir(text(body)), PipelineOptions())
    assert "%0 = arith.remui %trip, %c2" in compiled.text
    assert "pto.wait_flag_dyn[<PIPE_MTE3>, <PIPE_MTE2>, %0]" in compiled.text


def test_kernels_of_a_file_do_not_share_names():
    """R70: what one function declares is forgotten in the next."""
    one = text('t: pl.Tile[[16, 64], pl.FP32, pl.MemRef("m", slots=2)[0], pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])')
    other = one.replace("def k", "def other").replace("slots=2", "slots=3")
    assert sets(ir(one + other)) == {"ring": 2, "m": 3}
    assert found(one + other) == []


@pytest.mark.parametrize("body", WRONG)
def test_every_mistake_says_what_to_do_or_where_the_other_place_is(body: str):
    """R72: no mistake without a place and, beside the rule, a lever or a second place."""
    with pytest.raises(DiagnosticError) as caught:
        module = read(FILE, source=source(text(body)))
        passes = "ptobuf-verify-slots,ptobuf-canonicalize,ptobuf-plan-memory"
        run_passes(make_context(), module, parse_passes(passes, available_passes()))
    for one in caught.value.diagnostics:
        assert one.place is not None
        assert one.help or one.notes, one.message
