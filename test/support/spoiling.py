"""Ten ways to spoil the text of a program."""

import re
from collections.abc import Callable, Mapping


def _wrong_space(text: str) -> str:
    """Every second tile moves to another memory."""
    return _every_second(r"(?<=<)(vec|mat|left|right|acc)(?=, )", text, lambda word: "bias")


def _wrong_dtype(text: str) -> str:
    return _every_second(r"(?<=x)(f16|f32|bf16|i8|i32)(?=[,>])", text, lambda word: "i64")


def _wrong_shape(text: str) -> str:
    return _every_second(r"(?<=, )\d+(?=x\d+x)", text, lambda word: str(int(word) * 3 + 1))


def _missing_operand(text: str) -> str:
    """The first operand of every op that has several."""
    return re.sub(r"(?<=[(\[ ])%[\w#]+, (?=%)", "", text)


def _stray_text(text: str) -> str:
    half = text.index("\n", len(text) // 2)
    return f"{text[:half]}\n  stray }} ) > words {text[half:]}"


def _truncated(text: str) -> str:
    return text[: text.rindex("%") + 1]


def _binary(text: str) -> str:
    half = len(text) // 2
    return f"{text[:half]}\0\x7f\ufffd{text[half:]}"


def _nested(text: str) -> str:
    """A thousand loops inside one another where the last function ends."""
    ends = [found.start() for found in re.finditer(r"^ *(func\.)?return\b", text, re.MULTILINE)]
    place = ends[-1] if ends else len(text)
    head = "%n0 = arith.constant 0 : index\n"
    loops = "".join(f"scf.for %n{depth} = %n0 to %n0 step %n0 {{\n" for depth in range(1, 1001))
    return f"{text[:place]}{head}{loops}{'}' * 1000}\n{text[place:]}"


def _long_line(text: str) -> str:
    """Ten megabytes of one word."""
    half = text.index("\n", len(text) // 2)
    return f"{text[:half]}\n{'x' * 10_000_000}{text[half:]}"


def _empty(text: str) -> str:
    return ""


def _every_second(pattern: str, text: str, other: Callable[[str], str]) -> str:
    """The first, third, fifth ... match becomes another word."""
    count = 0

    def word(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return other(match[0]) if count % 2 else match[0]

    return re.sub(pattern, word, text)


SPOILT: Mapping[str, Callable[[str], str]] = {
    "wrong-space": _wrong_space,
    "wrong-dtype": _wrong_dtype,
    "wrong-shape": _wrong_shape,
    "missing-operand": _missing_operand,
    "stray-text": _stray_text,
    "truncated": _truncated,
    "binary": _binary,
    "thousand-loops": _nested,
    "long-line": _long_line,
    "empty": _empty,
}
