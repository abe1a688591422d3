"""Types of the `pto` dialect that no tile reasoning looks into: element types, handles, small arrays of scalars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from pto_buf.tile import PTO_ELEMENTS


def _handle(name: str, summary: str) -> type[ParametrizedAttribute]:
    """A type without parameters."""
    fields = {"name": f"pto.{name}", "__module__": __name__, "__doc__": summary}
    class_name = "".join(part.capitalize() for part in name.split("_")) + "Type"
    definition = cast(type[ParametrizedAttribute], type(class_name, (ParametrizedAttribute, TypeAttribute), fields))
    return irdl_attr_definition(definition)


ELEMENT_TYPES: Mapping[str, type[ParametrizedAttribute]] = {
    name: _handle(name, f"`!pto.{name}`: an element type that builtin MLIR does not have.") for name in PTO_ELEMENTS
}

PipeHandleType = _handle("pipe", "`!pto.pipe`: a queue between cores.")
AsyncSessionType = _handle("async_session", "`!pto.async_session`.")
AsyncEventType = _handle("async_event", "`!pto.async_event`.")
PrefetchAsyncContextType = _handle("prefetch_async_context", "`!pto.prefetch_async_context`.")


@irdl_attr_definition
class EventIdArrayType(Data[int], TypeAttribute):
    """`!pto.eventid_array<4>`: a table of event ids."""

    name = "pto.eventid_array"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> int:
        with parser.in_angle_brackets():
            pos = parser.pos
            size = parser.parse_integer(allow_boolean=False, allow_negative=True)
            if size < 1:
                parser.raise_error(f"a table has at least one event id, found {size}", pos)
            return size

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@dataclass(frozen=True)
class ArraySpec:
    """Extents and element type of an array of scalars."""

    shape: tuple[int, ...]
    element: Attribute


@irdl_attr_definition
class LocalArrayType(Data[ArraySpec], TypeAttribute):
    """`!pto.local_array<4x8xi32>`: scalars of the scalar unit."""

    name = "pto.local_array"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ArraySpec:
        with parser.in_angle_brackets():
            pos = parser.pos
            shape, element = parser.parse_ranked_shape()
            if not shape or min(shape) < 1:
                parser.raise_error("an array has static extents of at least 1", pos)
            if not isinstance(element, (IntegerType, AnyFloat)):
                parser.raise_error(f"an array holds integers or floats, found {element}", pos)
            return ArraySpec(tuple(shape), element)

    def print_parameter(self, printer: Printer) -> None:
        extents = "x".join(map(str, self.data.shape))
        printer.print_string(f"<{extents}x{self.data.element}>")


@irdl_attr_definition
class StructType(Data[tuple[Attribute, ...]], TypeAttribute):
    """`!pto.struct<i32, f16, !pto.struct<i8>>`: fields of the scalar unit, by position."""

    name = "pto.struct"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Attribute, ...]:
        pos = parser.pos
        fields: Sequence[Attribute] = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_type)
        if not fields:
            parser.raise_error("a struct has at least one field", pos)
        return tuple(fields)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_list(self.data, printer.print_attribute)
        printer.print_string(">")

    def field_at(self, path: Sequence[int]) -> Attribute | None:
        """The type of the field that the positions lead to, None if they lead nowhere."""
        found: Attribute = self
        for position in path:
            if not isinstance(found, StructType) or not 0 <= position < len(found.data):
                return None
            found = found.data[position]
        return found


OPAQUE_TYPES: list[type[Attribute]] = [
    *ELEMENT_TYPES.values(),
    PipeHandleType,
    AsyncSessionType,
    AsyncEventType,
    PrefetchAsyncContextType,
    EventIdArrayType,
    LocalArrayType,
    StructType,
]
