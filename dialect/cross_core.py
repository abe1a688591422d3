"""Ops of the `pto` dialect that order cores, and those that order memory seen by several cores."""

from typing import Self

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

from pto_buf.dialect.attributes import WORD_ATTRS, PipeAttr, WordAttr
from pto_buf.dialect.syntax import parse_group, parse_short, print_group
from pto_buf.dialect.tile_op import target_of
from pto_buf.dialect.types import PartitionViewType, PtrType, TensorViewType
from pto_buf.hw import CORE_SIGNALS, Space

_WITHIN_BLOCK = 2
"""The `ffts_mode` of signals within a block; the others are for cores of several blocks."""


class CoreSignalOp(IRDLOperation):
    """A signal between cores on one pipe, its id a number or an index value."""

    pipe = prop_def(PipeAttr)
    event_id = opt_prop_def(IntegerAttr[IntegerType])
    event_id_dyn = opt_operand_def(IndexType)
    ffts_mode = opt_prop_def(IntegerAttr[IntegerType])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"pipe": parse_short(parser, PipeAttr)}
        operands: list[SSAValue] = []
        parser.parse_punctuation(",")
        if (name := parser.parse_optional_unresolved_operand()) is not None:
            operands.append(parser.resolve_operand(name, IndexType()))
        else:
            properties["event_id"] = IntegerAttr(parser.parse_integer(allow_boolean=False), 32)
        attributes = parser.parse_optional_attr_dict()
        if "ffts_mode" in attributes:
            properties["ffts_mode"] = attributes.pop("ffts_mode")
        return cls.create(operands=operands, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" <{self.pipe.data.pto}>, ")
        if self.event_id is not None:
            printer.print_string(str(self.event_id.value.data))
        elif self.event_id_dyn is not None:
            printer.print_ssa_value(self.event_id_dyn)
        mode = {} if self.ffts_mode is None else {"ffts_mode": self.ffts_mode}
        printer.print_op_attributes({**mode, **self.attributes})

    @property
    def mode_to_others(self) -> int | None:
        """Its mode if that is one for several blocks."""
        mode = _WITHIN_BLOCK if self.ffts_mode is None else self.ffts_mode.value.data
        return None if mode == _WITHIN_BLOCK else mode

    def verify_(self) -> None:
        if (self.event_id is None) == (self.event_id_dyn is None):
            raise VerifyException("names its signal by a number or by an index value, one of them")
        signals = CORE_SIGNALS[target_of(self).name]
        if self.event_id is not None and not 0 <= self.event_id.value.data < signals:
            raise VerifyException(f"signal {self.event_id.value.data} is outside [0, {signals})")
        if self.ffts_mode is not None and not 0 <= self.ffts_mode.value.data <= 2:
            raise VerifyException(f"ffts_mode {self.ffts_mode.value.data} is outside 0 to 2")


@irdl_op_definition
class SyncSetOp(CoreSignalOp):
    """`sync.set <PIPE_FIX>, 3`: tells the other cores of the block that the earlier work of the pipe is done."""

    name = "pto.sync.set"


@irdl_op_definition
class SyncWaitOp(CoreSignalOp):
    """`sync.wait <PIPE_MTE2>, 3`: waits for another core's `sync.set`."""

    name = "pto.sync.wait"


@irdl_op_definition
class SetIntraBlockOp(CoreSignalOp):
    """`set_intra_block <PIPE_FIX>, 3`: a signal within the block (v0.60)."""

    name = "pto.set_intra_block"


@irdl_op_definition
class WaitIntraBlockOp(CoreSignalOp):
    """`wait_intra_block <PIPE_V>, 3` (v0.60)."""

    name = "pto.wait_intra_block"


@irdl_op_definition
class SetCrossBlockOp(CoreSignalOp):
    """`set_cross_block <PIPE_FIX>, 3`: a signal to other blocks (v0.60)."""

    name = "pto.set_cross_block"


@irdl_op_definition
class WaitCrossBlockOp(CoreSignalOp):
    """`wait_cross_block <PIPE_MTE2>, 3` (v0.60)."""

    name = "pto.wait_cross_block"


@irdl_op_definition
class SetFftsOp(IRDLOperation):
    """`set_ffts %base : T`: where the a2a3 signals live; a memref up to v0.55, a pointer from v0.56 on."""

    name = "pto.set_ffts"

    base = operand_def()

    assembly_format = "$base attr-dict `:` type($base)"

    def verify_(self) -> None:
        type = self.base.type
        if isinstance(type, PtrType):
            if type.data.dtype not in ("i64", "i8"):
                raise VerifyException(f"takes a pointer to i64 or i8, found {type}")
        elif type.name != "memref":
            raise VerifyException(f"takes a memref<256xi64> or a !pto.ptr<i64>, found {type}")


@irdl_op_definition
class SyncAllOp(IRDLOperation):
    """`syncall() mode = #pto.sync_all_mode<hard>, core_type = #pto.sync_core_type<mix>`: all cores meet."""

    name = "pto.syncall"

    workspaces = var_operand_def()
    mode = prop_def(WordAttr)
    core_type = prop_def(WordAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        values = parse_group(parser)
        parser.parse_keyword("mode")
        parser.parse_punctuation("=")
        mode = parse_short(parser, WORD_ATTRS["sync_all_mode"])
        parser.parse_punctuation(",")
        parser.parse_keyword("core_type")
        parser.parse_punctuation("=")
        core_type = parse_short(parser, WORD_ATTRS["sync_core_type"])
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=values, properties={"mode": mode, "core_type": core_type}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_group(printer, tuple(self.workspaces))
        printer.print_string(" mode = ")
        printer.print_attribute(self.mode)
        printer.print_string(", core_type = ")
        printer.print_attribute(self.core_type)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        if self.mode.data == "hard":
            if self.workspaces:
                raise VerifyException("hard mode takes no workspace")
            return
        if not 1 <= len(self.workspaces) <= 4:
            raise VerifyException(f"soft mode takes a workspace in global memory, not {len(self.workspaces)} operands")
        first = self.workspaces[0].type
        in_gm = isinstance(first, (TensorViewType, PartitionViewType)) or (
            isinstance(first, PtrType) and first.data.space is Space.GM
        )
        if not in_gm and first.name != "memref":
            raise VerifyException(f"the workspace must be in global memory, found {first}")
        if self.core_type.data == "mix" and len(self.workspaces) == 1 and not isinstance(first, PtrType):
            return
        dtype = first.data.dtype if isinstance(first, (PtrType, TensorViewType, PartitionViewType)) else "i32"
        if dtype != "i32":
            raise VerifyException(f"the workspace must hold i32, found {first}")


@irdl_op_definition
class FenceBarrierAllOp(IRDLOperation):
    """`fence.barrier_all #pto.fence_scope<gm>`: earlier accesses are done before later ones start."""

    name = "pto.fence.barrier_all"

    scope = prop_def(WordAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        scope = parse_short(parser, WORD_ATTRS["fence_scope"])
        return cls.create(properties={"scope": scope}, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.scope)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class CacheInvalidOp(IRDLOperation):
    """`cmo.cacheinvalid %p single_cache_line : T` or `cmo.cacheinvalid all #pto.address_space<gm>`."""

    name = "pto.cmo.cacheinvalid"

    addr = opt_operand_def()
    space = opt_prop_def(WordAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if parser.parse_optional_keyword("all"):
            space = parse_short(parser, WORD_ATTRS["address_space"])
            return cls.create(properties={"space": space}, attributes=parser.parse_optional_attr_dict())
        name = parser.parse_unresolved_operand()
        parser.parse_keyword("single_cache_line")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(operands=[parser.resolve_operand(name, parser.parse_type())], attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.addr is None:
            printer.print_string(" all ")
            if self.space is not None:
                printer.print_attribute(self.space)
            printer.print_op_attributes(self.attributes)
            return
        printer.print_string(" ")
        printer.print_ssa_value(self.addr)
        printer.print_string(" single_cache_line")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.addr.type)

    def verify_(self) -> None:
        if (self.addr is None) == (self.space is None):
            raise VerifyException("invalidates one cache line or a whole space, one of them")
        if self.space is not None and self.space.data != "gm":
            raise VerifyException(f"only gm is cached, found {self.space.data}")
        if self.addr is not None and isinstance(self.addr.type, PtrType) and self.addr.type.data.space is not Space.GM:
            raise VerifyException(f"only gm is cached, found {self.addr.type}")


CROSS_CORE_OPS = [
    SyncSetOp,
    SyncWaitOp,
    SetIntraBlockOp,
    WaitIntraBlockOp,
    SetCrossBlockOp,
    WaitCrossBlockOp,
    SetFftsOp,
    SyncAllOp,
    FenceBarrierAllOp,
    CacheInvalidOp,
]
