"""Ops of the `pto` dialect on global memory: tensors with strides, and windows of them."""

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.groups import VerifiedBySignature, build, quick_groups
from pto_buf.dialect.table.row import ViewSpec
from pto_buf.dialect.tile_op import constant_of
from pto_buf.dialect.types import PartitionViewType, PtrSpec, PtrType, TensorViewType

_INDEX = IndexType()


def _parse_indices(parser: Parser) -> list[SSAValue]:
    names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
    return [parser.resolve_operand(name, _INDEX) for name in names]


def _parse_named(parser: Parser, *words: str) -> list[list[SSAValue]]:
    """`, word = [..]` for each word."""
    found: list[list[SSAValue]] = []
    for word in words:
        parser.parse_punctuation(",")
        parser.parse_keyword(word)
        parser.parse_punctuation("=")
        found.append(_parse_indices(parser))
    return found


def _parse_tensor(parser: Parser) -> TensorViewType:
    pos = parser.pos
    tensor = parser.parse_type()
    if not isinstance(tensor, TensorViewType):
        parser.raise_error(f"expected a !pto.tensor_view, found {tensor}", pos)
    return tensor


def _print_named(printer: Printer, **lists: Sequence[SSAValue]) -> None:
    for word, values in lists.items():
        printer.print_string(f", {word} = [")
        printer.print_list(values, printer.print_ssa_value)
        printer.print_string("]")


@quick_groups
@irdl_op_definition
class MakeTensorViewOp(IRDLOperation):
    """`make_tensor_view %p, shape = [..], strides = [..] : T`: a global tensor; strides in elements."""

    name = "pto.make_tensor_view"

    ptr = operand_def(PtrType)
    shape = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    view = result_def(TensorViewType)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ptr = parser.parse_unresolved_operand()
        shape, strides = _parse_named(parser, "shape", "strides")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        view = _parse_tensor(parser)
        pointer = parser.resolve_operand(ptr, PtrType(PtrSpec(view.data.dtype)))
        return build(cls, [[pointer], shape, strides], [view], attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.ptr)
        _print_named(printer, shape=self.shape, strides=self.strides)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.view.type)

    def verify_(self) -> None:
        rank = len(self.view.type.data.shape)
        if (len(self.shape), len(self.strides)) != (rank, rank):
            raise VerifyException(
                f"a view of rank {rank} has {rank} extents and strides, found {len(self.shape)} and {len(self.strides)}"
            )
        pointer, view = cast(PtrType, self.ptr.type).data, self.view.type.data
        if pointer.dtype != view.dtype:
            raise VerifyException(f"views {pointer.dtype} elements as {view.dtype}; they must be equal")


@quick_groups
@irdl_op_definition
class PartitionViewOp(IRDLOperation, VerifiedBySignature):
    """`partition_view %v, offsets = [..], sizes = [..] : T -> P`: a window of a global tensor."""

    name = "pto.partition_view"

    source = operand_def(TensorViewType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    view = result_def(PartitionViewType)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        offsets, sizes = _parse_named(parser, "offsets", "sizes")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        tensor = _parse_tensor(parser)
        if parser.parse_optional_punctuation("->"):
            view = parser.parse_type()
        else:
            view = PartitionViewType(ViewSpec(tuple(constant_of(size) for size in sizes), tensor.data.dtype))
        return build(cls, [[parser.resolve_operand(source, tensor)], offsets, sizes], [view], attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        _print_named(printer, offsets=self.offsets, sizes=self.sizes)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.view.type)

    def verify_(self) -> None:
        source, result = cast(TensorViewType, self.source.type).data, self.view.type.data
        rank = len(source.shape)
        if (len(self.offsets), len(self.sizes)) != (rank, rank):
            raise VerifyException(
                f"a view of rank {rank} has {rank} offsets and sizes, found {len(self.offsets)} and {len(self.sizes)}"
            )
        if source.dtype != result.dtype:
            raise VerifyException(f"views {source.dtype} elements as {result.dtype}; they must be equal")
        self.verify_numbers()

    def verify_numbers(self) -> None:
        source, result = cast(TensorViewType, self.source.type).data, self.view.type.data
        rank = len(source.shape)
        shown = result.shape if len(result.shape) == rank else (None,) * rank
        for axis, (offset, size, extent, whole) in enumerate(
            zip(self.offsets, self.sizes, shown, source.shape, strict=True)
        ):
            _verify_window(axis, constant_of(offset), constant_of(size), extent, whole)


def _verify_window(axis: int, offset: int | None, size: int | None, extent: int | None, whole: int | None) -> None:
    """Raises VerifyException if what is known of one dimension of a window does not fit into the whole."""
    if offset is not None and offset < 0:
        raise VerifyException(f"offset {offset} of dimension {axis} is negative")
    if size is not None and size < 1:
        raise VerifyException(f"size {size} of dimension {axis} must be at least 1")
    if None not in (size, extent) and size != extent:
        raise VerifyException(f"size {size} of dimension {axis} is {extent} in the type")
    if size is not None and whole is not None and (offset or 0) + size > whole:
        raise VerifyException(f"dimension {axis} ends at {(offset or 0) + size}, the tensor has {whole}")
