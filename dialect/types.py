"""Types of the `pto` and `ptobuf` dialects. Each wraps a plain specification, so that reasoning needs no IR."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from pto_buf.dialect.table.row import ViewSpec
from pto_buf.dialect.tile_text import (
    dtype_text,
    parse_dtype,
    parse_enum,
    parse_shaped,
    parse_tile,
    shape_text,
    tile_text,
)
from pto_buf.hw import MAX_SLOTS, Pipe, Space
from pto_buf.tile import TileSpec

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


_SPACE_ALIASES: Mapping[str, Space] = {
    "l1": Space.MAT,
    "l0a": Space.LEFT,
    "l0b": Space.RIGHT,
    "l0c": Space.ACC,
    "ub": Space.VEC,
    "bt": Space.BIAS,
    "fb": Space.SCALING,
}
"""Other names of the spaces, for pointers only."""


@dataclass(frozen=True)
class PtrSpec:
    """What a pointer points to."""

    dtype: str
    space: Space = Space.GM


@irdl_attr_definition
class PtrType(Data[PtrSpec], TypeAttribute):
    """`!pto.ptr<f16>`: a pointer to global memory, or to the named space."""

    name = "pto.ptr"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> PtrSpec:
        with parser.in_angle_brackets():
            dtype = parse_dtype(parser, "pointer")
            if not parser.parse_optional_punctuation(","):
                return PtrSpec(dtype)
            return PtrSpec(dtype, parse_enum(parser, Space, _SPACE_ALIASES))

    def print_parameter(self, printer: Printer) -> None:
        where = "" if self.data.space is Space.GM else f", {self.data.space}"
        printer.print_string(f"<{dtype_text(self.data.dtype)}{where}>")


class _ViewType(Data[ViewSpec], TypeAttribute):
    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ViewSpec:
        with parser.in_angle_brackets():
            pos = parser.pos
            shape, dtype = parse_shaped(parser, "tensor")
            if not 1 <= len(shape) <= 5:
                parser.raise_error(f"a view has 1 to 5 dimensions, found {len(shape)}", pos)
            return ViewSpec(tuple(shape), dtype)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{shape_text(self.data.shape)}x{dtype_text(self.data.dtype)}>")


@irdl_attr_definition
class TensorViewType(_ViewType):
    """`!pto.tensor_view<?x?xf16>`: a global tensor with strides."""

    name = "pto.tensor_view"


@irdl_attr_definition
class PartitionViewType(_ViewType):
    """`!pto.partition_tensor_view<16x32xf16>`: a window of a global tensor."""

    name = "pto.partition_tensor_view"


@dataclass(frozen=True)
class MultiTileSpec:
    """`count` slots, each holding one `tile`, as the assembler has them from v0.49 on."""

    count: int
    tile: TileSpec


@irdl_attr_definition
class MultiTileBufType(Data[MultiTileSpec], TypeAttribute):
    """`!pto.multi_tile_buf<!pto.tile_buf<...>, count=2>`, or with the tile's own spelling in its place."""

    name = "pto.multi_tile_buf"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MultiTileSpec:
        with parser.in_angle_brackets():
            pos = parser.pos
            inner = parser.parse_optional_type()
            counts: list[int] = []
            if inner is None:
                tile = parse_tile(parser, counts)
            elif isinstance(inner, TileBufType):
                tile = inner.data
            else:
                parser.raise_error(f"expected a !pto.tile_buf, found {inner}", pos)
            if not counts:
                parser.parse_punctuation(",")
                parser.parse_keyword("count")
                parser.parse_punctuation("=")
                counts.append(parser.parse_integer(allow_boolean=False, allow_negative=False))
            if not 2 <= counts[0] <= MAX_SLOTS:
                parser.raise_error(f"count {counts[0]} must lie within 2 to {MAX_SLOTS}", pos)
            return MultiTileSpec(counts[0], tile)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<!pto.tile_buf<{tile_text(self.data.tile)}>, count={self.data.count}>")


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
            src = parse_enum(parser, Pipe)
            parser.parse_punctuation("->")
            dst = parse_enum(parser, Pipe)
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
    # By class, which is final: `isinstance` takes ten times as long to say no.
    return cast(TileBufType | SlotType, type).data if type.__class__ in _TILES else None


_TILES = (TileBufType, SlotType)
