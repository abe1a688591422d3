"""What the assembler would get wrong is said another way, with the same meaning.

`ptoas` accepts more than it prints rightly as C++. This pass leaves it nothing of that kind:

* It counts loops unsigned. A loop that may begin below zero counts from zero, and its body adds the lower bound; one
  that may end below zero runs no trip.
* It carries values round a loop by assignments one behind the other. A carried value that is passed on as it came in
  is worked out anew, so that it is read before any is assigned.
* It converts what leaves a region to an unsigned number without brackets around it. A signed division, a clamp or a
  choice is therefore not handed over itself, but a difference that equals it.
* It converts narrow integers without brackets too. What is converted is therefore a choice, never a sum.
* It knows no sum of floats, only a difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ConditionOp, ForOp, WhileOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from pto_buf.dialect.tile_op import constant_of
from pto_buf.errors import DiagnosticError
from pto_buf.lowering.constants import Constants
from pto_buf.lowering.signs import never_negative
from pto_buf.source import place_of
from pto_buf.walking import functions, ops_of

_SIGNED = (
    arith.DivSIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.RemSIOp,
    arith.ShRSIOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.SelectOp,
)
"""Ops whose meaning changes when their first operand becomes unsigned."""

_WRAPPING = (
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.XOrIOp,
    arith.ShLIOp,
    arith.ShRUIOp,
    arith.DivUIOp,
    arith.RemUIOp,
)
"""Ops that are printed as unsigned arithmetic, converted back."""

_CONVERSIONS = (arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp, arith.SIToFPOp, arith.UIToFPOp)


@dataclass(frozen=True)
class MakePortablePass(ModulePass):
    """ptobuf-make-portable."""

    name: ClassVar[str] = "ptobuf-make-portable"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _Rewriting(function).run()


class _Rewriting:
    def __init__(self, function: FuncOp):
        self.ops = list(ops_of(function, ForOp, WhileOp, YieldOp, ConditionOp, arith.AddfOp, *_CONVERSIONS))
        self.constants = Constants(function)
        self.jumps = any(isinstance(op, WhileOp) for op in self.ops)
        """Whether loops are printed as jumps: then the counter is assigned first, as if it were carried."""

    def run(self) -> None:
        for op in self.ops:
            match op:
                case ForOp():
                    self._bounds(op)
                    self._handed_over(op, range(3, len(op.operands)))
                    self._carries_of_for(op)
                case WhileOp():
                    self._handed_over(op, range(len(op.operands)))
                    self._carries_of_while(op)
                case YieldOp():
                    self._handed_over(op, range(len(op.operands)))
                case ConditionOp():
                    self._handed_over(op, range(1, len(op.operands)))
                case arith.AddfOp():
                    self._sum_of_floats(op)
                case _:
                    self._conversion(op)

    # --- loops ---

    def _bounds(self, loop: ForOp) -> None:
        lower, upper = constant_of(loop.lb), constant_of(loop.ub)
        if not never_negative(loop.lb):
            self._from_zero(loop, lower, upper)
        elif upper is not None:
            if upper < (lower or 0):
                loop.operands[1] = loop.lb
        elif not _is_clamped(loop.ub):
            least = self.constants.get(lower or 0, _integer(loop.ub))
            loop.operands[1] = _Before(loop)(arith.MaxSIOp(loop.ub, least))

    def _from_zero(self, loop: ForOp, lower: int | None, upper: int | None) -> None:
        type = _integer(loop.lb)
        first, zero = loop.lb, self.constants.get(0, type)
        if lower is not None and upper is not None:
            end = self.constants.get(max(upper - lower, 0), type)
        else:
            put = _Before(loop)
            end = put(arith.MaxSIOp(put(arith.SubiOp(loop.ub, first)), zero))
        counter = loop.body.block.args[0]
        body = loop.body.block
        assert body.first_op is not None
        shifted = arith.AddiOp(counter, first)
        counter.replace_all_uses_with(shifted.result)
        shifted.operands[0] = counter
        shifted.result.name_hint, counter.name_hint = counter.name_hint, None
        shifted.location = loop.location
        body.insert_op_before(shifted, body.first_op)
        loop.operands[0], loop.operands[1] = zero, end

    # --- carried values ---

    def _carries_of_for(self, loop: ForOp) -> None:
        body = loop.body.block
        carried = body.args if self.jumps else body.args[1:]
        operands = _terminator(body).operands
        sources = [value if isinstance(value, BlockArgument) else None for value in operands]
        self._latch(_terminator(body), carried, [None, *sources] if self.jumps else sources)

    def _carries_of_while(self, loop: WhileOp) -> None:
        """What is passed through the condition as it came in is the same variable behind it."""
        before, after = loop.before_region.block, loop.after_region.block
        condition, end = _terminator(before), _terminator(after)
        sources: list[SSAValue | None] = []
        for value in end.operands:
            if isinstance(value, BlockArgument) and value.block is after:
                value = condition.operands[1 + value.index]
            sources.append(value)
        self._latch(end, before.args, sources)

    def _latch(self, end: Operation, carried: Sequence[SSAValue], sources: Sequence[SSAValue | None]) -> None:
        """Works out anew each carried value that stands in a variable which was assigned before it is read."""
        skipped = len(sources) - len(end.operands)
        assigned: set[SSAValue] = set()
        for position, (variable, source) in enumerate(zip(carried, sources, strict=True)):
            if source in assigned:
                index = position - skipped
                end.operands[index] = self._anew(end, end.operands[index])
            if source is not variable:
                assigned.add(variable)

    def _anew(self, user: Operation, value: SSAValue) -> SSAValue:
        """The same value as the result of an op that the assembler neither folds away nor misprints."""
        put, type = _Before(user), value.type
        if isinstance(type, AnyFloat):
            zero = put(arith.ConstantOp(FloatAttr(-0.0, type)))
            return put(arith.SubfOp(zero, put(arith.NegfOp(value))))
        if _width(type) == 1:
            wide = IntegerType(32)
            return put(arith.CmpiOp(put(arith.ExtUIOp(value, wide)), self.constants.get(1, wide), "uge"))
        if isinstance(type, IndexType | IntegerType):
            number = cast(IndexType | IntegerType, type)
            negative = put(arith.MuliOp(value, self.constants.get(-1, number)))
            return put(arith.SubiOp(self.constants.get(0, number), negative))
        raise DiagnosticError.at(
            place_of(user),
            f"a loop passes a {type} from one carried name on to another, which the assembler gets wrong",
            help="carry numbers, and choose by them inside the loop",
            kind="unsupported-op",
        )

    def _handed_over(self, op: Operation, positions: range) -> None:
        for position in positions:
            value = op.operands[position]
            if isinstance(value.type, IndexType) and isinstance(value.owner, _SIGNED):
                op.operands[position] = self._anew(op, value)

    # --- arithmetic ---

    def _conversion(self, op: Operation) -> None:
        """max(x, min(x, 0)) is x."""
        (value,) = op.operands
        width = _width(value.type)
        if width is not None and 1 < width < 64 and isinstance(value.owner, _WRAPPING):
            put, zero = _Before(op), self.constants.get(0, IntegerType(width))
            op.operands[0] = put(arith.MaxSIOp(value, put(arith.MinSIOp(value, zero))))

    def _sum_of_floats(self, op: arith.AddfOp) -> None:
        put = _Before(op)
        difference = put(arith.SubfOp(op.lhs, put(arith.NegfOp(op.rhs))))
        difference.name_hint = op.result.name_hint
        op.result.replace_all_uses_with(difference)
        op.detach()
        op.erase()


def _width(type: Attribute) -> int | None:
    """The bits of an integer type; None for every other type."""
    return cast(IntegerType, type).width.data if isinstance(type, IntegerType) else None


class _Before:
    """Puts ops in front of another, with its location, and gives their result."""

    def __init__(self, op: Operation):
        self._op = op

    def __call__(self, made: Operation) -> SSAValue[Any]:
        block = self._op.parent
        assert block is not None
        made.location = self._op.location
        block.insert_op_before(made, self._op)
        return made.results[0]


def _integer(value: SSAValue) -> IndexType | IntegerType:
    return cast(IndexType | IntegerType, value.type)


def _terminator(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op


def _is_clamped(value: SSAValue) -> bool:
    return isinstance(value.owner, arith.MaxSIOp) and (constant_of(value.owner.rhs) or 0) >= 0
