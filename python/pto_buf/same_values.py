"""Which values of a function are equal because arithmetic makes them of equal values in the same way.

What nothing is known of, such as a comparison of floats, is one unknown wherever it is worked out again.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

_DIALECTS = ("arith.", "math.")
_OF_THE_BLOCK = frozenset({"pto.get_block_idx", "pto.get_block_num"})
"""Ops whose result is the same on all cores, wherever they stand."""


@dataclass
class SameValues:
    """`fixed` are the values made of arguments alone, which do not change in a run.

    `first` maps a value to the first one in the text that equals it: one that is there already, or a fixed one.
    """

    fixed: set[SSAValue] = field(default_factory=set[SSAValue])
    first: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def of(self, value: SSAValue) -> SSAValue:
        """The value that stands for it: itself, if it is the first one."""
        return self.first.get(value, value)


def same_values(function: FuncOp) -> SameValues:
    """Goes through the function once. What stands in a region is there for the rest of that region only."""
    found = SameValues(set(function.body.block.args))
    _block(function.body.block, found, {}, {})
    return found


def _block(block: Block, found: SameValues, known: dict[Hashable, SSAValue], fixed: dict[Hashable, SSAValue]) -> None:
    here: list[Hashable] = []
    for op in block.ops:
        for key, value in _keys(op, found):
            if found.fixed.issuperset(op.operands):
                found.fixed.add(value)
                found.first[value] = fixed.setdefault(key, value)
            elif key in known:
                found.first[value] = known[key]
            else:
                known[key] = value
                here.append(key)
        for region in op.regions:
            for inner in region.blocks:
                _block(inner, found, known, fixed)
    for key in here:
        del known[key]


def _keys(op: Operation, found: SameValues) -> Iterator[tuple[Hashable, OpResult]]:
    """For each result that depends on the op's operands alone: what it is made of, and how."""
    if op.regions or not (op.name.startswith(_DIALECTS) or op.name in _OF_THE_BLOCK):
        return
    how = tuple(op.properties.items()), tuple(op.attributes.items())
    operands = tuple(found.of(operand) for operand in op.operands)
    for result in op.results:
        yield (op.name, result.index, result.type, operands, how), result
