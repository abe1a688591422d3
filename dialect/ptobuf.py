"""The `ptobuf` dialect: slot sets, slots, the ops that write into them, and the events that order them."""

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Self, cast

from xdsl.dialects.builtin import I64, ArrayAttr, DenseArrayBase, IndexType, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, MemoryWriteEffect, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.groups import VerifiedBySignature, fill
from pto_buf.dialect.slot_op import ElementOp, IntoManyOp, IntoOp, StoreOp
from pto_buf.dialect.table import ROWS, rows_by_mnemonic
from pto_buf.dialect.table.geometry import check_tile
from pto_buf.dialect.table.row import Kind, TableError
from pto_buf.dialect.tile_op import TileOp, constant_of, define, target_of
from pto_buf.dialect.types import EventSpec, EventType, SlotSetSpec, SlotSetType, SlotType, TileBufType
from pto_buf.hw import Pipe
from pto_buf.tile import TileSpec

_INDEX = IndexType()


class _NamedOp(IRDLOperation):
    """An op that makes one thing under a name: `op "name" {...} : T`. Its name is its first property."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name, *others = cls.get_irdl_definition().properties
        properties: dict[str, Attribute] = {name: StringAttr(parser.parse_str_literal())}
        attributes = parser.parse_optional_attr_dict()
        properties |= {other: attributes.pop(other) for other in others if other in attributes}
        parser.parse_punctuation(":")
        return cls.build(properties=properties, attributes=attributes, result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        name = next(iter(self.get_irdl_definition().properties))
        printer.print_string(" ")
        printer.print_attribute(self.properties[name])
        rest = {other: attr for other, attr in self.properties.items() if other != name}
        printer.print_op_attributes({**rest, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)


@irdl_op_definition
class AllocSlotsOp(_NamedOp):
    """`alloc_slots "name" {...} : !ptobuf.slots<N, ...>`: N equal buffers of one space under one identity.

    `owned` marks a set that the compiler made for a plain tile. `addr` is the first slot's byte address, given by
    the user (pinned) or by the memory plan; `share` names sets of the user's that may have the same bytes.
    """

    name = "ptobuf.alloc_slots"

    set_name = prop_def(StringAttr)
    owned = opt_prop_def(UnitAttr)
    addr = opt_prop_def(IntegerAttr[I64])
    share = opt_prop_def(ArrayAttr[StringAttr])
    slots = result_def(SlotSetType)

    traits = traits_def(MemoryAllocEffect())

    def __init__(self, name: str, count: int, tile: TileSpec, *, owned: bool = False, addr: int | None = None):
        properties: dict[str, Attribute] = {"set_name": StringAttr(name)}
        if owned:
            properties["owned"] = UnitAttr()
        if addr is not None:
            properties["addr"] = IntegerAttr(addr, 64)
        super().__init__(properties=properties, result_types=[SlotSetType(SlotSetSpec(count, tile))])

    def verify_(self) -> None:
        _verify_tile(self, self.slots.type.data.tile)


def _verify_tile(op: Operation, tile: TileSpec) -> None:
    """Raises VerifyException for a tile that the target's memory cannot hold in this layout."""
    try:
        check_tile(tile, target_of(op))
    except TableError as error:
        raise VerifyException(error.message) from None


@lru_cache(1 << 10)
def _slot(tile: TileSpec) -> SlotType:
    return SlotType(tile)


@irdl_op_definition
class SlotSelectOp(IRDLOperation, VerifiedBySignature):
    """`slot_select %set[%i] : !ptobuf.slots<N, ...>`: the slot that the index term names; it must be within [0, N).

    With `-> !ptobuf.slot<...>` the slot is seen as another tile of the same space that fits into its bytes. With
    `{held}` it stands for what the slot holds here: whoever reads it means that, not what is written there later.
    """

    name = "ptobuf.slot_select"

    held = opt_prop_def(UnitAttr)

    slots = operand_def(SlotSetType)
    index = operand_def(IndexType)
    slot = result_def(SlotType)

    traits = traits_def(NoMemoryEffect())

    def __init__(self, slots: SSAValue, index: SSAValue, seen_as: TileSpec | None = None, *, held: bool = False):
        assert isinstance(slots.type, SlotSetType)
        seen = _slot(seen_as or slots.type.data.tile)
        fill(self, (slots, index), (seen,), {"held": UnitAttr()} if held else None)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        slots = parser.parse_unresolved_operand()
        parser.parse_punctuation("[")
        index = parser.parse_unresolved_operand()
        parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pos = parser.pos
        type = parser.parse_type()
        if not isinstance(type, SlotSetType):
            parser.raise_error(f"expected a !ptobuf.slots, found {type}", pos)
        seen_as: TileSpec | None = None
        if parser.parse_optional_punctuation("->"):
            pos = parser.pos
            slot = parser.parse_type()
            if not isinstance(slot, SlotType):
                parser.raise_error(f"expected a !ptobuf.slot, found {slot}", pos)
            seen_as = slot.data
        held = attributes.pop("held", None) is not None
        op = cls(parser.resolve_operand(slots, type), parser.resolve_operand(index, _INDEX), seen_as, held=held)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.slots)
        printer.print_string("[")
        printer.print_ssa_value(self.index)
        printer.print_string("]")
        printer.print_op_attributes({**self.properties, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.slots.type)
        if self.slot.type.data != cast(SlotSetType, self.slots.type).data.tile:
            printer.print_string(" -> ")
            printer.print_attribute(self.slot.type)

    def signature(self) -> Hashable:
        return super().signature(), constant_of(self.index)

    def verify_(self) -> None:
        slots = cast(SlotSetType, self.slots.type).data
        seen, held = self.slot.type.data, slots.tile
        if seen.space is not held.space or seen.footprint > held.footprint or seen.boxed != held.boxed:
            raise VerifyException(f"yields {self.slot.type}, a slot of {self.slots.type} cannot be seen so")
        _verify_tile(self, seen)
        count = slots.count
        constant = constant_of(self.index)
        if constant is not None and not 0 <= constant < count:
            raise VerifyException(f"slot index {constant} is outside [0, {count})")


INTO_BY_DSL: Mapping[str, type[TileOp]] = {
    row.dsl: define(IntoManyOp if row.more_outs else IntoOp, f"ptobuf.{row.into_name}", (row,))
    for row in ROWS
    if row.out.kind is Kind.TILE
}
"""By the row's name in pypto."""

STORE_BY_DSL: Mapping[str, type[TileOp]] = {
    row.dsl: define(StoreOp, f"ptobuf.{row.dsl}", (row,)) for row in ROWS if row.out.kind is Kind.VIEW
}
"""By the row's name in pypto."""

ELEMENT_BY_DSL: Mapping[str, type[TileOp]] = {
    row.dsl: define(ElementOp, f"ptobuf.{row.dsl}", (row,)) for row in ROWS if row.out.kind is Kind.SCALAR
}
"""By the row's name in pypto."""

INTO_OPS: Mapping[str, type[TileOp]] = {
    mnemonic: INTO_BY_DSL[row.dsl] for mnemonic, row in rows_by_mnemonic().items() if row.dsl in INTO_BY_DSL
}
"""By the mnemonic in `pto`; where several rows share one, the first."""

STORE_OPS: Mapping[str, type[TileOp]] = {
    mnemonic: STORE_BY_DSL[row.dsl] for mnemonic, row in rows_by_mnemonic().items() if row.dsl in STORE_BY_DSL
}
"""By the mnemonic in `pto`."""


@irdl_op_definition
class ReleaseOp(IRDLOperation):
    """`release %x : T`: ends the lease of a slot, named by the slot or by a value of the lease."""

    name = "ptobuf.release"

    lease = operand_def(SlotType | TileBufType)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$lease attr-dict `:` type($lease)"

    def __init__(self, lease: SSAValue):
        super().__init__(operands=[lease])


@irdl_op_definition
class EventOp(_NamedOp):
    """`event "name" {...} : !ptobuf.event<A -> B, N>`: N flags from pipe A to pipe B, one lane for each slot.

    `why` says what it orders (hazard, slot set, places); `ids` are the hardware ids of the lanes, once they are given.
    """

    name = "ptobuf.event"

    event_name = prop_def(StringAttr)
    why = opt_prop_def(StringAttr)
    ids = opt_prop_def(DenseArrayBase)
    event = result_def(EventType)

    traits = traits_def(MemoryAllocEffect())

    def __init__(self, name: str, src: Pipe, dst: Pipe, lanes: int, why: str | None = None):
        properties: dict[str, Attribute] = {"event_name": StringAttr(name)}
        if why is not None:
            properties["why"] = StringAttr(why)
        super().__init__(properties=properties, result_types=[EventType(EventSpec(src, dst, lanes))])


class _EventUse(IRDLOperation, VerifiedBySignature):
    event = operand_def(EventType)
    lane = operand_def(IndexType)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$event `[` $lane `]` attr-dict `:` type($event)"

    def __init__(self, event: SSAValue, lane: SSAValue):
        fill(self, (event, lane))


@irdl_op_definition
class SetOp(_EventUse):
    """`set %e[%lane] : !ptobuf.event<A -> B, N>`: fires when all earlier work of pipe A is done."""

    name = "ptobuf.set"


@irdl_op_definition
class WaitOp(_EventUse):
    """`wait %e[%lane] : !ptobuf.event<A -> B, N>`: holds pipe B until the lane is set, and clears it."""

    name = "ptobuf.wait"


PTOBUF = Dialect(
    "ptobuf",
    [
        AllocSlotsOp,
        SlotSelectOp,
        *INTO_BY_DSL.values(),
        *STORE_BY_DSL.values(),
        *ELEMENT_BY_DSL.values(),
        ReleaseOp,
        EventOp,
        SetOp,
        WaitOp,
    ],
    [SlotSetType, SlotType, EventType],
)
