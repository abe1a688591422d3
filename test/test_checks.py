"""The tests test something: no check that a misspelling turns off, no file that nothing runs."""

import re
from pathlib import Path

import pytest

from support.lit_lines import MACROS, run_lines

HERE = Path(__file__).parent
FILES = sorted(path for path in HERE.rglob("*") if path.suffix in (".mlir", ".pto") and "Inputs" not in path.parts)

_SUFFIXES = r"(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?"
_DIRECTIVE = re.compile(r"^\s*(?://|#|;)\s*([A-Z][A-Z0-9_-]+)(\s*:|\s+\S.*:)")
_PREFIXES = re.compile(r"--check-prefix(?:es)?[= ](\S+)")


def faults(text: str, lines: list[str]) -> list[str]:
    """What is wrong with the checks of a lit test, given its text and its RUN lines."""
    commands = [MACROS.get(line, line) for line in lines]
    prefixes: dict[str, bool] = {}
    for command in commands:
        for one in command.split("|"):
            if "filecheck" in one:
                named = _PREFIXES.search(one)
                prefixes.update(dict.fromkeys(named[1].split(",") if named else ["CHECK"], False))
    if not lines:
        return ["no RUN line"]
    found: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _DIRECTIVE.match(line)
        if match is None or match[1] in ("RUN", "COM"):
            continue
        prefix = next((p for p in prefixes if re.fullmatch(re.escape(p) + _SUFFIXES, match[1])), None)
        if prefix is None or match[2] != ":":
            found.append(f"line {number}: '{match[1]}' is no directive of the prefixes {', '.join(prefixes)}")
        else:
            prefixes[prefix] = True
    return found + [f"prefix {prefix} is never checked" for prefix, used in prefixes.items() if not used]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HERE)))
def test_every_directive_counts(path: Path):
    assert faults(path.read_text(encoding="utf-8"), run_lines(path)) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("// CHECK-NXT: a\n// CHECK: b", "line 1: 'CHECK-NXT' is no directive"),
        ("// CHEKC: a\n// CHECK: b", "line 1: 'CHEKC' is no directive"),
        ("// CHECK : a\n// CHECK: b", "line 1: 'CHECK' is no directive"),
        ("// CHECK-NEXT a: b\n// CHECK: b", "line 1: 'CHECK-NEXT' is no directive"),
        ("// UNSUPPORTED: true\n// CHECK: b", "line 1: 'UNSUPPORTED' is no directive"),
        ("func.func @f()", "prefix CHECK is never checked"),
    ],
)
def test_a_directive_that_does_not_count_is_found(text: str, fault: str):
    (only,) = faults(text, ["pto-buf-opt %s | filecheck %s"])
    assert only.startswith(fault)


def test_directives_that_count_are_left_alone():
    text = "// RUN: x\n// CHECK: a\n// A-NEXT: b\n// B-COUNT-2: c\n// Words: and more\n// A sentence: so"
    lines = ["pto-buf-opt %s | filecheck %s", "pto-buf-opt %s | filecheck %s --check-prefixes=A,B"]
    assert faults(text, lines) == []
    assert faults("// CHECK: a", ["ROUND_TRIP"]) == []
    assert faults("", ["pto-buf-opt %s --expect-errors"]) == []
    assert faults("// CHECK: a", []) == ["no RUN line"]
