"""Attributes of the `pto` dialect: pipes, event ids, kinds of kernels, and the enumerations of the op table."""

from collections.abc import Mapping
from typing import ClassVar, cast

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, IntegerType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from pto_buf.dialect.table.vocabulary import BRACKETED, ENUMS
from pto_buf.hw import EVENT_IDS, Core, Pipe


def parse_word(parser: AttrParser, allowed: Mapping[str, object] | tuple[str, ...]) -> str:
    """One of the allowed words."""
    pos = parser.pos
    word = parser.parse_identifier()
    if word not in allowed:
        parser.raise_error(f"'{word}' is none of {', '.join(allowed)}", pos)
    return word


class WordAttr(Data[str]):
    """`#pto.name<word>`."""

    WORDS: ClassVar[tuple[str, ...]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        if parser.parse_optional_punctuation("<") is None:
            return parse_word(parser, cls.WORDS)
        word = parse_word(parser, cls.WORDS)
        parser.parse_punctuation(">")
        return word

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


class SpacedWordAttr(WordAttr, SpacedOpaqueSyntaxAttribute):
    """`#pto<name word>`."""

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)


def _define(name: str, words: tuple[str, ...]) -> type[WordAttr]:
    base = WordAttr if name in BRACKETED else SpacedWordAttr
    fields = {
        "name": f"pto.{name}",
        "WORDS": words,
        "__annotations__": {"WORDS": ClassVar[tuple[str, ...]]},
        "__module__": __name__,
        "__doc__": f"One of {', '.join(words)}.",
    }
    class_name = "".join(part.capitalize() for part in name.split("_")) + "Attr"
    definition = cast(type[WordAttr], type(class_name, (base,), fields))
    return irdl_attr_definition(definition)


WORD_ATTRS: Mapping[str, type[WordAttr]] = {name: _define(name, words) for name, words in ENUMS.items()}
"""By the name that stands after `#pto`."""


_BOOL = IntegerType(1)


def _number(attr: Attribute) -> "IntegerAttr[IntegerType | IndexType] | None":
    """The attribute if it is an integer. Not by `isa`, which is slow."""
    return cast("IntegerAttr[IntegerType | IndexType]", attr) if isinstance(attr, IntegerAttr) else None


def word_of(attr: Attribute) -> str:
    """The attribute's value as a plain word, as the op table sees it."""
    if isinstance(attr, WordAttr):
        return attr.data
    number = _number(attr)
    if number is not None:
        return str(number.value.data) if number.type != _BOOL else "true" if number.value.data else "false"
    return attr.data if isinstance(attr, StringAttr) else str(attr)


def attr_of(type: str, word: str) -> Attribute:
    """The attribute that spells `word`; `type` is as in the op table. Raises ValueError for a word it cannot be."""
    if type in WORD_ATTRS:
        if word not in ENUMS[type]:
            raise ValueError(f"'{word}' is none of {', '.join(ENUMS[type])}")
        return WORD_ATTRS[type](word)
    if type == "bool":
        return BoolAttr.from_bool(word == "true")
    if type == "unit":
        return UnitAttr()
    return StringAttr(word) if type == "string" else IntegerAttr(int(word), 32)


def is_a(attr: Attribute, type: str) -> bool:
    """Whether `attr` is of the kind that the op table calls `type`."""
    if type in WORD_ATTRS:
        return isinstance(attr, WORD_ATTRS[type])
    if type == "any":
        return True
    if type in ("string", "unit"):
        return isinstance(attr, StringAttr if type == "string" else UnitAttr)
    number = _number(attr)
    return number is not None and (number.type == _BOOL) == (type == "bool")


def spelling(type: str) -> str:
    """How an attribute of this kind is written, for messages."""
    if type not in WORD_ATTRS:
        return f"a {type}"
    prefix, suffix = (f"#pto.{type}<", ">") if type in BRACKETED else (f"#pto<{type} ", ">")
    return f"{prefix}{'|'.join(ENUMS[type])}{suffix}"


# --- pipes, flags, kinds ------------------------------------------------------------------------------------------

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
            return _PIPES[parse_word(parser, _PIPES)]

    @classmethod
    def of_word(cls, parser: AttrParser, word: str, pos: int) -> Pipe:
        """The pipe that a word names, for spellings without brackets."""
        if word not in _PIPES:
            parser.raise_error(f"'{word}' is none of {', '.join(_PIPES)}", pos)
        return _PIPES[word]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.pto}>")


@irdl_attr_definition
class EventIdAttr(Data[int]):
    """`#pto.event<EVENT_ID0>`."""

    name = "pto.event"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> int:
        with parser.in_angle_brackets():
            return _EVENTS[parse_word(parser, _EVENTS)]

    @classmethod
    def of_word(cls, parser: AttrParser, word: str, pos: int) -> int:
        """The id that a word names, for spellings without brackets."""
        if word not in _EVENTS:
            parser.raise_error(f"'{word}' is none of {', '.join(_EVENTS)}", pos)
        return _EVENTS[word]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<EVENT_ID{self.data}>")


@irdl_attr_definition
class KernelKindAttr(Data[Core]):
    """`#pto.kernel_kind<cube>`."""

    name = "pto.kernel_kind"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Core:
        with parser.in_angle_brackets():
            return _CORES[parse_word(parser, _CORES)]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")
