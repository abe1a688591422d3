"""The text, order and contents of what users are told."""

import subprocess
import sys
from pathlib import Path

import pytest

from pto_buf.errors import (
    Collector,
    Diagnostic,
    DiagnosticError,
    Note,
    Place,
    Severity,
    UsageError,
    collecting_warnings,
    in_order,
    near_miss,
    render,
    render_usage,
    warn,
)

KERNEL = "def kernel():\n    x = slots[2]\n\tpl.release(x)\n    y = 'κ核' + slots[9]\n"
SOURCES = {"k.py": KERNEL}


def test_headline_line_caret_note_and_help():
    text = render(
        [
            Diagnostic(
                "slot index 2 is outside [0, 2)",
                Place("k.py", 2, 9),
                (Note(Place("k.py", 3, 2), "the set is made here"), Note(None, "no place")),
                help="use `% 2`",
                kind="slot-index-out-of-range",
            )
        ],
        SOURCES,
    )
    assert text == (
        "k.py:2:9: error: slot index 2 is outside [0, 2) [slot-index-out-of-range]\n"
        "        x = slots[2]\n"
        "            ^\n"
        "k.py:3:2: note: the set is made here\n"
        "    \tpl.release(x)\n"
        "    \t^\n"
        "note: no place\n"
        "help: use `% 2`\n"
    )


def test_caret_stands_under_wide_characters():
    *_, line, caret = render([Diagnostic("bad", Place("k.py", 4, 16))], SOURCES).splitlines()
    assert line == "        y = 'κ核' + slots[9]"
    assert caret == " " * (line.index("slots") + 1) + "^"  # one more: the character 核 takes two columns


@pytest.mark.parametrize("col", [1, 500, 990])
def test_a_long_line_is_cut_to_a_window(col: int):
    long = "".join(chr(ord("a") + i % 26) for i in range(1000))
    _, line, caret = render([Diagnostic("bad", Place("k.py", 1, col))], {"k.py": long}).splitlines()
    assert len(line) <= 4 + 240 + 6
    assert line[caret.index("^")] == long[col - 1]


def test_source_line_is_read_from_the_file(tmp_path: Path):
    file = tmp_path / "k.py"
    file.write_text("first\r\nsecond\r\n")
    assert render([Diagnostic("bad", Place(str(file), 2, 1))]) == f"{file}:2:1: error: bad\n    second\n    ^\n"


@pytest.mark.parametrize("file", ["missing.py", "/", "a\0b"])
def test_unreadable_source_leaves_the_headline(file: str):
    assert render([Diagnostic("bad", Place(file, 2, 1))]) == f"{file}:2:1: error: bad\n"


def test_undecodable_bytes_do_not_reach_the_terminal(tmp_path: Path):
    file = tmp_path / "k.py"
    file.write_bytes(b"\x1b[31m\xff\n")
    line = render([Diagnostic("bad", Place(str(file), 1, 1))]).splitlines()[1]
    assert line == "    \ufffd[31m\ufffd"


def test_a_line_beyond_the_end_leaves_the_headline():
    assert render([Diagnostic("bad", Place("k.py", 99, 1))], SOURCES) == "k.py:99:1: error: bad\n"


def test_whole_file_and_whole_line_places():
    assert render([Diagnostic("bad", Place("k.py"))], SOURCES) == "k.py: error: bad\n"
    assert render([Diagnostic("bad", Place("k.py", 1))], SOURCES) == "k.py:1: error: bad\n    def kernel():\n"
    assert render([Diagnostic("bad")]) == "error: bad\n"


def test_order_is_by_place_and_equal_ones_appear_once():
    first, second = Diagnostic("z", Place("k.py", 2, 1)), Diagnostic("a", Place("k.py", 10, 1))
    other, nowhere = Diagnostic("a", Place("l.py", 1, 1)), Diagnostic("a")
    assert in_order([nowhere, other, second, first, second]) == (first, second, other, nowhere)
    assert DiagnosticError(nowhere, first).diagnostics == (first, nowhere)


def test_one_place_keeps_the_order_of_finding():
    place = Place("k.py", 1, 1)
    assert [d.message for d in in_order([Diagnostic("b", place), Diagnostic("a", place)])] == ["b", "a"]


def test_the_collector_reports_everything_at_once():
    found = Collector()
    found.warning(Place("k.py", 3, 1), "slow")
    found.raise_if_errors()
    found.error(Place("k.py", 2, 1), "wrong", Note(None, "why"), help="do", kind="slug")
    with pytest.raises(DiagnosticError) as caught:
        found.raise_if_errors()
    assert str(caught.value) == "k.py:2:1: error: wrong [slug]\nk.py:3:1: warning: slow"
    assert [d.severity for d in caught.value.diagnostics] == [Severity.ERROR, Severity.WARNING]
    with pytest.raises(DiagnosticError, match="also"):
        found.fail(None, "also")
    again = Collector()
    again.add(caught.value)
    assert again.has_errors


def test_a_diagnostic_error_is_never_empty():
    with pytest.raises(ValueError, match="needs a diagnostic"):
        DiagnosticError()


def test_usage_text():
    assert render_usage("pto-buf", UsageError("no pass 'x'", "did you mean 'y'?")) == (
        "pto-buf: error: no pass 'x'\nhelp: did you mean 'y'?\n"
    )


def test_warnings_go_to_who_collects_them_or_to_standard_error(capsys: pytest.CaptureFixture[str]):
    with collecting_warnings() as found:
        warn(Place("k.py", 3, 1), "slow", help="be quick")
    assert [(d.severity, d.message, d.help) for d in found] == [(Severity.WARNING, "slow", "be quick")]
    assert capsys.readouterr().err == ""
    warn(None, "slow")
    assert capsys.readouterr().err == "warning: slow\n"


def test_near_names_are_offered():
    assert near_miss("canonicalise", ["cse", "canonicalize"]) == "did you mean 'canonicalize'?"
    assert near_miss("foo", ["cse", "canonicalize"]) is None
    assert near_miss("foo", []) is None


def test_errors_need_no_xdsl():
    script = "import sys, pto_buf.errors, pto_buf.output, pto_buf.expectations; print('xdsl' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_is_endless_is_cut():
    assert near_miss("x" * 10_000_000, ["x"]) is None
    shown = render([Diagnostic(f"there is no op '{'x' * 10_000_000}'", Place("f", 1, 1))], {"f": "x\n"})
    assert len(shown) < 5000
    assert "x ... (10000017 characters)" in shown
