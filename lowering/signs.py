"""Which integers are never negative, by how they are made."""

from xdsl.dialects import arith
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import BlockArgument, OpResult, SSAValue

from pto_buf.dialect.tile_op import constant_of


def never_negative(value: SSAValue, assumed: frozenset[SSAValue] = frozenset()) -> bool:
    """Whether the value is known to be at least 0; those in `assumed` are. Sums and products are taken not to wrap."""
    constant = constant_of(value)
    if constant is not None:
        return constant >= 0
    if value in assumed:
        return True
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        if not isinstance(loop, ForOp):
            return False
        return never_negative(loop.lb, assumed) if value.index == 0 else _carried(loop, value.index - 1, assumed)
    assert isinstance(value, OpResult)
    op = value.op
    match op:
        case ForOp():
            return _carried(op, value.index, assumed)
        case arith.MaxSIOp():
            return any(never_negative(operand, assumed) for operand in op.operands)
        case arith.AndIOp():
            return any((constant_of(operand) or 0) > 0 for operand in op.operands)
        case arith.RemUIOp():
            return (constant_of(op.rhs) or 0) > 0
        case arith.AddiOp() | arith.MuliOp() | arith.MinSIOp() | arith.DivUIOp():
            return all(never_negative(operand, assumed) for operand in op.operands)
        case arith.SelectOp():
            return all(never_negative(operand, assumed) for operand in op.operands[1:])
        case _:
            return False


def _carried(loop: ForOp, number: int, assumed: frozenset[SSAValue]) -> bool:
    """What a loop hands on: the first value is not negative, and a trip that gets such a value hands one on."""
    last = loop.body.block.last_op
    assert isinstance(last, YieldOp)
    known = assumed | {loop.body.block.args[1 + number]}
    return never_negative(loop.operands[3 + number], assumed) and never_negative(last.operands[number], known)
