"""What statements and expressions become: constants folded, indices bounded, names carried, places kept."""

import pytest

from pto_buf.frontend import kernels, read
from pto_buf.hw import A5
from support.kernel_text import FILE, errors, ir, marked, message, source

HEAD = """
@pl.jit.incore
def k(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(4, [16, 64], pl.FP32, pl.Mem.Vec)
"""


def body(text: str) -> str:
    """The IR of a kernel with this body."""
    lines = "".join(f"    {line}\n" for line in text.strip("\n").split("\n"))
    return str(ir(HEAD + lines))


@pytest.mark.parametrize(
    ("expression", "op"),
    [
        ("n % 3", "arith.remui"),
        ("n & 3", "arith.andi"),
        ("(n - 1) % 4", "arith.andi"),
        ("(n - 1) % 3", "arith.remsi"),
        ("(n - 1) // 3 & 3", "arith.divsi"),
        ("n // 3 % 4", "arith.divui"),
        ("(n | 1) & 3", "arith.ori"),
        ("(n ^ 1) & 3", "arith.xori"),
        ("(n << 1) % 4", "arith.shli"),
        ("(n >> 1) % 4", "arith.shrsi"),
        ("pl.min(n, 3)", "arith.minsi"),
        ("pl.max(n, 1) % 4", "arith.maxsi"),
    ],
)
def test_index_arithmetic_becomes_the_op_that_python_means(expression: str, op: str):
    assert op in body(f"pl.tile.load_into(ring[{expression}], x, [0, 0], [16, 64])")


def test_what_is_known_is_folded():
    text = body("pl.tile.load_into(ring[(7 * 2 - 3) // 4 % 4], x, [min(16, 32) * 2, 0], [16, 64])")
    assert "arith.constant 32 : index" in text
    assert "arith.muli" not in text and "arith.remui" not in text


def test_a_remainder_of_a_negative_constant_is_pythons():
    assert "arith.constant 2 : index" in body("pl.tile.load_into(ring[-1 % 3], x, [0, 0], [16, 64])")


def test_a_known_condition_takes_one_arm():
    text = body("if 2 > 1:\n    pl.tile.load_into(ring[0], x, [0, 0], [16, 64])\nelse:\n    pl.nonsense()")
    assert "scf.if" not in text


def test_numbers_leave_branches_and_loops():
    text = body(
        """
k = 0
for i in pl.range(3):
    if n > i:
        k = k + 1
    else:
        k = k + 2
pl.tile.load_into(ring[k % 4], x, [0, 0], [16, 64])
"""
    )
    assert "-> (index)" in text and "iter_args(" in text


def test_a_tensor_carried_by_a_loop_is_no_value_of_it():
    text = body(
        """
for i, (out,) in pl.range(4, init_values=(y,)):
    pl.tile.load_into(ring[i], x, [i * 16, 0], [16, 64])
    stored = pl.store(ring[i], [i * 16, 0], out)
    out = pl.yield_(stored)
"""
    )
    assert "iter_args" not in text


def test_an_op_has_the_place_of_its_call():
    module = ir(HEAD + "    pl.tile.load_into(ring[0], x, [0, 0],\n        [16, 64])\n")
    load = next(op for op in module.walk() if op.name == "ptobuf.load_into")
    assert str(load.location) == f'loc("{FILE}":6:5)'


def test_dynamic_extents_are_arguments_behind_the_others():
    text = str(
        ir(
            """
            M = pl.dynamic("M")
            N = pl.dynamic("N")
            @pl.jit.incore
            def k(x: pl.Tensor[[M, N], pl.FP16], s: pl.Scalar[pl.FP32], y: pl.Out[pl.Tensor[[N, M], pl.FP16]]):
                pl.store(pl.load(x, [0, 0], [16, 64]), [0, 0], y)
            """
        )
    )
    assert "(%x: !pto.ptr<f16>, %s: f32, %y: !pto.ptr<f16>, %M: index, %N: index)" in text.replace(" : ", ": ")


def test_kernels_are_listed_with_their_class_and_orchestration_is_skipped():
    text = source(
        """
        @pl.program
        class P:
            @pl.function(type=pl.FunctionType.AIC)
            def cube(self): pass
            @pl.function(type=pl.FunctionType.Orchestration)
            def run(self): pass
        @pl.jit.inline
        def helper(): pass
        @pl.jit
        def alone(): pass
        """
    )
    said = []
    read(FILE, source=text, warn=said.append)
    assert kernels(FILE, text) == ["P.cube", "alone"]
    assert [one.message for one in said] == ["'P.run' is orchestration and is skipped"]


def test_scopes_inside_orchestration_become_kernels():
    text = source(
        """
        @pl.jit
        def run(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
            t = pl.create_tensor([64, 64], dtype=pl.FP32)
            for i in pl.range(4):
                with pl.at(level=pl.Level.CORE_GROUP, name_hint="first"):
                    t = pl.store(pl.load(x, [i * 16, 0], [16, 64]), [i * 16, 0], t)
            for b in pl.spmd(4, name_hint="second"):
                y = pl.store(pl.load(t, [b * 16, 0], [16, 64]), [b * 16, 0], y)
        """
    )
    assert kernels(FILE, text) == ["run.first", "run.second"]
    module = str(read(FILE, source=text))
    assert "@first(%x : !pto.ptr<f32>, %t : !pto.ptr<f32>, %i : index)" in module.replace("%x:", "%x :").replace(
        "%t:", "%t :"
    ).replace("%i:", "%i :")
    assert "pto.get_block_idx" in module


def test_a_kernel_without_shapes_takes_them_from_the_files_own_call():
    text = source(
        """
        @pl.jit
        def k(a: pl.Tensor, n: pl.Tensor, b: pl.Out[pl.Tensor]):
            with pl.at(level=pl.Level.CORE_GROUP):
                pl.store(pl.load(a, [0, 0], [16, 64]), [0, 0], b)

        def main():
            rows = 8 * 4
            a = torch.randn(rows, 64, dtype=torch.float32).to(torch.bfloat16)
            b = torch.zeros_like(a)
            k(a, torch.tensor([[1, 2, 3], [4, 5, 6]]), b, config=None)
        """
    )
    found = str(read(FILE, source=text))
    assert "tensor_view<32x64xbf16>" in found
    assert "tensor_view<2x3xi64>" in found


def test_a_kernel_whose_shapes_nobody_says_is_refused():
    assert message("@pl.jit\ndef k(a: pl.Tensor):\n    pl.load(a, [0, 0], [16, 64])\n") == (
        "the shape of 'a' is left to the call, and no call in this file says what it is"
    )


def test_a_helper_is_read_where_it_is_called_and_says_who_called_it():
    text = (
        """
@pl.inline
def twice(slot, row):
    pl.tile.load_into(slot, x, [row, 0], [16, 64])  # ERROR: undefined-name
"""
        + HEAD
    )
    assert errors(text + "    twice(ring[0], 0)\n") == marked(text)


def test_a_helper_may_not_call_itself():
    text = "@pl.inline\ndef f(s):\n    f(s)  # ERROR: unsupported-syntax\n" + HEAD + "    f(ring[0])\n"
    assert errors(text) == marked(text)


def test_a_static_assertion_holds_or_says_why_not():
    assert "func.func" in body("pl.static_assert(2 > 1, 'never')")
    assert message(f"{HEAD}    pl.static_assert(len(ring) == 3, 'three slots')\n") == "static_assert: three slots"


@pytest.mark.parametrize(
    "lines",
    [
        't: pl.Tile[[16, 64], pl.FP32, pl.MemRef("a", slots=2)[2], pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])'
        "  # ERROR: slot-index-out-of-range",
        't: pl.Tile[[16, 64], pl.FP32, pl.MemRef("a", slots=2), pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])'
        "  # ERROR: wrong-arguments",
        't: pl.Tile[[16, 64], pl.FP32, pl.MemRef("a", slots=0)[0], pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])'
        "  # ERROR: capacity-or-count",
        't: pl.Tile[[16, 64], pl.FP32, pl.MemRef("a")] = pl.load(x, [0, 0], [16, 64])  # ERROR: memory-space',
    ],
)
def test_a_wrong_slot_in_an_annotation_is_reported(lines: str):
    text = f"{HEAD}    {lines}\n"
    assert errors(text) == marked(text)


def test_left_tiles_have_the_layout_of_the_target():
    text = """
    @pl.jit.incore
    def k(x: pl.Tensor[[16, 64], pl.FP16]):
        t = pl.move(pl.load(x, [0, 0], [16, 64], target_memory=pl.Mem.Mat), pl.Mem.Left)
    """
    assert "left, 16x64xf16, blayout=row_major" in str(ir(text))
    assert "left, 16x64xf16, blayout=col_major" in str(ir(text, target=A5))
