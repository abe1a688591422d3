"""Ops of the `pto` dialect that order pipes and cores."""

from typing import Self

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from pto_buf.dialect.attributes import EventIdAttr, PipeAttr
from pto_buf.hw import Pipe


class _Flag(IRDLOperation):
    """A flag is (source pipe, destination pipe, id); set and wait of one flag alternate."""

    src = prop_def(PipeAttr)
    dst = prop_def(PipeAttr)


class _StaticFlag(_Flag):
    event = prop_def(EventIdAttr)

    assembly_format = "`[` $src `,` $dst `,` $event `]` attr-dict"

    def __init__(self, src: Pipe, dst: Pipe, event: int):
        super().__init__(properties={"src": PipeAttr(src), "dst": PipeAttr(dst), "event": EventIdAttr(event)})


class _DynamicFlag(_Flag):
    event = operand_def(IndexType)

    assembly_format = "`[` $src `,` $dst `,` $event `]` attr-dict"

    def __init__(self, src: Pipe, dst: Pipe, event: SSAValue):
        super().__init__(operands=[event], properties={"src": PipeAttr(src), "dst": PipeAttr(dst)})


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
class BarrierOp(IRDLOperation):
    """`barrier #pto.pipe<PIPE_V>`: the pipe finishes what it holds before it goes on; PIPE_ALL drains all."""

    name = "pto.barrier"

    pipe = prop_def(PipeAttr)

    def __init__(self, pipe: Pipe):
        super().__init__(properties={"pipe": PipeAttr(pipe)})

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attr = parser.parse_optional_attribute()
        if attr is None:
            attr = PipeAttr(PipeAttr.parse_parameter(parser))
        op = cls.create(properties={"pipe": attr})
        op.attributes = parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.pipe)
        printer.print_op_attributes(self.attributes)
