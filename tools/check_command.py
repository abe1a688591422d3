"""`pto-buf check`: are the fences of a `.pto` right, whoever wrote it?"""

import json
import sys
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from xdsl.dialects.func import FuncOp

from pto_buf.check.checker import check
from pto_buf.check.findings import Status, Verdict
from pto_buf.check.words import diagnostics
from pto_buf.errors import Diagnostic, Place, UsageError, render
from pto_buf.hw import TARGETS
from pto_buf.source import parse_text, read_source
from pto_buf.universe import make_context
from pto_buf.verification import verify_module


class Exit(IntEnum):
    """The status of the command: the worst verdict of the file's kernels."""

    PROVEN = 0
    WRONG = 1
    INCOMPLETE = 3


_EXITS = {Status.PROVEN: Exit.PROVEN, Status.INCOMPLETE: Exit.INCOMPLETE, Status.WRONG: Exit.WRONG}
_WORST_FIRST = (Status.WRONG, Status.INCOMPLETE, Status.PROVEN)


def run(file: str, *, trips: Sequence[str], arch: str | None, gm_raw: str, as_json: bool) -> int:
    """Check every kernel of a `.pto` file, for all runs, or for those in which arguments have the given numbers.

    Raises DiagnosticError for a file that cannot be read, UsageError for a number or an argument that is none.
    """
    source = read_source(file)
    module = parse_text(make_context(), source.text, source.file)
    verify_module(module)
    given = dict(_assignment(text) for text in trips)
    target = None if arch is None else TARGETS[arch]
    kernels = [op for op in module.walk() if isinstance(op, FuncOp) and not op.is_declaration]
    verdicts = [check(kernel, target, scalars=given, global_raw=gm_raw == "flag") for kernel in kernels]
    if as_json:
        sys.stdout.write(json.dumps([_json(verdict) for verdict in verdicts], indent=2) + "\n")
    else:
        for verdict in verdicts:
            sys.stderr.write(render(diagnostics(verdict), {source.file: source.text}))
            sys.stdout.write(_words(verdict, given) + "\n")
    found = {verdict.status for verdict in verdicts}
    return _EXITS[next((status for status in _WORST_FIRST if status in found), Status.PROVEN)]


def _assignment(text: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    try:
        return name.strip().removeprefix("%"), int(number)
    except ValueError:
        words = f"'{text}' gives no argument a number" if equals else f"'{text}' is no NAME=NUMBER"
        raise UsageError(words, "for example --trip n=7") from None


def _words(verdict: Verdict, given: Mapping[str, int]) -> str:
    runs = (
        "every run" if not given else "runs with " + ", ".join(f"{name} = {number}" for name, number in given.items())
    )
    assumed = f" (assuming {'; '.join(verdict.assumptions)})" if verdict.assumptions else ""
    match verdict.status:
        case Status.PROVEN:
            return f"{verdict.kernel}: proven for {runs}{assumed}"
        case Status.INCOMPLETE:
            return f"{verdict.kernel}: incomplete: {verdict.reason}"
        case Status.WRONG:
            count = len(verdict.findings)
            return f"{verdict.kernel}: wrong: {count} finding{'s' if count != 1 else ''}"


def _json(verdict: Verdict) -> dict[str, Any]:
    found = zip(diagnostics(verdict), verdict.findings, strict=True)
    return {
        "kernel": verdict.kernel,
        "verdict": verdict.status.value,
        "reason": verdict.reason,
        "assumptions": list(verdict.assumptions),
        "findings": [{"fault": one.fault.value, "run": dict(one.run), **_said(said)} for said, one in found],
    }


def _said(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "message": diagnostic.message,
        "place": _place(diagnostic.place),
        "notes": [{"message": note.message, "place": _place(note.place)} for note in diagnostic.notes],
    }


def _place(place: Place | None) -> str | None:
    return None if place is None else str(place)
