"""xDSL's lexer for MLIR, with the usual tokens read by one regular expression: lexing is a third of reading a program.

The unusual ones, and everything that is wrong, are left to xDSL, so that both give the same tokens and errors.
"""

import re
from collections.abc import Mapping

from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRTokenKind

_USUAL = re.compile(
    r"""
    (?: //[^\n]*+ | [\ \t\n\r\f\v]++ )*+
    ( [a-zA-Z_][a-zA-Z0-9_$.]*+
    | [0-9]++(?![\w.])
    | (?!\#-\}) [%!\#^](?: [0-9]++ | [a-zA-Z$._-][a-zA-Z0-9$._-]*+ )
    | [:,()}\[\]<>=+/*?|] | ->  | \{(?!-\#)
    )
    """,
    re.VERBOSE | re.ASCII,
)

KINDS: Mapping[str, MLIRTokenKind] = {str(mark): kind for mark, kind in KIND_BY_PUNCTUATION_SPELLING.items()}
"""The kind of each punctuation."""

_BY_MARK = {mark[0]: KINDS[mark] for mark in (*":,()}[]<>=+/*?|{", "->")} | {
    "%": MLIRTokenKind.PERCENT_IDENT,
    "!": MLIRTokenKind.EXCLAMATION_IDENT,
    "#": MLIRTokenKind.HASH_IDENT,
    "^": MLIRTokenKind.CARET_IDENT,
    **dict.fromkeys("0123456789", MLIRTokenKind.INTEGER_LIT),
}
"""The kinds of the usual tokens by their first character; words begin with any other."""

WORD, NAMED_VALUE, NAMED_TYPE = MLIRTokenKind.BARE_IDENT, MLIRTokenKind.PERCENT_IDENT, MLIRTokenKind.EXCLAMATION_IDENT
"""Kinds that are asked for at every step: to look one up in its class takes ten times as long as here."""


class QuickToken(Token[MLIRTokenKind, str]):
    """A token that knows its text, and makes its span only when somebody asks for it, which is hardly ever."""

    text: str = ""
    """The token as it is written."""

    def __init__(self, kind: MLIRTokenKind, start: int, end: int, text: str, input: Input[str]):
        self.kind = kind
        self.start = start
        self.end = end
        self.text = text  # pyright: ignore[reportIncompatibleMethodOverride]
        self.input = input

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Where it stands."""
        return Span(self.start, self.end, self.input)


class QuickLexer(MLIRLexer):
    """Gives the tokens of `MLIRLexer`, and its errors."""

    # xDSL's own pattern takes exponential time on a quote that is never closed.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> QuickToken:
        """The next token. Raises ParseError where xDSL's lexer does."""
        input = self.input
        match = _USUAL.match(input.content, self.pos)
        if match is None:
            token = super().lex()
            return QuickToken(token.kind, token.span.start, token.span.end, token.text, input)
        text = match[1]
        self.pos = end = match.end()
        return QuickToken(_BY_MARK.get(text[0], WORD), end - len(text), end, text, input)
