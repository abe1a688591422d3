"""Every mistake is reported at its line with its kind, all of them in one run, and nothing else is."""

import pytest

from support.kernel_text import errors, marked, message

HEAD = """
@pl.jit.incore
def k(a: pl.Tensor[[32, 64], pl.FP16], o: pl.Out[pl.Tensor[[32, 64], pl.FP16]], n: pl.Scalar[pl.INDEX]):
    ring = pl.create_tile_buffers(3, [32, 64], pl.FP16, pl.Mem.Vec)
    lefts = pl.create_tile_buffers(2, [32, 64], pl.FP16, pl.Mem.Left)
    rights = pl.create_tile_buffers(1, [64, 16], pl.FP16, pl.Mem.Right)
    sums = pl.create_tile_buffers(4, [32, 16], pl.FP32, pl.Mem.Acc)
    t = pl.load(a, [0, 0], [32, 64])
"""

STATEMENTS = [
    "pl.tile.load_into(lefts[1], a, [0, 0], [32, 64])  # ERROR: memory-space",
    "pl.tile.matmul_into(sums[0], ring[0], rights[0])  # ERROR: memory-space",
    "pl.tile.matmul_into(ring[0], lefts[0], rights[0])  # ERROR: memory-space",
    "pl.store(rights[0], [0, 0], o)  # ERROR: memory-space",
    "more = pl.create_tile_buffers(2, [16, 16], pl.FP16, pl.Mem.DDR)  # ERROR: memory-space",
    "pl.tile.load_into(ring[0], a, [0, 0], [16, 64])  # ERROR: shape-or-dtype",
    "pl.tile.load_into(ring[0], a, [16, 0], [32, 64])  # ERROR: shape-or-dtype",
    "pl.tile.load_into(ring[0], a, [0], [32, 64])  # ERROR: shape-or-dtype",
    "pl.tile.load_into(ring[0], a, [0, 0], [32, n])  # ERROR: shape-or-dtype",
    "pl.tile.load_into(ring[0], a, [0, 0], [32, 64], valid_shape=[33, 64])  # ERROR: shape-or-dtype",
    "pl.tile.matmul_into(sums[0], lefts[0], lefts[0])  # ERROR: memory-space",
    "x: pl.Tile[[32, 32], pl.FP16] = t  # ERROR: shape-or-dtype",
    "x: pl.Tile[[32, 64], pl.FP32] = t  # ERROR: shape-or-dtype",
    "x: pl.Tile[[32, 64], pl.FP16, pl.Mem.Mat] = t  # ERROR: memory-space",
    "more = pl.create_tile_buffers(2, [n, 16], pl.FP16, pl.Mem.Vec)  # ERROR: shape-or-dtype",
    "more = pl.create_tile_buffers(n, [16, 16], pl.FP16, pl.Mem.Vec)  # ERROR: capacity-or-count",
    "more = pl.create_tile_buffers(0, [16, 16], pl.FP16, pl.Mem.Vec)  # ERROR: capacity-or-count",
    "more = pl.create_tile_buffers(17, [16, 16], pl.FP16, pl.Mem.Vec)  # ERROR: capacity-or-count",
    "x = ring[3]  # ERROR: slot-index-out-of-range",
    "x = ring[1 - 2]  # ERROR: slot-index-out-of-range",
    "x = ring[1.0]  # ERROR: shape-or-dtype",
    "x = ring[0:2]  # ERROR: set-misuse",
    "x = pl.exp(ring)  # ERROR: set-misuse",
    "x: pl.Tile[[32, 64], pl.FP16] = ring  # ERROR: set-misuse",
    "pl.tile.load_into(ring, a, [0, 0], [32, 64])  # ERROR: set-misuse",
    "pl.tile.release(t)  # ERROR: release-misuse",
    "pl.release(ring)  # ERROR: release-misuse",
    "pl.release(n)  # ERROR: release-misuse",
    "n += 1  # ERROR: unsupported-syntax",
    "x = 1 if n > 2 else 2  # ERROR: unsupported-syntax",
    "x = [ring[i] for i in range(3)]  # ERROR: unsupported-syntax",
    "x = lambda: t  # ERROR: unsupported-syntax",
    "x = (y := 2)  # ERROR: unsupported-syntax",
    "x = f'{n}'  # ERROR: unsupported-syntax",
    "assert n > 1  # ERROR: unsupported-syntax",
    "x = undefined_name  # ERROR: undefined-name",
    "x = pl.no_such_op(t)  # ERROR: unknown-op",
    "x = pl.exp(t, t)  # ERROR: wrong-arguments",
    "x = pl.load(a, [0, 0])  # ERROR: wrong-arguments",
    "x = pl.load(a, [0, 0], [32, 64], colour=1)  # ERROR: wrong-arguments",
    "x = n / 2  # ERROR: unsupported-syntax",
    "x = n % 0  # ERROR: shape-or-dtype",
    "x = 1 // 0  # ERROR: shape-or-dtype",
    "x = n + 1.5  # ERROR: shape-or-dtype",
    "x, y = 1, 2, 3  # ERROR: shape-or-dtype",
    "return t  # ERROR: shape-or-dtype",
    "ring = 3  # ERROR: shape-or-dtype",
    "x = pl.yield_(n, *[n])  # ERROR: unsupported-syntax",
    "import os  # ERROR: unsupported-syntax",
    "ring[0] = t  # ERROR: unsupported-syntax",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_wrong_statement_is_reported_at_its_line(statement: str):
    text = f"{HEAD}    {statement}\n"
    assert errors(text) == marked(text)


def test_one_run_reports_every_mistake_and_nothing_that_follows_from_one():
    text = HEAD + "".join(
        f"    {statement}\n" for statement in STATEMENTS if not statement.startswith(("return", "ring", "n +="))
    )
    text += "    x = ring[0]\n    pl.tile.load_into(more[0], a, [0, 0], [32, 64])\n"
    assert errors(text) == marked(text)


@pytest.mark.parametrize(
    "block",
    [
        "for i in range(4):  # ERROR: unsupported-syntax\n        x = ring[i]",
        "for i in [1, 2]:  # ERROR: unsupported-syntax\n        x = ring[i]",
        "for i in pl.range(4, 0, -1):  # ERROR: shape-or-dtype\n        x = ring[i]",
        "for i in pl.range(0, 4, n):  # ERROR: shape-or-dtype\n        x = ring[i]",
        "for i in pl.pipeline(4):  # ERROR: wrong-arguments\n        x = ring[i % 2]",
        "for i in pl.pipeline(4, stage=0):  # ERROR: wrong-arguments\n        x = ring[i % 2]",
        "for i, (z,) in pl.range(4, init_values=(o, o)):  # ERROR: wrong-arguments\n        z = pl.yield_(z)",
        "for i, (z,) in pl.range(4, init_values=(o,)):\n        x = 1  # ERROR: unsupported-syntax",
        "for i in pl.unroll(n):  # ERROR: unsupported-syntax\n        x = ring[0]",
        "for i in pl.range(2):\n"
        "        x = pl.create_tile_buffers(1, [16, 16], pl.FP16, pl.Mem.Vec)  # ERROR: set-misuse",
        "with ring[0] as x:  # ERROR: unsupported-syntax\n        pl.tile.load_into(x, a, [0, 0], [32, 64])",
        "if n:  # ERROR: shape-or-dtype\n        x = ring[0]",
        "if 0 < n < 4:  # ERROR: unsupported-syntax\n        x = ring[0]",
        "if n > 1:\n        return o  # ERROR: unsupported-syntax",
        "if n > 1:\n        x = n\n    y = x + 1  # ERROR: undefined-name",
        "for i in pl.range(n):\n        x = i\n    y = x + 1  # ERROR: undefined-name",
        "def inner():  # ERROR: unsupported-syntax\n        pass",
    ],
)
def test_a_wrong_block_is_reported_at_its_line(block: str):
    text = f"{HEAD}    {block}\n"
    assert errors(text) == marked(text)


def test_mistakes_of_all_kernels_of_a_file_are_reported_together():
    text = HEAD + "    x = ring[7]  # ERROR: slot-index-out-of-range\n" + HEAD.replace("def k", "def other")
    text += "    x = pl.exp(ring)  # ERROR: set-misuse\n"
    assert errors(text) == marked(text)


@pytest.mark.parametrize("name", ["int", "double", "xor", "new", "main"])
def test_a_name_that_c_plus_plus_keeps_for_itself_is_no_kernel(name: str):
    text = f"\n@pl.jit.incore\ndef {name}(o: pl.Out[pl.Tensor[[32, 64], pl.FP16]]):\n    return o\n"
    assert errors(text) == [(4, "kernel-name")]
    assert message(text).startswith(f"'{name}' cannot name a kernel: ")
    assert errors(text.replace(f"def {name}(", f"def {name}_kernel(")) == []


def test_a_file_that_python_cannot_read_is_reported_where_it_breaks_off():
    assert errors("def broken(:\n    pass\n") == [(2, "syntax")]


def test_a_column_counts_characters_not_bytes():
    text = HEAD + "    é = ring[5]\n"
    assert errors(text) == [(10, "slot-index-out-of-range")]


def test_a_message_names_what_was_found_and_the_rule():
    assert message(f"{HEAD}    x = ring[5]\n") == "slot index 5 is outside [0, 3) of 'ring'"
    assert message(f"{HEAD}    pl.store(rights[0], [0, 0], o)\n") == (
        "'tstore': src is in right, must be in vec or mat or acc"
    )
    assert message(f"{HEAD}    more = pl.create_tile_buffers(n, [16, 16], pl.FP16, pl.Mem.Vec)\n") == (
        "the number of slots must be a constant integer, found a scalar, known only at run time"
    )
