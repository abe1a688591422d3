"""Ops of the `pto` dialect that order the pipes of one core."""

from collections.abc import Hashable, Mapping
from functools import cache
from typing import ClassVar, Self

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.attributes import WORD_ATTRS, EventIdAttr, PipeAttr, WordAttr
from pto_buf.dialect.groups import VerifiedBySignature, fill
from pto_buf.dialect.syntax import parse_group, parse_short, print_group
from pto_buf.dialect.table.vocabulary import PIPE_OF_CLASS
from pto_buf.hw import BUFFER_IDS, Pipe

EVENT_CLASS = WORD_ATTRS["pipe_event_type"]
SYNC_CLASS = WORD_ATTRS["sync_op_type"]


def parse_pipe(parser: Parser) -> PipeAttr:
    """`#pto.pipe<PIPE_V>`, `<PIPE_V>` or `"PIPE_V"`."""
    pos = parser.pos
    word = parser.parse_optional_str_literal()
    return parse_short(parser, PipeAttr) if word is None else PipeAttr(PipeAttr.of_word(parser, word, pos))


def parse_event(parser: Parser) -> EventIdAttr:
    """`#pto.event<EVENT_ID0>`, `<EVENT_ID0>` or `"EVENT_ID0"`."""
    pos = parser.pos
    word = parser.parse_optional_str_literal()
    return parse_short(parser, EventIdAttr) if word is None else EventIdAttr(EventIdAttr.of_word(parser, word, pos))


class _Flag(IRDLOperation, VerifiedBySignature):
    """A flag is (source pipe, destination pipe, id); set and wait of one flag alternate."""

    src = prop_def(PipeAttr)
    dst = prop_def(PipeAttr)

    @property
    def pipes(self) -> str:
        """Both pipes, as they are written."""
        return f"<{self.src.data.pto}>, <{self.dst.data.pto}>"


@cache
def _flag(src: Pipe, dst: Pipe, event: int) -> Mapping[str, Attribute]:
    return {"src": PipeAttr(src), "dst": PipeAttr(dst), "event": EventIdAttr(event)}


class _StaticFlag(_Flag):
    event = prop_def(EventIdAttr)

    def __init__(self, src: Pipe, dst: Pipe, event: int):
        fill(self, properties=_flag(src, dst, event))

    def signature(self) -> Hashable:
        """The kinds of its properties: it has no operands and no results."""
        return type(self), tuple(self.properties), tuple(map(type, self.properties.values())), tuple(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("[")
        src = parse_pipe(parser)
        parser.parse_punctuation(",")
        dst = parse_pipe(parser)
        parser.parse_punctuation(",")
        event = parse_event(parser)
        parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties={"src": src, "dst": dst, "event": event}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(f"[{self.pipes}, <EVENT_ID{self.event.data}>]")
        printer.print_op_attributes(self.attributes)


class _DynamicFlag(_Flag):
    event = operand_def(IndexType)

    def __init__(self, src: Pipe, dst: Pipe, event: SSAValue):
        super().__init__(operands=[event], properties={"src": PipeAttr(src), "dst": PipeAttr(dst)})

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("[")
        src = parse_short(parser, PipeAttr)
        parser.parse_punctuation(",")
        dst = parse_short(parser, PipeAttr)
        parser.parse_punctuation(",")
        event = parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
        parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=[event], properties={"src": src, "dst": dst}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(f"[{self.pipes}, ")
        printer.print_ssa_value(self.event)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class SetFlagOp(_StaticFlag):
    """`set_flag[<PIPE_A>, <PIPE_B>, <EVENT_ID0>]`: fires when all earlier work of the source pipe is done."""

    name = "pto.set_flag"


@irdl_op_definition
class WaitFlagOp(_StaticFlag):
    """`wait_flag[<PIPE_A>, <PIPE_B>, <EVENT_ID0>]`: holds the destination pipe until the flag is set; clears it."""

    name = "pto.wait_flag"


@irdl_op_definition
class SetFlagDynOp(_DynamicFlag):
    """`set_flag_dyn[<PIPE_A>, <PIPE_B>, %id]`."""

    name = "pto.set_flag_dyn"


@irdl_op_definition
class WaitFlagDynOp(_DynamicFlag):
    """`wait_flag_dyn[<PIPE_A>, <PIPE_B>, %id]`."""

    name = "pto.wait_flag_dyn"


@irdl_op_definition
class BarrierOp(IRDLOperation, VerifiedBySignature):
    """`barrier #pto.pipe<PIPE_V>`: the pipe finishes what it holds before it goes on; PIPE_ALL drains all."""

    name = "pto.barrier"

    pipe = prop_def(PipeAttr)

    def __init__(self, pipe: Pipe):
        super().__init__(properties={"pipe": PipeAttr(pipe)})

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pipe = parse_short(parser, PipeAttr)
        return cls.create(properties={"pipe": pipe}, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.pipe)
        printer.print_op_attributes(self.attributes)


class _ClassEvent(IRDLOperation):
    """A flag named by the classes of the ops at its two ends; the assembler makes a plain flag of it."""

    src_op = prop_def(WordAttr)
    dst_op = prop_def(WordAttr)
    event = prop_def(EventIdAttr)

    @property
    def pipes(self) -> tuple[Pipe, Pipe]:
        """The source and the destination pipe."""
        return PIPE_OF_CLASS[self.src_op.data], PIPE_OF_CLASS[self.dst_op.data]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("[")
        src = _parse_class(parser)
        parser.parse_punctuation(",")
        dst = _parse_class(parser)
        parser.parse_punctuation(",")
        event = parse_short(parser, EventIdAttr)
        parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties={"src_op": src, "dst_op": dst, "event": event}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string("[")
        printer.print_list((self.src_op, self.dst_op, self.event), printer.print_attribute)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)


def _parse_class(parser: Parser) -> WordAttr:
    pos = parser.pos
    found = parser.parse_attribute()
    if not isinstance(found, (EVENT_CLASS, SYNC_CLASS)):
        parser.raise_error(f"expected #pto.pipe_event_type<...>, found {found}", pos)
    return found


@irdl_op_definition
class RecordEventOp(_ClassEvent):
    """`record_event[#pto.pipe_event_type<TLOAD>, #pto.pipe_event_type<TVEC>, #pto.event<EVENT_ID0>]`: a set_flag."""

    name = "pto.record_event"


@irdl_op_definition
class WaitEventOp(_ClassEvent):
    """`wait_event[...]`: a wait_flag."""

    name = "pto.wait_event"


@irdl_op_definition
class BarrierSyncOp(IRDLOperation):
    """`barrier_sync[<TMATMUL>]`: a barrier on the pipe of this class of ops."""

    name = "pto.barrier_sync"

    op_type = prop_def(WordAttr)

    @property
    def pipe(self) -> Pipe:
        """The pipe that is drained."""
        return PIPE_OF_CLASS[self.op_type.data]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("[")
        op_type = parse_short(parser, SYNC_CLASS)
        parser.parse_punctuation("]")
        return cls.create(properties={"op_type": op_type}, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(f"[<{self.op_type.data}>]")
        printer.print_op_attributes(self.attributes)


class _Buffer(IRDLOperation):
    """A lock that pipes take in program order; the first taker passes at once."""

    op_type = prop_def(PipeAttr | WordAttr)
    buf_id = opt_prop_def(IntegerAttr[IntegerType])
    buf_id_dyn = opt_operand_def(IndexType)
    mode = opt_prop_def(IntegerAttr[IntegerType])

    DYNAMIC: ClassVar[bool] = False

    @property
    def pipe(self) -> Pipe:
        """The pipe that takes or gives back the lock."""
        return self.op_type.data if isinstance(self.op_type, PipeAttr) else PIPE_OF_CLASS[self.op_type.data]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        bracketed = parser.parse_optional_punctuation("[") is not None
        pos = parser.pos
        word = parser.parse_optional_str_literal()
        if word is not None:
            op_type: Attribute = PipeAttr(PipeAttr.of_word(parser, word, pos))
        else:
            op_type = parser.parse_optional_attribute() or PipeAttr(PipeAttr.parse_parameter(parser))
        properties: dict[str, Attribute] = {"op_type": op_type}
        operands: list[SSAValue] = []
        parser.parse_punctuation(",")
        if (name := parser.parse_optional_unresolved_operand()) is not None:
            operands.append(parser.resolve_operand(name, IndexType()))
        else:
            properties["buf_id"] = _parse_i32(parser)
        if parser.parse_optional_punctuation(","):
            properties["mode"] = _parse_i32(parser)
        if bracketed:
            parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        if "mode" in attributes:
            properties["mode"] = attributes.pop("mode")
        return cls.create(operands=operands, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" [")
        printer.print_attribute(self.op_type)
        printer.print_string(", ")
        if self.buf_id is not None:
            printer.print_string(str(self.buf_id.value.data))
        elif self.buf_id_dyn is not None:
            printer.print_ssa_value(self.buf_id_dyn)
        if self.mode is not None:
            printer.print_string(f", {self.mode.value.data}")
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        if (self.buf_id is None) == (self.buf_id_dyn is None):
            raise VerifyException("names its buffer by a number or by an index value, one of them")
        if isinstance(self.op_type, WordAttr) and not isinstance(self.op_type, (EVENT_CLASS, SYNC_CLASS)):
            raise VerifyException(f"is on a pipe or a #pto.pipe_event_type<...>, found {self.op_type}")
        if self.buf_id is not None and not 0 <= self.buf_id.value.data < BUFFER_IDS:
            raise VerifyException(f"buffer id {self.buf_id.value.data} is outside [0, {BUFFER_IDS})")
        if self.mode is not None and self.mode.value.data != 0:
            raise VerifyException(f"mode {self.mode.value.data}; only 0 is known")


def _parse_i32(parser: Parser) -> IntegerAttr[IntegerType]:
    value = parser.parse_integer(allow_boolean=False)
    if parser.parse_optional_punctuation(":"):
        parser.parse_type()
    return IntegerAttr(value, 32)


@irdl_op_definition
class GetBufOp(_Buffer):
    """`get_buf [#pto.pipe_event_type<TVEC>, 0]`: the pipe takes the lock of this buffer id (a5)."""

    name = "pto.get_buf"


@irdl_op_definition
class RlsBufOp(_Buffer):
    """`rls_buf [#pto.pipe_event_type<TVEC>, 0]`: the pipe gives the lock back when its earlier work is done (a5)."""

    name = "pto.rls_buf"


@irdl_op_definition
class GetBufDynOp(_Buffer):
    """`get_buf_dyn [#pto.pipe_event_type<TVEC>, %id]`."""

    name = "pto.get_buf_dyn"


@irdl_op_definition
class RlsBufDynOp(_Buffer):
    """`rls_buf_dyn [#pto.pipe_event_type<TVEC>, %id]`."""

    name = "pto.rls_buf_dyn"


@irdl_op_definition
class TSyncOp(IRDLOperation):
    """`tsync ins(%a, %b : A, B)`: waits for what was done to these."""

    name = "pto.tsync"

    events = var_operand_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("ins")
        values = parse_group(parser)
        return cls.create(operands=values, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ins")
        print_group(printer, tuple(self.events))
        printer.print_op_attributes(self.attributes)


SYNC_OPS = [
    SetFlagOp,
    WaitFlagOp,
    SetFlagDynOp,
    WaitFlagDynOp,
    BarrierOp,
    RecordEventOp,
    WaitEventOp,
    BarrierSyncOp,
    GetBufOp,
    RlsBufOp,
    GetBufDynOp,
    RlsBufDynOp,
    TSyncOp,
]
