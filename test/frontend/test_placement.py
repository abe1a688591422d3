"""How many slots plain tiles get: F inside `pl.pipeline(stage=F)` where they fit, never multiplied by nesting."""

from xdsl.dialects.builtin import ModuleOp

from pto_buf.dialect.ptobuf import AllocSlotsOp
from pto_buf.errors import Diagnostic
from pto_buf.frontend import read
from support.kernel_text import FILE, ir, source


def counts(module: ModuleOp) -> dict[str, int]:
    """The slots of each set by its name."""
    allocs = [op for op in module.walk() if isinstance(op, AllocSlotsOp)]
    return {op.set_name.data: op.slots.type.data.count for op in allocs}


def nest(stages: tuple[int, int], panel: int = 128) -> str:
    """Two nested pipelines over weight panels of 128 x `panel` elements."""
    return f"""
    @pl.jit
    def k(
        a: pl.Tensor[[16, 128], pl.BF16],
        b: pl.Tensor[[512, {panel}], pl.BF16],
        o: pl.Out[pl.Tensor[[64, {panel}], pl.FP32]],
    ):
        for _ in pl.spmd(1):
            whole = pl.load(a, [0, 0], [16, 128], target_memory=pl.Mem.Mat)
            left = pl.move(whole, pl.Mem.Left)
            for p, (o1,) in pl.pipeline(4, stage={stages[0]}, init_values=(o,)):
                wide = pl.load(b, [p * 128, 0], [128, {panel}], target_memory=pl.Mem.Mat)
                for c, (o2,) in pl.pipeline(0, {panel}, 64, stage={stages[1]}, init_values=(o1,)):
                    thin = pl.tile.extract(wide, 0, c, [128, 64], target_memory=pl.Mem.Right)
                    sums = pl.tile.matmul(left, thin)
                    o3 = pl.store(sums, [p * 16, c], o2)
                    o2 = pl.yield_(o3)
                o1 = pl.yield_(o2)
    """


def test_each_tile_gets_the_stages_of_the_innermost_pipeline_around_it():
    assert counts(ir(nest((2, 3)))) == {"whole": 1, "left": 1, "wide": 2, "thin": 3, "sums": 3}


def test_where_the_stages_do_not_fit_there_are_fewer_and_a_hint_says_so():
    said: list[Diagnostic] = []
    module = read(FILE, source=source(nest((2, 8))), warn=said.append)
    assert counts(module) == {"whole": 1, "left": 1, "wide": 2, "thin": 4, "sums": 8}
    assert [one.message for one in said] == ["'thin' asked for 8, got 4: 65,536 B of Right, 16,384 B a stage"]
    assert [one.place.line for one in said if one.place] == [15]


def test_declared_sets_take_their_room_first():
    text = """
    @pl.jit.incore
    def k(x: pl.Tensor[[64, 128], pl.FP32], y: pl.Out[pl.Tensor[[64, 128], pl.FP32]]):
        big = pl.create_tile_buffers(5, [64, 128], pl.FP32, pl.Mem.Vec)
        for i in pl.pipeline(4, stage=2):
            t = pl.load(x, [0, 0], [64, 128])
            y = pl.store(t, [0, 0], y)
    """
    assert counts(ir(text)) == {"big": 5, "t": 1}


def test_tiles_of_one_pipe_give_way_to_those_that_pipes_hand_over():
    """Four tiles of 32 KiB: with one slot for `b` and `c`, `a` and `d` have room for two; a hint speaks of no other."""
    text = """
    @pl.jit.incore
    def k(x: pl.Tensor[[512, 128], pl.FP32], y: pl.Out[pl.Tensor[[512, 128], pl.FP32]]):
        for i in pl.pipeline(8, stage={stage}):
            a = pl.load(x, [i * 64, 0], [64, 64])
            b = pl.recip(a)
            c = pl.recip(b)
            d = pl.recip(c)
            y = pl.store(d, [i * 64, 0], y)
    """.replace("64]", "120]")
    said: list[Diagnostic] = []
    module = read(FILE, source=source(text.format(stage=3)), warn=said.append)
    assert counts(module) == {"a": 2, "b": 1, "c": 1, "d": 2}
    assert [one.message.partition(":")[0] for one in said] == ["'a' asked for 3, got 2", "'d' asked for 3, got 2"]


def test_an_accumulate_chain_is_one_tile():
    text = """
    @pl.jit.incore
    def k(a: pl.Tensor[[16, 256], pl.FP16], b: pl.Tensor[[256, 64], pl.FP16], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        for m in pl.pipeline(4, stage=2):
            acc = pl.create_tile([16, 64], dtype=pl.FP32, target_memory=pl.Mem.Acc)
            for k in pl.range(4):
                at = pl.load(a, [0, k * 64], [16, 64], target_memory=pl.Mem.Mat)
                bt = pl.load(b, [k * 64, 0], [64, 64], target_memory=pl.Mem.Mat)
                left, right = pl.move(at, pl.Mem.Left), pl.move(bt, pl.Mem.Right)
                if k == 0:
                    acc = pl.matmul(left, right)
                else:
                    acc = pl.matmul_acc(acc, left, right)
            o = pl.store(acc, [m * 16, 0], o)
    """
    found = counts(ir(text))
    assert found["acc"] == 2
    assert [name for name in found if name.startswith("matmul")] == []


def test_a_tile_carried_while_its_successor_is_made_takes_turns():
    text = """
    @pl.jit.incore
    def k(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        total = pl.load(x, [0, 0], [16, 64])
        last = pl.load(x, [0, 0], [16, 64])
        for i in pl.range(4):
            part = pl.load(x, [i * 16, 0], [16, 64])
            total = pl.add(total, part)
            both = pl.maximum(last, part)
            y = pl.store(pl.sub(both, last), [i * 16, 0], y)
            last = both
        y = pl.store(total, [0, 0], y)
        y = pl.store(last, [0, 0], y)
    """
    found = counts(ir(text))
    assert (found["total"], found["last"]) == (1, 2)


def test_a_tile_that_lives_on_behind_its_pipeline_has_one_slot():
    text = """
    @pl.jit.incore
    def k(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        for i in pl.pipeline(4, stage=2):
            part = pl.load(x, [i * 16, 0], [16, 64])
        y = pl.store(part, [0, 0], y)
    """
    assert counts(ir(text)) == {"part": 1}
