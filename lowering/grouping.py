"""Rewriting a loop so that each trip does what several trips did, with a loop for the trips that are left over."""

from abc import ABC, abstractmethod
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from pto_buf.dialect.tile_op import constant_of
from pto_buf.lowering.constants import Constants


def trip_count(loop: scf.ForOp) -> int | None:
    """The number of trips, where bounds and step are constants."""
    lower, upper, step = (constant_of(value) for value in (loop.lb, loop.ub, loop.step))
    if lower is None or upper is None or step is None or step < 1:
        return None
    return max(0, -((lower - upper) // step))


class Grouping(ABC):
    """Rewrites one loop. In what order the ops of a group's trips stand is up to `fill`.

    `maps` holds for each trip of a group what stands for the values of the body.
    """

    def __init__(self, loop: scf.ForOp, together: int, constants: Constants):
        self.loop = loop
        self.together = together
        self.constants = constants
        self.maps: list[dict[SSAValue, SSAValue]] = []

    @abstractmethod
    def fill(self, block: Block) -> None:
        """Put the ops of all trips of a group into the block."""

    def run(self) -> scf.ForOp:
        """Rewrite the loop, which is then that of the trips left over, or gone. Returns the loop over groups."""
        loop = self.loop
        count, lower, step = trip_count(loop), constant_of(loop.lb), constant_of(loop.step)
        if count is None or lower is None or step is None:
            main, rest = self.counted()
        else:
            grouped = count // self.together * self.together
            rest = None if grouped == count else self._constant(lower + grouped * step, loop.lb.type)
            main = self.main(loop.lb, loop.ub if rest is None else rest, self.times(loop.step, self.together), None)
        self._insert(main)
        for name, attribute in loop.attributes.items():
            main.attributes[name] = attribute
        if rest is None:
            for old, new in zip(loop.results, main.results, strict=True):
                old.replace_all_uses_with(new)
            loop.detach()
            loop.erase()
        else:
            loop.operands = [rest, loop.ub, loop.step, *main.results[: len(loop.iter_args)]]
        return main

    def counted(self) -> tuple[scf.ForOp, SSAValue]:
        """The loop over whole groups, by their number, and where the trips that are left over start.

        Counted in ones, how groups and the trips behind them meet is plain to whoever has to prove it.
        """
        loop, zero, one = self.loop, self._constant(0, self.loop.lb.type), self._constant(1, self.loop.lb.type)
        # A loop that ends before it starts has no trips; the division below must not see how far before.
        distance = self.apply(arith.MaxSIOp(self.sub(loop.ub, loop.lb), zero))
        if constant_of(loop.step) != 1:
            short = self.apply(arith.SubiOp(loop.step, one))
            distance = self.apply(arith.DivUIOp(self.apply(arith.AddiOp(distance, short)), loop.step))
        groups = self.apply(arith.DivUIOp(distance, self._constant(self.together, loop.lb.type)))
        size = self.times(loop.step, self.together)
        rest = self._add(loop.lb, self.apply(arith.MuliOp(groups, size)))
        return self.main(zero, groups, one, size), rest

    def main(self, lower: SSAValue, upper: SSAValue, step: SSAValue, size: SSAValue | None) -> scf.ForOp:
        """The loop over groups. With `size`, the distance of two groups, it counts them; else it counts as before."""
        loop, old = self.loop, self.loop.body.block
        block = Block(arg_types=[argument.type for argument in old.args])
        for new, known in zip(block.args, old.args, strict=True):
            new.name_hint = known.name_hint
        first: SSAValue = block.args[0]
        offsets = [self.times(loop.step, trip) for trip in range(self.together)]

        def add(op: arith.AddiOp | arith.MuliOp) -> SSAValue:
            op.location = loop.location
            op.result.name_hint = old.args[0].name_hint
            block.add_op(op)
            return op.result

        if size is not None:
            first.name_hint = "group"
            first = add(arith.MuliOp(first, size))
            first = first if constant_of(loop.lb) == 0 else add(arith.AddiOp(first, loop.lb))
        for trip in range(self.together):
            counter = first if trip == 0 else add(arith.AddiOp(first, offsets[trip]))
            self.maps.append({old.args[0]: counter})
        self.maps[0].update(zip(old.args[1:], block.args[1:], strict=True))
        self.fill(block)
        yielded = scf.YieldOp(*(self._carried(self.together, index) for index in range(1, len(old.args))))
        yielded.location = loop.location
        block.add_op(yielded)
        return scf.ForOp(lower, upper, step, loop.iter_args, Region(block))

    def hand_over(self, trip: int) -> None:
        """Make what the trip before yields known to this one, as far as it is there."""
        if trip == 0:
            return
        for index, argument in enumerate(self.loop.body.block.args[1:], 1):
            if argument not in self.maps[trip] and self._is_there(trip, index):
                self.maps[trip][argument] = self._carried(trip, index)

    def _is_there(self, trip: int, index: int) -> bool:
        value = self._yielded(index)
        if isinstance(value, BlockArgument) and value.block is self.loop.body.block:
            return value in self.maps[trip - 1]
        return not self._inside(value) or value in self.maps[trip - 1]

    def _carried(self, trip: int, index: int) -> SSAValue:
        """What enters trip number `trip` in place of the body's argument `index`."""
        value = self._yielded(index)
        return self.maps[trip - 1].get(value, value)

    def _yielded(self, index: int) -> SSAValue:
        last = self.loop.body.block.last_op
        assert last is not None
        return last.operands[index - 1]

    def _inside(self, value: SSAValue) -> bool:
        return isinstance(value, OpResult) and value.op.parent_block() is self.loop.body.block

    # --- arithmetic in front of the loop ---

    def _insert(self, op: Operation) -> None:
        op.location = self.loop.location
        block = self.loop.parent_block()
        assert block is not None
        block.insert_op_before(op, self.loop)

    def apply(self, op: Operation) -> SSAValue:
        self._insert(op)
        return op.results[0]

    def _constant(self, value: int, type: Attribute) -> SSAValue:
        return self.constants.get(value, cast(IndexType | IntegerType, type))

    def _add(self, left: SSAValue, right: SSAValue) -> SSAValue:
        return right if constant_of(left) == 0 else self.apply(arith.AddiOp(left, right))

    def sub(self, left: SSAValue, right: SSAValue) -> SSAValue:
        return left if constant_of(right) == 0 else self.apply(arith.SubiOp(left, right))

    def times(self, value: SSAValue, factor: int) -> SSAValue:
        if factor == 1:
            return value
        known = constant_of(value)
        if known is not None:
            return self._constant(known * factor, value.type)
        return self.apply(arith.MuliOp(value, self._constant(factor, value.type)))
