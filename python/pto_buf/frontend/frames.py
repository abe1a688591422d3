"""The loops around a statement, and slot indices that follow their trips."""

from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from pto_buf.frontend.builder import Builder


@dataclass(eq=False)
class Frame:
    """A counted loop; `stage` trips may be in flight where it is a `pl.pipeline`."""

    block: Block
    counter: SSAValue
    lower: int | SSAValue
    step: int | SSAValue
    location: LocationAttr
    stage: int | None = None
    _indices: dict[tuple[int, int], SSAValue] = field(default_factory=dict[tuple[int, int], SSAValue])

    def slot_index(self, count: int, builder: Builder, phase: int = 0) -> SSAValue:
        """(trip + phase) % count, where trip = (counter - lower) / step, computed once at the start of the body."""
        key = (count, phase)
        if key not in self._indices:
            self._indices[key] = self._emit(count, phase, builder)
        return self._indices[key]

    def _emit(self, count: int, phase: int, builder: Builder) -> SSAValue:
        ops: list[Operation] = []
        value = self.counter

        def append(kind: type[Operation], right: SSAValue) -> SSAValue:
            op = kind.create(operands=[value, right], result_types=[value.type])
            op.location = self.location
            ops.append(op)
            return op.results[0]

        with builder.at(self.location):
            if self.lower != 0:
                lower = builder.constant(self.lower) if isinstance(self.lower, int) else self.lower
                value = append(arith.SubiOp, lower)
            if self.step != 1:
                step = builder.constant(self.step) if isinstance(self.step, int) else self.step
                value = append(arith.DivUIOp, step)
            if phase:
                value = append(arith.AddiOp, builder.constant(phase))
            value = append(arith.RemUIOp, builder.constant(count))
        first = self.block.first_op
        if first is None:
            self.block.add_ops(ops)
        else:
            self.block.insert_ops_before(ops, first)
        return value
