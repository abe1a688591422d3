"""Ops of the `pto` dialect that pass tiles between cores through queues, and the buffers that the queues lie in."""

from typing import ClassVar, Self

from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, irdl_op_definition, opt_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from pto_buf.dialect.queue_op import other_attributes, parse_one, print_one, queue, verify_fields
from pto_buf.dialect.queue_rules import verify_core, verify_slot_counts
from pto_buf.dialect.syntax import Field, parse_fields, print_fields

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
            found[name] = parse_one(parser, parser.parse_unresolved_operand())

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
        printer.print_op_attributes(other_attributes(self, self.FIELDS))

    def verify_(self) -> None:
        verify_fields(self, self.FIELDS)
        verify_core(self)
        verify_slot_counts(self)


def _print_named(printer: Printer, entry: tuple[str, SSAValue]) -> None:
    printer.print_string(f"{entry[0]} = ")
    print_one(printer, entry[1])


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
    queue("reserve_buffer", "`reserve_buffer {...} -> i32`: bytes set aside for a queue.", _RESERVED, result=True),
    queue(
        "import_reserved_buffer", "`import_reserved_buffer {...} -> i32`: the peer's buffer.", _IMPORTED, result=True
    ),
    queue("talloc_to_aiv", "`talloc_to_aiv {...} -> T`: a free entry towards vector.", _AT, result=True),
    queue("talloc_to_aic", "`talloc_to_aic {...} -> T`: a free entry towards cube.", _AT, result=True),
    queue("tpush_to_aiv", "`tpush_to_aiv(%t : T) {...}`: sends a tile to vector.", _AT, counts=(1, 1)),
    queue("tpush_to_aic", "`tpush_to_aic(%t : T) {...}`: sends a tile to cube.", _AT, counts=(1, 1)),
    queue("tpop_from_aic", "`tpop_from_aic {...} -> T`: takes cube's next tile.", _AT, result=True, extents=True),
    queue("tpop_from_aiv", "`tpop_from_aiv {...} -> T`: takes vector's next tile.", _AT, result=True, extents=True),
    queue("tfree_from_aic", "`tfree_from_aic {...}`: gives the entry back to cube.", _AT, counts=(0, 1)),
    queue("tfree_from_aiv", "`tfree_from_aiv {...}`: gives the entry back to vector.", _AT, counts=(0, 1)),
    queue(
        "set_quant_scalar",
        "`set_quant_scalar(%s : f32) {id = 0}`: the scale of what is pushed.",
        (_ID,),
        counts=(1, 1),
    ),
    queue(
        "set_quant_vector",
        "`set_quant_vector(%t : T) {id = 0}`: the scales of what is pushed.",
        (_ID,),
        counts=(1, 1),
    ),
    queue(
        "initialize_l2g2l_pipe",
        "`initialize_l2g2l_pipe {...}(%gm : T, ...) -> !pto.pipe`: a queue through global memory.",
        (*_ENDS, Field("local_slot_num", "i32"), Field("flag_base", "i32"), *_NOSPLIT),
        counts=(1, 3),
        result=True,
        braces_first=True,
    ),
    queue(
        "initialize_l2l_pipe",
        "`initialize_l2l_pipe {...}(%b : i32, ...) -> !pto.pipe`: a queue through on-chip memory.",
        (*_ENDS, Field("flag_base", "i32"), *_NOSPLIT),
        counts=(1, 2),
        result=True,
        braces_first=True,
    ),
    queue("tpush", "`tpush(%t, %p : T, !pto.pipe) {...}`: sends a tile.", _SPLIT, counts=(2, 2)),
    queue("tpop", "`tpop(%t, %p : T, !pto.pipe) {...}`: takes the next tile.", _SPLIT, counts=(2, 2)),
    queue("talloc", "`talloc(%t, %p : T, !pto.pipe) {...}`: a free entry.", _SPLIT, counts=(2, 2)),
    queue("tfree", "`tfree(%p : !pto.pipe) {...}`: gives the entry back.", _SPLIT, counts=(1, 2)),
    queue("declare_tile", "`declare_tile -> T`: a tile that a queue will fill.", result=True),
    queue("declare_global", "`declare_global -> T`: a tensor view that a queue will fill.", result=True),
]
