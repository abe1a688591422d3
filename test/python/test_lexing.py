"""The quick lexer gives xDSL's tokens and errors on any text."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from pto_buf.lexing import QuickLexer

TEST = Path(__file__).parents[1]
PIECES = [
    *(
        "a",
        "Z_9.x$",
        "_",
        "%a",
        "%0",
        "%0a",
        "%",
        "!t.u",
        "!",
        "#m",
        "#",
        "#-",
        "#-}",
        "^bb0",
        "^",
        "@f",
        '@"f g"',
        "@",
    ),
    *(
        "->",
        "-",
        "-1",
        "1",
        "0x1F",
        "1.5e3",
        "1.",
        "...",
        ".",
        "..",
        "{",
        "{-",
        "{-#",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
    ),
    *(
        ":",
        ",",
        "=",
        "+",
        "/",
        "//",
        "// c\n",
        "*",
        "?",
        "|",
        '"s"',
        '"\\0A\\n"',
        '"',
        "'",
        "\\",
        "\n",
        " ",
        "\t",
        "\f",
    ),
    *("\v", "\r", "\x1c", "é", "٣", "²", "\u2028"),
]


def tokens(lexer: MLIRLexer) -> list[object]:
    found: list[object] = []
    while True:
        try:
            token = lexer.lex()
        except ParseError as err:
            return [*found, (err.span.start, err.span.end, err.msg)]
        found.append((token.kind, token.span.start, token.span.end))
        if token.kind is MLIRTokenKind.EOF:
            return found


class Reference(MLIRLexer):
    """xDSL's lexer, but for the pattern on which it takes exponential time where a quote is never closed."""

    _unescaped_characters_regex = vars(QuickLexer)["_unescaped_characters_regex"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
@settings(max_examples=100)
def test_random_text(text: str):
    assert tokens(QuickLexer(Input(text, "x"))) == tokens(Reference(Input(text, "x")))


@pytest.mark.parametrize("first", PIECES)
def test_every_pair_of_pieces(first: str):
    for second in PIECES:
        text = first + second
        assert tokens(QuickLexer(Input(text, "x"))) == tokens(MLIRLexer(Input(text, "x"))), text


def test_the_programs_of_the_tests():
    for path in sorted(TEST.rglob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        assert tokens(QuickLexer(Input(text, "x"))) == tokens(MLIRLexer(Input(text, "x"))), path


def test_an_open_quote_takes_no_time():
    start = time.perf_counter()
    (error,) = tokens(QuickLexer(Input('"' + "a" * 100_000, "x")))
    assert error == (0, 1, "End of file reached before closing string literal.")
    assert time.perf_counter() - start < 5  # xDSL's takes longer than anyone can wait for 40 letters
