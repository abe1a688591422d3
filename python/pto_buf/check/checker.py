"""`check`: a function of the `pto` dialect to a verdict."""

from collections.abc import Mapping
from dataclasses import replace

from xdsl.dialects import func

from pto_buf.check.build import build
from pto_buf.check.concrete import Choice, check_run, data_dependent, open_arguments
from pto_buf.check.findings import Status, Verdict
from pto_buf.check.model import model_of
from pto_buf.check.program import Program
from pto_buf.check.prove import prove
from pto_buf.check.rewrite import with_values
from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import UsageError, near_miss
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
) -> Verdict:
    """Judges a kernel: for every run, or for those in which the named arguments have the given values.

    Raises DiagnosticError for an op that the checker does not know, UsageError for an argument that is not there.
    """
    program = build(function)
    model = model_of(target or target_of(function), entry=program.entry, global_raw=global_raw)
    given = arguments_by_name(program, {**(trips or {}), **(scalars or {})})
    if not data_dependent(program) and all(var.key in given for var in open_arguments(program)):
        verdict = check_run(program, model, Choice(given), COUNTED_STEPS)
        if verdict.status is not Status.INCOMPLETE:
            return verdict
    verdict = prove(with_values(program, given), model)
    run = tuple((program.variables[key].var.name, value) for key, value in given.items())
    return replace(verdict, findings=tuple(replace(one, run=run + one.run) for one in verdict.findings))


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
