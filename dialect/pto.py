"""The `pto` dialect at tile level, as the assembler `ptoas` takes it. Tile ops are made from the op table."""

from collections.abc import Mapping
from typing import Self

from xdsl.ir import Dialect
from xdsl.parser import Parser
from xdsl.printer import Printer

from pto_buf.dialect.attributes import WORD_ATTRS, EventIdAttr, KernelKindAttr, PipeAttr
from pto_buf.dialect.gm import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.kernel import KERNEL_OPS
from pto_buf.dialect.sync import BarrierOp, SetFlagDynOp, SetFlagOp, WaitFlagDynOp, WaitFlagOp
from pto_buf.dialect.table import variants
from pto_buf.dialect.tile_op import TileOp, define
from pto_buf.dialect.tiles import TILE_VIEW_OPS, AllocTileOp
from pto_buf.dialect.types import PartitionViewType, PtrType, TensorViewType, TileBufType


class PtoTileOp(TileOp):
    """A tile op of the `pto` dialect."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ins, outs, attributes = cls.parse_groups(parser)
        return cls.build(operands=[ins, outs], attributes=attributes)

    def print(self, printer: Printer) -> None:
        self.print_groups(printer)


TILE_OPS: Mapping[str, type[TileOp]] = {
    mnemonic: define(PtoTileOp, f"pto.{mnemonic}", rows) for mnemonic, rows in variants().items()
}

PTO = Dialect(
    "pto",
    [
        MakeTensorViewOp,
        PartitionViewOp,
        AllocTileOp,
        *TILE_VIEW_OPS,
        *KERNEL_OPS,
        *TILE_OPS.values(),
        SetFlagOp,
        WaitFlagOp,
        SetFlagDynOp,
        WaitFlagDynOp,
        BarrierOp,
    ],
    [
        TileBufType,
        PtrType,
        TensorViewType,
        PartitionViewType,
        PipeAttr,
        EventIdAttr,
        KernelKindAttr,
        *WORD_ATTRS.values(),
    ],
)

__all__ = [
    "PTO",
    "TILE_OPS",
    "AllocTileOp",
    "BarrierOp",
    "EventIdAttr",
    "KernelKindAttr",
    "MakeTensorViewOp",
    "PartitionViewOp",
    "PipeAttr",
    "PtoTileOp",
    "SetFlagDynOp",
    "SetFlagOp",
    "WaitFlagDynOp",
    "WaitFlagOp",
]
