"""Operands by groups, and what a verifier looks at: each worked out once for all ops that are alike.

xDSL decodes the sizes of an op's operand groups anew for each access to one of them, and encodes them anew for each op
that is built; together that was a third of the time of every pass.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, OptOperandDef, VarOperandDef

SEGMENTS = "operandSegmentSizes"

_Op = TypeVar("_Op", bound=IRDLOperation)


def quick_groups(cls: type[_Op]) -> type[_Op]:
    """Class decorator, outside of `irdl_op_definition`, for an op whose group sizes are a property."""
    for index, (name, definition) in enumerate(cls.get_irdl_definition().operands):
        setattr(cls, name, property(_accessor(index, definition)))
    return cls


def _accessor(index: int, definition: object) -> Callable[[Operation], Any]:
    def several(op: Operation) -> Any:
        bounds = _bounds(op)
        return op.operands[bounds[index] : bounds[index + 1]]

    def single(op: Operation) -> Any:
        return op.operands[_bounds(op)[index]]

    def optional(op: Operation) -> Any:
        bounds = _bounds(op)
        return op.operands[bounds[index]] if bounds[index] < bounds[index + 1] else None

    if isinstance(definition, VarOperandDef):  # an optional operand is one of these too
        return optional if isinstance(definition, OptOperandDef) else several
    return single


_BOUNDS: dict[bytes, tuple[int, ...]] = {}


def _bounds(op: Operation) -> tuple[int, ...]:
    """Where each group starts, and where the last one ends."""
    sizes = cast(DenseArrayBase[Any], op.properties[SEGMENTS])
    known = _BOUNDS.get(sizes.data.data)
    if known is None:
        known = _BOUNDS[sizes.data.data] = tuple(accumulate(sizes.get_values(), initial=0))
    return known


@cache
def segments(*sizes: int) -> DenseArrayBase[Any]:
    """The property that says how many operands each group has."""
    return DenseArrayBase.from_list(i32, sizes)


def build(
    cls: type[_Op],
    groups: Sequence[Sequence[SSAValue]],
    result_types: Sequence[Attribute] = (),
    attributes: Mapping[str, Attribute] | None = None,
) -> _Op:
    """As `cls.build`, for an op with operand groups, all given as sequences."""
    return cls.create(
        operands=tuple(chain.from_iterable(groups)),
        result_types=result_types,
        properties={SEGMENTS: segments(*map(len, groups))},
        attributes=attributes or {},
    )


class VerifiedBySignature(Operation):
    """An op whose verifier finds in two ops of one signature the same.

    Other than its signature such a verifier looks only at the module's target, and at what `verify_numbers` looks at.
    """

    def verify_numbers(self) -> None:
        """The part of the verifier that is about constants, which hardly any two ops share. Raises VerifyException."""

    def signature(self) -> Hashable:
        """What the verifier looks at. None if that cannot be told: then this op is verified for itself."""
        return (
            type(self),
            tuple([value.type for value in self.operands]),
            tuple([result.type for result in self.results]),
            tuple(self.properties.items()),
            tuple(self.attributes.items()),
        )
