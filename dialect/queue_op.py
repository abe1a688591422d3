"""What the queue ops of the `pto` dialect share: their text and what stands in braces.

They share one form: `name(%a, %b : A, B) {key = value} word(%c) -> T`, each part where the op has it.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerType, LocationAttr, StringAttr, i32
from xdsl.ir import Attribute, Block, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_operand_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.attributes import parse_word, word_of
from pto_buf.dialect.queue_rules import verify_core, verify_peer, verify_scales, verify_tiles
from pto_buf.dialect.syntax import (
    Field,
    parse_fields,
    parse_operands,
    parse_typed,
    print_fields,
    print_types,
    print_values,
)
from pto_buf.dialect.tile_text import shape_text
from pto_buf.dialect.types import tile_of

_SEGMENTS = "operandSegmentSizes"
_LAYOUTS = ("nz2nd", "nz2dn", "nz2nz")
_RELUS = ("no_relu", "normal_relu")
_QUANTS = (
    "no_convert",
    "f32_f16",
    "f32_bf16",
    "req8_scalar",
    "req8_vec",
    "deqf16_scalar",
    "deqf16_vec",
    "qf322b8_pre_scalar",
    "qf322b8_pre_vec",
    "qf322f16_pre_scalar",
    "qf322bf16_pre_scalar",
    "qs322bf16_pre_scalar",
    "qs322bf16_pre_vec",
    "qf322hif8_pre_scalar",
    "qf322fp8_pre_scalar",
)


@irdl_attr_definition
class AccPushEpilogueAttr(ParametrizedAttribute):
    """`#pto.acc_push_epilogue<layout = nz2nd, quant = f32_f16, relu = no_relu>`: what an accumulator becomes."""

    name = "pto.acc_push_epilogue"

    layout: StringAttr
    quant: StringAttr
    relu: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            words: list[Attribute] = []
            for key, allowed in (("layout", _LAYOUTS), ("quant", _QUANTS), ("relu", _RELUS)):
                if words:
                    parser.parse_punctuation(",")
                parser.parse_keyword(key)
                parser.parse_punctuation("=")
                words.append(StringAttr(parse_word(parser, allowed)))
            return words

    def print_parameters(self, printer: Printer) -> None:
        words = f"layout = {self.layout.data}, quant = {self.quant.data}, relu = {self.relu.data}"
        printer.print_string(f"<{words}>")


class QueueOp(IRDLOperation):
    """The form that all ops of this file share."""

    values = var_operand_def()
    extents = var_operand_def(IndexType)
    subblock = opt_operand_def(IntegerType(64))
    made = var_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    FIELDS: ClassVar[tuple[Field, ...]] = ()
    """What stands in the braces."""
    COUNTS: ClassVar[tuple[int, int]] = (0, 0)
    """How many values the group holds, at least and at most."""
    RESULT: ClassVar[bool] = False
    BRACES_FIRST: ClassVar[bool] = False
    """The braces stand before the values, and each value has its own type."""
    EXTENTS: ClassVar[bool] = False
    """The group, if any, holds two valid extents without types."""

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        """As any op's; in the assembler's generic form what stands in the braces are properties."""
        found = {**(properties or {}), **(attributes or {})}
        segments = found.pop(_SEGMENTS, None)
        if segments is None or cls.BRACES_FIRST:  # the assembler counts each value for itself
            segments = DenseArrayBase.from_list(i32, [len(operands), 0, 0])
        return super().create(
            operands=operands,
            result_types=result_types,
            properties={_SEGMENTS: segments},
            attributes=found,
            location=location,
            successors=successors,
            regions=regions,
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        fields = parse_fields(parser, cls.FIELDS) if cls.BRACES_FIRST else {}
        values, extents = cls._parse_values(parser)
        if cls.FIELDS and not cls.BRACES_FIRST:
            fields = parse_fields(parser, cls.FIELDS)
        subblock: list[SSAValue] = []
        if parser.parse_optional_keyword("aiv_subblockid"):
            parser.parse_punctuation("(")
            subblock.append(parser.resolve_operand(parser.parse_unresolved_operand(), IntegerType(64)))
            parser.parse_punctuation(")")
        attributes = {**fields, **parser.parse_optional_attr_dict()}
        made: list[Attribute] = []
        if cls.RESULT:
            parser.parse_punctuation("->")
            made.append(parser.parse_type())
        return cls.build(operands=[values, extents, subblock], result_types=[made], attributes=attributes)

    @classmethod
    def _parse_values(cls, parser: Parser) -> tuple[list[SSAValue], list[SSAValue]]:
        if not parser.parse_optional_punctuation("("):
            return [], []
        names = parse_operands(parser)
        if cls.EXTENTS:
            parser.parse_punctuation(")")
            return [], [parser.resolve_operand(name, IndexType()) for name in names]
        values = parse_typed(parser, names) if not cls.BRACES_FIRST else [parse_one(parser, names[0])]
        while cls.BRACES_FIRST and parser.parse_optional_punctuation(","):
            values.append(parse_one(parser, parser.parse_unresolved_operand()))
        parser.parse_punctuation(")")
        return values, []

    def print(self, printer: Printer) -> None:
        if self.BRACES_FIRST:
            printer.print_string(" ")
            print_fields(printer, self.FIELDS, self.attributes)
        self._print_values(printer)
        if self.FIELDS and not self.BRACES_FIRST:
            printer.print_string(" ")
            print_fields(printer, self.FIELDS, self.attributes)
        if self.subblock is not None:
            printer.print_string(" aiv_subblockid(")
            printer.print_ssa_value(self.subblock)
            printer.print_string(")")
        printer.print_op_attributes(other_attributes(self, self.FIELDS))
        if self.made:
            printer.print_string(" -> ")
            printer.print_attribute(self.made[0].type)

    def _print_values(self, printer: Printer) -> None:
        if self.extents:
            printer.print_string("(")
            print_values(printer, tuple(self.extents))
            printer.print_string(")")
        if not self.values:
            return
        printer.print_string("(")
        if self.BRACES_FIRST:
            printer.print_list(self.values, lambda value: print_one(printer, value))
        else:
            print_values(printer, tuple(self.values))
            printer.print_string(" : ")
            print_types(printer, tuple(self.values))
        printer.print_string(")")

    def verify_(self) -> None:
        least, most = self.COUNTS
        if not least <= len(self.values) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise VerifyException(f"takes {wanted} values, found {len(self.values)}")
        if len(self.extents) not in (0, 2):
            raise VerifyException(f"takes two valid extents or none, found {len(self.extents)}")
        if len(self.made) != self.RESULT:
            raise VerifyException(f"yields {'one value' if self.RESULT else 'nothing'}, found {len(self.made)}")
        verify_fields(self, self.FIELDS)
        verify_core(self)
        verify_tiles(self)
        verify_peer(self)
        verify_scales(self)
        if self.subblock is not None and word_of(self.attributes["split"]) == "0":
            raise VerifyException("aiv_subblockid goes with a split of 1 to 4, found 0")
        made = tile_of(self.made[0].type) if self.made else None
        if self.extents and made is not None and made.valid != (None, None):
            raise VerifyException(f"is given a valid extent, its tile has {shape_text(made.valid)}; it must be ?x?")


def other_attributes(op: IRDLOperation, fields: Sequence[Field]) -> dict[str, Attribute]:
    """The attributes that are not in the braces."""
    names = [field.name for field in fields]
    return {name: value for name, value in op.attributes.items() if name not in names}


def verify_fields(op: IRDLOperation, fields: Sequence[Field]) -> None:
    """Raises VerifyException for an attribute that is unknown, missing or out of range."""
    known = [field.name for field in fields]
    for name in op.attributes:
        if name not in known and "." not in name:
            raise VerifyException(f"has no attribute '{name}'; there is: {', '.join(known) or 'none'}")
    for field in fields:
        value = op.attributes.get(field.name)
        if value is None:
            if field.required:
                raise VerifyException(f"needs '{field.name}'")
            continue
        low, high = _RANGES.get(field.name, (None, None))
        number = word_of(value)
        if low is None or not number.lstrip("-").isdigit():
            continue
        if int(number) < low or (high is not None and int(number) > high):
            raise VerifyException(f"{field.name} {number} must lie within {low} to {'any' if high is None else high}")


_RANGES: Mapping[str, tuple[int | None, int | None]] = {
    "split": (0, 4),
    "dir_mask": (1, 3),
    "slot_size": (1, None),
    "slot_num": (1, None),
    "local_slot_num": (1, None),
    "size": (1, None),
    "base": (0, None),
    "id": (0, None),
}
"""Least and greatest value of the numbers in braces."""


def parse_one(parser: Parser, name: UnresolvedOperand) -> SSAValue:
    parser.parse_punctuation(":")
    return parser.resolve_operand(name, parser.parse_type())


def print_one(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def queue(
    name: str,
    summary: str,
    fields: tuple[Field, ...] = (),
    *,
    counts: tuple[int, int] = (0, 0),
    result: bool = False,
    braces_first: bool = False,
    extents: bool = False,
) -> type[QueueOp]:
    """The op class of this name."""
    body = {
        "name": f"pto.{name}",
        "FIELDS": fields,
        "COUNTS": counts,
        "RESULT": result,
        "BRACES_FIRST": braces_first,
        "EXTENTS": extents,
        "__annotations__": {
            "FIELDS": ClassVar[tuple[Field, ...]],
            "COUNTS": ClassVar[tuple[int, int]],
            "RESULT": ClassVar[bool],
            "BRACES_FIRST": ClassVar[bool],
            "EXTENTS": ClassVar[bool],
        },
        "__module__": __name__,
        "__doc__": summary,
    }
    class_name = "".join(part.capitalize() for part in name.split("_")) + "Op"
    return irdl_op_definition(cast(type[QueueOp], type(class_name, (QueueOp,), body)))
