"""Reading what the user wrote: files with located complaints, and IR text whose every op knows its place.

xDSL's own parser gives no op a location, raises type and format errors without a position, and reports an undefined
value where the file ends. `parse_text` mends that, and reads each type's text once, since types are what PTO programs
mostly consist of.
"""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import UnresolvedOperand
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span

from pto_buf.errors import Diagnostic, DiagnosticError, Note, Place, near_miss
from pto_buf.lexing import NAMED_TYPE, QuickLexer
from pto_buf.locations import Positions, location_at
from pto_buf.quick_parser import QuickParser

MAX_NESTING = 100
"""Regions inside one another that are read; the passes and the printer recurse into them."""

MAX_BYTES = 64 << 20
"""Size of a file that is read. A program of 100,000 tile ops has about 20 MB."""

STDIN = "<stdin>"


@dataclass(frozen=True)
class Source:
    """A text the user wrote and the name to report it under."""

    file: str
    text: str


def read_source(path: str) -> Source:
    """The text of a file, or of standard input for `-`.

    Raises DiagnosticError, at the file or at the offending byte, if it cannot be read, is empty, is larger than
    MAX_BYTES, or is not UTF-8 text.
    """
    file = STDIN if path == "-" else path
    place = Place(file)
    try:
        data = _read_bytes(path)
    except FileNotFoundError:
        raise DiagnosticError.at(place, "no such file", kind="unreadable-file") from None
    except IsADirectoryError:
        raise DiagnosticError.at(place, "this is a folder, not a file", kind="unreadable-file") from None
    except (OSError, ValueError) as err:  # ValueError: a NUL in the name
        words = err.strerror if isinstance(err, OSError) and err.strerror else str(err)
        raise DiagnosticError.at(place, f"cannot read the file: {words.lower()}", kind="unreadable-file") from None
    if len(data) > MAX_BYTES:
        raise DiagnosticError.at(
            place, f"the file is larger than the {MAX_BYTES >> 20} MiB that are read", kind="unreadable-file"
        )
    return Source(file, _decoded(file, data))


def _read_bytes(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    with Path(path).open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _decoded(file: str, data: bytes) -> str:
    def complain(offset: int, words: str) -> DiagnosticError:
        before = data[:offset]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", "replace")) + 1
        return DiagnosticError.at(Place(file, before.count(b"\n") + 1, column), words, kind="unreadable-file")

    nul = data.find(b"\0")
    if nul >= 0:
        raise complain(nul, "this is a binary file: it holds a NUL byte")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        raise complain(err.start, f"this is not UTF-8 text: byte 0x{data[err.start]:02x}") from None
    if not text.strip():
        raise DiagnosticError.at(Place(file), "the file is empty", kind="unreadable-file")
    return text


def parse_text(ctx: Context, text: str, file: str, first_line: int = 1) -> ModuleOp:
    """The module that IR text describes. `first_line` is the line of the file on which `text` starts.

    Every op carries a location: its own `loc(...)` if written, else the place where it starts.
    Raises DiagnosticError at the place of the first syntax error, or for all undefined values at once.
    """
    positions = Positions(text, file, first_line)
    parser: LocatedParser | None = None
    try:
        parser = LocatedParser(ctx, text, positions)
        module = parser.parse_module()
    except ParseError as err:
        raise _diagnosed(err, positions) from err
    except RecursionError:
        place = positions.place(parser.pos) if parser else Place(file)
        raise DiagnosticError.at(place, "nested too deeply to be read", kind="nesting") from None
    except (VerifyException, ValueError, TypeError, AssertionError, LookupError, NotImplementedError) as err:
        # xDSL's readers of odd text let any of these escape; what was being read is still the user's.
        place = positions.place(parser.pos) if parser else Place(file)
        raise DiagnosticError.at(place, f"cannot be read: {worded(str(err))}", kind="syntax") from err
    if isinstance(module.location, UnknownLoc):
        module.location = positions.location(0)
    return module


class LocatedParser(QuickParser):
    """xDSL's parser with positions for ops and errors, each type text read once, and bounded nesting."""

    def __init__(self, ctx: Context, text: str, positions: Positions):
        super().__init__(ctx, "", positions.file)
        self.read_with(QuickLexer(Input(text, positions.file)))
        self._values = self.ssa_values = _ScopedValues()
        self._positions = positions
        self._first_use: dict[str, Span] = {}
        self._known: dict[tuple[str, str], Attribute] = {}
        """By the name, with its mark, and the body: types and attributes that were read."""
        self._nesting = 0

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """As xDSL's, but undefined values are reported where they are used, all of them."""
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as err:
            if not err.msg.startswith("values used but not defined"):
                raise
            undefined = [(name, self._first_use[name]) for name in self.forward_ssa_references]
            raise DiagnosticError(
                *(
                    Diagnostic(
                        f"value %{name} is not defined",
                        self._positions.place(span.start),
                        help=near_miss(f"%{name}", [f"%{known}" for known in self._first_use if known != name]),
                        kind="undefined-value",
                    )
                    for name, span in undefined
                )
            ) from err

    def parse_operation(self) -> Operation:
        """As xDSL's, but the op gets its place, and what its verifier says while it is read gets it too."""
        start = self.pos
        try:
            op = super().parse_operation()
        except VerifyException as err:
            self.raise_error(str(err), start)
        if isinstance(op.location, UnknownLoc):
            op.location = self._positions.location(start)
        return op

    def resolve_unusual_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue[Any]:
        """As xDSL's, but remembers where a value that is not defined yet was used first."""
        name = operand.operand_name
        if name not in self.ssa_values:
            self._first_use.setdefault(name, operand.span)
        return super().resolve_unusual_operand(operand, type)

    def parse_optional_region(self, arguments: Sequence[QuickParser.Argument] | None = None) -> Region | None:
        """As xDSL's, but at most MAX_NESTING of them inside one another."""
        if self._nesting == MAX_NESTING:
            self.raise_error(f"regions are nested more than {MAX_NESTING} deep")
        self._nesting += 1
        region = super().parse_optional_region(arguments)
        self._nesting -= 1
        if isinstance(self.ssa_values, _Scope):  # xDSL puts back the copy that it took before the region
            self._values.leave(self.ssa_values)
            self.ssa_values = self._values
        return region

    def parse_type(self) -> TypeAttribute:
        """As xDSL's; of a pointer the assembler prints no more than the angle brackets."""
        found = self.parse_optional_type()
        if found is not None:
            return found
        if self.token.text == "<":
            from pto_buf.dialect.types import PtrType  # only now: few texts need it

            return PtrType(PtrType.parse_parameter(self))
        return super().parse_type()  # which says what is wrong

    def parse_optional_type(self) -> TypeAttribute | None:
        """As xDSL's, but a type that was read before is looked up at once."""
        name = self.token
        if name.kind is NAMED_TYPE and (body := _BODY.match(self.lexer.input.content, name.end)):
            known = self._known.get((name.text, body.group()))
            if known is not None:
                self._resume_from(body.end())
                return cast(TypeAttribute, known)
        return super().parse_optional_type()

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is not None:
            return found
        dialect = name.partition(".")[0]
        place = self._positions.place(self.name_start)
        if "." in name and dialect not in self.ctx.registered_dialect_names:
            known = sorted(self.ctx.registered_dialect_names)
            message = f"op '{name}' is of an unknown dialect '{dialect}'"
            raise DiagnosticError.at(place, message, help=near_miss(dialect, known), kind="unknown-op")
        from pto_buf.dialect.table.foreign import INSIDE, is_register_level  # only now: it brings the whole op table

        if name.removeprefix("pto.") in INSIDE:
            message = f"'{name}' is an op that the assembler uses inside itself, not one of its texts"
            raise DiagnosticError.at(place, message, help="pto.alloc_tile makes a tile", kind="unsupported-op")
        if dialect == "pto" and is_register_level(name.removeprefix("pto.")):
            message = f"'{name}' is a register-level op (vpto); only tile-level ops of pto are known"
            help = "--allow-unregistered-dialect accepts it, in generic form"
            raise DiagnosticError.at(place, message, help=help, kind="unsupported-op")
        known = sorted(op.name for op in self.ctx.loaded_ops)
        raise DiagnosticError.at(place, f"there is no op '{name}'", help=near_miss(name, known), kind="unknown-op")

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Any:
        """As xDSL's, but a text without aliases that was read before is only looked up.

        The name is already consumed; the current token is what follows it.
        """
        start = self.pos
        match = _BODY.match(self.lexer.input.content, start) if "." in attr_or_dialect_name else None
        if match is None:
            return self._read_attribute(attr_or_dialect_name, is_type, start)
        key = (f"{'!' if is_type else '#'}{attr_or_dialect_name}", match.group())
        known = self._known.get(key)
        if known is not None:
            self._resume_from(match.end())
            return known
        attribute = self._read_attribute(attr_or_dialect_name, is_type, start)
        # Only if reading stopped just where the pattern did is the pattern's text the whole of the attribute.
        if self.pos >= match.end() and not self.lexer.input.content[match.end() : self.pos].strip():
            self._known[key] = attribute
        return attribute

    def _read_attribute(self, name: str, is_type: bool, start: int) -> Any:
        read = cast(Callable[[str, bool], Attribute], super()._parse_extended_type_or_attribute)
        try:
            return read(name, is_type)
        except VerifyException as err:
            self.raise_error(str(err), max(0, start - len(name) - 1))


class _Scope(dict[str, tuple[SSAValue, ...]]):
    """Stands for the table as it was when a region began."""

    def __init__(self, size: int):
        super().__init__()
        self.size = size


class _ScopedValues(dict[str, tuple[SSAValue, ...]]):
    """A table of values whose copy is only a mark to return to: copying it for each region would be quadratic."""

    def __init__(self) -> None:
        super().__init__()
        self._names: list[str] = []

    def __setitem__(self, name: str, values: tuple[SSAValue, ...]) -> None:
        if name not in self:
            self._names.append(name)
        super().__setitem__(name, values)

    def copy(self) -> dict[str, tuple[SSAValue, ...]]:
        return _Scope(len(self._names))

    def leave(self, scope: _Scope) -> None:
        for name in self._names[scope.size :]:
            del self[name]
        del self._names[scope.size :]


_BODY = re.compile(
    r"""
    <(?: [^<>"!#]++ | [!\#]\w++\.[\w.$]++                # plain text; the name of a type, but no alias: it has a dot
       | <(?: [^<>"!#]++ | [!\#]\w++\.[\w.$]++           # the same inside
            | <(?: [^<>"!#]++ )*+ >
         )*+ >
     )*+ >
    """,
    re.VERBOSE,
)
"""The angle-bracketed body of a type or attribute whose meaning depends on its text alone."""


def _diagnosed(err: ParseError, positions: Positions) -> DiagnosticError:
    notes: tuple[Note, ...] = ()
    if isinstance(err, MultipleSpansParseError):
        notes = tuple(
            Note(positions.place(span.start), worded(words or err.ref_text or "see also")) for span, words in err.refs
        )
    start = err.span.start
    found = positions.text[start : err.span.end]
    message = _OWN_WORDS.get(err.msg.strip()) or worded(err.msg)
    if not positions.text[start:].strip():
        message += ", but the text ends"
    elif found and message.endswith("expected"):
        message += f", found '{found}'"
    return DiagnosticError.at(positions.place(start), message, *notes, kind="syntax")


_OWN_WORDS = {
    "Could not parse entire input!": "an operation is expected here",
    "in block definition": "an operation or '}' is expected here",
}
"""What xDSL says, without context, when it finds something that starts no operation."""


def worded(message: str) -> str:
    """A message of xDSL in our form: lower case unless it starts with a name, no shouting."""
    message = message.strip().removesuffix("!").removesuffix(".")
    if len(message) > 1 and message[0].isupper() and not message[1].isupper():
        return message[0].lower() + message[1:]
    return message


def keep_locations() -> PatternRewriterListener:
    """A listener that gives the ops inserted in place of another that op's location.

    For every rewriter in a pass: `PatternRewriteWalker(pattern, listener=keep_locations())`.
    """
    fresh: list[Operation] = []

    def inserted(op: Operation) -> None:
        if isinstance(op.location, UnknownLoc):
            fresh.append(op)

    def removed(op: Operation) -> None:
        for new in fresh:
            new.location = op.location
        fresh.clear()

    return PatternRewriterListener(operation_insertion_handler=[inserted], operation_removal_handler=[removed])


def place_of(op: Operation) -> Place | None:
    """Where the user wrote `op`: its own location or that of the nearest op around it that has one."""
    around: Operation | None = op
    while around is not None:
        place = location_at(around.location)
        if place is not None:
            return place
        around = around.parent_op()
    return None
