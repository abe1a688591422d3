"""Ops under names that older versions of the assembler have for them.

They are read as the ops that they are today. Only to write for an old version is one put in an op's place.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Self, cast

from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.table import ROWS
from pto_buf.dialect.table.row import OldSpelling, Operand, OpRow
from pto_buf.dialect.tile_op import TileOp, define


class OldSpellingOp(TileOp):
    """An op under a former name, all inputs spelt in one go."""

    OLD: ClassVar[OldSpelling]
    MODERN: ClassVar[type[TileOp]]

    @classmethod
    def spelt_ins(cls, row: OpRow) -> tuple[Operand, ...]:
        known = {operand.name: operand for operand in row.ins}
        return tuple(replace(known[name], keyword=None, apart=False, optional=False) for name in cls.OLD.order)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ins, outs, attributes = cls.parse_groups(parser)
        order = cls.OLD.order
        if len(ins) != len(order):
            parser.raise_error(f"takes {len(order)} inputs ({', '.join(order)}), found {len(ins)}")
        named = dict(zip(order, ins, strict=True))
        inputs = [named[operand.name] for operand in cls.ROWS[0].ins if operand.name in named]
        # The parser takes whatever op this yields.
        return cast(Self, cls.MODERN.build(operands=[inputs, outs], attributes=attributes))

    @classmethod
    def of(cls, op: TileOp) -> Self:
        """`op`, spelt so."""
        named = {operand.name: value for operand, value in op.named_operands()}
        ins = [named[name] for name in cls.OLD.order]
        return cls.build(operands=[ins, list(op.outs)], attributes=op.attributes)

    def print(self, printer: Printer) -> None:
        self.print_groups(printer)

    def verify_(self) -> None:
        raise VerifyException(f"is the old name of {self.MODERN.name}; it is read in its own text, not in generic form")


def old_spellings(ops: Mapping[str, type[TileOp]]) -> Mapping[str, type[OldSpellingOp]]:
    """A class for each old name; `ops` are today's by their names in the table."""
    found: dict[str, type[OldSpellingOp]] = {}
    for row in ROWS:
        for old in row.old:
            made = cast(type[OldSpellingOp], define(OldSpellingOp, f"pto.{old.mnemonic}", (row,)))
            made.OLD, made.MODERN = old, ops[row.mnemonic]
            found[old.mnemonic] = made
    return found
