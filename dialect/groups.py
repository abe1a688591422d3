"""Operands by groups, and what a verifier looks at: each worked out once for all ops that are alike.

xDSL decodes the sizes of an op's operand groups anew for each access to one of them, and encodes them anew for each op
that is built; together that was a third of the time of every pass. Most of the rest of building an op is looking for
what it has not: regions, successors and default values.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain, pairwise
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues, Use
from xdsl.irdl import IRDLOperation, OptOperandDef, VarOperandDef

SEGMENTS = "operandSegmentSizes"

_Op = TypeVar("_Op", bound=IRDLOperation)


def quick_groups(cls: type[_Op]) -> type[_Op]:
    """Class decorator, outside of `irdl_op_definition`, for an op whose group sizes are a property."""
    for index, (name, definition) in enumerate(cls.get_irdl_definition().operands):
        setattr(cls, name, property(_accessor(index, definition)))
    return cls


def operands_of(op: Operation) -> SSAValues[SSAValue[Attribute]]:
    """The operands themselves. `op.operands`, through which they can be changed, is made anew for each access."""
    return op._operands  # pyright: ignore[reportPrivateUsage]


def _accessor(index: int, definition: object) -> Callable[[Operation], Any]:
    def several(op: Operation) -> Any:
        return SSAValues(_part(operands_of(op), _groups(op)[index]))

    def single(op: Operation) -> Any:
        return _part(operands_of(op), _groups(op)[index])[0]

    def optional(op: Operation) -> Any:
        group = several(op)
        return group[0] if group else None

    if isinstance(definition, VarOperandDef):  # an optional operand is one of these too
        return optional if isinstance(definition, OptOperandDef) else several
    return single


_part: Callable[[tuple[Any, ...], slice], tuple[Any, ...]] = cast(Any, tuple).__getitem__
"""A part of a tuple. SSAValues' own makes two of it."""

_GROUPS: dict[bytes, tuple[slice, ...]] = {}


def _groups(op: Operation) -> tuple[slice, ...]:
    """Where each group is among the operands."""
    sizes: Any = op.properties[SEGMENTS]
    known = _GROUPS.get(sizes.data.data)
    if known is None:
        bounds = accumulate(sizes.get_values(), initial=0)
        known = _GROUPS[sizes.data.data] = tuple(slice(first, end) for first, end in pairwise(bounds))
    return known


@cache
def segments(*sizes: int) -> DenseArrayBase[Any]:
    """The property that says how many operands each group has."""
    return DenseArrayBase.from_list(i32, sizes)


def fill(
    op: Operation,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] | None = None,
    attributes: Mapping[str, Attribute] | None = None,
) -> None:
    """As `Operation.__init__`, in a third of the time, for an op without regions, successors and default values."""
    uses = tuple([Use(op, index) for index in range(len(operands))])
    for operand, use in zip(operands, uses, strict=True):
        operand.add_use(use)
    op._operands = SSAValues(operands)  # pyright: ignore[reportPrivateUsage]
    op._operand_uses = uses  # pyright: ignore[reportPrivateUsage]
    op.results = SSAValues([OpResult(type, op, index) for index, type in enumerate(result_types)])
    op.properties = dict(properties or ())
    op.attributes = dict(attributes or ())
    op.location = UNKNOWN_LOC


def build(
    cls: type[_Op],
    groups: Sequence[Sequence[SSAValue]],
    result_types: Sequence[Attribute] = (),
    attributes: Mapping[str, Attribute] | None = None,
) -> _Op:
    """As `cls.build`, for an op with operand groups, all given as sequences. It has nothing that `fill` leaves out."""
    op = cls.__new__(cls)
    sizes = segments(*map(len, groups))
    fill(op, tuple(chain.from_iterable(groups)), result_types, {SEGMENTS: sizes}, attributes)
    return op


class VerifiedBySignature(Operation):
    """An op whose verifier finds in two ops of one signature the same.

    Other than its signature such a verifier looks only at the module's target, and at what `verify_numbers` looks at.
    """

    def verify_numbers(self) -> None:
        """The part of the verifier that is about constants, which hardly any two ops share. Raises VerifyException."""

    def signature(self) -> Hashable:
        """What the verifier looks at. None if that cannot be told: then this op is verified for itself.

        Types are told apart by identity: most ops share theirs, and to hash one takes as long as the rest together. So
        signatures are of use only while the ops are there.
        """
        return (
            type(self),
            tuple([id(value.type) for value in operands_of(self)]),
            tuple([id(result.type) for result in self.results]),
            tuple(self.properties.items()),
            tuple(self.attributes.items()),
        )
