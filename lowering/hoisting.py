"""Making a value available outside the region that computes it, by computing it again."""

from collections.abc import Callable, Container

from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ConditionOp, ForOp, WhileOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from pto_buf.errors import DiagnosticError
from pto_buf.source import place_of
from pto_buf.walking import numbered


def repeatable(op: Operation) -> bool:
    """Whether computing it again elsewhere gives the same: xDSL says so of most arithmetic, but not of `remui`."""
    return not op.regions and (op.dialect_name() == "arith" or is_side_effect_free(op))


class Hoisting:
    """Answers for one function, whose ops are numbered once, before anything is inserted."""

    def __init__(self, function: FuncOp):
        self._number = numbered(function)
        self._made: dict[tuple[Operation, SSAValue], SSAValue] = {}

    def value_at(self, value: SSAValue, anchor: Operation) -> SSAValue:
        """`value`, or a copy of it that is computed before `anchor` from what is available there.

        Raises DiagnosticError if it depends on what an inner region changes.
        """
        if self._available(value, anchor):
            return value
        key = (anchor, value)
        if key not in self._made:
            self._made[key] = self._recomputed(value, anchor)
        return self._made[key]

    def reaches(self, value: SSAValue, anchor: Operation) -> bool:
        """Whether `value_at` would find it."""
        if self._available(value, anchor):
            return True
        owner = value.owner
        return (
            not isinstance(owner, Block)
            and repeatable(owner)
            and all(self.reaches(operand, anchor) for operand in owner.operands)
        )

    def _recomputed(self, value: SSAValue, anchor: Operation) -> SSAValue:
        owner = value.owner
        if isinstance(owner, Block) or not repeatable(owner):
            raise DiagnosticError.at(
                place_of(anchor),
                "the slot index changes within the region that its fence has to span",
                help="compute the index outside that region",
                kind="slot-index",
            )
        operands = [self.value_at(operand, anchor) for operand in owner.operands]
        copy = owner.clone()
        copy.operands = operands
        assert anchor.parent is not None
        anchor.parent.insert_op_before(copy, anchor)
        return copy.results[_number(value)]

    def _available(self, value: SSAValue, anchor: Operation) -> bool:
        owner = value.owner
        home = owner if isinstance(owner, Block) else owner.parent
        around: Operation | None = anchor
        while around is not None and around.parent is not home:
            around = around.parent_op()
        if around is None:
            return False
        return isinstance(owner, Block) or owner not in self._number or self._number[owner] < self._number[around]


def computed_for(value: SSAValue, known: dict[SSAValue, SSAValue], put: Callable[[Operation], Operation]) -> SSAValue:
    """`value` as it is where the keys of `known` have the values there, worked out by ops that `put` inserts.

    What does not depend on them must be available there. Adds what it makes to `known`.
    """
    if value in known:
        return known[value]
    owner = value.owner
    if isinstance(owner, Block) or not repeatable(owner):
        return value
    operands = [computed_for(operand, known, put) for operand in owner.operands]
    if all(new is old for new, old in zip(operands, owner.operands, strict=True)):
        return value
    copy = owner.clone()
    copy.operands = operands
    put(copy)
    known[value] = copy.results[_number(value)]
    return known[value]


def behind_last(loop: ForOp | WhileOp) -> dict[SSAValue, SSAValue]:
    """What the loop carries, as the trip behind its last one would have it: what the loop yields."""
    if isinstance(loop, ForOp):
        return dict(zip(loop.body.block.args[1:], loop.results, strict=True))
    condition = loop.before_region.block.last_op
    known: dict[SSAValue, SSAValue] = dict(zip(loop.after_region.block.args, loop.results, strict=True))
    if isinstance(condition, ConditionOp):
        for passed, result in zip(condition.operands[1:], loop.results, strict=True):
            if passed.owner is loop.before_region.block:
                known[passed] = result
    return known


def follows(value: SSAValue, loop: ForOp | WhileOp, known: Container[SSAValue]) -> bool:
    """Whether `value` of the loop's body can be worked out behind the loop from `known` and what stands before it."""
    if value in known:
        return True
    owner = value.owner
    if isinstance(owner, Block):
        return not _inside(owner.parent_op(), loop)
    if not _inside(owner, loop):
        return True
    return repeatable(owner) and all(follows(operand, loop, known) for operand in owner.operands)


def _inside(op: Operation | None, loop: Operation) -> bool:
    while op is not None and op is not loop:
        op = op.parent_op()
    return op is loop


def _number(value: SSAValue) -> int:
    assert isinstance(value, OpResult)
    return value.index
