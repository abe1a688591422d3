"""`check`: a function of the `pto` dialect to a verdict."""

from collections.abc import Mapping

from xdsl.dialects import func

from pto_buf.check.build import build
from pto_buf.check.concrete import Choice, check_run, data_dependent, open_arguments, search
from pto_buf.check.findings import Status, Verdict
from pto_buf.check.model import model_of
from pto_buf.check.program import Program
from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import UsageError, near_miss
from pto_buf.hw import Target


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
    missing = [var.name for var in open_arguments(program) if var.key not in given]
    if not missing and not data_dependent(program):
        return check_run(program, model, Choice(given))
    found = search(program, model, given)
    if found:
        return Verdict(Status.WRONG, program.name, found)
    what = ", ".join(f"%{name}" for name in missing) or "data-dependent values"
    return Verdict(Status.INCOMPLETE, program.name, reason=f"only small runs were tried: {what} can be anything")


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
