"""`pto-buf check`: are the fences of a `.pto` right, whoever wrote it?"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, cast

from xdsl.dialects.func import FuncOp

from pto_buf.called import to_judge
from pto_buf.check.certificate.certify import certificate, check_certificate, digest
from pto_buf.check.checker import check, hints, integer_arguments, lost, timeline_of
from pto_buf.check.findings import Status, Verdict
from pto_buf.check.model import Model, model_of
from pto_buf.check.reading.build import build
from pto_buf.check.words import diagnostic_of, diagnostics
from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import Diagnostic, DiagnosticError, Place, UsageError, near_miss, render
from pto_buf.hw import TARGETS, Target
from pto_buf.output import write_output
from pto_buf.source import Source, parse_text, read_source
from pto_buf.tools.progress import progress
from pto_buf.universe import make_context
from pto_buf.verification import verify_module


class Exit(IntEnum):
    """The status of the command: the worst verdict of the file's kernels."""

    PROVEN = 0
    WRONG = 1
    INCOMPLETE = 3


_EXITS = {Status.PROVEN: Exit.PROVEN, Status.INCOMPLETE: Exit.INCOMPLETE, Status.WRONG: Exit.WRONG}
_WORST_FIRST = (Status.WRONG, Status.INCOMPLETE, Status.PROVEN)


@dataclass(frozen=True)
class Wanted:
    """What to look for and show beyond the verdict. File names are those of certificates to write and to check."""

    as_json: bool = False
    timeline: bool = False
    hints: bool = False
    max_parallelism: bool = False
    flags_by_source: bool = False
    certificate: str | None = None
    verify_certificate: str | None = None


def run(file: str, *, trips: Sequence[str], arch: str | None, gm_raw: str, wanted: Wanted) -> int:
    """Check every kernel of a `.pto` file, for all runs, or for those in which arguments have the given numbers.

    Raises DiagnosticError for a file that cannot be read, UsageError for a number or an argument that is none.
    """
    if file.endswith(".py"):
        raise UsageError(f"'{file}' is Python; what is checked is a .pto text", f"pto-buf compile {file} proves it too")
    source = read_source(file)
    module = parse_text(make_context(), source.text, source.file)
    verify_module(module)
    given = _assignments(trips)
    if given and wanted.certificate is not None:
        raise UsageError("a certificate is for every run; --trip leaves some out", "leave out one of the two")
    target = None if arch is None else TARGETS[arch]
    flag = gm_raw == "flag"
    kernels = to_judge(module)
    if wanted.verify_certificate is not None:
        return _verify(kernels, source, wanted.verify_certificate, target, flag)
    own = _own_arguments(kernels, given)
    with progress("proving"):
        verdicts = [
            check(kernel, target, scalars=values, global_raw=flag, flags_by_source=wanted.flags_by_source)
            for kernel, values in zip(kernels, own, strict=True)
        ]
    if wanted.as_json:
        sys.stdout.write(json.dumps([_json(verdict) for verdict in verdicts], indent=2) + "\n")
    else:
        for kernel, verdict, values in zip(kernels, verdicts, own, strict=True):
            sys.stderr.write(render(diagnostics(verdict), {source.file: source.text}))
            sys.stdout.write(_words(verdict, values) + "\n")
            _show_more(kernel, verdict, values, wanted, target, source, flag)
    if wanted.certificate is not None:
        _certify(kernels, verdicts, source, wanted.certificate, target, flag)
    found = {verdict.status for verdict in verdicts}
    return _EXITS[next((status for status in _WORST_FIRST if status in found), Status.PROVEN)]


def _own_arguments(kernels: Sequence[FuncOp], given: Mapping[str, int]) -> list[dict[str, int]]:
    """For each kernel, the numbers of those arguments that it has. Raises UsageError for a name that none has."""
    names = [integer_arguments(kernel) for kernel in kernels]
    every = list(dict.fromkeys(name for one in names for name in one))
    for name in given:
        if name not in every:
            help = near_miss(name, every) or f"there is: {', '.join(every) or 'none'}"
            raise UsageError(f"no kernel of the file has an integer argument '{name}'", help)
    return [{name: number for name, number in given.items() if name in one} for one in names]


def _show_more(
    kernel: FuncOp,
    verdict: Verdict,
    given: Mapping[str, int],
    wanted: Wanted,
    target: Target | None,
    source: Source,
    flag: bool,
) -> None:
    if wanted.timeline:
        for finding in verdict.findings:
            sys.stdout.write(f"\n{diagnostic_of(finding).message}\n{timeline_of(kernel, finding)}\n")
    more: list[Diagnostic] = []
    if wanted.hints and verdict.status is Status.PROVEN:
        more += hints(kernel, target, global_raw=flag)
    if wanted.max_parallelism:
        more += lost(kernel, given, target)
    sys.stderr.write(render(more, {source.file: source.text}))


def _certify(
    kernels: Sequence[FuncOp],
    verdicts: Sequence[Verdict],
    source: Source,
    path: str,
    target: Target | None,
    flag: bool,
) -> None:
    """Writes the states of the proofs; nothing, and says so, if a kernel is not proven."""
    if any(verdict.status is not Status.PROVEN for verdict in verdicts):
        sys.stderr.write(f"{path} is not written: not every kernel is proven\n")
        return
    made = [certificate(build(kernel), _model(kernel, target, flag)) for kernel in kernels]
    if any(one is None for one in made):
        raise DiagnosticError.at(
            Place(source.file), "a kernel is right in its one run but its states could not be written down"
        )
    write_output(path, json.dumps({"text": digest(source.text), "kernels": made}) + "\n")


def _verify(kernels: Sequence[FuncOp], source: Source, path: str, target: Target | None, flag: bool) -> int:
    place = Place(path)
    try:
        data = json.loads(read_source(path).text)
        found, same = data["kernels"], data["text"] == digest(source.text)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DiagnosticError.at(place, "this is no certificate", kind="certificate") from None
    if not same or not isinstance(found, list) or len(cast(list[Any], found)) != len(kernels):
        raise DiagnosticError.at(place, f"the certificate is not for {source.file} as it is now", kind="certificate")
    for kernel, one in zip(kernels, cast(list[Any], found), strict=True):
        words = check_certificate(build(kernel), _model(kernel, target, flag), one)
        if words:
            raise DiagnosticError.at(place, f"{kernel.sym_name.data}: {words}", kind="certificate")
        sys.stdout.write(f"{kernel.sym_name.data}: the certificate holds\n")
    return Exit.PROVEN


def _model(kernel: FuncOp, target: Target | None, flag: bool) -> Model:
    return model_of(target or target_of(kernel), entry=build(kernel).entry, global_raw=flag)


def _assignments(texts: Sequence[str]) -> dict[str, int]:
    given: dict[str, int] = {}
    for name, number in map(_assignment, texts):
        if given.setdefault(name, number) != number:
            raise UsageError(f"'{name}' is {given[name]} and {number}", "check one run at a time")
    return given


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
