"""Judging a kernel for given trip counts, exactly; and, where they are not given, for a grid of small ones. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from pto_buf.check.findings import Finding, Status, Verdict
from pto_buf.check.model import Model
from pto_buf.check.program import Fresh, Kind, Program
from pto_buf.check.runs.order import judge, judge_streams
from pto_buf.check.runs.run import MAX_STEPS, Choice, Outcome, RunError, always_zero, streams_of
from pto_buf.check.runs.steps import Step
from pto_buf.check.terms import Var

GRID_RUNS = 256
"""Runs of the grid at most."""


GRID_STEPS = 50_000
"""Instructions of one of them: more is most likely a loop that does not end."""

_MOST_ENDLESS = 24


def steps_of(program: Program, choice: Choice, limit: int = MAX_STEPS) -> list[Step]:
    """The steps of a run, in the order of issue, core after core. Raises RunError."""
    return [step for stream in streams_of(program, choice, limit) for step in stream.steps]


def open_arguments(program: Program) -> tuple[Var, ...]:
    """The values that a run has to be given, in the order in which they are numbered.

    In a mixed kernel the number of a vector core is none: all of them run.
    """
    block = (program.subblock, program.subblocks) if len(program.codes) > 1 else ()
    kinds = (Kind.ARGUMENT, Kind.FIXED)
    return tuple(info.var for info in program.variables if info.kind in kinds and info.var not in block)


def data_dependent(program: Program) -> bool:
    return any(isinstance(one, Fresh) for code in program.codes for one in code.instructions)


def check_run(program: Program, model: Model, choice: Choice, limit: int = MAX_STEPS) -> Verdict:
    """The verdict on one run: wrong, or proven for these trip counts."""
    try:
        result = judge_streams(streams_of(program, choice, limit), model)
    except RunError as error:
        return Verdict(Status.INCOMPLETE, program.name, reason=str(error))
    run = tuple((program.variables[key].var.name, value) for key, value in choice.arguments.items())
    run += choice.outcome_values
    status = Status.WRONG if result.findings else Status.PROVEN
    return Verdict(status, program.name, tuple(replace(finding, run=run, choice=choice) for finding in result.findings))


def grid(program: Program, given: Mapping[int, int], largest: int) -> Iterator[Choice]:
    """Runs with small arguments, the smallest first; each with several habits of the data-dependent values."""
    unknown = [var for var in open_arguments(program) if var.key not in given]
    habits = HABITS if data_dependent(program) else HABITS[:1]
    while len(unknown) > 1 and (largest + 1) ** len(unknown) * len(habits) > GRID_RUNS and largest > 1:
        largest -= 1
    ranges = [range(2 if program.variables[var.key].boolean else largest + 1) for var in unknown]
    values = sorted(product(*ranges), key=lambda one: (max(one, default=0), one))
    for one in values[:GRID_RUNS]:
        arguments = {**given, **{var.key: value for var, value in zip(unknown, one, strict=True)}}
        for habit in habits:
            yield Choice(arguments, habit)


HABITS: Sequence[Outcome] = (
    always_zero,
    lambda var, occurrence: 1,
    lambda var, occurrence: 1 - occurrence % 2,
    lambda var, occurrence: int(occurrence == 0),
    lambda var, occurrence: occurrence,
)
"""Ways in which data-dependent values come out, by how often the value was made before."""


LARGEST = 9
"""Of the arguments in the grid."""


def search(program: Program, model: Model, given: Mapping[int, int], largest: int = LARGEST) -> tuple[Finding, ...]:
    """Everything wrong that runs of the grid show, each with the first run that shows it."""
    found: dict[object, Finding] = {}
    endless = 0
    for choice in grid(program, given, largest):
        verdict = check_run(program, model, choice, GRID_STEPS)
        endless += verdict.status is Status.INCOMPLETE
        for finding in verdict.findings:
            found.setdefault(finding.key, finding)
        if endless > _MOST_ENDLESS:
            break
    return tuple(found.values())


def needed_pairs(steps: Sequence[Step], model: Model) -> tuple[bool, ...]:
    """For each executed set/wait pair, by the order of the sets: does the run go wrong without it?"""
    count = judge(steps, model).pairs
    return tuple(bool(judge(steps, model, without_pair=pair).findings) for pair in range(count))


def needed_barriers(steps: Sequence[Step], model: Model) -> tuple[bool, ...]:
    """For each executed barrier, in order: does the run go wrong without it?"""
    count = judge(steps, model).barriers
    return tuple(bool(judge(steps, model, without_barrier=barrier).findings) for barrier in range(count))
