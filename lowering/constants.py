"""Integer constants of a function, one for each value and type, at the top of its body."""

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

INDEX = IndexType()
I64 = IntegerType(64)


class Constants:
    """Finds the constants that stand at the top of the body already, and adds new ones before everything else."""

    def __init__(self, function: FuncOp):
        self._block = function.body.block
        self._known: dict[tuple[int, Attribute], SSAValue] = {}
        self._indices: dict[int, SSAValue] = {}
        self._at = self._block.first_op
        for op in self._block.ops:
            if not isinstance(op, ConstantOp):
                break
            if isinstance(op.value, IntegerAttr):
                self._known.setdefault((op.value.value.data, op.result.type), op.result)

    def get(self, value: int, type: IndexType | IntegerType) -> SSAValue:
        key = (value, type)
        if key not in self._known:
            op = ConstantOp(IntegerAttr(value, type))
            op.result.name_hint = f"c{value}" if isinstance(type, IndexType) else f"a{value}"
            if value < 0:
                op.result.name_hint = None
            if self._at is None:
                self._block.add_op(op)
            else:
                op.location = self._at.location
                self._block.insert_op_before(op, self._at)
            self._known[key] = op.result
        return self._known[key]

    def index(self, value: int) -> SSAValue:
        if value not in self._indices:  # by far the most: to look for its type, too, takes as long again
            self._indices[value] = self.get(value, INDEX)
        return self._indices[value]

    def i64(self, value: int) -> SSAValue:
        return self.get(value, I64)
