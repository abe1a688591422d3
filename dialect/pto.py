"""The `pto` dialect at tile level, as the assembler `ptoas` takes it. Tile ops are made from the op table."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Dialect, Region, SSAValue
from xdsl.irdl import result_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.attributes import WORD_ATTRS, EventIdAttr, KernelKindAttr, PipeAttr
from pto_buf.dialect.comm import COMM_OPS
from pto_buf.dialect.cross_core import CROSS_CORE_OPS
from pto_buf.dialect.generic_form import own_form
from pto_buf.dialect.gm import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.groups import build
from pto_buf.dialect.kernel import KERNEL_OPS
from pto_buf.dialect.old_spellings import old_spellings
from pto_buf.dialect.opaque_types import OPAQUE_TYPES
from pto_buf.dialect.pipes import PIPE_OPS
from pto_buf.dialect.pointers import POINTER_OPS
from pto_buf.dialect.queue_op import AccPushEpilogueAttr
from pto_buf.dialect.scalars import SCALAR_OPS
from pto_buf.dialect.sync import SYNC_OPS, BarrierOp, SetFlagDynOp, SetFlagOp, WaitFlagDynOp, WaitFlagOp
from pto_buf.dialect.table import variants
from pto_buf.dialect.table.vocabulary import OLDEST
from pto_buf.dialect.tile_op import TileOp, define, target_of
from pto_buf.dialect.tile_views import VIEW_OPS
from pto_buf.dialect.tiles import PLACING_OPS, AllocTileOp
from pto_buf.dialect.types import MultiTileBufType, PartitionViewType, PtrType, TensorViewType, TileBufType, tile_of
from pto_buf.tile import TileSpec


class PtoTileOp(TileOp):
    """A tile op of the `pto` dialect."""

    def signature(self) -> Hashable:
        found = super().signature()
        return found if found is None or self.row.scratch is None else (found, self._is_placed())

    def verify_(self) -> None:
        super().verify_()
        if self.row.scratch_since == OLDEST and (wanted := self.missing_scratch()) is not None:
            raise VerifyException(f"works in a scratch tile and has none; give it one like {TileBufType(wanted)}")

    def missing_scratch(self) -> TileSpec | None:
        """The scratch tile that the op has to be given where the program gives addresses, if it has none."""
        row, target = self.row, target_of(self)
        if row.scratch is None or row.scratch_optional or target.name != "a2a3" or not self._is_placed():
            return None
        use = self.use(target)
        return None if "tmp" in use.operands else row.scratch(use)

    def _is_placed(self) -> bool:
        """Whether the program gives addresses: then nobody else will make a scratch tile."""
        owners = (value.owner for value in self.operands)
        return any(isinstance(owner, AllocTileOp) and owner.addr is not None for owner in owners)

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        """As any op's, but operands and attributes may also be given as in the assembler's own generic form."""
        operands, properties, attributes = own_form(cls.ROWS, operands, properties or {}, attributes or {})
        return super().create(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
            location=location,
            successors=successors,
            regions=regions,
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ins, outs, attributes = cls.parse_groups(parser)
        return build(cls, [ins, outs], (), attributes)

    def print(self, printer: Printer) -> None:
        self.print_groups(printer)


class GetValOp(PtoTileOp):
    """`%x = tgetval ins(%t, %i : T, index) outs : f32`: one element, on the scalar unit."""

    ins = var_operand_def()
    outs = var_operand_def()
    value = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("ins")
        ins, _ = cls.parse_group(parser)
        parser.parse_keyword("outs")
        parser.parse_punctuation(":")
        value = parser.parse_type()
        return cls.build(operands=[ins, []], result_types=[value], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ins(")
        printer.print_list(self.ins, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list(self.ins, lambda value: printer.print_attribute(value.type))
        printer.print_string(") outs : ")
        printer.print_attribute(self.value.type)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        super().verify_()
        tile = tile_of(self.ins[0].type)
        if tile is not None and str(self.value.type).removeprefix("!pto.") != tile.dtype:
            raise VerifyException(f"yields {self.value.type}, the tile holds {tile.dtype}")


TILE_OPS: Mapping[str, type[TileOp]] = {
    mnemonic: define(GetValOp if mnemonic == "tgetval" else PtoTileOp, f"pto.{mnemonic}", rows)
    for mnemonic, rows in variants().items()
}

OLD_SPELLINGS = old_spellings(TILE_OPS)

PTO = Dialect(
    "pto",
    [
        MakeTensorViewOp,
        PartitionViewOp,
        *PLACING_OPS,
        *VIEW_OPS,
        *KERNEL_OPS,
        *TILE_OPS.values(),
        *OLD_SPELLINGS.values(),
        *SYNC_OPS,
        *CROSS_CORE_OPS,
        *POINTER_OPS,
        *SCALAR_OPS,
        *PIPE_OPS,
        *COMM_OPS,
    ],
    [
        TileBufType,
        PtrType,
        TensorViewType,
        PartitionViewType,
        PipeAttr,
        EventIdAttr,
        KernelKindAttr,
        AccPushEpilogueAttr,
        MultiTileBufType,
        *OPAQUE_TYPES,
        *WORD_ATTRS.values(),
    ],
)

__all__ = [
    "OLD_SPELLINGS",
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
