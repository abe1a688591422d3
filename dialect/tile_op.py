"""What the `pto` tile ops and the `ptobuf` into-ops share: operands by name, and their row of the op table."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.table.row import (
    Form,
    Operand,
    OpRow,
    TableError,
    Use,
    Value,
    ViewSpec,
)
from pto_buf.dialect.types import PartitionViewType, tile_of
from pto_buf.hw import A2A3, Target, target_of_arch
from pto_buf.tile import TileSpec

ARCH_ATTRIBUTE = "pto.target_arch"


def target_of(op: Operation) -> Target:
    """The target of the module around `op`; a2a3 where none says, as the assembler has it."""
    while True:
        if isinstance(op, ModuleOp) and isinstance(arch := op.attributes.get(ARCH_ATTRIBUTE), StringAttr):
            try:
                return target_of_arch(arch.data)
            except KeyError:
                raise VerifyException(f"unknown {ARCH_ATTRIBUTE} '{arch.data}'; there are a3 and a5") from None
        parent = op.parent_op()
        if parent is None:
            return A2A3
        op = parent


def constant_of(value: SSAValue) -> int | None:
    """The integer that `value` is known to be, if it is a constant."""
    if isinstance(value, OpResult) and isinstance(value.op, ConstantOp) and isinstance(value.op.value, IntegerAttr):
        return value.op.value.value.data
    return None


def spec_of(type: Attribute) -> Value:
    """What the op table sees of an operand of this type."""
    tile = tile_of(type)
    if tile is not None:
        return tile
    return type.data if isinstance(type, PartitionViewType) else str(type).removeprefix("!pto.")


class TileOp(IRDLOperation):
    """An op with a row: `ins(...) outs(...)`. Subclasses are made from the table."""

    ROW: ClassVar[OpRow]

    ins = var_operand_def()
    outs = var_operand_def()

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def row(self) -> OpRow:
        return self.ROW

    @property
    def spelt_ins(self) -> tuple[Operand, ...]:
        """The inputs as this dialect spells them."""
        return self.ROW.ins

    def named_operands(self) -> Iterator[tuple[Operand, SSAValue]]:
        """Each operand with what the row says of it, in the order of the text; absent optionals left out."""
        yield from zip(self.spelt_ins, self.ins, strict=False)
        for value in self.outs:
            yield self.ROW.out, value

    def use(self, target: Target) -> Use:
        operands: dict[str, Value] = {}
        constants: dict[str, int] = {}
        for operand, value in self.named_operands():
            operands[operand.name] = spec_of(value.type)
            if (constant := constant_of(value)) is not None:
                constants[operand.name] = constant
        if self.ROW.accumulates is not None:
            operands[self.ROW.accumulates] = operands[self.ROW.out.name]
        return Use(self.ROW, operands, {name: str(attr) for name, attr in self.attributes.items()}, target, constants)

    def form(self, target: Target) -> Form:
        """The row's form that covers this op. Raises TableError."""
        return self.ROW.form(self.use(target))

    def verify_(self) -> None:
        wanted = self.spelt_ins
        least = sum(not operand.optional for operand in wanted)
        if not least <= len(self.ins) <= len(wanted):
            names = ", ".join(operand.name for operand in wanted)
            raise VerifyException(f"takes {len(wanted)} inputs ({names}), found {len(self.ins)}")
        if len(self.outs) != 1:
            raise VerifyException(f"has one output, found {len(self.outs)}")
        for operand, value in self.named_operands():
            self._verify_kind(operand, value)
        for name in self.attributes:
            if name not in self.ROW.attrs and "." not in name:
                known = ", ".join(self.ROW.attrs) or "none"
                raise VerifyException(f"has no attribute '{name}'; there is: {known}")
        try:
            self.form(target_of(self))
        except TableError as error:
            raise VerifyException(error.message) from None

    def _verify_kind(self, operand: Operand, value: SSAValue) -> None:
        spec = spec_of(value.type)
        kind = "tile" if isinstance(spec, TileSpec) else "view" if isinstance(spec, ViewSpec) else "scalar"
        wanted = operand.kind.value if operand.in_memory else "scalar"
        exact = operand.kind.value in ("index", "i64")
        if kind != wanted or (exact and spec != operand.kind.value):
            raise VerifyException(
                f"{operand.name} must be {'' if exact else 'a '}{operand.kind.value}, is {value.type}"
            )

    # --- text ---

    @classmethod
    def parse_groups(cls, parser: Parser) -> tuple[list[SSAValue], list[SSAValue], dict[str, Attribute]]:
        """`ins(...) outs(...) {...}`."""
        parser.parse_keyword("ins")
        ins, inner = cls._parse_group(parser)
        parser.parse_keyword("outs")
        outs, _ = cls._parse_group(parser)
        return ins, outs, {**inner, **parser.parse_optional_attr_dict()}

    @classmethod
    def _parse_group(cls, parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        parser.parse_punctuation("(")
        pos = parser.pos
        names: list[UnresolvedOperand] = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        inner = parser.parse_optional_attr_dict() if cls.ROW.inner_attrs else {}
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation(")")
        return list(parser.resolve_operands(names, types, pos)), inner

    def print_groups(self, printer: Printer) -> None:
        inner = self.ROW.inner_attrs
        printer.print_string(" ins")
        self._print_group(printer, self.ins, inner)
        printer.print_string(" outs")
        self._print_group(printer, self.outs, False)
        if not inner:
            printer.print_op_attributes(self.attributes)

    def _print_group(self, printer: Printer, values: Sequence[SSAValue], with_attrs: bool) -> None:
        printer.print_string("(")
        printer.print_list(values, printer.print_ssa_value)
        if with_attrs:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list(values, lambda value: printer.print_attribute(value.type))
        printer.print_string(")")


def define(base: type[TileOp], name: str, row: OpRow) -> type[TileOp]:
    """The op class of `row` under the name `name`."""
    class_name = "".join(part.capitalize() for part in name.replace(".", "_").split("_")) + "Op"
    fields = {
        "name": name,
        "ROW": row,
        "__annotations__": {"ROW": ClassVar[OpRow]},
        "__module__": base.__module__,
        "__doc__": f"`{name}`, made from its row.",
    }
    return irdl_op_definition(type(class_name, (base,), fields))
