"""Ops of the `pto` dialect that say where in a kernel we are: sections of one core kind, and block numbers."""

from typing import Self

from xdsl.dialects.builtin import I64, i64
from xdsl.ir import Block, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, region_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, Pure


class SectionOp(IRDLOperation):
    """`section.cube { ... }`: the part of a mixed kernel that one kind of core runs."""

    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, body: Region):
        super().__init__(regions=[body])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        op = cls(body)
        op.attributes = parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class SectionCubeOp(SectionOp):
    """`section.cube { ... }`."""

    name = "pto.section.cube"


@irdl_op_definition
class SectionVectorOp(SectionOp):
    """`section.vector { ... }`."""

    name = "pto.section.vector"


class BlockQueryOp(IRDLOperation):
    """`%b = get_block_idx`: a number that the launch gives to this core."""

    value = result_def(I64)

    traits = traits_def(Pure())
    assembly_format = "attr-dict"

    def __init__(self):
        super().__init__(result_types=[i64])


@irdl_op_definition
class GetBlockIdxOp(BlockQueryOp):
    """`get_block_idx`: the number of this block."""

    name = "pto.get_block_idx"


@irdl_op_definition
class GetBlockNumOp(BlockQueryOp):
    """`get_block_num`: how many blocks there are."""

    name = "pto.get_block_num"


@irdl_op_definition
class GetSubBlockIdxOp(BlockQueryOp):
    """`get_subblock_idx`: which vector core of its block this is."""

    name = "pto.get_subblock_idx"


@irdl_op_definition
class GetSubBlockNumOp(BlockQueryOp):
    """`get_subblock_num`: how many vector cores a block has."""

    name = "pto.get_subblock_num"


KERNEL_OPS = [SectionCubeOp, SectionVectorOp, GetBlockIdxOp, GetBlockNumOp, GetSubBlockIdxOp, GetSubBlockNumOp]
