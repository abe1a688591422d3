"""The matrix unit: products, and products added to an accumulator in place."""

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.buffers.emission import Inputs, Words, deduced, emit, valid_of
from pto_buf.frontend.buffers.held import Extent
from pto_buf.frontend.buffers.tiles import destination, into, left, updated
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.ops.staging import staged
from pto_buf.frontend.scalars import truth
from pto_buf.frontend.values import Static, Tile, Value

_OVERWRITES = {"matmul_acc": "matmul", "gemv_acc": "gemv", "matmul_mx_acc": "matmul_mx"}


def matmul(args: Arguments) -> Value:
    """`matmul`, `matmul_bias` and their gemv kin."""
    row = rows_by_dsl()[args.op]
    tiles = {one.name: staged(args, one.name, row) for one in row.into_ins}
    _plain(args, tiles["lhs"])
    return emit(args, row, {name: tile.ssa for name, tile in tiles.items()}, tiles, words=_phase(args))


def _plain(args: Arguments, lhs: Tile) -> None:
    """What only products of tensors can be asked for. Raises DiagnosticError."""
    held = "i32" if lhs.spec.dtype in ("i8", "si8", "ui8") else "f32"
    if "out_dtype" in args and (dtype := args.dtype("out_dtype")) != held:
        raise args.ctx.error(
            args.place("out_dtype"),
            f"an accumulator holds {held} here, out_dtype asks for {dtype}",
            kind=SHAPE,
            help="a store of the accumulator converts to the tensor's type",
        )
    for name in ("a_trans", "b_trans", "c_matrix_nz"):
        if args.static(name, False) is not False:
            raise args.ctx.error(
                args.place(name), f"{name} of '{args.op}' is for tensors", help="pl.tile.transpose_view in Mat"
            )


def _phase(args: Arguments) -> dict[str, str]:
    found = args.static("acc_phase", None)
    return {} if found is None else {"accPhase": str(found)}


def matmul_acc(args: Arguments) -> Value:
    """`matmul_acc`: adds a product to an accumulator, in place; where `init_cond` holds, the product replaces it."""
    ctx = args.ctx
    row = rows_by_dsl()[args.op]
    tiles = {one.name: staged(args, one.name, row) for one in row.into_ins}
    _plain(args, tiles["lhs"])
    ins = {name: tile.ssa for name, tile in tiles.items()}
    acc = updated(ctx, args.place("acc"), args.value("acc"), _product_of(args, ins))
    if "out" in args and not _same_slot(destination(ctx, args.place("out"), args.value("out")), acc):
        raise ctx.error(
            args.place("out"),
            "the matrix unit accumulates in place: out= must be the slot of the accumulator itself",
            kind=SHAPE,
        )
    condition = Static(False)
    if "init_cond" in args:
        condition = truth(ctx, args.place("init_cond"), args.value("init_cond"))
    if isinstance(condition, Static):
        return _product(args, ins, acc, _phase(args), overwrite=condition.value is True)
    blocks = [Block(), Block()]
    for block, overwrite in zip(blocks, (True, False), strict=True):
        with ctx.region(block, loop=False):
            _product(args, ins, acc, _phase(args), overwrite=overwrite)
            ctx.builder.add(scf.YieldOp())
    regions = [Region(block) for block in blocks]
    ctx.builder.add(scf.IfOp.build(operands=[condition.ssa], result_types=[[]], regions=regions))
    return left(ctx, args.node, acc, acc.spec.valid)


def _product_of(args: Arguments, ins: Inputs) -> Extent:
    """Rows and columns of the product that is added. Raises DiagnosticError."""
    return deduced(args, rows_by_dsl()[_OVERWRITES[args.op]], ins, _phase(args)).valid


def _product(args: Arguments, ins: Inputs, acc: Tile, words: Words, *, overwrite: bool) -> Tile:
    row = rows_by_dsl()[_OVERWRITES[args.op] if overwrite else args.op]
    return into(args.ctx, args.node, row, ins, acc, valid_of(acc), words)


def _same_slot(one: Tile, other: Tile) -> bool:
    if one.slot is other.slot:
        return True
    if one.home is None or other.home is None:
        return False
    return one.home.slots is other.home.slots and one.home.index == other.home.index
