"""Index arithmetic, conditions and the heads of loops as a reader of the kernel would write them."""

from xdsl.dialects.arith import CmpiOp
from xdsl.dialects.builtin import i1
from xdsl.dialects.scf import ForOp, IfOp
from xdsl.ir import Block, SSAValue

from pto_buf.dialect.tile_op import constant_of

_OPERATORS = {
    "arith.addi": "+",
    "arith.subi": "-",
    "arith.muli": "*",
    "arith.remui": "%",
    "arith.remsi": "%",
    "arith.andi": "&",
    "arith.ori": "|",
    "arith.divui": "//",
    "arith.divsi": "//",
    "arith.floordivsi": "//",
}

# By the number of the predicate in `arith.cmpi`: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge.
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")

_LOGIC = {"&": "and", "|": "or"}

_DEEPEST = 4


def loop_head(op: ForOp) -> str:
    """The head of a loop, as Python has it."""
    bounds = ", ".join(words(value) for value in (op.lb, op.ub, op.step))
    return f"for {words(op.body.block.args[0])} in range({bounds}):"


def branch_head(op: IfOp) -> str:
    """The head of a branch, as Python has it."""
    return f"if {words(op.cond)}:"


def words(value: SSAValue, depth: int = 0) -> str:
    """A value as arithmetic of counters and arguments, as far as that is short; `?` for what has no name."""
    constant = constant_of(value)
    if constant is not None:
        return str(constant)
    owner = value.owner
    operator = None if isinstance(owner, Block) or depth == _DEEPEST else _operator(value)
    if isinstance(owner, Block) or operator is None:
        return value.name_hint or "?"
    left, right = (words(part, depth + 1) for part in owner.operands)
    return f"{left} {operator} {right}" if depth == 0 else f"({left} {operator} {right})"


def _operator(value: SSAValue) -> str | None:
    owner = value.owner
    if isinstance(owner, CmpiOp):
        return _COMPARISONS[owner.predicate.value.data]
    operator = _OPERATORS.get(owner.name) if not isinstance(owner, Block) else None
    return _LOGIC.get(operator, operator) if operator is not None and value.type == i1 else operator
