"""What the `pto` tile ops and the `ptobuf` into-ops share: operands by name, and their row of the op table."""

from collections.abc import Hashable, Iterator, Sequence
from functools import cache, lru_cache
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
from pto_buf.dialect.groups import VerifiedBySignature, operands_of, quick_groups
from pto_buf.dialect.memrefs import memref_spec
from pto_buf.dialect.table.matching import match
from pto_buf.dialect.table.row import (
    Form,
    Operand,
    OpRow,
    TableError,
    Use,
    Value,
)
from pto_buf.dialect.types import PartitionViewType, tile_of
from pto_buf.hw import A2A3, A5, TARGETS, Space, Target, target_of_arch

ARCH_ATTRIBUTE = "pto.target_arch"
_DEVICE, _A5_DEVICES = "pto.device-spec", ("Ascend950", "Ascend910_95")
"""Another way to name the target: by the product."""


def target_of(op: Operation) -> Target:
    """The target of the module around `op`; a2a3 where none says, as the assembler has it."""
    while True:
        if isinstance(op, ModuleOp) and isinstance(arch := op.attributes.get(ARCH_ATTRIBUTE), StringAttr):
            try:
                return target_of_arch(arch.data)
            except KeyError:
                raise VerifyException(f"unknown {ARCH_ATTRIBUTE} '{arch.data}'; there are a3 and a5") from None
        if isinstance(op, ModuleOp) and isinstance(spec := op.attributes.get(_DEVICE), StringAttr):
            return A5 if spec.data.startswith(_A5_DEVICES) else A2A3
        parent = op.parent_op()
        if parent is None:
            return A2A3
        op = parent


def constant_of(value: SSAValue) -> int | None:
    """The integer that `value` is known to be, if it is a constant."""
    # Both classes are final. `isinstance` takes ten times as long to say no, and no is what it mostly says.
    if type(value) is not OpResult or type(value.op) is not ConstantOp:
        return None
    number = value.op.properties["value"]
    return number.value.data if isinstance(number, IntegerAttr) else None


def spec_of(type: Attribute, target: Target = A2A3) -> Value:
    """What the op table sees of an operand of this type; which target matters for the layout of a memref only."""
    known = tile_of(type) or (type.data if isinstance(type, PartitionViewType) else memref_spec(type, target))
    return str(type).removeprefix("!pto.") if known is None else known


_Types = tuple[Attribute, ...]
_Named = tuple[tuple[str, Attribute], ...]
_Constants = tuple[int | None, ...]

_REMEMBERED = 1 << 14
"""Kinds of op uses that are remembered; a program has a few dozen, one with many constant offsets a few for each."""


class TileOp(IRDLOperation, VerifiedBySignature):
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
        return _row(type(self), _types(self.ins), _types(self.outs), tuple(self.attributes))

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
            operands = _present(operands, _types(values))
        yield from zip(operands, values, strict=False)

    def use(self, target: Target) -> Use:
        """What the op table sees of this op on `target`."""
        return _use(*self._used_as(target))

    def form(self, target: Target) -> Form:
        """The row's form that covers this op. Raises TableError."""
        return _form(*self._used_as(target))

    def _used_as(self, target: Target) -> "tuple[type[TileOp], _Types, _Types, _Named, _Constants, str]":
        ins, outs = self.ins, self.outs
        constants = tuple([constant_of(value) for value in (*ins, *outs)])
        return type(self), _types(ins), self.out_types(), tuple(self.attributes.items()), constants, target.name

    def out_types(self) -> tuple[Attribute, ...]:
        """The types of the outputs as the op table sees them."""
        return _types(self.outs)

    def signature(self) -> Hashable:
        """As any op's, and the constants among the operands. A move is verified by what it moves from, too."""
        if self.row.mnemonic == "tmov":
            return None
        return super().signature(), tuple([constant_of(value) for value in operands_of(self)])

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
        if not _has_attributes(cls):
            return ins, outs, attributes
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
        keywords = _keywords(cls)
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
            if not parser.parse_optional_punctuation(":"):
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
        if self.attributes and not row.inner_attrs:
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
        printer.print_list(_types(together), printer.print_attribute)
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


def _types(values: Sequence[SSAValue]) -> _Types:
    return tuple([value.type for value in values])


def _present(operands: Sequence[Operand], types: _Types) -> Sequence[Operand]:
    """The operands that values of these types are; none if they do not fit."""
    if len(operands) == len(types):
        return operands
    return match(operands, [spec_of(type) for type in types]) or ()


@lru_cache(_REMEMBERED)
def _row(op: type[TileOp], ins: _Types, outs: _Types, attributes: tuple[str, ...]) -> OpRow:
    given = [spec_of(type) for type in ins], [spec_of(type) for type in outs]
    return next((row for row in op.ROWS if _is(row, (op.spelt_ins(row), row.outs), given, attributes)), op.ROWS[0])


def _is(
    row: OpRow, wanted: Sequence[Sequence[Operand]], given: Sequence[Sequence[Value]], attributes: Sequence[str]
) -> bool:
    for operands, values in zip(wanted, given, strict=True):
        found = match(operands, values)
        if found is None or not all(operand.takes(value) for operand, value in zip(found, values, strict=True)):
            return False
    return all(attr.name in attributes for attr in row.attrs if attr.required)


@lru_cache(_REMEMBERED)
def _use(op: type[TileOp], ins: _Types, outs: _Types, attributes: _Named, constants: _Constants, target: str) -> Use:
    row = op.ROWS[0] if len(op.ROWS) == 1 else _row(op, ins, outs, tuple(name for name, _ in attributes))
    named = [
        *zip(_present(op.spelt_ins(row), ins), ins, constants, strict=False),
        *zip(_present(row.outs, outs), outs, constants[len(ins) :], strict=False),
    ]
    operands = {operand.name: spec_of(type, TARGETS[target]) for operand, type, _ in named}
    if row.accumulates is not None and row.out.name in operands:
        operands.setdefault(row.accumulates, operands[row.out.name])
    known = {operand.name: constant for operand, _, constant in named if constant is not None}
    return Use(row, operands, {name: word_of(attr) for name, attr in attributes}, TARGETS[target], known)


@lru_cache(_REMEMBERED)
def _form(op: type[TileOp], ins: _Types, outs: _Types, attributes: _Named, constants: _Constants, target: str) -> Form:
    use = _use(op, ins, outs, attributes, constants, target)
    return use.row.form(use)


@cache
def _keywords(op: type[TileOp]) -> tuple[str, ...]:
    """The words that stand before inputs of their own."""
    return tuple(dict.fromkeys(one.keyword for row in op.ROWS for one in row.ins if one.keyword is not None))


@cache
def _has_attributes(op: type[TileOp]) -> bool:
    return any(row.attrs for row in op.ROWS)


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
    return quick_groups(irdl_op_definition(type(class_name, (base,), fields)))
