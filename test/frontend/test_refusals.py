"""What is no part of this compiler is refused by its name, with the reason."""

import pytest

from pto_buf.errors import DiagnosticError
from support.kernel_text import errors, ir, message

HEAD = """
@pl.jit.incore
def k(x: pl.Tensor[[16, 64], pl.FP32], o: pl.Out[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    t = pl.load(x, [0, 0], [16, 64])
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("u = pl.tile.sin(t)", "'pl.tile.sin' is no instruction: pypto writes it out"),
        ("pl.tpush_to_aic(t, split=0)", "'pl.tpush_to_aic' hands a tile over to the other kind of core"),
        ("u = pl.tpop_from_aic(shape=[16, 64], dtype=pl.FP32)", "here data passes through a tensor"),
        ("pl.system.sync_set(0, pipe=pl.PipeType.V)", "synchronises cores by hand"),
        ("u = pl.create_tensor([16, 64], dtype=pl.FP32)", "works on whole tensors"),
        ("u = pl.batch_matmul(t, t)", "is for batches"),
        ("u = pl.tile.gather_row(t, x, 0, 0, [1, 64])", "loads rows into a part of a tile"),
        ("u = pl.tile.mrgsort(t, src2=t, tmp=t)", "src2 of 'mrgsort' goes with src1"),
        (
            "u = pl.mrgsort(pl.reshape(t, [1, 1024])[0:1, 0:512], block_len=256)",
            "src has 512 valid columns, must be 1 to 255 times 1024: 4 lists of 256",
        ),
        ("u = pl.load(x, [0, 0], [16, 64], transpose=True)", "transpose of 'load' is not supported"),
        ("u = pl.tile.mrgsort(t, t, tmp=t, src3=t)", "src3 of 'mrgsort' goes with src2"),
        ("u = pl.tensor.scatter(x, mask_pattern=1, dst=x)", "'pl.tensor.scatter' works on whole tensors"),
        ("u = pl.add(x, t)", "lhs must be a tile or slot, is a tensor in global memory"),
        ("u = pl.tile.sels(t, pl.load(x, [0, 0], [8, 64]), 1)", "'sels' chooses between two tiles of one type"),
        ("u = pl.exp(t, high_precision=True)", "'exp' has no argument 'high_precision'"),
        ("u = pl.slice(t, [8, 64], [0, 0], valid_shape=[9, 64])", "valid extent 9 is outside 0 to 8"),
        ("u = pl.slice(t, [8, 64], [0, 0], valid_shape=[n, 64])", "the valid part of a window is constant"),
        (
            "u = pl.move(t, pl.Mem.Vec, blayout=pl.TileLayout.col_major)",
            "blayout of 'move' is col_major; a tile of this",
        ),
        ("m = pl.tensor.dim(x, 2)", "axis is a constant from 0 to 1 of 'x'"),
        ("for i in pl.range(3, -1, -1):\n        u = pl.exp(t)", "the step of a loop must be positive, found -1"),
        ("s = pl.MemRef(slots=2)[0]", "a slot of a pl.MemRef is named in the annotation of the tile"),
        ("d = pl.MemRef()\n    d = pl.MemRef(slots=2)", "'d' names a declaration already"),
        ("for h in pl.split_aiv(2):\n        u = pl.exp(t)", "'pl.split_aiv' shares work between two vector cores"),
        ("for h in pl.nonsense(2):\n        u = pl.exp(t)", "a loop iterates over pl.range"),
        ("for h in n:\n        u = pl.exp(t)", "a loop iterates over pl.range"),
        ("u = pl.nonsense(t)", "there is no op 'pl.nonsense' for tiles"),
        ("u = x[0:8, 0:64]", "a slice of the tensor 'x' is tensor-level code"),
        ("x[0, 0] = 1.0", "elements of the tensor 'x' are not set one by one"),
        ("u = t[0:n, 0:64]", "the extents of a window of a tile are constant"),
        ("u = t[0:8:2, 0:64]", "a slice has no step"),
        ("u = t[16, 0]", "index 16 is outside the tile's 16 rows"),
        ("u = t[0, -1]", "index -1 is outside the tile's 64 columns"),
        ("u = pl.tile.read(t, 1024)", "index 1024 is outside the tile's 1024 elements"),
        ("u = t[0, 0, 0]", "a tile is indexed by row and column, found 3 indices"),
        ("t[0:8, :] = pl.load(x, [0, 0], [4, 64])", "sets 8x64 elements to a tile of 4x64"),
    ],
)
def test_the_reason_is_given(line: str, words: str):
    text = f"{HEAD}    {line}\n"
    assert [place for place, _ in errors(text)] == [7 if "names a declaration" in words else 6]
    assert words in message(text)


def test_a_name_from_before_an_update_is_good_no_more():
    text = f"{HEAD}    u = pl.tile.write(t, [0, 0], 1.0)\n    pl.store(t, [0, 0], o)\n"
    assert errors(text) == [(7, "undefined-name")]
    assert message(text) == "'t' was updated in place here; use the result of the update"


@pytest.mark.parametrize(
    ("line", "lever"),
    [
        ("u = pl.add(x, t)", "load a tile of it first: pl.load(tensor, offsets, shapes)"),
        ("for i in pl.range(3, -1, -1):\n        u = pl.exp(t)",
         "count up from 0 and turn the counter round in the body: i = first - j"),
        ("u = t * 2.0", "tiles have functions in place of operators: pl.mul(a, b)"),
        ("u = pl.matmul(t, t)",
         "load it with target_memory=pl.Mem.Mat; what the vector unit made is handed over through a tensor"),
        ("u = pl.exp(pl.load(x, [0, 0], [16, 64], target_memory=pl.Mem.Mat))",
         "the vector unit works in Vec alone: hand the tile over through a tensor, by pl.store and pl.load"),
        ("u = pl.move(t, pl.Mem.Mat)",
         "the two kinds of core hand a tile over through a tensor, by pl.store and pl.load"),
        ("u = pl.add(t, pl.load(x, [0, 0], [1, 64]))", "pl.col_expand_add(tile, row) spreads a row over all rows"),
        ("u = pl.maximum(t, pl.load(x, [0, 0], [16, 1]))",
         "pl.row_expand_max(tile, column) spreads a column over all columns"),
        ("u = pl.row_expand_sub(t, pl.load(x, [0, 0], [1, 64]))",
         "pl.col_expand_sub(tile, row) spreads a row over all rows"),
        ("u = pl.laod(x, [0, 0], [16, 64])", "did you mean 'load'?"),
        ("u = pl.tile.mulz_into(t, t, dst=t)", "did you mean 'mul_into'?"),
        ("u = pl.load(x, [0, 0], shape=[16, 64])", "did you mean 'shapes'?"),
        ("pl.store(o, [0, 0], t)", "pl.store(tile, offsets, tensor)"),
        ("for i in pl.range(x.shape[0] / 4):\n        u = pl.exp(t)", "// divides integers"),
        ("r = pl.create_tile_buffers(2, [16, 64], pl.FP32)", "there is pl.Mem.Vec, Mat, Left, Right, Acc and Bias"),
        ("if n > 1:\n        u = pl.exp(t)\n    pl.store(u, [0, 0], o)", "bind it before the branch"),
        ("m = 1 if n > 2 else 0", "bind the name in both arms of an if statement, or use pl.min and pl.max"),
        ("print(t)", "pl.static_print says what is known while reading"),
        ("for i in pl.range(0, 4, n):\n        u = pl.exp(t)", "pl.max(step, 1)"),
        ("for i in pl.range(0, 4, 0):\n        u = pl.exp(t)", "a step of 1 or more"),
        ("d = pl.MemRef(slots=2)\n    pl.tile.load_into(d[0], x, [0, 0], [16, 64])",
         "t: pl.Tile[shape, dtype, ring[i % 2], pl.Mem.Vec] = ..., or use pl.create_tile_buffers"),
    ],
)  # fmt: skip
def test_the_lever_is_named(line: str, lever: str):
    with pytest.raises(DiagnosticError) as caught:
        ir(f"{HEAD}    {line}\n")
    assert caught.value.diagnostics[0].help == lever


_AROUND = "import sys\nimport pypto.language.distributed as pld\nSIZE = int(sys.argv[1])\n"


@pytest.mark.parametrize(
    ("parameter", "lever"),
    [
        ("q", "write the shape and the element type: pl.Tensor[[64, 128], pl.FP32]"),
        ("q: pld.DistributedTensor[[8, 8], pl.FP32]",
         "a tensor over several devices is the run-time's affair: a kernel here works on those of its own"),
        ("q: pl.Tensor[[SIZE, 8], pl.FP32]",
         "bind it to a number: what needs the command line, or a run, is not worked out"),
    ],
)  # fmt: skip
def test_a_parameter_that_says_too_little(parameter: str, lever: str):
    with pytest.raises(DiagnosticError) as caught:
        ir(f"{_AROUND}@pl.jit.incore\ndef k({parameter}):\n    pass\n")
    assert caught.value.diagnostics[0].help == lever


def test_one_extent_of_a_tile_is_that_of_a_row():
    assert errors(f"{HEAD}    u: pl.Tile[[64], pl.FP32] = pl.load(x, [0, 0], [1, 64])\n") == []
