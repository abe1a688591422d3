"""The programs that `pto-buf bench` measures, as text, each of a size that is asked for."""

_TILE = "vec, 16x64xf32, valid=16x64, blayout=row_major, slayout=none_box, fractal=512, pad=0, compact=0"
_HEAD = """\
module attributes {pto.target_arch = "a3"} {
func.func @straight(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>)
  attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c16 = arith.constant 16 : index
%c64 = arith.constant 64 : index
"""
_TAIL = "return\n}\n}\n"


def toy_text(ops: int) -> str:
    """`ops` ops of the toy dialect, each on the results of the two before."""
    tile = "!toy.tile<16 : i64, 64 : i64, f32>"
    lines = (f"%{number} = toy.add %{number - 1}, %{number - 2} : {tile}\n" for number in range(2, ops + 2))
    return f"func.func @toy(%0: {tile}, %1: {tile}) {{\n{''.join(lines)}func.return\n}}\n"


def pto_text(ops: int) -> str:
    """A `pto` kernel of `ops` vector ops with three long tile types each."""
    tile = f"!pto.tile_buf<{_TILE}>"
    tiles = "".join(f"%t{n} = pto.alloc_tile addr = %a{n} : {tile}\n" for n in range(3))
    addresses = "".join(f"%a{n} = arith.constant {4096 * n} : i64\n" for n in range(3))
    op = f"pto.tadd ins(%t0, %t1 : {tile}, {tile}) outs(%t2 : {tile})\n"
    return _HEAD + addresses + tiles + op * ops + _TAIL


def straight_text(ops: int) -> str:
    """A straight-line `ptobuf` kernel of about `ops` tile ops over two slot sets, each tile loaded, read and stored."""
    tensor, view = f"!pto.tensor_view<{16 * (ops // 3)}x64xf32>", "!pto.partition_tensor_view<16x64xf32>"
    slot, tile = f"!ptobuf.slot<{_TILE}>", f"!pto.tile_buf<{_TILE}>"
    lines = [f'%{name} = ptobuf.alloc_slots "{name}" : !ptobuf.slots<2, {_TILE}>\n' for name in ("ins", "outs")]
    lines.append(f"%f = arith.constant 1.0 : f32\n%rows = arith.constant {16 * (ops // 3)} : index\n")
    for name in "xy":
        shape = "shape = [%rows, %c64], strides = [%c64, %c1]"
        lines.append(f"%v{name} = pto.make_tensor_view %{name}, {shape} : {tensor}\n")
    for n in range(ops // 3):
        lines.append(f"%row{n} = arith.constant {16 * n} : index\n")
        for name in "xy":
            where = f"offsets = [%row{n}, %c0], sizes = [%c16, %c64]"
            lines.append(f"%{name}{n} = pto.partition_view %v{name}, {where} : {tensor} -> {view}\n")
        for name in ("ins", "outs"):
            lines.append(f"%{name}{n} = ptobuf.slot_select %{name}[%c{n % 2}] : !ptobuf.slots<2, {_TILE}>\n")
        lines.append(f"%l{n} = ptobuf.load_into ins(%x{n} : {view}) outs(%ins{n} : {slot}) -> {tile}\n")
        lines.append(f"%r{n} = ptobuf.adds_into ins(%l{n}, %f : {tile}, f32) outs(%outs{n} : {slot}) -> {tile}\n")
        lines.append(f"ptobuf.store ins(%r{n} : {tile}) outs(%y{n} : {view})\n")
    return _HEAD + "".join(lines) + _TAIL


def python_text(lines: int) -> str:
    """A kernel file of about `lines` lines, as a generator writes one: tiles loaded, scaled, added up and stored."""
    rows = [
        "import pypto.language as pl",
        "",
        "",
        "@pl.jit",
        "def generated(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):",
        "    ins = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Vec)",
        "    outs = pl.create_tile_buffers(2, [16, 64], pl.FP32, pl.Mem.Vec)",
    ]
    for number in range(lines // 4):
        slot, row = number % 2, 16 * (number % 4)
        rows += [
            f"    pl.tile.load_into(ins[{slot}], x, [{row}, 0], [16, 64])",
            f"    scaled_{number} = pl.mul(ins[{slot}], {1 + number % 7}.0)",
            f"    pl.tile.add_into(outs[{slot}], scaled_{number}, ins[{slot}])",
            f"    pl.store(outs[{slot}], [{row}, 0], y)",
        ]
    return "\n".join(rows) + "\n"


def rotation_text(slots: int) -> str:
    """A kernel file in which the tiles of a loop of any length go through two sets of `slots` slots."""
    return f"""\
import pypto.language as pl


@pl.jit
def rotation(x: pl.Tensor[[256, 64], pl.FP32], y: pl.Out[pl.Tensor[[256, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    ins = pl.create_tile_buffers({slots}, [16, 64], pl.FP32, pl.Mem.Vec)
    outs = pl.create_tile_buffers({slots}, [16, 64], pl.FP32, pl.Mem.Vec)
    for i in pl.range(n):
        pl.tile.load_into(ins[i % {slots}], x, [i * 16, 0], [16, 64])
        pl.tile.adds_into(outs[i % {slots}], ins[i % {slots}], 1.0)
        pl.store(outs[i % {slots}], [i * 16, 0], y)
"""


def product_text(size: int) -> str:
    """A kernel file that multiplies two bf16 matrices of `size` rows and columns, in blocks of 128."""
    return f"""\
import pypto.language as pl


@pl.jit
def product(
    a: pl.Tensor[[{size}, {size}], pl.BF16],
    b: pl.Tensor[[{size}, {size}], pl.BF16],
    c: pl.Out[pl.Tensor[[{size}, {size}], pl.FP32]],
):
    a_l1 = pl.create_tile_buffers(2, [128, 128], pl.BF16, pl.Mem.Mat)
    b_l1 = pl.create_tile_buffers(2, [128, 128], pl.BF16, pl.Mem.Mat)
    a_l0 = pl.create_tile_buffers(2, [128, 128], pl.BF16, pl.Mem.Left)
    b_l0 = pl.create_tile_buffers(2, [128, 128], pl.BF16, pl.Mem.Right)
    sums = pl.create_tile_buffers(2, [128, 128], pl.FP32, pl.Mem.Acc)
    for i in pl.range({size // 128}):
        for j in pl.range({size // 128}):
            total = sums[j % 2]
            for k in pl.range({size // 128}):
                slot = k % 2
                pl.tile.load_into(a_l1[slot], a, [i * 128, k * 128], [128, 128])
                pl.tile.load_into(b_l1[slot], b, [k * 128, j * 128], [128, 128])
                pl.tile.extract_into(a_l0[slot], a_l1[slot], 0, 0, [128, 128])
                pl.tile.extract_into(b_l0[slot], b_l1[slot], 0, 0, [128, 128])
                if k == 0:
                    pl.tile.matmul_into(total, a_l0[slot], b_l0[slot])
                else:
                    pl.tile.matmul_acc_into(total, a_l0[slot], b_l0[slot])
            pl.store(total, [i * 128, j * 128], c)
"""
