"""Ops of the `pto` dialect on the scalar unit: small arrays, structs, tables of event ids, printing."""

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerType, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.attributes import WORD_ATTRS, WordAttr
from pto_buf.dialect.opaque_types import EventIdArrayType, LocalArrayType, StructType
from pto_buf.dialect.syntax import parse_group, print_group
from pto_buf.dialect.tile_op import constant_of


@irdl_op_definition
class DeclareEventIdArrayOp(IRDLOperation):
    """`declare_eventid_array -> !pto.eventid_array<2>`: a table of event ids."""

    name = "pto.declare_eventid_array"

    array = result_def(EventIdArrayType)

    assembly_format = "attr-dict `->` type($array)"


@irdl_op_definition
class EventIdArrayGetOp(IRDLOperation):
    """`eventid_array_get %t[%i] : T`: an event id."""

    name = "pto.eventid_array_get"

    array = operand_def(EventIdArrayType)
    index = operand_def(IndexType)
    value = result_def(IndexType)

    assembly_format = "$array `[` $index `]` attr-dict `:` type($array)"

    def verify_(self) -> None:
        _verify_index(self.index, cast(EventIdArrayType, self.array.type).data)


@irdl_op_definition
class EventIdArraySetOp(IRDLOperation):
    """`eventid_array_set %t[%i], %id : T`: stores an event id."""

    name = "pto.eventid_array_set"

    array = operand_def(EventIdArrayType)
    index = operand_def(IndexType)
    value = operand_def(IndexType)

    assembly_format = "$array `[` $index `]` `,` $value attr-dict `:` type($array)"

    def verify_(self) -> None:
        _verify_index(self.index, cast(EventIdArrayType, self.array.type).data)


def _verify_index(index: SSAValue, size: int) -> None:
    known = constant_of(index)
    if known is not None and not 0 <= known < size:
        raise VerifyException(f"index {known} is outside [0, {size})")


@irdl_op_definition
class DeclareLocalArrayOp(IRDLOperation):
    """`declare_local_array -> !pto.local_array<4xi32>`: an array on the stack of the scalar unit."""

    name = "pto.declare_local_array"

    array = result_def(LocalArrayType)

    assembly_format = "attr-dict `->` type($array)"


def _verify_element(array: Attribute, indices: Sequence[SSAValue], element: Attribute) -> None:
    spec = cast(LocalArrayType, array).data
    if len(indices) != len(spec.shape):
        raise VerifyException(f"an array of rank {len(spec.shape)} takes as many indices, not {len(indices)}")
    if element != spec.element:
        raise VerifyException(f"the array holds {spec.element}, found {element}")
    for index, extent in zip(indices, spec.shape, strict=True):
        _verify_index(index, extent)


@irdl_op_definition
class LocalArrayGetOp(IRDLOperation):
    """`local_array_get %a[%i] : A -> T`: an element."""

    name = "pto.local_array_get"

    array = operand_def(LocalArrayType)
    indices = var_operand_def(IndexType)
    value = result_def()

    assembly_format = "$array `[` $indices `]` attr-dict `:` type($array) `->` type($value)"

    def verify_(self) -> None:
        _verify_element(self.array.type, tuple(self.indices), self.value.type)


@irdl_op_definition
class LocalArraySetOp(IRDLOperation):
    """`local_array_set %a[%i], %v : A, T`: stores an element."""

    name = "pto.local_array_set"

    array = operand_def(LocalArrayType)
    indices = var_operand_def(IndexType)
    value = operand_def()

    assembly_format = "$array `[` $indices `]` `,` $value attr-dict `:` type($array) `,` type($value)"

    def verify_(self) -> None:
        _verify_element(self.array.type, tuple(self.indices), self.value.type)


@irdl_op_definition
class DeclareStructOp(IRDLOperation):
    """`declare_struct -> !pto.struct<i32, f16>`: a struct on the stack of the scalar unit."""

    name = "pto.declare_struct"

    struct = result_def(StructType)

    assembly_format = "attr-dict `->` type($struct)"


def _print_field(printer: Printer, struct: SSAValue, path: DenseArrayBase[IntegerType]) -> None:
    printer.print_string(" ")
    printer.print_ssa_value(struct)
    printer.print_string(f"[{', '.join(map(str, path.get_values()))}]")


def _verify_field(struct: Attribute, path: DenseArrayBase[IntegerType], element: Attribute) -> None:
    positions = path.get_values()
    found = cast(StructType, struct).field_at(positions)
    if found is None:
        raise VerifyException(f"{struct} has no field [{', '.join(map(str, positions))}]")
    if found != element:
        raise VerifyException(f"the field is {found}, found {element}")


def _parse_path(parser: Parser) -> DenseArrayBase[IntegerType]:
    positions = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
    )
    return DenseArrayBase.from_list(i64, positions)


@irdl_op_definition
class StructGetOp(IRDLOperation):
    """`struct_get %s[0, 1] : S -> T`: the field at these positions."""

    name = "pto.struct_get"

    struct = operand_def(StructType)
    path = prop_def(DenseArrayBase[IntegerType])
    value = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_unresolved_operand()
        path = _parse_path(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        struct = parser.resolve_operand(name, parser.parse_type())
        parser.parse_punctuation("->")
        return cls.create(
            operands=[struct],
            result_types=[parser.parse_type()],
            properties={"path": path},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        _print_field(printer, self.struct, self.path)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.struct.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.value.type)

    def verify_(self) -> None:
        _verify_field(self.struct.type, self.path, self.value.type)


@irdl_op_definition
class StructSetOp(IRDLOperation):
    """`struct_set %s[0, 1], %v : S, T`: stores into the field at these positions."""

    name = "pto.struct_set"

    struct = operand_def(StructType)
    path = prop_def(DenseArrayBase[IntegerType])
    value = operand_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_unresolved_operand()
        path = _parse_path(parser)
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        struct = parser.resolve_operand(name, parser.parse_type())
        parser.parse_punctuation(",")
        operands = [struct, parser.resolve_operand(value, parser.parse_type())]
        return cls.create(operands=operands, properties={"path": path}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_field(printer, self.struct, self.path)
        printer.print_string(", ")
        printer.print_ssa_value(self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.struct.type)
        printer.print_string(", ")
        printer.print_attribute(self.value.type)

    def verify_(self) -> None:
        _verify_field(self.struct.type, self.path, self.value.type)


@irdl_op_definition
class PrintOp(IRDLOperation):
    """`print ins("%d", %x : i32)`: prints a number on the device."""

    name = "pto.print"

    format = prop_def(StringAttr)
    scalar = operand_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("ins")
        parser.parse_punctuation("(")
        text = StringAttr(parser.parse_str_literal())
        parser.parse_punctuation(",")
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        scalar = parser.resolve_operand(name, parser.parse_type())
        parser.parse_punctuation(")")
        return cls.create(operands=[scalar], properties={"format": text}, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ins(")
        printer.print_attribute(self.format)
        printer.print_string(", ")
        printer.print_ssa_value(self.scalar)
        printer.print_string(" : ")
        printer.print_attribute(self.scalar.type)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class TrapOp(IRDLOperation):
    """`trap`: stops the kernel."""

    name = "pto.trap"

    assembly_format = "attr-dict"


@irdl_op_definition
class TPrintOp(IRDLOperation):
    """`tprint ins(%t : T)`: prints a tile or a view on the device; an accumulator through a second tile."""

    name = "pto.tprint"

    src = operand_def()
    tmp = opt_operand_def()
    print_format = opt_prop_def(WordAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("ins")
        operands = parse_group(parser)
        attributes = parser.parse_optional_attr_dict()
        properties: dict[str, Attribute] = {}
        if isinstance(attributes.get("printFormat"), WORD_ATTRS["print_format"]):
            properties["print_format"] = attributes.pop("printFormat")
        return cls.create(operands=operands, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ins")
        print_group(printer, tuple(self.operands))
        shown = {} if self.print_format is None else {"printFormat": self.print_format}
        printer.print_op_attributes({**shown, **self.attributes})

    def verify_(self) -> None:
        if "printFormat" in self.attributes:
            raise VerifyException(f"printFormat must be #pto<print_format ...>, is {self.attributes['printFormat']}")


SCALAR_OPS = [
    DeclareEventIdArrayOp,
    EventIdArrayGetOp,
    EventIdArraySetOp,
    DeclareLocalArrayOp,
    LocalArrayGetOp,
    LocalArraySetOp,
    DeclareStructOp,
    StructGetOp,
    StructSetOp,
    PrintOp,
    TrapOp,
    TPrintOp,
]
