"""What a person is told when something is wrong. Pure: this module imports no xDSL.

Every mistake in a program is a `Diagnostic` at a `Place`; a `DiagnosticError` carries all of them at once, so that
one run reports every error of a file. A mistake on the command line is a `UsageError`. The tools turn these into text
with `render` and into exit codes; nothing else prints errors.
"""

import sys
import unicodedata
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn

EXIT_WRONG_PROGRAM = 1
EXIT_USAGE = 2

UNPROVEN = "unproven"
"""The kind of an error that says that nothing wrong was found, and no proof either."""

_LONGEST_NAME = 200
"""Characters of a name for which a near one is sought; comparing takes quadratic time."""

_LONGEST_MESSAGE = 4000
"""Characters of a message that are shown: it may quote the program."""

_WIDEST_LINE = 240
"""Columns of a source line that are shown; a longer line is cut to a window around the caret."""


@dataclass(frozen=True, order=True)
class Place:
    """A position in a text the user wrote. `line` and `col` count from 1; 0 means the whole file or the whole line."""

    file: str
    line: int = 0
    col: int = 0

    def __str__(self) -> str:
        if self.line == 0:
            return self.file
        if self.col == 0:
            return f"{self.file}:{self.line}"
        return f"{self.file}:{self.line}:{self.col}"


class Severity(StrEnum):
    """How bad it is: an error ends the run with exit code 1, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Note:
    """Something at another place that explains an error: the other offender, the first definition, the loop."""

    place: Place | None
    message: str


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong.

    `message` is lower case and names the rule and the value found; `help` is the lever that mends it; `kind` is a
    short slug for tools (`use-after-release`, `memory-space`, `shape-or-dtype`, `capacity-or-count`, ...).
    """

    message: str
    place: Place | None = None
    notes: tuple[Note, ...] = ()
    help: str | None = None
    kind: str | None = None
    severity: Severity = Severity.ERROR


class DiagnosticError(Exception):
    """The user's program is wrong. Carries at least one error, in the order of their places."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, *diagnostics: Diagnostic):
        if not diagnostics:
            raise ValueError("a DiagnosticError needs a diagnostic")
        self.diagnostics = in_order(diagnostics)
        super().__init__(*self.diagnostics)

    @classmethod
    def at(
        cls, place: Place | None, message: str, *notes: Note, help: str | None = None, kind: str | None = None
    ) -> "DiagnosticError":
        """The error for a single diagnostic: `raise DiagnosticError.at(place, "slot count 17 is above 16")`."""
        return cls(Diagnostic(message, place, notes, help, kind))

    def __str__(self) -> str:
        return "\n".join(_headline(diagnostic) for diagnostic in self.diagnostics)


class UsageError(Exception):
    """The command line is wrong (exit code 2): an unknown option, pass or target, or an option's bad value."""

    def __init__(self, message: str, help: str | None = None):
        super().__init__(message)
        self.message = message
        self.help = help


@dataclass
class Collector:
    """Gathers diagnostics during one analysis, so that all errors of a program are reported by one run."""

    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def error(
        self, place: Place | None, message: str, *notes: Note, help: str | None = None, kind: str | None = None
    ) -> None:
        """Remember an error and go on."""
        self.diagnostics.append(Diagnostic(message, place, notes, help, kind))

    def warning(
        self, place: Place | None, message: str, *notes: Note, help: str | None = None, kind: str | None = None
    ) -> None:
        """Remember a warning and go on."""
        self.diagnostics.append(Diagnostic(message, place, notes, help, kind, Severity.WARNING))

    def add(self, err: DiagnosticError) -> None:
        """Remember what another part raised."""
        self.diagnostics.extend(err.diagnostics)

    @property
    def has_errors(self) -> bool:
        """Whether anything worse than a warning was seen."""
        return any(d.severity is Severity.ERROR for d in self.diagnostics)

    def raise_if_errors(self) -> None:
        """Raise `DiagnosticError` with everything seen, warnings too, when there is at least one error."""
        if self.has_errors:
            raise DiagnosticError(*self.diagnostics)

    def fail(
        self, place: Place | None, message: str, *notes: Note, help: str | None = None, kind: str | None = None
    ) -> NoReturn:
        """Raise at once, with everything seen before."""
        self.error(place, message, *notes, help=help, kind=kind)
        raise DiagnosticError(*self.diagnostics)


_warnings: ContextVar[list[Diagnostic] | None] = ContextVar("_warnings", default=None)


@contextmanager
def collecting_warnings() -> Generator[list[Diagnostic]]:
    """What `warn` says inside the block goes into the list, for the tool to show or to check."""
    found: list[Diagnostic] = []
    token = _warnings.set(found)
    try:
        yield found
    finally:
        _warnings.reset(token)


def warn(place: Place | None, message: str, *notes: Note, help: str | None = None, kind: str | None = None) -> None:
    """Tell the user something that does not stop the run. Goes to standard error when nobody collects."""
    diagnostic = Diagnostic(message, place, notes, help, kind, Severity.WARNING)
    found = _warnings.get()
    if found is None:
        sys.stderr.write(render([diagnostic]))
    else:
        found.append(diagnostic)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics by place, equal ones once; those without a place come last."""

    def key(diagnostic: Diagnostic) -> tuple[bool, Place]:
        return diagnostic.place is None, diagnostic.place or Place("")

    return tuple(sorted(dict.fromkeys(diagnostics), key=key))


def near_miss(name: str, known: Iterable[str]) -> str | None:
    """The help line for a name that is not known: the nearest known one, or None if none is near."""
    import difflib  # only ever needed by a run that fails

    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.75) if len(name) <= _LONGEST_NAME else []
    return f"did you mean '{nearest[0]}'?" if nearest else None


def render(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None) -> str:
    """The text a person reads: headline, source line with caret, notes, help. Ends in a newline unless empty.

    Source lines come from `sources` (file name to text) or from the file; one that cannot be read is left out.
    """
    lines = _Lines(dict(sources or {}))
    return "".join(f"{row}\n" for diagnostic in in_order(diagnostics) for row in _rows(diagnostic, lines))


def render_usage(tool: str, err: UsageError) -> str:
    """The text for a wrong command line."""
    tail = f"help: {err.help}\n" if err.help else ""
    return f"{tool}: error: {err.message}\n{tail}"


def _headline(diagnostic: Diagnostic) -> str:
    slug = f" [{diagnostic.kind}]" if diagnostic.kind else ""
    message = diagnostic.message
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]} ... ({len(message)} characters)"
    return f"{_prefix(diagnostic.place)}{diagnostic.severity}: {message}{slug}"


def _prefix(place: Place | None) -> str:
    return "" if place is None else f"{place}: "


def _rows(diagnostic: Diagnostic, lines: "_Lines") -> Iterable[str]:
    yield _headline(diagnostic)
    yield from lines.excerpt(diagnostic.place)
    for note in diagnostic.notes:
        yield f"{_prefix(note.place)}note: {note.message}"
        yield from lines.excerpt(note.place)
    if diagnostic.help:
        yield f"help: {diagnostic.help}"


class _Lines:
    """The lines of the files that errors point into, each file read once."""

    def __init__(self, texts: dict[str, str]):
        self._texts = texts
        self._lines: dict[str, list[str]] = {}

    def excerpt(self, place: Place | None) -> Iterable[str]:
        """The line at `place` and, when the column is known, a line with a caret under it."""
        if place is None or place.line < 1:
            return
        lines = self._of(place.file)
        if place.line > len(lines):
            return
        line = lines[place.line - 1].rstrip("\r")
        if place.col < 1:
            yield f"    {_shown(line[:_WIDEST_LINE])}"
            return
        start = max(0, place.col - 1 - _WIDEST_LINE // 2) if len(line) > _WIDEST_LINE else 0
        head = _shown(line[start : place.col - 1])
        rest = _shown(line[place.col - 1 : start + _WIDEST_LINE])
        lead = "..." if start else ""
        tail = "..." if start + _WIDEST_LINE < len(line) else ""
        yield f"    {lead}{head}{rest}{tail}"
        yield f"    {' ' * len(lead)}{_blank(head)}^"

    def _of(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = self._read(file).split("\n")
        return self._lines[file]

    def _read(self, file: str) -> str:
        if file in self._texts:
            return self._texts[file]
        try:
            with open(file, encoding="utf-8", errors="replace", newline="") as stream:
                return stream.read()
        except (OSError, ValueError):  # gone, not a file, a name with a NUL: the headline must do
            return ""


def _shown(text: str) -> str:
    """The text with what would upset a terminal replaced; tabs stay, so that the line looks as the user wrote it."""
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def _blank(text: str) -> str:
    """Blanks as wide as `text` on a terminal."""
    return "".join(_blank_for(char) for char in text)


def _blank_for(char: str) -> str:
    if char == "\t":
        return "\t"
    if unicodedata.combining(char):
        return ""
    return "  " if unicodedata.east_asian_width(char) in "WF" else " "
