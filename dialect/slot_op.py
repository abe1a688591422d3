"""The `ptobuf` ops that are made from rows of the op table: they write slots, or store what slots hold."""

from typing import Self, cast

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import result_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.groups import build
from pto_buf.dialect.table.row import Kind, Operand, OpRow, Role
from pto_buf.dialect.tile_op import TileOp
from pto_buf.dialect.types import SlotType, TileBufType, tile_of


class SlotOp(TileOp):
    """An op of the table over slots. The accumulator of an accumulating op is its output, spelt once."""

    @classmethod
    def spelt_ins(cls, row: OpRow) -> tuple[Operand, ...]:
        return row.into_ins

    @property
    def written(self) -> tuple[tuple[int, OpResult], ...]:
        """The outputs that hold a value: the position of each among `outs`, and the value."""
        return ()


class _Writes(SlotOp):
    """An op that leaves values in slots: what the table sees of these is what is written, be it less than the slot."""

    def out_types(self) -> tuple[Attribute, ...]:
        types = list(super().out_types())
        for position, value in self.written:
            types[position] = value.type
        return tuple(types)


class IntoOp(_Writes):
    """`%v = x_into ins(..) outs(%slot : S) valid(%r, %c) -> T`: writes a slot and yields the lease's value.

    `valid` holds the run-time extents, one for each `?` of the value's type.
    """

    ins = var_operand_def()
    outs = var_operand_def()
    valid = var_operand_def(IndexType)
    value = result_def(TileBufType)

    @property
    def written(self) -> tuple[tuple[int, OpResult], ...]:
        """The output that holds the value: its position among `outs`, and the value."""
        return ((0, cast(OpResult, self.value)),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ins, outs, attributes = cls.parse_groups(parser)
        valid = _parse_valid(parser)
        parser.parse_punctuation("->")
        return build(cls, [ins, outs, valid], [parser.parse_type()], attributes)

    def print(self, printer: Printer) -> None:
        self.print_groups(printer)
        _print_valid(printer, tuple(self.valid))
        printer.print_string(" -> ")
        printer.print_attribute(self.value.type)

    def verify_(self) -> None:
        super().verify_()
        (slot,) = self.outs
        _verify_held(self.value.type, slot.type)
        unknown = sum(extent is None for extent in self.value.type.data.valid)
        if len(self.valid) != unknown:
            raise VerifyException(f"its value has {unknown} run-time extents, valid(...) gives {len(self.valid)}")


class IntoManyOp(_Writes):
    """`%v, %w = x_into ins(..) outs(%s, %t : S, T) valid(..) -> V, W`: an into-op that writes several slots.

    One value for each output that is a tile, scratch left out; `valid` has the extents of all in a row.
    """

    ins = var_operand_def()
    outs = var_operand_def()
    valid = var_operand_def(IndexType)
    values = var_result_def(TileBufType)

    @property
    def written(self) -> tuple[tuple[int, OpResult], ...]:
        """The outputs that hold a value: the position of each among `outs`, and the value."""
        kept = (i for i, (operand, _) in enumerate(self._matched(self.row.outs, self.outs)) if _kept(operand))
        return tuple(zip(kept, cast(tuple[OpResult, ...], tuple(self.values)), strict=True))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ins, outs, attributes = cls.parse_groups(parser)
        valid = _parse_valid(parser)
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return build(cls, [ins, outs, valid], types, attributes)

    def print(self, printer: Printer) -> None:
        self.print_groups(printer)
        _print_valid(printer, tuple(self.valid))
        printer.print_string(" -> ")
        printer.print_list(self.values, lambda value: printer.print_attribute(value.type))

    def verify_(self) -> None:
        super().verify_()
        held = [value.type for operand, value in self.named_operands() if operand in self.row.outs and _kept(operand)]
        if len(held) != len(self.values):
            raise VerifyException(f"yields {len(self.values)} values, writes {len(held)} slots")
        unknown = 0
        for slot, value in zip(held, self.values, strict=True):
            _verify_held(value.type, slot)
            unknown += sum(extent is None for extent in value.type.data.valid)
        if len(self.valid) != unknown:
            raise VerifyException(f"its values have {unknown} run-time extents, valid(...) gives {len(self.valid)}")


def _kept(operand: Operand) -> bool:
    """Whether an output's content is a value of its own."""
    return operand.kind is Kind.TILE and operand.role is not Role.SCRATCH


def _verify_held(value: TileBufType, slot: Attribute) -> None:
    if not isinstance(slot, SlotType):
        raise VerifyException(f"writes a slot, found {slot}")
    if value.data.with_valid(*slot.data.valid) != slot.data:
        raise VerifyException(f"yields {value}, its slot holds {slot}")


def _parse_valid(parser: Parser) -> list[SSAValue]:
    """`valid(%r, %c)`, if there."""
    if not parser.parse_optional_keyword("valid"):
        return []
    names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    return [parser.resolve_operand(name, IndexType()) for name in names]


def _print_valid(printer: Printer, valid: tuple[SSAValue, ...]) -> None:
    if valid:
        printer.print_string(" valid(")
        printer.print_list(valid, printer.print_ssa_value)
        printer.print_string(")")


def value_in(op: Operation, slot: SSAValue) -> OpResult | None:
    """The value that an op leaves in a slot, None for one that does not write the slot."""
    if not isinstance(op, IntoOp | IntoManyOp):
        return None
    outs = op.outs
    return next((value for position, value in op.written if outs[position] is slot), None)


class StoreOp(SlotOp):
    """An op of the table whose output is global memory: `store ins(%v : T) outs(%w : P)`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ins, outs, attributes = cls.parse_groups(parser)
        return build(cls, [ins, outs], (), attributes)

    def print(self, printer: Printer) -> None:
        self.print_groups(printer)


class ElementOp(SlotOp):
    """`%x = read ins(%v, %i : T, index) -> f32`: one element of a tile, as a number."""

    ins = var_operand_def()
    outs = var_operand_def()
    value = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("ins")
        ins, attributes = cls.parse_group(parser)
        attributes |= parser.parse_optional_attr_dict()
        parser.parse_punctuation("->")
        return cls.build(operands=[ins, []], result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ins(")
        printer.print_list(self.ins, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list(self.ins, lambda value: printer.print_attribute(value.type))
        printer.print_string(")")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" -> ")
        printer.print_attribute(self.value.type)

    def verify_(self) -> None:
        super().verify_()
        tile = tile_of(self.ins[0].type)
        if tile is not None and str(self.value.type) != tile.dtype:
            raise VerifyException(f"yields {self.value.type}, the tile holds {tile.dtype}")
