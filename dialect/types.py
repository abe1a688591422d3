"""Types of the `pto` and `ptobuf` dialects. Each wraps a plain specification, so that reasoning needs no IR."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from pto_buf.dialect.table.row import ViewSpec
from pto_buf.hw import MAX_SLOTS, Pipe, Space
from pto_buf.tile import DTYPE_BITS, BLayout, SLayout, TileSpec

_E = TypeVar("_E", bound=StrEnum)


def dtype_name(element: Attribute) -> str:
    """The table's name of an element type. Raises KeyError for a type that no tile can hold."""
    name = str(element).removeprefix("!pto.")
    if name not in DTYPE_BITS:
        raise KeyError(name)
    return name


def _extent(size: int) -> int | None:
    return None if size == DYNAMIC_INDEX else size


def _shape_text(shape: Iterable[int | None]) -> str:
    return "x".join("?" if size is None else str(size) for size in shape)


def _dtype_text(dtype: str) -> str:
    return dtype if dtype[0] in "isufb" and "x2" not in dtype and not dtype.startswith("f8E8") else f"!pto.{dtype}"


def _parse_shaped(parser: AttrParser) -> tuple[list[int | None], str]:
    pos = parser.pos
    shape, element = parser.parse_ranked_shape()
    try:
        return [_extent(size) for size in shape], dtype_name(element)
    except KeyError:
        parser.raise_error(f"'{element}' is no element type of a tile or tensor", pos)


def _parse_enum(parser: AttrParser, enum: type[_E]) -> _E:
    pos = parser.pos
    word = parser.parse_identifier()
    try:
        return enum(word)
    except ValueError:
        parser.raise_error(f"'{word}' is none of {', '.join(enum)}", pos)


# --- pto ---------------------------------------------------------------------------------------------------------


@irdl_attr_definition
class TileBufType(Data[TileSpec], TypeAttribute):
    """`!pto.tile_buf<vec, 16x128xf32, valid=10x?, blayout=row_major, ...>`: a tile in on-chip memory."""

    name = "pto.tile_buf"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TileSpec:
        with parser.in_angle_brackets():
            return parse_tile(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{tile_text(self.data)}>")


def parse_tile(parser: AttrParser) -> TileSpec:
    """The short spelling, without its brackets; keys in any order, each at most once."""
    pos = parser.pos
    space = _parse_enum(parser, Space)
    parser.parse_punctuation(",")
    shape, dtype = _parse_shaped(parser)
    if len(shape) != 2 or shape[0] is None or shape[1] is None or min(shape[0], shape[1]) < 1:
        parser.raise_error(f"a tile has two static extents of at least 1, found {_shape_text(shape)}", pos)
    rows, cols = shape[0], shape[1]
    valid: list[int | None] = [rows, cols]
    blayout, slayout, numbers = BLayout.ROW_MAJOR, SLayout.NONE_BOX, {"fractal": 512, "pad": 0, "compact": 0}
    seen: dict[str, None] = {}
    while parser.parse_optional_punctuation(","):
        key_pos = parser.pos
        key = parser.parse_identifier()
        if key in seen:
            parser.raise_error(f"'{key}' is given twice", key_pos)
        seen[key] = None
        parser.parse_punctuation("=")
        if key == "valid":
            valid = [_extent(size) for size in parser.parse_dimension_list()]
        elif key == "blayout":
            blayout = _parse_enum(parser, BLayout)
        elif key == "slayout":
            slayout = _parse_enum(parser, SLayout)
        elif key in numbers:
            numbers[key] = parser.parse_integer(allow_boolean=False, allow_negative=False)
        else:
            parser.raise_error(f"'{key}' is no key of a tile; there are valid, blayout, slayout, fractal, pad", key_pos)
    if len(valid) != 2 or any(v is not None and v > s for v, s in zip(valid, (rows, cols), strict=True)):
        parser.raise_error(f"valid extent {_shape_text(valid)} must lie within {rows}x{cols}", pos)
    return TileSpec(space, rows, cols, dtype, valid[0], valid[1], blayout, slayout, **numbers)


def tile_text(tile: TileSpec) -> str:
    """Short spelling: layouts always, the rest where it is not the default."""
    parts = [tile.space.value, f"{tile.rows}x{tile.cols}x{_dtype_text(tile.dtype)}"]
    if tile.valid != tile.shape:
        parts.append(f"valid={_shape_text(tile.valid)}")
    parts += [f"blayout={tile.blayout}", f"slayout={tile.slayout}"]
    parts += [
        f"{key}={value}"
        for key, value, usual in (("fractal", tile.fractal, 512), ("pad", tile.pad, 0), ("compact", tile.compact, 0))
        if value != usual
    ]
    return ", ".join(parts)


@dataclass(frozen=True)
class PtrSpec:
    dtype: str
    space: Space = Space.GM


@irdl_attr_definition
class PtrType(Data[PtrSpec], TypeAttribute):
    """`!pto.ptr<f16>`: a pointer to global memory, or to the named space."""

    name = "pto.ptr"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> PtrSpec:
        with parser.in_angle_brackets():
            pos = parser.pos
            element = parser.parse_type()
            try:
                dtype = dtype_name(element)
            except KeyError:
                parser.raise_error(f"'{element}' is no element type of a pointer", pos)
            space = _parse_enum(parser, Space) if parser.parse_optional_punctuation(",") else Space.GM
            return PtrSpec(dtype, space)

    def print_parameter(self, printer: Printer) -> None:
        where = "" if self.data.space is Space.GM else f", {self.data.space}"
        printer.print_string(f"<{_dtype_text(self.data.dtype)}{where}>")


class _ViewType(Data[ViewSpec], TypeAttribute):
    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ViewSpec:
        with parser.in_angle_brackets():
            pos = parser.pos
            shape, dtype = _parse_shaped(parser)
            if not 1 <= len(shape) <= 5:
                parser.raise_error(f"a view has 1 to 5 dimensions, found {len(shape)}", pos)
            return ViewSpec(tuple(shape), dtype)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{_shape_text(self.data.shape)}x{_dtype_text(self.data.dtype)}>")


@irdl_attr_definition
class TensorViewType(_ViewType):
    """`!pto.tensor_view<?x?xf16>`: a global tensor with strides."""

    name = "pto.tensor_view"


@irdl_attr_definition
class PartitionViewType(_ViewType):
    """`!pto.partition_tensor_view<16x32xf16>`: a window of a global tensor."""

    name = "pto.partition_tensor_view"


# --- ptobuf ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SlotSetSpec:
    """`count` equal slots, each holding one `tile`."""

    count: int
    tile: TileSpec


@irdl_attr_definition
class SlotSetType(Data[SlotSetSpec], TypeAttribute):
    """`!ptobuf.slots<2, vec, 16x128xf32, ...>`: a slot set. Not a tile: `slot_select` names one of its slots."""

    name = "ptobuf.slots"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SlotSetSpec:
        with parser.in_angle_brackets():
            pos = parser.pos
            count = parser.parse_integer(allow_boolean=False, allow_negative=True)
            if not 1 <= count <= MAX_SLOTS:
                parser.raise_error(f"a slot set has 1 to {MAX_SLOTS} slots, found {count}", pos)
            parser.parse_punctuation(",")
            return SlotSetSpec(count, parse_tile(parser))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.count}, {tile_text(self.data.tile)}>")


@irdl_attr_definition
class SlotType(Data[TileSpec], TypeAttribute):
    """`!ptobuf.slot<vec, 16x128xf32, ...>`: one slot. Not a tile: into-ops write it, `release` ends its lease."""

    name = "ptobuf.slot"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TileSpec:
        with parser.in_angle_brackets():
            return parse_tile(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{tile_text(self.data)}>")


@dataclass(frozen=True)
class EventSpec:
    """`lanes` flags from pipe `src` to pipe `dst`, one for each slot that they guard."""

    src: Pipe
    dst: Pipe
    lanes: int


@irdl_attr_definition
class EventType(Data[EventSpec], TypeAttribute):
    """`!ptobuf.event<MTE2 -> MTE1, 2>`: a set of flags, one lane for each slot."""

    name = "ptobuf.event"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> EventSpec:
        with parser.in_angle_brackets():
            src = _parse_enum(parser, Pipe)
            parser.parse_punctuation("->")
            dst = _parse_enum(parser, Pipe)
            parser.parse_punctuation(",")
            pos = parser.pos
            lanes = parser.parse_integer(allow_boolean=False, allow_negative=True)
            if not 1 <= lanes <= MAX_SLOTS:
                parser.raise_error(f"an event has 1 to {MAX_SLOTS} lanes, found {lanes}", pos)
            return EventSpec(src, dst, lanes)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.src} -> {self.data.dst}, {self.data.lanes}>")


def tile_of(type: Attribute) -> TileSpec | None:
    """The tile that a value of this type holds: a tile itself or a slot; None for everything else."""
    return type.data if isinstance(type, (TileBufType, SlotType)) else None
