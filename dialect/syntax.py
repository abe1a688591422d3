"""Pieces of text that the hand-written ops of the `pto` dialect share: `(%a, %b : A, B)`, `{key = 1}`, `<word>`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, IntegerType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from pto_buf.dialect.attributes import WORD_ATTRS, word_of

_D = TypeVar("_D", bound=Data[Any])


def parse_short(parser: Parser, kind: type[_D]) -> _D:
    """An attribute in full, or only its angle brackets: `#pto.pipe<PIPE_V>` or `<PIPE_V>`."""
    pos = parser.pos
    found = parser.parse_optional_attribute()
    if found is None:
        return kind(kind.parse_parameter(parser))
    if not isinstance(found, kind):
        parser.raise_error(f"expected {kind.name}, found {found}", pos)
    return found


def parse_type_short(parser: Parser, kind: type[_D]) -> Attribute:
    """Any type in full, or the angle brackets of one of this kind."""
    found = parser.parse_optional_type()
    return kind(kind.parse_parameter(parser)) if found is None else found


def parse_operands(parser: Parser) -> list[UnresolvedOperand]:
    """`%a, %b`: one or more values."""
    return parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)


def parse_typed(parser: Parser, names: Sequence[UnresolvedOperand]) -> list[SSAValue]:
    """`: A, B`: the types of the values just named."""
    pos = parser.pos
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return list(parser.resolve_operands(names, types, pos))


def parse_group(parser: Parser) -> list[SSAValue]:
    """`(%a, %b : A, B)` or `()`."""
    parser.parse_punctuation("(")
    if parser.parse_optional_punctuation(")"):
        return []
    values = parse_typed(parser, parse_operands(parser))
    parser.parse_punctuation(")")
    return values


def print_values(printer: Printer, values: Sequence[SSAValue]) -> None:
    """`%a, %b`."""
    printer.print_list(values, printer.print_ssa_value)


def print_types(printer: Printer, values: Sequence[SSAValue]) -> None:
    """`A, B`: the types of the values."""
    printer.print_list(values, lambda value: printer.print_attribute(value.type))


def print_group(printer: Printer, values: Sequence[SSAValue]) -> None:
    """`(%a, %b : A, B)` or `()`."""
    printer.print_string("(")
    if values:
        print_values(printer, values)
        printer.print_string(" : ")
        print_types(printer, values)
    printer.print_string(")")


@dataclass(frozen=True)
class Field:
    """One entry of `{key = value}`.

    `type` is `i8`, `i32`, `bool`, `string`, `symbol`, the name of an enumeration, or `attribute` for any.
    """

    name: str
    type: str
    required: bool = False


def parse_fields(parser: Parser, fields: Sequence[Field]) -> dict[str, Attribute]:
    """`{id = 0, split = 1}`: plain values whose types the fields say, in any order."""
    known = {field.name: field for field in fields}
    found: dict[str, Attribute] = {}

    def entry() -> None:
        pos = parser.pos
        name = parser.parse_identifier()
        if name not in known or name in found:
            what = "is given twice" if name in found else f"is none of {', '.join(known)}"
            parser.raise_error(f"'{name}' {what}", pos)
        parser.parse_punctuation("=")
        found[name] = _parse_value(parser, known[name].type)

    pos = parser.pos
    parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry)
    for field in fields:
        if field.required and field.name not in found:
            parser.raise_error(f"'{field.name}' is missing", pos)
    return found


def _parse_value(parser: Parser, type: str) -> Attribute:
    pos = parser.pos
    if type == "string":
        return StringAttr(parser.parse_str_literal())
    if type == "symbol":
        return SymbolRefAttr(parser.parse_symbol_name())
    if type == "bool":
        return BoolAttr.from_bool(parser.parse_boolean())
    if type in WORD_ATTRS:
        return parse_short(parser, WORD_ATTRS[type])
    if type == "attribute":
        return parser.parse_attribute()
    value = parser.parse_integer(allow_boolean=False)
    bits = int(type[1:])
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        parser.raise_error(f"{value} does not fit {type}", pos)
    if parser.parse_optional_punctuation(":"):
        parser.parse_type()
    return IntegerAttr(value, IntegerType(bits), truncate_bits=True)


def print_fields(printer: Printer, fields: Sequence[Field], values: Mapping[str, Attribute]) -> None:
    """`{id = 0, split = 1}`, in the order of the fields."""
    printer.print_string("{")
    printer.print_list(
        [field for field in fields if field.name in values], lambda field: _print_field(printer, field, values)
    )
    printer.print_string("}")


def _print_field(printer: Printer, field: Field, values: Mapping[str, Attribute]) -> None:
    value = values[field.name]
    printer.print_string(f"{field.name} = ")
    if field.type in WORD_ATTRS or field.type in ("string", "symbol", "attribute"):
        printer.print_attribute(value)
    else:
        printer.print_string(word_of(value))
