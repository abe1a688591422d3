"""Ops of the `pto` dialect that make tiles, or say where a tile lies."""

from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import I64, IndexType, IntegerType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.table.checks import known_valid
from pto_buf.dialect.table.geometry import check_address, check_tile
from pto_buf.dialect.table.row import TableError
from pto_buf.dialect.tile_op import constant_of, target_of
from pto_buf.dialect.types import MultiTileBufType, TileBufType
from pto_buf.hw import Space
from pto_buf.tile import TileSpec


class _AllocOp(IRDLOperation):
    """`addr = %a valid_row = %r valid_col = %c : T`, each where the op has it."""

    addr = opt_operand_def(I64)
    valid_row = opt_operand_def(IndexType)
    valid_col = opt_operand_def(IndexType)

    traits = traits_def(MemoryAllocEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands, attributes = _parse_alloc(parser)
        return cls.build(operands=operands, result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_alloc(printer, self)
        printer.print_attribute(self.results[0].type)


@irdl_op_definition
class AllocTileOp(_AllocOp):
    """`alloc_tile addr = %a valid_row = %r valid_col = %c : T`: a tile at a byte address of its space."""

    name = "pto.alloc_tile"

    tile = result_def(TileBufType)

    def verify_(self) -> None:
        _verify_alloc(self, self.tile.type.data)


@irdl_op_definition
class AllocMultiTileOp(_AllocOp):
    """`alloc_multi_tile addr = %a : M`: several equal tiles, one behind the other (v0.49)."""

    name = "pto.alloc_multi_tile"

    tiles = result_def(MultiTileBufType)

    def verify_(self) -> None:
        tile = self.tiles.type.data.tile
        _verify_alloc(self, tile)
        if tile.compact == 2:
            raise VerifyException("slots with compact=2 are larger than their shape and would overlap")


@irdl_op_definition
class MultiTileGetOp(IRDLOperation):
    """`multi_tile_get %m[%slot] : M -> T`: one of the tiles (v0.49)."""

    name = "pto.multi_tile_get"

    source = operand_def(MultiTileBufType)
    slot = operand_def(IndexType)
    tile = result_def(TileBufType)

    traits = traits_def(NoMemoryEffect())
    assembly_format = "$source `[` $slot `]` attr-dict `:` type($source) `->` type($tile)"

    def verify_(self) -> None:
        spec = cast(MultiTileBufType, self.source.type).data
        if self.tile.type.data != spec.tile:
            raise VerifyException(f"yields {self.tile.type}, the slots hold {TileBufType(spec.tile)}")
        slot = constant_of(self.slot)
        if slot is not None and not 0 <= slot < spec.count:
            raise VerifyException(f"slot {slot} is outside [0, {spec.count})")


def _parse_alloc(parser: Parser) -> tuple[list[list[SSAValue]], dict[str, Attribute]]:
    """`addr = %a valid_row = %r valid_col = %c {...} :`."""
    found: list[list[SSAValue]] = []
    for keyword, type in (("addr", IntegerType(64)), ("valid_row", IndexType()), ("valid_col", IndexType())):
        values: list[SSAValue] = []
        if parser.parse_optional_keyword(keyword):
            parser.parse_punctuation("=")
            values.append(parser.resolve_operand(parser.parse_unresolved_operand(), type))
        found.append(values)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    return found, attributes


def _print_alloc(printer: Printer, op: _AllocOp) -> None:
    for keyword, value in (("addr", op.addr), ("valid_row", op.valid_row), ("valid_col", op.valid_col)):
        if value is not None:
            printer.print_string(f" {keyword} = ")
            printer.print_ssa_value(value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")


def _verify_alloc(op: _AllocOp, tile: TileSpec) -> None:
    for name, extent, value in zip(("row", "col"), tile.valid, (op.valid_row, op.valid_col), strict=True):
        if (extent is None) != (value is not None):
            raise VerifyException(f"valid_{name} stands exactly where the type's valid extent is '?'")
    target = target_of(op)
    try:
        check_tile(tile, target)
        address = constant_of(op.addr) if op.addr is not None else None
        if address is not None:
            count = op.tiles.type.data.count if isinstance(op, AllocMultiTileOp) else 1
            check_address(tile, address, count, target)
    except TableError as error:
        raise VerifyException(error.message) from None


@irdl_op_definition
class GetScaleAddrOp(IRDLOperation):
    """`tget_scale_addr ins(%a : A) outs(%s : S)`: the scale tile is put where the scales of the operand lie (a5)."""

    name = "pto.tget_scale_addr"

    source = operand_def(TileBufType)
    scale = operand_def(TileBufType)

    traits = traits_def(MemoryAllocEffect())
    assembly_format = "`ins` `(` $source `:` type($source) `)` `outs` `(` $scale `:` type($scale) `)` attr-dict"

    def verify_(self) -> None:
        source, scale = cast(TileBufType, self.source.type).data, cast(TileBufType, self.scale.type).data
        if target_of(self).name != "a5":
            raise VerifyException("exists on a5 only")
        if source.space not in (Space.LEFT, Space.RIGHT) or scale.space is not Space.SCALING:
            raise VerifyException(f"takes left or right and scaling, found {source.space} and {scale.space}")
        rows, cols = known_valid(source)
        wanted = (rows, -(-cols // 32)) if source.space is Space.LEFT else (-(-rows // 32), cols)
        if known_valid(scale) != wanted:
            found = "x".join(map(str, known_valid(scale)))
            raise VerifyException(f"the scales are {found}, must be {wanted[0]}x{wanted[1]}: one for 32 elements")


@irdl_op_definition
class AssignOp(IRDLOperation):
    """`tassign %t, %addr : T -> T`: the tile moves to another address, under its old name too."""

    name = "pto.tassign"

    source = operand_def(TileBufType)
    addr = operand_def(I64)
    tile = result_def(TileBufType)

    traits = traits_def(MemoryAllocEffect())
    assembly_format = "$source `,` $addr attr-dict `:` type($source) `->` type($tile)"

    HELP: ClassVar[str] = "an alloc_tile at a computed address does not change what other names mean"

    def verify_(self) -> None:
        if self.source.type != self.tile.type:
            raise VerifyException(f"yields {self.tile.type}, must be {self.source.type}")


PLACING_OPS = [AllocTileOp, AllocMultiTileOp, MultiTileGetOp, GetScaleAddrOp, AssignOp]
