"""The `pto` dialect at tile level, as the assembler `ptoas` takes it. Tile ops are made from the op table."""

from collections.abc import Mapping
from typing import Self, cast

from xdsl.dialects.builtin import I64, IndexType, IntegerType
from xdsl.ir import Data, Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, Pure
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.table import ROWS
from pto_buf.dialect.tile_op import TileOp, define
from pto_buf.dialect.types import (
    PartitionViewType,
    PtrSpec,
    PtrType,
    TensorViewType,
    TileBufType,
)
from pto_buf.hw import EVENT_IDS, Core, Pipe

# --- attributes ------------------------------------------------------------------------------------------------


def _parse_word(parser: AttrParser, allowed: Mapping[str, object]) -> str:
    pos = parser.pos
    word = parser.parse_identifier()
    if word not in allowed:
        parser.raise_error(f"'{word}' is none of {', '.join(allowed)}", pos)
    return word


_PIPES = {pipe.pto: pipe for pipe in Pipe}
_EVENTS = {f"EVENT_ID{number}": number for number in range(EVENT_IDS)}
_CORES = {core.value: core for core in Core}


@irdl_attr_definition
class PipeAttr(Data[Pipe]):
    """`#pto.pipe<PIPE_MTE2>`."""

    name = "pto.pipe"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Pipe:
        with parser.in_angle_brackets():
            return _PIPES[_parse_word(parser, _PIPES)]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.pto}>")


@irdl_attr_definition
class EventIdAttr(Data[int]):
    """`#pto.event<EVENT_ID0>`."""

    name = "pto.event"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> int:
        with parser.in_angle_brackets():
            return _EVENTS[_parse_word(parser, _EVENTS)]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<EVENT_ID{self.data}>")


@irdl_attr_definition
class KernelKindAttr(Data[Core]):
    """`#pto.kernel_kind<cube>`."""

    name = "pto.kernel_kind"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Core:
        with parser.in_angle_brackets():
            return _CORES[_parse_word(parser, _CORES)]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


# --- global memory -----------------------------------------------------------------------------------------------


def _parse_indices(parser: Parser) -> list[SSAValue]:
    names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
    return [parser.resolve_operand(name, IndexType()) for name in names]


def _print_indices(printer: Printer, values: tuple[SSAValue, ...]) -> None:
    printer.print_string("[")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string("]")


@irdl_op_definition
class MakeTensorViewOp(IRDLOperation):
    """`make_tensor_view %p, shape = [..], strides = [..] : T`: a global tensor; strides in elements."""

    name = "pto.make_tensor_view"

    ptr = operand_def(PtrType)
    shape = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    view = result_def(TensorViewType)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("shape")
        parser.parse_punctuation("=")
        shape = _parse_indices(parser)
        parser.parse_punctuation(",")
        parser.parse_keyword("strides")
        parser.parse_punctuation("=")
        strides = _parse_indices(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pos = parser.pos
        view = parser.parse_type()
        if not isinstance(view, TensorViewType):
            parser.raise_error(f"expected a !pto.tensor_view, found {view}", pos)
        pointer = parser.resolve_operand(ptr, PtrType(PtrSpec(view.data.dtype)))
        return cls.build(operands=[pointer, shape, strides], result_types=[view], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.ptr)
        printer.print_string(", shape = ")
        _print_indices(printer, tuple(self.shape))
        printer.print_string(", strides = ")
        _print_indices(printer, tuple(self.strides))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.view.type)

    def verify_(self) -> None:
        rank = len(self.view.type.data.shape)
        if (len(self.shape), len(self.strides)) != (rank, rank):
            raise VerifyException(
                f"a view of rank {rank} has {rank} extents and strides, found {len(self.shape)} and {len(self.strides)}"
            )
        pointer, view = cast(PtrType, self.ptr.type).data, self.view.type.data
        if pointer.dtype != view.dtype:
            raise VerifyException(f"views {pointer.dtype} elements as {view.dtype}; they must be equal")


@irdl_op_definition
class PartitionViewOp(IRDLOperation):
    """`partition_view %v, offsets = [..], sizes = [..] : T -> P`: a window of a global tensor."""

    name = "pto.partition_view"

    source = operand_def(TensorViewType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    view = result_def(PartitionViewType)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("offsets")
        parser.parse_punctuation("=")
        offsets = _parse_indices(parser)
        parser.parse_punctuation(",")
        parser.parse_keyword("sizes")
        parser.parse_punctuation("=")
        sizes = _parse_indices(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        tensor = parser.parse_type()
        parser.parse_punctuation("->")
        view = parser.parse_type()
        return cls.build(
            operands=[parser.resolve_operand(source, tensor), offsets, sizes],
            result_types=[view],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(", offsets = ")
        _print_indices(printer, tuple(self.offsets))
        printer.print_string(", sizes = ")
        _print_indices(printer, tuple(self.sizes))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.view.type)

    def verify_(self) -> None:
        rank = len(cast(TensorViewType, self.source.type).data.shape)
        if (len(self.offsets), len(self.sizes)) != (rank, rank):
            raise VerifyException(
                f"a view of rank {rank} has {rank} offsets and sizes, found {len(self.offsets)} and {len(self.sizes)}"
            )


# --- tiles -------------------------------------------------------------------------------------------------------


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
        found: list[list[SSAValue]] = []
        for keyword, type in (("addr", IntegerType(64)), ("valid_row", IndexType()), ("valid_col", IndexType())):
            values: list[SSAValue] = []
            if parser.parse_optional_keyword(keyword):
                parser.parse_punctuation("=")
                values.append(parser.resolve_operand(parser.parse_unresolved_operand(), type))
            found.append(values)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.build(operands=found, result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        for keyword, value in (("addr", self.addr), ("valid_row", self.valid_row), ("valid_col", self.valid_col)):
            if value is not None:
                printer.print_string(f" {keyword} = ")
                printer.print_ssa_value(value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.tile.type)

    def verify_(self) -> None:
        for name, extent, value in zip(
            ("row", "col"), self.tile.type.data.valid, (self.valid_row, self.valid_col), strict=True
        ):
            if (extent is None) != (value is not None):
                raise VerifyException(f"valid_{name} stands exactly where the type's valid extent is '?'")


class PtoTileOp(TileOp):
    """A tile op of the `pto` dialect."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ins, outs, attributes = cls.parse_groups(parser)
        return cls.build(operands=[ins, outs], attributes=attributes)

    def print(self, printer: Printer) -> None:
        self.print_groups(printer)


TILE_OPS: Mapping[str, type[TileOp]] = {row.mnemonic: define(PtoTileOp, f"pto.{row.mnemonic}", row) for row in ROWS}

# --- synchronisation ---------------------------------------------------------------------------------------------


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


PTO = Dialect(
    "pto",
    [
        MakeTensorViewOp,
        PartitionViewOp,
        AllocTileOp,
        *TILE_OPS.values(),
        SetFlagOp,
        WaitFlagOp,
        SetFlagDynOp,
        WaitFlagDynOp,
        BarrierOp,
    ],
    [TileBufType, PtrType, TensorViewType, PartitionViewType, PipeAttr, EventIdAttr, KernelKindAttr],
)
