"""Turning the text of a pass pipeline into passes, and running them with errors that people can read."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException

from pto_buf.errors import DiagnosticError, UsageError, near_miss
from pto_buf.kept import Keeps, keeping
from pto_buf.lowering import PASSES
from pto_buf.source import place_of
from pto_buf.verification import verify_module

PassTable = Mapping[str, Callable[[], type[ModulePass]]]


class BugError(Exception):
    """A fault of ours, not of the user's program. The cause is the exception that showed it."""


@dataclass(frozen=True)
class PassRun:
    """One pass that has run, and the seconds it took, without verification."""

    name: str
    seconds: float


def available_passes() -> PassTable:
    """Every pass by name: ours and xDSL's."""
    return {**get_all_passes(), **PASSES}


def parse_passes(spec: str, table: PassTable) -> tuple[ModulePass, ...]:
    """The passes of a pipeline like `canonicalize,ptobuf-schedule{interleave=2}`.

    Raises UsageError for text that is no pipeline, an unknown pass, and an unknown or ill-typed option.
    """
    try:
        specs = tuple(parse_pipeline(spec))
    except ArgSpecParseError as err:
        raise UsageError(f"'{spec}' is no pass pipeline", _last_words(err)) from None
    return tuple(_make(one, table) for one in specs)


def _last_words(err: BaseException) -> str:
    return str(err).strip().splitlines()[-1].strip().lower()


def _make(spec: ArgSpec, table: PassTable) -> ModulePass:
    if spec.name not in table:
        help = near_miss(spec.name, table) or "--list-passes shows all"
        raise UsageError(f"there is no pass '{spec.name}'", help)
    pass_class = table[spec.name]()
    try:
        return pass_class.from_spec(spec)
    except ValueError as err:
        options = ", ".join(field.name.replace("_", "-") for field in fields(pass_class) if field.init)
        offer = f"its options are: {options}" if options else "it has no options"
        raise UsageError(f"pass '{spec.name}': {err}", offer) from None


def run_passes(
    ctx: Context,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    *,
    verify_each: bool = True,
    after: Callable[[ModuleOp, PassRun], None] | None = None,
) -> None:
    """Run the passes over the module, verifying the result of each, or only of the last; `after` is called behind each.

    What they find out about functions is kept between them as far as they leave it as it is; `after` must.
    Raises DiagnosticError for a mistake in the user's program, BugError when a pass crashes or leaves invalid IR.
    """
    with keeping() as forget:
        for one in passes:
            start = time.perf_counter()
            _apply(one, ctx, module)
            if not isinstance(one, Keeps):
                forget()
            taken = PassRun(one.name, time.perf_counter() - start)
            if verify_each:
                _verify(module, f"pass '{one.name}'")
            if after is not None:
                after(module, taken)
    if passes and not verify_each:
        _verify(module, "a pass (verifying behind each tells which)")


def _apply(one: ModulePass, ctx: Context, module: ModuleOp) -> None:
    try:
        one.apply(ctx, module)
    except DiagnosticError:
        raise
    except DiagnosticException as err:  # xDSL's passes say so when they cannot lower a program
        raise DiagnosticError.at(place_of(module), f"pass '{one.name}': {str(err).strip()}") from err
    except Exception as err:
        raise BugError(f"pass '{one.name}' failed with {type(err).__name__}: {err}") from err


def _verify(module: ModuleOp, culprit: str) -> None:
    try:
        verify_module(module)
    except DiagnosticError as err:
        raise BugError(f"{culprit} left an invalid program:\n{err}") from err
