"""pypto's IR objects give the same kernels as the source that they stand for."""

import pytest

import pto_buf
from pto_buf.errors import DiagnosticError, UsageError
from pto_buf.frontend import from_pypto
from pto_buf.hw import A5
from pto_buf.verification import verify_module
from support import pypto_objects as ir
from support.kernel_text import ir as read_text
from support.pypto_objects import at, call, ints


def _text(module) -> str:
    """The IR without what only names it."""
    verify_module(module)
    return str(module)


def _slotted() -> ir.Program:
    x = ir.Var("x", ir.TensorType([64, 128], ir.FP32), at(2))
    y = ir.Var("y", ir.TensorType([64, 128], ir.FP32), at(2))
    i = ir.Var("i", ir.ScalarType(ir.INDEX), at(3))
    ring = ir.Var("ring", None)
    memref = ir.MemRef(ring, True, 2, ir.FloorMod(i, ir.ConstInt(2)))
    t = ir.Var("t", ir.TileType([16, 128], ir.FP32, memref, ir.MemorySpace.Vec), at(4))
    u = ir.Var("u", ir.TileType([16, 128], ir.FP32, None, ir.MemorySpace.Vec), at(5))
    carried = ir.IterArg("y", y.type, at(3), initValue=y)
    stored, out = ir.Var("y", y.type, at(6)), ir.Var("y", y.type, at(3))
    row = ir.Mul(i, ir.ConstInt(16))
    load = call("tile.load", [x, ints(row, 0), ints(16, 128), ints(16, 128)], 4, target_memory=ir.MemorySpace.Vec)
    body = ir.SeqStmts(
        [
            ir.AssignStmt(t, load, at(4)),
            ir.AssignStmt(u, call("tile.adds", [t, ir.ConstFloat(1.0)], 5), at(5)),
            ir.AssignStmt(stored, call("tile.store", [u, ints(row, 0), carried], 6, atomic=0), at(6)),
            ir.YieldStmt([stored], at(7)),
        ]
    )
    zero, four, one = (ir.ConstInt(value) for value in (0, 4, 1))
    attrs = {"pipeline_stages": 2}
    loop = ir.ForStmt(i, zero, four, one, [carried], body, [out], ir.ForKind.Pipeline, attrs, at(3))
    directions = [ir.ParamDirection.In, ir.ParamDirection.Out]
    whole = ir.SeqStmts([loop, ir.ReturnStmt([out], at(8))])
    kernel = ir.Function("k", ir.FunctionType.AIV, [x, y], directions, whole, at(1))
    host = ir.Function("host", ir.FunctionType.Orchestration, [], [], ir.SeqStmts([]), at(20))
    return ir.Program("demo", {"k": kernel, "host": host})


SOURCE = """
@pl.program
class Demo:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, x: pl.Tensor[[64, 128], pl.FP32], y: pl.Out[pl.Tensor[[64, 128], pl.FP32]]):
        for i, (y2,) in pl.pipeline(0, 4, 1, stage=2, init_values=(y,)):
            t: pl.Tile[[16, 128], pl.FP32, pl.MemRef("ring", slots=2)[i % 2], pl.Mem.Vec] = pl.tile.load(
                x, [i * 16, 0], [16, 128], [16, 128], target_memory=pl.Mem.Vec
            )
            u = pl.tile.adds(t, 1.0)
            y3 = pl.tile.store(u, [i * 16, 0], y2)
            y2 = pl.yield_(y3)
        return y2
"""


def test_a_program_of_objects_is_read_as_its_source_is():
    assert _text(from_pypto(_slotted())) == _text(read_text(SOURCE))


def test_every_op_has_the_place_that_its_span_names():
    module = from_pypto(_slotted())
    places = {op.name: str(op.location) for op in module.walk()}
    assert 'loc("user.py":4:5)' in places["ptobuf.load_into"]
    assert 'loc("user.py":6:5)' in places["ptobuf.store"]


def test_a_jit_function_is_lowered_with_its_samples():
    class Jit:
        def lower(self, *samples):
            assert samples == (1, 2)
            return _slotted()

    assert _text(from_pypto(Jit(), samples=(1, 2))) == _text(from_pypto(_slotted()))


def test_a_branch_yields_to_its_variables():
    x = ir.Var("x", ir.TensorType([16, 64], ir.FP32), at(2))
    y = ir.Var("y", ir.TensorType([16, 64], ir.FP32), at(2))
    n = ir.Var("n", ir.ScalarType(ir.INDEX), at(2))
    tile = ir.TileType([16, 64], ir.FP32, None, ir.MemorySpace.Vec)
    t, a, b, r = (ir.Var(name, tile, at(3)) for name in ("t", "t", "t", "t"))
    store = call("tile.store", [r, ints(0, 0), y], 6)
    then = ir.SeqStmts([ir.AssignStmt(a, call("tile.exp", [t], 4), at(4)), ir.YieldStmt([a], at(4))])
    other = ir.SeqStmts([ir.AssignStmt(b, call("tile.neg", [t], 5), at(5)), ir.YieldStmt([b], at(5))])
    body = ir.SeqStmts(
        [
            ir.AssignStmt(t, call("tile.load", [x, ints(0, 0), ints(16, 64)], 3), at(3)),
            ir.IfStmt(ir.Eq(n, ir.ConstInt(0)), then, other, [r], at(4)),
            ir.EvalStmt(store, at(6)),
        ]
    )
    directions = [ir.ParamDirection.In, ir.ParamDirection.Out, ir.ParamDirection.In]
    kernel = ir.Function("k", ir.FunctionType.InCore, [x, y, n], directions, body, at(1))
    source = """
    @pl.jit.incore
    def k(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
        t = pl.load(x, [0, 0], [16, 64])
        if n == 0:
            t__2 = pl.exp(t)
            t__4 = pl.yield_(t__2)
        else:
            t__3 = pl.neg(t)
            t__4 = pl.yield_(t__3)
        pl.store(t__4, [0, 0], y)
    """
    assert _text(from_pypto(ir.Program("p", {"k": kernel}))) == _text(read_text(source))


def test_what_has_no_form_in_the_dsl_is_refused_at_its_place():
    kernel = ir.Function("k", ir.FunctionType.InCore, [], [], ir.InlineStmt("code", at(7, 3)), at(1))
    with pytest.raises(DiagnosticError, match=r"user\.py:7:3: error: the statement InlineStmt of pypto's IR"):
        from_pypto(ir.Program("p", {"k": kernel}))


def _vector(made: ir.Call) -> ir.Program:
    """A kernel that loads a tile `t` and stores what a call makes of it."""
    tile = ir.TileType([16, 64], ir.INT16, None, ir.MemorySpace.Vec)
    x, y = (ir.Var(name, ir.TensorType([16, 64], ir.INT16), at(2)) for name in ("x", "y"))
    t, u = ir.Var("t", tile, at(3)), ir.Var("u", tile, at(4))
    made.args = [t if isinstance(one, str) else one for one in made.args]
    body = ir.SeqStmts(
        [
            ir.AssignStmt(t, call("tile.load", [x, ints(0, 0), ints(16, 64), ints(16, 64)], 3), at(3)),
            ir.AssignStmt(u, made, at(4)),
            ir.EvalStmt(call("tile.store", [u, ints(0, 0), y], 5), at(5)),
        ]
    )
    directions = [ir.ParamDirection.In, ir.ParamDirection.Out]
    return ir.Program("p", {"k": ir.Function("k", ir.FunctionType.InCore, [x, y], directions, body, at(1))})


@pytest.mark.parametrize(
    ("made", "spelt"),
    [
        # The IR has no underscore behind Python's own words, and keeps some arguments at places of their own.
        (call("tile.and", ["t", "t"], 4), "pl.tile.and_(t, t)"),
        (call("tile.not", ["t"], 4), "pl.tile.not_(t)"),
        (call("tile.full", [ints(16, 64), ir.ConstInt(3)], 4, dtype=ir.INT16), "pl.full([16, 64], pl.INT16, 3)"),
        (call("tile.slice", ["t", ints(16, 64), ints(0, 0), ints()], 4), "pl.slice(t, [16, 64], [0, 0])"),
        (call("tile.reinterpret_view", ["t", ints(16, 64)], 4, dtype=ir.INT16), "pl.reinterpret_view(t, pl.INT16)"),
    ],
)
def test_calls_are_read_as_the_ir_has_their_arguments(made: ir.Call, spelt: str):
    source = f"""
    @pl.jit.incore
    def k(x: pl.Tensor[[16, 64], pl.INT16], y: pl.Out[pl.Tensor[[16, 64], pl.INT16]]):
        t = pl.load(x, [0, 0], [16, 64])
        u = {spelt}
        pl.store(u, [0, 0], y)
    """
    assert _text(from_pypto(_vector(made))) == _text(read_text(source))


def test_the_package_takes_a_program_and_hands_out_its_module():
    made = pto_buf.from_pypto(_slotted(), "k", target="a5")
    assert _text(made) == _text(from_pypto(_slotted(), target=A5))
    before = str(made)
    compiled = pto_buf.compile(made)
    assert (compiled.name, compiled.target.name, compiled.checked) == ("k", "a5", True)
    assert str(made) == before, "compile left the module as it was"
    assert compiled.pto == pto_buf.compile(_slotted(), target="a5").pto
    with pytest.raises(UsageError, match="the module is for a5, not for a2a3"):
        pto_buf.compile(made, target="a2a3")
    with pytest.raises(UsageError, match="there is no target 'a3'"):
        pto_buf.from_pypto(_slotted(), target="a3")


def test_what_launches_kernels_is_no_kernel_and_an_allocation_is_no_statement():
    program = _slotted()
    kernel = program.functions["k"]
    ring = ir.Var("ring", ir.PtrType(), at(2))
    alloc = call("tile.alloc", [ir.ConstInt(1), ir.ConstInt(16384)], 2)
    kernel.body.stmts.insert(0, ir.AssignStmt(ring, alloc, at(2)))
    launch = ir.Call(ir.GlobalVar("k"), list(kernel.params), {}, at(10))
    body = ir.SeqStmts([ir.EvalStmt(launch, at(10))])
    program.functions["spmd"] = ir.Function(
        "spmd", ir.FunctionType.Spmd, kernel.params, kernel.param_directions, body, at(10)
    )
    assert _text(from_pypto(program)) == _text(read_text(SOURCE))


def test_an_extent_is_worked_out_as_its_expression_says():
    m = ir.Var("M", ir.ScalarType(ir.INDEX))
    tensor = ir.TensorType([ir.Mul(m, ir.ConstInt(2)), 64], ir.FP32)
    x, y = ir.Var("x", tensor, at(2)), ir.Var("y", tensor, at(2))
    t = ir.Var("t", ir.TileType([16, 64], ir.FP32, None, ir.MemorySpace.Vec), at(3))
    body = ir.SeqStmts(
        [
            ir.AssignStmt(t, call("tile.load", [x, ints(0, 0), ints(16, 64), ints(16, 64)], 3), at(3)),
            ir.EvalStmt(call("tile.store", [t, ints(0, 0), y], 4), at(4)),
        ]
    )
    directions = [ir.ParamDirection.In, ir.ParamDirection.Out]
    kernel = ir.Function("k", ir.FunctionType.InCore, [x, y], directions, body, at(1))
    source = """
    M = pl.dynamic("M")

    @pl.jit.incore
    def k(x: pl.Tensor[[M * 2, 64], pl.FP32], y: pl.Out[pl.Tensor[[M * 2, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [16, 64])
        pl.store(t, [0, 0], y)
    """
    assert _text(from_pypto(ir.Program("p", {"k": kernel}))) == _text(read_text(source))


def test_a_kernel_asked_for_is_read_whatever_the_others_are():
    program = _slotted()
    odd = ir.Function("odd", ir.FunctionType.InCore, [], [], ir.InlineStmt("code", at(7, 3)), at(7))
    program.functions["odd"] = odd
    assert _text(from_pypto(program, "k")) == _text(from_pypto(_slotted()))
    with pytest.raises(DiagnosticError, match="InlineStmt"):
        from_pypto(program)


@pytest.mark.parametrize("scope", [ir.InCoreScopeStmt, ir.SpmdScopeStmt])
def test_scopes_that_no_pass_has_taken_out_become_kernels(scope: type[ir.InCoreScopeStmt]):
    tensor = ir.TensorType([16, 64], ir.FP32)
    x, y, t = (ir.Var(name, tensor, at(2)) for name in ("x", "y", "t"))
    u = ir.Var("u", ir.TileType([16, 64], ir.FP32, None, ir.MemorySpace.Vec), at(4))
    inner = ir.SeqStmts(
        [
            ir.AssignStmt(u, call("tile.load", [x, ints(0, 0), ints(16, 64), ints(16, 64)], 4), at(4)),
            ir.EvalStmt(call("tile.store", [u, ints(0, 0), t], 5), at(5)),
        ]
    )
    make = ir.AssignStmt(t, call("tensor.create", [ints(16, 64)], 2, dtype=ir.FP32), at(2))
    body = ir.SeqStmts([make, scope("copy", inner, at(3)), ir.ReturnStmt([y], at(6))])
    directions = [ir.ParamDirection.In, ir.ParamDirection.Out]
    host = ir.Function("main", ir.FunctionType.Opaque, [x, y], directions, body, at(1))
    source = """
    @pl.jit.incore
    def copy(x: pl.Tensor[[16, 64], pl.FP32], t: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        u = pl.load(x, [0, 0], [16, 64])
        pl.store(u, [0, 0], t)
    """
    assert _text(from_pypto(ir.Program("p", {"main": host}))) == _text(read_text(source))


def test_a_cast_is_to_the_type_that_it_has():
    x, y = (ir.Var(name, ir.TensorType([64, 64], ir.FP32), at(2)) for name in "xy")
    n = ir.Var("n", ir.ScalarType(ir.INT32), at(2))
    t = ir.Var("t", ir.TileType([16, 64], ir.FP32, None, ir.MemorySpace.Vec), at(3))
    row = ir.Mul(ir.Cast(n, ir.ScalarType(ir.INDEX)), ir.ConstInt(16))
    load = call("tile.load", [x, ints(row, 0), ints(16, 64), ints(16, 64)], 3, target_memory=ir.MemorySpace.Vec)
    body = ir.SeqStmts([ir.AssignStmt(t, load, at(3)), ir.EvalStmt(call("tile.store", [t, ints(0, 0), y], 4), at(4))])
    directions = [ir.ParamDirection.In, ir.ParamDirection.Out, ir.ParamDirection.In]
    kernel = ir.Function("k", ir.FunctionType.InCore, [x, y, n], directions, body, at(1))
    source = """
    @pl.jit.incore
    def k(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT32]):
        t = pl.load(x, [pl.cast(n, pl.INDEX) * 16, 0], [16, 64])
        pl.store(t, [0, 0], y)
    """
    assert _text(from_pypto(ir.Program("p", {"k": kernel}))) == _text(read_text(source))
