"""xDSL's parser with its smallest steps, of which each op takes dozens, made without a detour.

What they take, and what they say when they do not, is as in xDSL.
"""

import re
from functools import lru_cache

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind, PunctuationSpelling

from pto_buf.dialect.groups import fill
from pto_buf.lexing import KINDS, NAMED_VALUE, WORD, QuickLexer, QuickToken

_BRACE, _EQUAL, _SHARP = KINDS["{"], KINDS["="], MLIRTokenKind.HASH_IDENT

_BEGIN_OPS = (WORD, NAMED_VALUE, MLIRTokenKind.STRING_LIT)

_INTEGER = re.compile(r"(-?[0-9]++) ?: ?(index|i[1-9][0-9]*+)(?![\w$.])", re.ASCII)
"""A number and its type, as they are most often written."""


@lru_cache(maxsize=64)
def _integer_type(name: str) -> IndexType | IntegerType:
    return IndexType() if name == "index" else IntegerType(int(name[1:]))


class QuickOperand(UnresolvedOperand):
    """The use of a value, whose name is cut out of the text once, and its span only when somebody asks for it."""

    operand_name: str = ""
    """The name, without what marks it as one."""

    def __init__(self, token: QuickToken):
        self.index = 0
        self.operand_name = token.text[1:]  # pyright: ignore[reportIncompatibleMethodOverride]
        self._token = token

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Where it stands."""
        return self._token.span


class QuickParser(Parser):
    """xDSL's parser over a QuickLexer."""

    name_start: int = 0
    """Where the name of the op stands that was begun last."""

    def read_with(self, lexer: QuickLexer) -> None:
        """Read from here on what this lexer gives."""
        self._parser_state = ParserState(lexer)

    @property
    def token(self) -> QuickToken:
        """The token that is read next."""
        return self._parser_state.current_token  # pyright: ignore[reportReturnType]

    @property
    def pos(self) -> int:
        """Where that token starts."""
        return self.token.start

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> QuickToken:
        state = self._parser_state
        token = state.current_token
        assert expected_kind is None or token.kind is expected_kind
        state.current_token = state.lexer.lex()
        return token  # pyright: ignore[reportReturnType]

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> QuickToken | None:
        return self._consume_token() if self._parser_state.current_token.kind is expected_kind else None

    def parse_optional_punctuation(self, punctuation: PunctuationSpelling) -> PunctuationSpelling | None:
        """The punctuation, if it comes next."""
        if self._parser_state.current_token.kind is not KINDS[punctuation]:
            return None
        self._consume_token()
        return punctuation

    def parse_punctuation(self, punctuation: PunctuationSpelling, context_msg: str = "") -> PunctuationSpelling:
        """The punctuation. Raises ParseError if something else comes next."""
        if self._parser_state.current_token.kind is not KINDS[punctuation]:
            self.raise_error(f"Expected '{punctuation}'{context_msg}", self.token.span)
        self._consume_token()
        return punctuation

    def parse_optional_characters(self, text: str) -> str | None:
        """The token with this text, if it comes next."""
        if self.token.text != text:
            return None
        self._consume_token()
        return text

    def parse_optional_keyword(self, keyword: str) -> str | None:
        """The word, if it comes next."""
        token = self.token
        if token.text != keyword or token.kind is not WORD:
            return None
        self._consume_token()
        return keyword

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        """What stands in braces, if they come next."""
        if self._parser_state.current_token.kind is not _BRACE:
            return {}
        return super().parse_optional_dictionary_attr_dict()

    def parse_optional_operation(self) -> Operation | None:
        """An op, if one comes next."""
        return self.parse_operation() if self.token.kind in _BEGIN_OPS else None

    def parse_operation(self) -> Operation:
        """An op, whose results get their names. Raises ParseError if something else comes next."""
        first = self.token
        names = self._parse_op_result_list()
        self.name_start = self.pos
        word = self._parse_optional_token(WORD)
        name = self.expect(self.parse_optional_str_literal, "operation name expected") if word is None else word.text
        kind = self._get_op_by_name(name)
        self._parser_state.dialect_stack.append(kind.dialect_name())
        if word is None:
            op = self._parse_generic_operation(kind)
        else:
            op = self._parse_constant() if kind is ConstantOp else kind.parse(self)
        self._parser_state.dialect_stack.pop()
        location = None if word is None else self.parse_optional_location()
        if location is not None:
            op.location = location
        number = sum([size for _, size in names])
        if names and number != len(op.results):
            self.raise_error(f"Operation has {len(op.results)} results, but was given {number} to bind.", first.span)
        index = 0
        for span, size in names:
            self._register_ssa_definition(span.text[1:], op.results[index : index + size], span)
            index += size
        return op

    def _parse_constant(self) -> Operation:
        """What follows the name of an `arith.constant`, whose format xDSL interprets anew for each."""
        value = self._parse_optional_integer()
        if value is None:
            return ConstantOp.parse(self)
        op = ConstantOp.__new__(ConstantOp)
        fill(op, (), (value.type,), {"value": value})
        return op

    def _parse_optional_integer(self) -> IntegerAttr | None:
        number = _INTEGER.match(self.lexer.input.content, self.pos)
        if number is None:
            return None
        self._resume_from(number.end())
        return IntegerAttr(int(number[1]), _integer_type(number[2]))

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        """A number with its type, if it comes next."""
        number = self._parse_optional_integer()
        return super().parse_optional_builtin_int_or_float_attr() if number is None else number

    def parse_unresolved_operand(self, msg: str = "operand expected") -> UnresolvedOperand:
        """A use of a value. Raises ParseError if something else comes next."""
        found = self.parse_optional_unresolved_operand()
        if found is None:
            self.raise_error(msg)
        return found

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        """A use of a value, if one comes next."""
        name, state = self.token, self._parser_state
        if name.kind is not NAMED_VALUE:
            return None
        state.current_token = state.lexer.lex()
        if state.current_token.kind is _SHARP:  # one of several results
            self._resume_from(name.start)
            return super().parse_optional_unresolved_operand()
        return QuickOperand(name)

    def _parse_op_result_list(self) -> list[tuple[Span[str], int]]:
        name, state = self.token, self._parser_state
        if name.kind is not NAMED_VALUE:
            return []
        state.current_token = state.lexer.lex()
        if state.current_token.kind is not _EQUAL:  # several, or what cannot be read
            self._resume_from(name.start)
            return super()._parse_op_result_list()
        state.current_token = state.lexer.lex()
        return [(name.span, 1)]

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        """The value of that name. Raises ParseError if it is of another type than is said."""
        values = self.ssa_values.get(operand.operand_name, ())
        if operand.index < len(values):
            value = values[operand.index]
            if value.type is type or value.type == type:
                return value
        return self.resolve_unusual_operand(operand, type)

    def resolve_unusual_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        """As `resolve_operand`, for a name that stands for no value of that type yet."""
        return super().resolve_operand(operand, type)
