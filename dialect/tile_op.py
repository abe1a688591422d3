"""What the `pto` tile ops and the `ptobuf` into-ops share: operands by name, and their row of the op table."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnitAttr
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

from pto_buf.dialect.attributes import is_a, spelling, word_of
from pto_buf.dialect.table.row import (
    Form,
    Operand,
    OpRow,
    TableError,
    Use,
    Value,
    match,
)
from pto_buf.dialect.types import PartitionViewType, tile_of
from pto_buf.hw import A2A3, Space, Target, target_of_arch

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

    ROWS: ClassVar[tuple[OpRow, ...]]
    """The rows that share this op's name; which one it is depends on what its operands are."""

    ins = var_operand_def()
    outs = var_operand_def()

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def row(self) -> OpRow:
        """The row that this op's operands match; the first of its name where none does (the verifier says so)."""
        if len(self.ROWS) == 1:
            return self.ROWS[0]
        ins = [spec_of(value.type) for value in self.ins]
        outs = [spec_of(value.type) for value in self.outs]
        return next((row for row in self.ROWS if self._is(row, ins, outs)), self.ROWS[0])

    def _is(self, row: OpRow, ins: Sequence[Value], outs: Sequence[Value]) -> bool:
        found = match(self.spelt_ins(row), ins), match(row.outs, outs)
        return all(
            operands is not None and all(op.takes(value) for op, value in zip(operands, values, strict=True))
            for operands, values in zip(found, (ins, outs), strict=True)
        ) and all(attr.name in self.attributes for attr in row.attrs if attr.required)

    @classmethod
    def spelt_ins(cls, row: OpRow) -> tuple[Operand, ...]:
        """The inputs as this dialect spells them."""
        return row.ins

    def named_operands(self) -> Iterator[tuple[Operand, SSAValue]]:
        """Each operand with what the row says of it, in the order of the text; absent optionals left out."""
        row = self.row
        yield from self._matched(self.spelt_ins(row), self.ins)
        yield from self._matched(row.outs, self.outs)

    @staticmethod
    def _matched(operands: Sequence[Operand], values: Sequence[SSAValue]) -> Iterator[tuple[Operand, SSAValue]]:
        if len(operands) != len(values):
            operands = match(operands, [spec_of(value.type) for value in values]) or ()
        yield from zip(operands, values, strict=False)

    def use(self, target: Target) -> Use:
        """What the op table sees of this op on `target`."""
        row = self.row
        operands: dict[str, Value] = {}
        constants: dict[str, int] = {}
        for operand, value in self.named_operands():
            operands[operand.name] = spec_of(value.type)
            if (constant := constant_of(value)) is not None:
                constants[operand.name] = constant
        if row.accumulates is not None and row.out.name in operands:
            operands.setdefault(row.accumulates, operands[row.out.name])
        attrs = {name: word_of(attr) for name, attr in self.attributes.items()}
        return Use(row, operands, attrs, target, constants)

    def form(self, target: Target) -> Form:
        """The row's form that covers this op. Raises TableError."""
        return self.row.form(self.use(target))

    def verify_(self) -> None:
        row = self.row
        _verify_count("input", self.spelt_ins(row), self.ins)
        _verify_count("output", row.outs, self.outs)
        for operand, value in self.named_operands():
            _verify_kind(operand, value)
        self._verify_attributes(row)
        self._verify_source(row)
        try:
            self.form(target_of(self))
        except TableError as error:
            raise VerifyException(error.message.removeprefix(f"'{row.mnemonic}': ")) from None

    def _verify_source(self, row: OpRow) -> None:
        """A move reads a boxed tile as if it had all the rows of the tile that it is a window of."""
        owner = self.ins[0].owner if row.mnemonic == "tmov" and self.ins else None
        if not isinstance(owner, Operation) or owner.name != "pto.subview":
            return
        window, whole = tile_of(self.ins[0].type), tile_of(owner.operands[0].type)
        if window is None or whole is None or window.space is not Space.MAT or not window.boxed:
            return
        if window.rows != whole.rows:
            raise VerifyException(
                f"moves {window.rows} of {whole.rows} rows of a boxed mat tile, which are read wrongly; use textract"
            )

    def _verify_attributes(self, row: OpRow) -> None:
        known = {attr.name: attr for attr in row.attrs}
        for name, attr in self.attributes.items():
            if name not in known:
                if "." in name:
                    continue
                raise VerifyException(f"has no attribute '{name}'; there is: {', '.join(known) or 'none'}")
            wanted = known[name]
            if not is_a(attr, wanted.type):
                raise VerifyException(f"{name} must be {spelling(wanted.type)}, is {attr}")
        for attr in row.attrs:
            if attr.required and attr.name not in self.attributes:
                raise VerifyException(f"needs the attribute {attr.name}, {spelling(attr.type)}")

    # --- text ---

    @classmethod
    def parse_groups(cls, parser: Parser) -> tuple[list[SSAValue], list[SSAValue], dict[str, Attribute]]:
        """`ins(...) outs(...) {...}`."""
        parser.parse_keyword("ins")
        ins, inner = cls.parse_group(parser)
        parser.parse_keyword("outs")
        outs, _ = cls.parse_group(parser)
        attributes = {**inner, **parser.parse_optional_attr_dict()}
        for attr in (attr for row in cls.ROWS for attr in row.attrs):
            if attr.alias is not None and attr.alias in attributes:
                attributes[attr.name] = attributes.pop(attr.alias)
        for row in cls.ROWS:
            missing = [attr for attr in row.attrs if attr.required and attr.name not in attributes]
            if len(missing) < sum(attr.required for attr in row.attrs) and all(attr.meant for attr in missing):
                attributes |= {attr.name: StringAttr(attr.meant or "") for attr in missing}
        return ins, outs, attributes

    @classmethod
    def parse_group(cls, parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        """`(%a, %b {..} : A, B, %c : C word %d : D)`: values with their types, in one go or in several."""
        keywords = tuple(dict.fromkeys(op.keyword for row in cls.ROWS for op in row.ins if op.keyword is not None))
        parser.parse_punctuation("(")
        values: list[SSAValue] = []
        attributes: dict[str, Attribute] = {}
        first: UnresolvedOperand | None = parser.parse_unresolved_operand()
        while first is not None:
            pos = parser.pos
            names = [first]
            while parser.parse_optional_punctuation(","):
                name = parser.parse_optional_unresolved_operand()
                if name is None:  # the comma stands before the attributes
                    break
                names.append(name)
            attributes |= _parse_inner(parser)
            parser.parse_punctuation(":")
            types = [parser.parse_type()]
            first = None
            while first is None and parser.parse_optional_punctuation(","):
                first = parser.parse_optional_unresolved_operand()
                if first is None and (tail := parser.parse_optional_str_literal()) is not None:
                    attributes |= {row.tail_attr: StringAttr(tail) for row in cls.ROWS if row.tail_attr is not None}
                elif first is None:
                    types.append(parser.parse_type())
            values += parser.resolve_operands(names, types, pos)
            if first is None and any(parser.parse_optional_keyword(word) for word in keywords):
                first = parser.parse_unresolved_operand()
        parser.parse_punctuation(")")
        return values, attributes

    def print_groups(self, printer: Printer) -> None:
        """`ins(...) outs(...) {...}`."""
        row = self.row
        printer.print_string(" ins")
        self._print_group(printer, self.spelt_ins(row), self.ins, row if row.inner_attrs else None)
        printer.print_string(" outs")
        self._print_group(printer, row.outs, self.outs, None)
        if not row.inner_attrs:
            printer.print_op_attributes(self._ordered_attributes())

    def _print_inner(self, printer: Printer, row: OpRow) -> None:
        attributes = self._ordered_attributes()
        if row.tail_attr is not None:
            attributes.pop(row.tail_attr, None)
            printer.print_string("," if attributes else "")
        if attributes.pop(_NO_TMP, None) is not None:
            printer.print_string(f" {_NO_TMP}")
        printer.print_op_attributes(attributes)

    def _ordered_attributes(self) -> dict[str, Attribute]:
        """The attributes in the order of the row, others behind them."""
        known = [attr.name for attr in self.row.attrs if attr.name in self.attributes]
        return {name: self.attributes[name] for name in (*known, *(n for n in self.attributes if n not in known))}

    def _print_group(
        self, printer: Printer, operands: Sequence[Operand], values: Sequence[SSAValue], inner: OpRow | None
    ) -> None:
        pairs = list(self._matched(operands, values))
        together = [value for operand, value in pairs if not operand.apart and operand.keyword is None]
        printer.print_string("(")
        printer.print_list(together, printer.print_ssa_value)
        tail = None if inner is None or inner.tail_attr is None else self.attributes.get(inner.tail_attr)
        if inner is not None:
            self._print_inner(printer, inner)
        printer.print_string(" : ")
        printer.print_list(together, lambda value: printer.print_attribute(value.type))
        if tail is not None:
            printer.print_string(", ")
            printer.print_attribute(tail)
        for operand, value in pairs:
            if operand.apart or operand.keyword is not None:
                printer.print_string(", " if operand.keyword is None else f" {operand.keyword} ")
                printer.print_ssa_value(value)
                printer.print_string(" : ")
                printer.print_attribute(value.type)
        printer.print_string(")")


_NO_TMP = "no_tmp"


def _parse_inner(parser: Parser) -> dict[str, Attribute]:
    """The attributes inside the brackets; `no_tmp` is one without braces."""
    marked = {_NO_TMP: UnitAttr()} if parser.parse_optional_keyword(_NO_TMP) else {}
    return {**marked, **parser.parse_optional_attr_dict()}


def _verify_count(what: str, wanted: Sequence[Operand], found: Sequence[SSAValue]) -> None:
    least = sum(not operand.optional for operand in wanted)
    if not least <= len(found) <= len(wanted):
        names = ", ".join(f"{operand.name}{'?' if operand.optional else ''}" for operand in wanted)
        raise VerifyException(f"takes {len(wanted)} {what}{'s'[: len(wanted) != 1]} ({names}), found {len(found)}")
    if match(wanted, [spec_of(value.type) for value in found]) is None:
        names = ", ".join(f"{operand.name}: {operand.kind}" for operand in wanted)
        raise VerifyException(f"takes {names}, found {', '.join(str(value.type) for value in found)}")


def _verify_kind(operand: Operand, value: SSAValue) -> None:
    if not operand.kind.takes(spec_of(value.type)):
        exact = operand.kind.value in ("index", "i64")
        raise VerifyException(f"{operand.name} must be {'' if exact else 'a '}{operand.kind.value}, is {value.type}")


def define(base: type[TileOp], name: str, rows: tuple[OpRow, ...]) -> type[TileOp]:
    """The op class of `rows` under the name `name`."""
    class_name = "".join(part.capitalize() for part in name.replace(".", "_").split("_")) + "Op"
    fields = {
        "name": name,
        "ROWS": rows,
        "__annotations__": {"ROWS": ClassVar[tuple[OpRow, ...]]},
        "__module__": base.__module__,
        "__doc__": f"`{name}`, made from its row.",
    }
    return irdl_op_definition(type(class_name, (base,), fields))
