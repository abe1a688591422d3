"""`check`: a function of the `pto` dialect to a verdict."""

from collections.abc import Mapping
from dataclasses import replace

from xdsl.dialects import func

from pto_buf.check.by_source import SharedIds, shared_ids
from pto_buf.check.findings import Finding, RunValues, Status, Verdict
from pto_buf.check.model import Model, model_of
from pto_buf.check.program import Program
from pto_buf.check.proof.prove import prove
from pto_buf.check.reading.build import build
from pto_buf.check.rewrite import with_values
from pto_buf.check.runs.concrete import check_run, data_dependent, open_arguments
from pto_buf.check.runs.parallel import lost_parallelism
from pto_buf.check.runs.run import Choice, streams_of
from pto_buf.check.timeline import timeline
from pto_buf.check.useless import useless_fences
from pto_buf.check.words import lost_words
from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import Diagnostic, Note, Severity, UsageError, near_miss
from pto_buf.hw import Target

COUNTED_STEPS = 100_000
"""Instructions of a kernel without arguments that is judged by running it."""


def check(
    function: func.FuncOp,
    target: Target | None = None,
    trips: Mapping[str, int] | None = None,
    scalars: Mapping[str, int] | None = None,
    *,
    global_raw: bool = False,
    flags_by_source: bool = False,
    most_states: int | None = None,
) -> Verdict:
    """Judges a kernel: for every run, or for those in which the named arguments have the given values.

    With `flags_by_source` an id that a source uses for two destinations is wrong, too; one that is not worked out, so
    that it may be such a one, leaves the verdict incomplete.
    With `most_states` nothing but a proof of at most so many states is wanted: where there is none, no wrong run is
    looked for.

    Raises DiagnosticError for an op that the checker does not know, UsageError for an argument that is not there.
    """
    program = build(function)
    model = model_of(target or target_of(function), entry=program.entry, global_raw=global_raw)
    given = arguments_by_name(program, {**(trips or {}), **(scalars or {})})
    verdict = _verdict(program, model, given, most_states)
    return _with_shared(verdict, shared_ids(with_values(program, given))) if flags_by_source else verdict


def _with_shared(verdict: Verdict, shared: SharedIds) -> Verdict:
    if shared.found:
        return replace(verdict, status=Status.WRONG, findings=(*verdict.findings, *shared.found))
    if shared.open and verdict.status is Status.PROVEN:
        return replace(verdict, status=Status.INCOMPLETE, reason="; ".join(shared.open[:3]), assumptions=())
    return verdict


def _verdict(program: Program, model: Model, given: Mapping[int, int], most_states: int | None) -> Verdict:
    if not data_dependent(program) and all(var.key in given for var in open_arguments(program)):
        verdict = check_run(program, model, Choice(given), COUNTED_STEPS)
        if verdict.status is not Status.INCOMPLETE:
            return verdict
    verdict = prove(with_values(program, given), model, most_states)
    run = tuple((program.variables[key].var.name, value) for key, value in given.items())
    return replace(verdict, findings=tuple(_given(one, run, given) for one in verdict.findings))


def _given(finding: Finding, run: RunValues, given: Mapping[int, int]) -> Finding:
    """The finding of a program in which some arguments were given, as one of the program in which they were not."""
    choice = finding.choice
    if choice is not None:
        choice = replace(choice, arguments={**choice.arguments, **given})
    return replace(finding, run=run + finding.run, choice=choice)


def timeline_of(function: func.FuncOp, finding: Finding) -> str:
    """The run that shows a finding, as a table; nothing for a finding without one."""
    if finding.choice is None:
        return ""
    return timeline(streams_of(build(function), finding.choice), finding)


def hints(function: func.FuncOp, target: Target | None = None, *, global_raw: bool = False) -> tuple[Diagnostic, ...]:
    """For a proven kernel, a warning for each barrier, and each event's sets and waits, that it is proven without."""
    program = build(function)
    model = model_of(target or target_of(function), entry=program.entry, global_raw=global_raw)
    found: list[Diagnostic] = []
    for sites in useless_fences(program, model):
        notes = tuple(Note(site.place, f"{site.name} with it") for site in sites[1:])
        words = f"{sites[0].name}: without this fence the kernel is proven too"
        found.append(Diagnostic(words, sites[0].place, notes, None, "useless-fence", Severity.WARNING))
    return tuple(found)


def lost(function: func.FuncOp, values: Mapping[str, int], target: Target | None = None) -> tuple[Diagnostic, ...]:
    """For a run with these arguments, a warning for each pair of ops that is ordered without need.

    Raises UsageError if an argument has no value.
    """
    program = build(function)
    given = arguments_by_name(program, values)
    missing = [var.name for var in open_arguments(program) if var.key not in given]
    if missing:
        raise UsageError(f"to say what a run gives away, '{missing[0]}' needs a number", f"--trip {missing[0]}=4")
    model = model_of(target or target_of(function), entry=program.entry)
    pairs = [one for stream in streams_of(program, Choice(given)) for one in lost_parallelism(stream.steps, model)]
    return tuple(lost_words(pair) for pair in pairs)


def integer_arguments(function: func.FuncOp) -> tuple[str, ...]:
    """The names of the arguments, and of what else a run has to be given, that have a number."""
    return tuple(var.name for var in open_arguments(build(function)))


def arguments_by_name(program: Program, values: Mapping[str, int]) -> dict[int, int]:
    """Raises UsageError for a name that no argument has."""
    by_name = {var.name: var.key for var in open_arguments(program)}
    for name in values:
        if name not in by_name:
            raise UsageError(
                f"kernel '{program.name}' has no integer argument '{name}'",
                near_miss(name, by_name) or f"it has: {', '.join(by_name) or 'none'}",
            )
    return {by_name[name]: value for name, value in values.items()}
