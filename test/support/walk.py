"""Runs a ptobuf kernel for given numbers, one op after another, and notes what each op touched and found.

What a slot or a row of a tensor holds is told by what made it: the op's place and what that op found. So two programs
that leave the same contents did the same work on the same data.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from pto_buf.dialect.pto import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.ptobuf import AllocSlotsOp, ReleaseOp, SlotSelectOp
from pto_buf.dialect.slot_op import IntoOp, SlotOp
from pto_buf.slots.fold import fold
from pto_buf.slots.terms import Fn
from pto_buf.source import place_of

_PREDICATES = (Fn.EQ, Fn.NE, Fn.SLT, Fn.SLE, Fn.SGT, Fn.SGE, Fn.ULT, Fn.ULE, Fn.UGT, Fn.UGE)


@dataclass(frozen=True)
class Slot:
    name: str
    index: int


@dataclass(frozen=True)
class Rows:
    """Rows of a tensor; columns are not told apart."""

    tensor: str
    first: int
    count: int


@dataclass(frozen=True)
class Done:
    """One executed op: where it stands in the source, and the slots and rows it touched, in the order of its text."""

    line: int
    op: str
    touched: tuple[Slot | Rows, ...]


@dataclass
class Walk:
    done: list[Done] = field(default_factory=list[Done])
    holds: dict[object, int] = field(default_factory=dict[object, int])
    """The content of each slot and of each row, as (tensor, row)."""
    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])

    def block(self, block: Block, arguments: Iterator[Any]) -> list[Any]:
        for argument, value in zip(block.args, arguments, strict=True):
            self.values[argument] = value
        for op in block.ops:
            if isinstance(op, scf.YieldOp | func.ReturnOp):
                return self.all(op.operands)
            if isinstance(op, scf.ConditionOp):
                return self.all(op.operands)
            self.op(op)
        return []

    def all(self, operands: Any) -> list[Any]:
        return [self.values[operand] for operand in operands]

    def op(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp():
                assert isinstance(op.value, IntegerAttr)
                self.values[op.result] = op.value.value.data
            case arith.SelectOp():
                condition, first, second = self.all(op.operands)
                self.values[op.result] = first if condition else second
            case arith.CmpiOp():
                self.values[op.result] = fold(_PREDICATES[op.predicate.value.data], *self.all(op.operands))
            case AllocSlotsOp():
                self.values[op.slots] = op.set_name.data
            case SlotSelectOp():
                self.values[op.slot] = Slot(*self.all(op.operands))
            case MakeTensorViewOp():
                self.values[op.view] = op.ptr.name_hint
            case PartitionViewOp():
                offsets, sizes = self.all(op.offsets), self.all(op.sizes)
                self.values[op.view] = Rows(self.values[op.source], offsets[0], sizes[0])
            case SlotOp():
                self.tile_op(op)
            case ReleaseOp():
                self.note(op, [self.values[op.lease]])
            case scf.ForOp():
                self.loop(op)
            case scf.WhileOp():
                self.endless(op)
            case scf.IfOp():
                region = op.true_region if self.values[op.cond] else op.false_region
                found = self.block(region.block, iter(())) if region.blocks else []
                self.values.update(zip(op.results, found, strict=True))
            case _:
                self.values[op.results[0]] = fold(Fn(op.name.removeprefix("arith.")), *self.all(op.operands))

    def note(self, op: Operation, touched: list[Any]) -> None:
        place = place_of(op)
        assert place is not None
        self.done.append(Done(place.line, op.name, tuple(one for one in touched if isinstance(one, Slot | Rows))))

    def tile_op(self, op: SlotOp) -> None:
        touched: list[Any] = []
        found: list[int] = []
        for operand, value in op.named_operands():
            place = self.values[value]
            touched.append(place)
            if not isinstance(place, Slot | Rows):
                found.append(place)
            elif operand.role.reads:
                found += [self.holds.get(one, 0) for one in _cells(place)]
        self.note(op, touched)
        made = hash((self.done[-1].line, *found))
        for operand, value in op.named_operands():
            if operand.role.writes:
                self.holds.update(dict.fromkeys(_cells(self.values[value]), made))
        if isinstance(op, IntoOp):
            self.values[op.value] = self.values[op.outs[0]]

    def loop(self, op: scf.ForOp) -> None:
        lower, upper, step, *carried = self.all(op.operands)
        assert step > 0
        for counter in range(lower, upper, step):
            carried = self.block(op.body.block, iter([counter, *carried]))
        self.values.update(zip(op.results, carried, strict=True))

    def endless(self, op: scf.WhileOp) -> None:
        carried = self.all(op.operands)
        while True:
            goes_on, *carried = self.block(op.before_region.block, iter(carried))
            if not goes_on:
                self.values.update(zip(op.results, carried, strict=True))
                return
            carried = self.block(op.after_region.block, iter(carried))


def _cells(place: Slot | Rows) -> list[object]:
    if isinstance(place, Slot):
        return [place]
    return [(place.tensor, row) for row in range(place.first, place.first + place.count)]


def walk(module: ModuleOp, numbers: Mapping[str, int]) -> Walk:
    """Run the first function of the module; `numbers` gives its index and i1 arguments by name."""
    function = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    found = Walk()
    found.block(function.body.block, iter([numbers.get(str(arg.name_hint), 0) for arg in function.body.block.args]))
    return found
