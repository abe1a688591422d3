"""`// expected-error@+1 {{words}}` comments, as in MLIR, and whether a run said just that. Pure: imports no xDSL.

An error, a warning or a note must be expected on its line, and every expectation must be met. The help line of an
error need not be expected, but is checked when it is. `@+N`, `@-N`, `@above`, `@below` move the line; `@unknown` is
for what has no place in the file.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pto_buf.errors import Diagnostic, DiagnosticError, Place

_COMMENT = re.compile(
    r"//\s*expected-(?P<level>error|warning|note|help)"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*\{\{(?P<words>.*?)\}\}"
)
_NEAR_COMMENT = re.compile(r"//\s*expect\w*\s*-")


@dataclass(frozen=True)
class Expectation:
    """Words that a message of this level on this line must hold. `line` is None for `@unknown`."""

    level: str
    line: int | None
    words: str
    place: Place


@dataclass(frozen=True)
class _Said:
    level: str
    line: int | None
    words: str
    place: Place | None
    optional: bool = False


def expectations(text: str, file: str, first_line: int = 1) -> tuple[Expectation, ...]:
    """The expectations written in a text that starts at `first_line` of the file.

    Raises DiagnosticError for a comment that looks like an expectation and is not one.
    """
    found: list[Expectation] = []
    for number, line in enumerate(text.split("\n"), first_line):
        matches = list(_COMMENT.finditer(line))
        if not matches and _NEAR_COMMENT.search(line):
            raise DiagnosticError.at(Place(file, number), "a comment that looks like an expectation but is not one")
        for match in matches:
            place = Place(file, number, match.start() + 1)
            found.append(Expectation(match["level"], _line(match["where"], number), match["words"], place))
    return tuple(found)


def _line(where: str | None, number: int) -> int | None:
    match where:
        case None:
            return number
        case "unknown":
            return None
        case "above":
            return number - 1
        case "below":
            return number + 1
        case _:
            return number + int(where)


def disagreements(
    expected: Iterable[Expectation], diagnostics: Iterable[Diagnostic], file: str
) -> tuple[Diagnostic, ...]:
    """What was expected and not said, and what was said and not expected."""
    said = [part for diagnostic in diagnostics for part in _parts(diagnostic, file)]
    missing: list[Diagnostic] = []
    for expectation in expected:
        met = next((part for part in said if _meets(part, expectation)), None)
        if met is None:
            missing.append(
                Diagnostic(f"expected {expectation.level} was not given: {expectation.words}", expectation.place)
            )
        else:
            said.remove(met)
    surplus = [Diagnostic(f"unexpected {part.level}: {part.words}", part.place) for part in said if not part.optional]
    return (*missing, *surplus)


def _meets(part: _Said, expectation: Expectation) -> bool:
    return (part.level, part.line) == (expectation.level, expectation.line) and expectation.words in part.words


def _parts(diagnostic: Diagnostic, file: str) -> Iterator[_Said]:
    def line_of(place: Place | None) -> int | None:
        return place.line if place is not None and place.file == file and place.line > 0 else None

    words = f"{diagnostic.message} [{diagnostic.kind}]" if diagnostic.kind else diagnostic.message
    yield _Said(str(diagnostic.severity), line_of(diagnostic.place), words, diagnostic.place)
    for note in diagnostic.notes:
        yield _Said("note", line_of(note.place), note.message, note.place)
    if diagnostic.help:
        yield _Said("help", line_of(diagnostic.place), diagnostic.help, diagnostic.place, optional=True)
