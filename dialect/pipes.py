"""Ops of the `pto` dialect that pass tiles between cores through queues, and the buffers that the queues lie in.

They share one form: `name(%a, %b : A, B) {key = value} word(%c) -> T`, each part where the op has it.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import IndexType, IntegerType, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
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
from pto_buf.dialect.syntax import (
    Field,
    parse_fields,
    parse_operands,
    parse_typed,
    print_fields,
    print_types,
    print_values,
)

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
        values = parse_typed(parser, names) if not cls.BRACES_FIRST else [_parse_one(parser, names[0])]
        while cls.BRACES_FIRST and parser.parse_optional_punctuation(","):
            values.append(_parse_one(parser, parser.parse_unresolved_operand()))
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
        printer.print_op_attributes(other_attributes(self))
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
            printer.print_list(self.values, lambda value: _print_one(printer, value))
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


def other_attributes(op: "QueueOp | FrontendPipeOp") -> dict[str, Attribute]:
    """The attributes that are not in the braces."""
    names = [field.name for field in op.FIELDS]
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


def _parse_one(parser: Parser, name: UnresolvedOperand) -> SSAValue:
    parser.parse_punctuation(":")
    return parser.resolve_operand(name, parser.parse_type())


def _print_one(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


_ID = Field("id", "i32")
_SPLIT = (Field("split", "i8", required=True),)
_AT = (_ID, *_SPLIT)
_SIZES = (Field("dir_mask", "i8", required=True), Field("slot_size", "i32", required=True))
_NOSPLIT = (Field("nosplit", "bool"), Field("acc_push_epilogue", "attribute"))


class FrontendPipeOp(IRDLOperation):
    """`aic_initialize_pipe {...} (c2v_consumer_buf = %b : i32, ...)`: one end of a queue between cores of a block."""

    gm_slot_buffer = opt_operand_def()
    gm_slot_tensor = opt_operand_def()
    c2v_consumer_buf = opt_operand_def()
    v2c_consumer_buf = opt_operand_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        _ID,
        *_SIZES,
        Field("slot_num", "i32"),
        Field("local_slot_num", "i32"),
        *_NOSPLIT,
    )
    NAMES: ClassVar[tuple[str, ...]] = ("gm_slot_buffer", "gm_slot_tensor", "c2v_consumer_buf", "v2c_consumer_buf")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        fields = parse_fields(parser, cls.FIELDS)
        found: dict[str, SSAValue] = {}

        def operand() -> None:
            pos = parser.pos
            name = parser.parse_identifier()
            if name not in cls.NAMES or name in found:
                what = "is given twice" if name in found else f"is none of {', '.join(cls.NAMES)}"
                parser.raise_error(f"'{name}' {what}", pos)
            parser.parse_punctuation("=")
            found[name] = _parse_one(parser, parser.parse_unresolved_operand())

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand)
        attributes = {**fields, **parser.parse_optional_attr_dict()}
        return cls.build(operands=[[found[name]] if name in found else [] for name in cls.NAMES], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_fields(printer, self.FIELDS, self.attributes)
        printer.print_string(" (")
        operands = zip(
            self.NAMES,
            (self.gm_slot_buffer, self.gm_slot_tensor, self.c2v_consumer_buf, self.v2c_consumer_buf),
            strict=True,
        )
        printer.print_list(
            [(name, value) for name, value in operands if value is not None],
            lambda entry: _print_named(printer, entry),
        )
        printer.print_string(")")
        printer.print_op_attributes(other_attributes(self))

    def verify_(self) -> None:
        verify_fields(self, self.FIELDS)


def _print_named(printer: Printer, entry: tuple[str, SSAValue]) -> None:
    printer.print_string(f"{entry[0]} = ")
    _print_one(printer, entry[1])


def _queue(
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


@irdl_op_definition
class AicInitializePipeOp(FrontendPipeOp):
    """`aic_initialize_pipe {...} (...)`: the cube core's end of a queue."""

    name = "pto.aic_initialize_pipe"


@irdl_op_definition
class AivInitializePipeOp(FrontendPipeOp):
    """`aiv_initialize_pipe {...} (...)`: the vector core's end of a queue."""

    name = "pto.aiv_initialize_pipe"


_RESERVED = (
    Field("name", "string", required=True),
    Field("size", "i32", required=True),
    Field("location", "address_space", required=True),
    Field("auto", "bool", required=True),
    Field("base", "i32"),
)
_IMPORTED = (Field("name", "string", required=True), Field("peer_func", "symbol", required=True))
_ENDS = (*_SIZES, Field("slot_num", "i32", required=True))

PIPE_OPS: list[type[IRDLOperation]] = [
    AicInitializePipeOp,
    AivInitializePipeOp,
    _queue("reserve_buffer", "`reserve_buffer {...} -> i32`: bytes set aside for a queue.", _RESERVED, result=True),
    _queue(
        "import_reserved_buffer", "`import_reserved_buffer {...} -> i32`: the peer's buffer.", _IMPORTED, result=True
    ),
    _queue("talloc_to_aiv", "`talloc_to_aiv {...} -> T`: a free entry towards vector.", _AT, result=True),
    _queue("talloc_to_aic", "`talloc_to_aic {...} -> T`: a free entry towards cube.", _AT, result=True),
    _queue("tpush_to_aiv", "`tpush_to_aiv(%t : T) {...}`: sends a tile to vector.", _AT, counts=(1, 1)),
    _queue("tpush_to_aic", "`tpush_to_aic(%t : T) {...}`: sends a tile to cube.", _AT, counts=(1, 1)),
    _queue("tpop_from_aic", "`tpop_from_aic {...} -> T`: takes cube's next tile.", _AT, result=True, extents=True),
    _queue("tpop_from_aiv", "`tpop_from_aiv {...} -> T`: takes vector's next tile.", _AT, result=True, extents=True),
    _queue("tfree_from_aic", "`tfree_from_aic {...}`: gives the entry back to cube.", _AT, counts=(0, 1)),
    _queue("tfree_from_aiv", "`tfree_from_aiv {...}`: gives the entry back to vector.", _AT, counts=(0, 1)),
    _queue(
        "set_quant_scalar",
        "`set_quant_scalar(%s : f32) {id = 0}`: the scale of what is pushed.",
        (_ID,),
        counts=(1, 1),
    ),
    _queue(
        "set_quant_vector",
        "`set_quant_vector(%t : T) {id = 0}`: the scales of what is pushed.",
        (_ID,),
        counts=(1, 1),
    ),
    _queue(
        "initialize_l2g2l_pipe",
        "`initialize_l2g2l_pipe {...}(%gm : T, ...) -> !pto.pipe`: a queue through global memory.",
        (*_ENDS, Field("local_slot_num", "i32"), Field("flag_base", "i32"), *_NOSPLIT),
        counts=(1, 3),
        result=True,
        braces_first=True,
    ),
    _queue(
        "initialize_l2l_pipe",
        "`initialize_l2l_pipe {...}(%b : i32, ...) -> !pto.pipe`: a queue through on-chip memory.",
        (*_ENDS, Field("flag_base", "i32"), *_NOSPLIT),
        counts=(1, 2),
        result=True,
        braces_first=True,
    ),
    _queue("tpush", "`tpush(%t, %p : T, !pto.pipe) {...}`: sends a tile.", _SPLIT, counts=(2, 2)),
    _queue("tpop", "`tpop(%t, %p : T, !pto.pipe) {...}`: takes the next tile.", _SPLIT, counts=(2, 2)),
    _queue("talloc", "`talloc(%t, %p : T, !pto.pipe) {...}`: a free entry.", _SPLIT, counts=(2, 2)),
    _queue("tfree", "`tfree(%p : !pto.pipe) {...}`: gives the entry back.", _SPLIT, counts=(1, 2)),
    _queue("declare_tile", "`declare_tile -> T`: a tile that a queue will fill.", result=True),
    _queue("declare_global", "`declare_global -> T`: a tensor view that a queue will fill.", result=True),
]
