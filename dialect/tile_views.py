"""Ops of the `pto` dialect that see a tile differently, or tell how much of it is valid; none of them moves data."""

from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.tile_op import constant_of
from pto_buf.dialect.types import TileBufType
from pto_buf.tile import DTYPE_BITS, TileSpec, box_of


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


def _print_values(printer: Printer, before: str, values: tuple[SSAValue, ...]) -> None:
    printer.print_string(f"{before}[")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string("]")


def _print_types(printer: Printer, op: TileViewOp) -> None:
    printer.print_string(" : ")
    printer.print_attribute(op.viewed.type)
    printer.print_string(" -> ")
    printer.print_attribute(op.view.type)


VIEW_OPS = [SubviewOp, ReshapeOp, BitcastOp, SetValidShapeOp]
