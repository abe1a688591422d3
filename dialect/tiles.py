"""Ops of the `pto` dialect that make tiles, and views of tiles; none of them moves data."""

from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import I64, ArrayAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
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
from pto_buf.tile import DTYPE_BITS, TileSpec, box_of


@irdl_op_definition
class AllocTileOp(IRDLOperation):
    """`alloc_tile addr = %a valid_row = %r valid_col = %c : T`: a tile at a byte address of its space."""

    name = "pto.alloc_tile"

    addr = opt_operand_def(I64)
    valid_row = opt_operand_def(IndexType)
    valid_col = opt_operand_def(IndexType)
    tile = result_def(TileBufType)

    traits = traits_def(MemoryAllocEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands, attributes = _parse_alloc(parser)
        return cls.build(operands=operands, result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_alloc(printer, self)
        printer.print_attribute(self.tile.type)

    def verify_(self) -> None:
        _verify_alloc(self, self.tile.type.data)


@irdl_op_definition
class AllocMultiTileOp(IRDLOperation):
    """`alloc_multi_tile addr = %a : M`: several equal tiles, one behind the other (v0.49)."""

    name = "pto.alloc_multi_tile"

    addr = opt_operand_def(I64)
    valid_row = opt_operand_def(IndexType)
    valid_col = opt_operand_def(IndexType)
    tiles = result_def(MultiTileBufType)

    traits = traits_def(MemoryAllocEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands, attributes = _parse_alloc(parser)
        return cls.build(operands=operands, result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_alloc(printer, self)
        printer.print_attribute(self.tiles.type)

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


def _print_alloc(printer: Printer, op: AllocTileOp | AllocMultiTileOp) -> None:
    for keyword, value in (("addr", op.addr), ("valid_row", op.valid_row), ("valid_col", op.valid_col)):
        if value is not None:
            printer.print_string(f" {keyword} = ")
            printer.print_ssa_value(value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")


def _verify_alloc(op: AllocTileOp | AllocMultiTileOp, tile: TileSpec) -> None:
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


class TileViewOp(IRDLOperation):
    """A tile that is another one seen differently: same bytes or some of them, nothing is moved."""

    traits = traits_def(NoMemoryEffect())

    @property
    def viewed(self) -> SSAValue:
        """The tile that is looked at."""
        return self.operands[0]

    @property
    def view(self) -> SSAValue:
        """The tile as it is seen."""
        return self.results[0]

    def _specs(self) -> tuple[TileSpec, TileSpec]:
        source, view = self.viewed.type, self.view.type
        assert isinstance(source, TileBufType) and isinstance(view, TileBufType)
        return source.data, view.data


def _bytes(tile: TileSpec) -> int:
    return tile.rows * tile.cols * DTYPE_BITS[tile.dtype]


@irdl_op_definition
class SubviewOp(TileViewOp):
    """`subview %t[%r, %c] sizes [16, 64] valid [%vr, %vc] : T -> S`: a window of a tile."""

    name = "pto.subview"

    source = operand_def(TileBufType)
    offsets = var_operand_def(IndexType)
    valid = var_operand_def(IndexType)
    sizes = prop_def(ArrayAttr[IntegerAttr])
    tile = result_def(TileBufType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        offsets = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_keyword("sizes")
        sizes = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
        )
        valid = []
        if parser.parse_optional_keyword("valid"):
            valid = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pos = parser.pos
        outer = parser.parse_type()
        if not isinstance(outer, TileBufType):
            parser.raise_error(f"expected a !pto.tile_buf, found {outer}", pos)
        windows = [parser.resolve_operand(name, IndexType()) for name in offsets]
        extents = [parser.resolve_operand(name, IndexType()) for name in valid]
        if parser.parse_optional_punctuation("->"):
            inner = parser.parse_type()
        else:
            if len(sizes) != 2 or min(sizes) < 1:
                parser.raise_error("a window has two sizes of at least 1", pos)
            known = [constant_of(value) for value in extents] or sizes
            inner = TileBufType(outer.data.window(sizes[0], sizes[1]).with_valid(known[0], known[1]))
        return cls.build(
            operands=[parser.resolve_operand(source, outer), windows, extents],
            result_types=[inner],
            properties={"sizes": ArrayAttr([IntegerAttr(size, 64) for size in sizes])},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        _print_values(printer, "", tuple(self.offsets))
        sizes = ", ".join(str(size.value.data) for size in self.sizes)
        printer.print_string(f" sizes [{sizes}]")
        if self.valid:
            _print_values(printer, " valid ", tuple(self.valid))
        printer.print_op_attributes(self.attributes)
        _print_types(printer, self)

    def verify_(self) -> None:
        source, view = self._specs()
        sizes = tuple(size.value.data for size in self.sizes)
        if len(sizes) != 2 or len(self.offsets) != 2 or len(self.valid) not in (0, 2):
            raise VerifyException("a window has two offsets, two sizes and no or two valid extents")
        if view.shape != sizes:
            raise VerifyException(f"yields {view.rows}x{view.cols}, its sizes are {sizes[0]}x{sizes[1]}")
        if source.window(*sizes).with_valid(*view.valid) != view:
            raise VerifyException(f"yields {self.tile.type}; only shape and valid extent may differ")
        self._verify_bounds(source, sizes)
        self._verify_valid(view)

    def _verify_bounds(self, source: TileSpec, sizes: tuple[int, ...]) -> None:
        box = box_of(source)
        for axis, name in enumerate(("row", "col")):
            size, extent, step = sizes[axis], source.shape[axis], box[axis]
            start = constant_of(self.offsets[axis])
            if start is not None and not 0 <= start <= extent - size:
                raise VerifyException(f"window {name}s [{start}, {start + size}) leave the source's {extent}")
            if size > extent:
                raise VerifyException(f"a window of {size} {name}s does not fit a source of {extent}")
            if size % step or (start is not None and start % step):
                raise VerifyException(
                    f"window of {size} {name}s at {'?' if start is None else start}: boxes of {step} cannot be cut"
                )

    def _verify_valid(self, view: TileSpec) -> None:
        for name, extent, value in zip(("row", "col"), view.valid, self.valid or (None, None), strict=True):
            if value is None:
                if extent is None:
                    raise VerifyException(f"its valid {name} extent is '?' and valid [..] does not give it")
                continue
            known = constant_of(value)
            if extent is not None and known != extent:
                found = "only known at run time" if known is None else known
                raise VerifyException(f"its valid {name} extent is {extent}, valid [..] says {found}")


@irdl_op_definition
class ReshapeOp(TileViewOp):
    """`treshape %t : T -> S`: the same bytes in another shape."""

    name = "pto.treshape"

    source = operand_def(TileBufType)
    tile = result_def(TileBufType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($tile)"

    def verify_(self) -> None:
        source, view = self._specs()
        if source.space is not view.space:
            raise VerifyException(f"sees a tile in {source.space} as one in {view.space}")
        if _bytes(source) != _bytes(view):
            raise VerifyException(f"sees {_bytes(source) // 8} bytes as {_bytes(view) // 8}; they must be equal")
        if source.boxed != view.boxed:
            raise VerifyException(f"sees slayout {source.slayout} as {view.slayout}; boxes cannot be made or unmade")


@irdl_op_definition
class BitcastOp(TileViewOp):
    """`bitcast %t : T -> S`: the same bytes with another element type."""

    name = "pto.bitcast"

    source = operand_def(TileBufType)
    tile = result_def(TileBufType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($tile)"

    def verify_(self) -> None:
        source, view = self._specs()
        if source.dtype == view.dtype:
            raise VerifyException(f"sees {source.dtype} as {view.dtype}; they must differ (treshape changes the shape)")
        if source.retyped(view.dtype) != view:
            raise VerifyException(f"yields {self.tile.type}; only the element type may differ")
        if _bytes(view) > _bytes(source):
            raise VerifyException(f"sees {_bytes(source) // 8} bytes as {_bytes(view) // 8}; they cannot grow")


@irdl_op_definition
class SetValidShapeOp(IRDLOperation):
    """`set_validshape %t, %r, %c : T`: from here on this much of the tile is valid."""

    name = "pto.set_validshape"

    source = operand_def(TileBufType)
    valid_row = operand_def(IndexType)
    valid_col = operand_def(IndexType)

    assembly_format = "$source `,` $valid_row `,` $valid_col attr-dict `:` type($source)"

    def verify_(self) -> None:
        tile = cast(TileBufType, self.source.type).data
        if None not in tile.valid:
            raise VerifyException(f"valid extent {tile.v_rows}x{tile.v_cols} is fixed by the type; it must have a '?'")
        if not isinstance(self.source.owner, Operation):
            raise VerifyException("the tile must be made in this function")
        for name, extent, value in (("row", tile.rows, self.valid_row), ("col", tile.cols, self.valid_col)):
            known = constant_of(value)
            if known is not None and not 0 <= known <= extent:
                raise VerifyException(f"valid {name} extent {known} must lie within 0 to {extent}")


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


def _print_values(printer: Printer, before: str, values: tuple[SSAValue, ...]) -> None:
    printer.print_string(f"{before}[")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string("]")


def _print_types(printer: Printer, op: TileViewOp) -> None:
    printer.print_string(" : ")
    printer.print_attribute(op.viewed.type)
    printer.print_string(" -> ")
    printer.print_attribute(op.view.type)


TILE_VIEW_OPS = [
    AllocMultiTileOp,
    MultiTileGetOp,
    GetScaleAddrOp,
    SubviewOp,
    ReshapeOp,
    BitcastOp,
    SetValidShapeOp,
    AssignOp,
]
