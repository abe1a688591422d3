"""Lowering `ptobuf` to `pto` as is asked for, and another way where the fences of that cannot be proven.

What differs costs nothing but overlap: which of two spellings lanes have, how plain the fences are, whether trips are
side by side on request. Ways are tried in the order of what they give up, those that lower to a text which is known
not to be proven never. As long as there may be an easier way, a proof is given few states; then all are given more.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.scf import ForOp

from pto_buf.check.findings import Fault
from pto_buf.errors import UNPROVEN, Diagnostic, DiagnosticError, Severity, collecting_warnings
from pto_buf.fences.lanes import Lanes
from pto_buf.lowering.fenced import PLAIN
from pto_buf.lowering.pipeline import PipelineOptions, pipeline
from pto_buf.output import write_output
from pto_buf.passes import PassRun, available_passes, parse_passes, run_passes
from pto_buf.printing import text_of
from pto_buf.slots.build import STAGE_ATTRIBUTE
from pto_buf.slots.complaints import TOO_COMPLEX
from pto_buf.source import place_of
from pto_buf.universe import make_context
from pto_buf.walking import functions, ops_of
from pto_buf.watching import done

FENCED_BY = "ptobuf-allocate-events"
"""The pass behind which a module still names slots and events, and has addresses and ids for them."""

_PLANNED_BY = "ptobuf-plan-memory"
"""The pass behind which a module has addresses, and no fences yet."""

_UNSCHEDULED_BY = "ptobuf-canonicalize"
"""The pass behind which no trips are side by side yet."""

STATES = 6_000, 20_000
"""Of the proof of another way: as long as there are others, and in the end. A thousand take about half a second."""

_OF_FENCES = {UNPROVEN, Fault.RACE.value, Fault.SAME_PIPE.value}
"""What other fences may be without: order that is missing. A flag that is set too often may be the user's own."""


@dataclass(frozen=True)
class Lowered:
    """A module as `pto`; `fenced` is it behind FENCED_BY, `warnings` what was said on the way."""

    module: ModuleOp
    fenced: ModuleOp
    warnings: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class _Kept:
    """A module where a lowering can begin again, and what had been said by then."""

    module: ModuleOp
    said: tuple[Diagnostic, ...] = ()


@dataclass
class _Way:
    """A lowering from behind a pass on. Keeps what is wanted of the module between passes."""

    options: PipelineOptions
    dump: Path | None
    begins: str | None = None
    start: _Kept | None = None
    """What it begins with."""
    said: list[Diagnostic] = field(default_factory=list[Diagnostic])
    kept: dict[str, _Kept] = field(default_factory=dict[str, _Kept])

    def __post_init__(self) -> None:
        self.passes = parse_passes(pipeline(self.options), available_passes())
        self.places = {one.name: number for number, one in enumerate(self.passes, 1)}
        self.number = 0 if self.begins is None else self.places[self.begins]

    def run(self, module: ModuleOp, *, proof: bool = True) -> None:
        """All passes that are left, or all but the proof."""
        end = len(self.passes) - (self.options.check and not proof)
        passes = self.passes[self.number : end]
        with collecting_warnings() as said:
            self.said = said
            run_passes(make_context(), module, passes, verify_each=self.dump is not None, after=self)

    def __call__(self, module: ModuleOp, run: PassRun) -> None:
        self.number += 1
        done(f"compiling: behind {run.name}", self.number, len(self.passes))
        if self.number == self.places[run.name] and self._wants(module, run.name):
            self.kept[run.name] = _Kept(module.clone(), tuple(self.said))
        if self.dump is not None:
            write_output(str(self.dump / f"{self.number:02}_after_{run.name}.mlir"), text_of(module))

    def _wants(self, module: ModuleOp, behind: str) -> bool:
        if behind == _UNSCHEDULED_BY:
            return self.options.check and self._side_by_side(module)
        return behind == FENCED_BY or (behind == _PLANNED_BY and self.options.check)

    def _side_by_side(self, module: ModuleOp) -> bool:
        """Whether trips are to be."""
        if self.options.interleave is not None:
            return self.options.interleave > 1
        return any(STAGE_ATTRIBUTE in loop.attributes for one in functions(module) for loop in ops_of(one, ForOp))


def lower(module: ModuleOp, options: PipelineOptions, dump: Path | None = None) -> Lowered:
    """Lowers a module, in place unless the fences cannot be proven: then others are tried on a copy.

    Raises DiagnosticError for a mistake in the program, and for fences that are not proven in any way: it says what is
    the matter with those that were asked for.
    """
    return _lower(_Way(options, dump), _Kept(module))


def _lower(way: _Way, start: _Kept) -> Lowered:
    module = start.module
    try:
        way.run(module)
    except DiagnosticError as err:
        lowered = _otherwise(way, module, err) if way.options.check else None
        if lowered is None:
            raise
    else:
        lowered = Lowered(module, way.kept[FENCED_BY].module, tuple(way.said))
    return replace(lowered, warnings=(*start.said, *lowered.warnings))


def _otherwise(first: _Way, module: ModuleOp, err: DiagnosticError) -> Lowered | None:
    """The module lowered in a way that can be proven; None if there is none, or if something else is wrong with it.

    `module` is what the first way left of it.
    """
    kinds = {one.kind for one in err.diagnostics}
    if not kinds <= {*_OF_FENCES, TOO_COMPLEX}:
        return None
    judged = first.number == len(first.passes) - 1
    lowered = _proven(first, _ways(first, err), text_of(module)) if judged else None
    return lowered or _one_after_another(first, err)


def _proven(first: _Way, ways: Iterator[_Way], refused: str) -> Lowered | None:
    """What the first of these ways makes of the module for which there is a proof; one with few states goes first."""
    texts = {refused}
    lowered: list[Lowered] = []
    for way in ways:
        one = _lowered(way)
        text = "" if one is None else text_of(one.module)
        if one is None or text in texts:
            continue
        texts.add(text)
        if _holds(one, first.options, STATES[0]):
            return one
        lowered.append(one)
    return next((one for one in lowered if _holds(one, first.options, STATES[1])), None)


def _lowered(way: _Way) -> Lowered | None:
    """Without the proof; None if that fails."""
    start = way.start
    assert start is not None
    copy = start.module.clone()
    try:
        way.run(copy, proof=False)
    except DiagnosticError:
        return None
    fenced = start if way.begins == FENCED_BY else way.kept[FENCED_BY]
    return Lowered(copy, fenced.module, (*start.said, *way.said))


def _holds(lowered: Lowered, options: PipelineOptions, states: int) -> bool:
    limited = replace(options, allow_unproven=False, most_states=states)
    try:
        run_passes(make_context(), lowered.module, parse_passes(pipeline(limited), available_passes())[-1:])
    except DiagnosticError:
        return False
    return True


def _ways(first: _Way, err: DiagnosticError) -> Iterator[_Way]:
    """The same fences with other lanes, where they are not known to be wrong: both ways out say the same, but which of
    them the checker can follow differs. Then plain fences in the kernels concerned."""
    options = first.options
    lanes = (Lanes.UNROLL, Lanes.DYNAMIC) if options.lanes == Lanes.AUTO else ()
    others = [replace(options, lanes=one) for one in lanes]
    if all(one.kind == UNPROVEN for one in err.diagnostics):
        yield from (_Way(one, first.dump, FENCED_BY, first.kept[FENCED_BY]) for one in others)
    places = {one.place for one in err.diagnostics}
    unfenced = first.kept[_PLANNED_BY]
    for function in functions(unfenced.module):
        if any(place_of(op) in places for op in function.walk()):
            function.attributes[PLAIN] = UnitAttr()
    yield (plain := _Way(options, first.dump, _PLANNED_BY, unfenced))
    fenced = plain.kept.get(FENCED_BY)
    if fenced is not None:
        start = replace(fenced, said=(*unfenced.said, *fenced.said))
        yield from (_Way(one, first.dump, FENCED_BY, start) for one in others)


def _one_after_another(first: _Way, err: DiagnosticError) -> Lowered | None:
    """Without trips side by side, which is told; None if there were none, or if that may not be or does not help."""
    start = first.kept.get(_UNSCHEDULED_BY)
    if start is None or first.options.fail_on_lost_overlap:
        return None
    way = _Way(replace(first.options, interleave=1), first.dump, _UNSCHEDULED_BY)
    try:
        lowered = _lower(way, start)
    except DiagnosticError:
        return None
    one = err.diagnostics[0]
    message = f"overlap is lost: trips stay one after another; side by side, {one.message}"
    warning = Diagnostic(message, one.place, one.notes, kind="lost-overlap", severity=Severity.WARNING)
    return replace(lowered, warnings=(warning, *lowered.warnings))
