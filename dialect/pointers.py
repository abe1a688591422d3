"""Ops of the `pto` dialect on pointers, and what the scalar unit reads of tensors and tiles."""

from typing import Self, cast

from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.syntax import parse_type_short
from pto_buf.dialect.types import PartitionViewType, PtrType, TensorViewType, TileBufType

_VIEW = TensorViewType | PartitionViewType


@irdl_op_definition
class AddPtrOp(IRDLOperation):
    """`addptr %p, %n : P -> P`: the pointer moved by n elements."""

    name = "pto.addptr"

    ptr = operand_def(PtrType)
    offset = operand_def(IndexType)
    result = result_def(PtrType)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        offset = parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        ptr = parser.resolve_operand(name, parse_type_short(parser, PtrType))
        parser.parse_punctuation("->")
        result = parse_type_short(parser, PtrType)
        return cls.create(operands=[ptr, offset], result_types=[result], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if self.ptr.type != self.result.type:
            raise VerifyException(f"yields {self.result.type}, must be {self.ptr.type}")


class _PtrCast(IRDLOperation):
    """A number as a pointer, or the other way round."""

    input = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"

    def _verify_ends(self, from_ptr: bool | None) -> None:
        source, result = self.input.type, self.result.type
        is_ptr = isinstance(source, PtrType), isinstance(result, PtrType)
        if from_ptr is not None and is_ptr != (from_ptr, not from_ptr):
            raise VerifyException(f"casts {source} to {result}; one is a pointer, the other an integer")
        if not any(is_ptr):
            raise VerifyException(f"casts {source} to {result}; one must be a pointer")
        number = next((type for type, ptr in zip((source, result), is_ptr, strict=True) if not ptr), None)
        if number is not None and not _is_integer(number) and not isinstance(number, TileBufType):
            raise VerifyException(f"casts {source} to {result}; {number} is no integer")


def _is_integer(type: Attribute) -> bool:
    return type.name in ("integer_type", "index")


@irdl_op_definition
class PtrToIntOp(_PtrCast):
    """`ptrtoint %p : P -> i64`."""

    name = "pto.ptrtoint"

    def verify_(self) -> None:
        self._verify_ends(from_ptr=True)


@irdl_op_definition
class IntToPtrOp(_PtrCast):
    """`inttoptr %n : i64 -> P`."""

    name = "pto.inttoptr"

    def verify_(self) -> None:
        self._verify_ends(from_ptr=False)
        if self.input.type != i64:
            raise VerifyException(f"takes an address of type i64, found {self.input.type}")


@irdl_op_definition
class CastPtrOp(_PtrCast):
    """`castptr %x : A -> B`."""

    name = "pto.castptr"

    def verify_(self) -> None:
        self._verify_ends(from_ptr=None)


@irdl_op_definition
class LoadScalarOp(IRDLOperation):
    """`load_scalar %p[%i] : P -> T`: one element, on the scalar unit."""

    name = "pto.load_scalar"

    ptr = operand_def(PtrType)
    offset = operand_def(IndexType)
    value = result_def()

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$ptr `[` $offset `]` attr-dict `:` type($ptr) `->` type($value)"

    def verify_(self) -> None:
        _verify_element(self.ptr.type, self.value.type)


@irdl_op_definition
class StoreScalarOp(IRDLOperation):
    """`store_scalar %v, %p[%i] : P, T`: one element, on the scalar unit."""

    name = "pto.store_scalar"

    value = operand_def()
    ptr = operand_def(PtrType)
    offset = operand_def(IndexType)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$value `,` $ptr `[` $offset `]` attr-dict `:` type($ptr) `,` type($value)"

    def verify_(self) -> None:
        _verify_element(self.ptr.type, self.value.type)


def _verify_element(ptr: Attribute, element: Attribute) -> None:
    wanted = cast(PtrType, ptr).data.dtype
    if str(element).removeprefix("!pto.") != wanted:
        raise VerifyException(f"the pointer is to {wanted}, the value is {element}")


class _ViewQuery(IRDLOperation):
    view = operand_def(_VIEW)
    dim = operand_def(IndexType)
    value = result_def(IndexType)

    traits = traits_def(Pure())
    assembly_format = "$view `,` $dim `:` type($view) `->` type($value) attr-dict"


@irdl_op_definition
class GetTensorViewDimOp(_ViewQuery):
    """`get_tensor_view_dim %v, %i : V -> index`: an extent."""

    name = "pto.get_tensor_view_dim"


@irdl_op_definition
class GetTensorViewStrideOp(_ViewQuery):
    """`get_tensor_view_stride %v, %i : V -> index`: a stride, in elements."""

    name = "pto.get_tensor_view_stride"


class _TileQuery(IRDLOperation):
    tile = operand_def(TileBufType)
    value = result_def(IndexType)

    traits = traits_def(Pure())
    assembly_format = "$tile attr-dict `:` type($tile) `->` type($value)"


@irdl_op_definition
class TileValidRowsOp(_TileQuery):
    """`tile_valid_rows %t : T -> index`."""

    name = "pto.tile_valid_rows"


@irdl_op_definition
class TileValidColsOp(_TileQuery):
    """`tile_valid_cols %t : T -> index`."""

    name = "pto.tile_valid_cols"


@irdl_op_definition
class GetValidShapeOp(IRDLOperation):
    """`%r, %c = get_validshape %t : T`: the valid extents."""

    name = "pto.get_validshape"

    tile = operand_def(TileBufType)
    rows = result_def(IndexType)
    cols = result_def(IndexType)

    traits = traits_def(Pure())
    assembly_format = "$tile attr-dict `:` type($tile)"


@irdl_op_definition
class TileBufAddrOp(IRDLOperation):
    """`tile_buf_addr %t : T -> P`: where the tile lies, as a pointer."""

    name = "pto.tile_buf_addr"

    tile = operand_def(TileBufType)
    ptr = result_def()

    assembly_format = "$tile attr-dict `:` type($tile) `->` type($ptr)"

    def verify_(self) -> None:
        if not isinstance(self.ptr.type, PtrType) and self.ptr.type.name != "memref":
            raise VerifyException(f"yields a pointer or a memref, found {self.ptr.type}")
        tile = cast(TileBufType, self.tile.type).data
        if not isinstance(self.ptr.type, PtrType):
            return
        pointer = self.ptr.type.data
        if (pointer.dtype, pointer.space) != (tile.dtype, tile.space):
            where = f"the tile holds {tile.dtype} in {tile.space}"
            raise VerifyException(f"yields a pointer to {pointer.dtype} in {pointer.space}, {where}")


POINTER_OPS = [
    TileBufAddrOp,
    AddPtrOp,
    PtrToIntOp,
    IntToPtrOp,
    CastPtrOp,
    LoadScalarOp,
    StoreScalarOp,
    GetTensorViewDimOp,
    GetTensorViewStrideOp,
    TileValidRowsOp,
    TileValidColsOp,
    GetValidShapeOp,
]
