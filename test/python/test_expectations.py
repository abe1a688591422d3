"""Expected errors: where a comment points, what meets it, and what is left over."""

import pytest

from pto_buf.errors import Diagnostic, DiagnosticError, Note, Place, Severity
from pto_buf.expectations import disagreements, expectations


@pytest.mark.parametrize(
    ("where", "line"), [("", 5), ("@+2", 7), ("@-3", 2), ("@above", 4), ("@below", 6), ("@unknown", None)]
)
def test_where_a_comment_points(where: str, line: int | None):
    (only,) = expectations(f"\n  x // expected-error{where} {{{{some }} words}}}}", "k.mlir", first_line=4)
    assert (only.level, only.line, only.words, only.place) == ("error", line, "some } words", Place("k.mlir", 5, 5))


def test_several_on_a_line():
    text = "// expected-error {{a}} // expected-note@+1 {{b}} // expected-warning {{c}} // expected-help {{d}}"
    found = [(one.level, one.line, one.words) for one in expectations(text, "k.mlir")]
    assert found == [("error", 1, "a"), ("note", 2, "b"), ("warning", 1, "c"), ("help", 1, "d")]


@pytest.mark.parametrize(
    "comment", ["// expected-eror {{a}}", "//expect-error {{a}}", "// expected-error a", "// expected-error@x {{a}}"]
)
def test_a_comment_that_expects_nothing_is_an_error(comment: str):
    with pytest.raises(DiagnosticError, match=r"k.mlir:3: error: a comment that looks like an expectation"):
        expectations(f"\n\n{comment}", "k.mlir")


def test_comments_that_only_talk_are_left_alone():
    assert expectations("// what is expected - errors\n// the expected error\n", "k.mlir") == ()


def said(text: str, *diagnostics: Diagnostic) -> list[str]:
    return [str(d.message) for d in disagreements(expectations(text, "k.mlir"), diagnostics, "k.mlir")]


def test_a_diagnostic_meets_one_expectation_of_its_level_and_line():
    error = Diagnostic("the slot is dead", Place("k.mlir", 2, 9), kind="use-after-release")
    expected = "// expected-error@+1 {{slot is dead [use-after-release]}}\n"
    assert said(expected, error) == []
    assert said(expected) == ["expected error was not given: slot is dead [use-after-release]"]
    assert said("", error) == ["unexpected error: the slot is dead [use-after-release]"]
    assert len(said(expected, error, error)) == 1
    assert len(said("\n" + expected, error)) == 2
    assert len(said(expected.replace("-error", "-warning"), error)) == 2
    assert len(said(expected, Diagnostic(error.message, Place("other", 2, 9), kind=error.kind))) == 2
    assert len(said(expected, Diagnostic("is dead", Place("k.mlir", 2, 9)))) == 2


def test_what_has_no_place_in_the_file_is_expected_as_unknown():
    for place in (None, Place("k.mlir"), Place("other.py", 1, 1)):
        assert said("// expected-error@unknown {{bad}}", Diagnostic("bad", place)) == []


def test_notes_must_be_expected_and_help_may_be():
    error = Diagnostic("bad", Place("k.mlir", 1), (Note(Place("k.mlir", 2), "here"),), "use % 2")
    assert said("// expected-error {{bad}}", error) == ["unexpected note: here"]
    assert said("// expected-error {{bad}}\n// expected-note {{here}}", error) == []
    assert said("// expected-error {{bad}} // expected-help {{use % 2}}\n// expected-note {{here}}", error) == []
    wrong = said("// expected-error {{bad}} // expected-help {{use & 1}}\n// expected-note {{here}}", error)
    assert wrong == ["expected help was not given: use & 1"]


def test_warnings():
    warning = Diagnostic("slow", Place("k.mlir", 1), severity=Severity.WARNING)
    assert said("// expected-warning {{slow}}", warning) == []
    assert said("", warning) == ["unexpected warning: slow"]
