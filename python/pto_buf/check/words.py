"""Findings in words, as people on this hardware say them. Pure."""

from collections.abc import Callable, Mapping

from pto_buf.check.findings import Fault, Finding, Hazard, Point, RunValues, Verdict
from pto_buf.check.runs.parallel import Lost
from pto_buf.check.runs.signals import MOST_PENDING
from pto_buf.check.runs.steps import Trips
from pto_buf.errors import Diagnostic, Note, Place, Severity
from pto_buf.hw import EVENT_IDS, Space

_VERBS: Mapping[Hazard, tuple[str, str]] = {
    Hazard.RAW: ("writes", "reads"),
    Hazard.WAR: ("reads", "writes"),
    Hazard.WAW: ("writes", "writes"),
}
"""What the earlier and the later op do."""


def diagnostics(verdict: Verdict) -> tuple[Diagnostic, ...]:
    """The findings of a verdict, each with the run that shows it."""
    return tuple(diagnostic_of(finding) for finding in verdict.findings)


def diagnostic_of(finding: Finding) -> Diagnostic:
    """One finding in words."""
    return _WORDS[finding.fault](finding, run_words(finding.run))


def lost_words(pair: Lost) -> Diagnostic:
    """A pair of ops that is ordered without need."""
    first, second = pair.first, pair.second
    times = f", {pair.count} times in this run" if pair.count > 1 else ""
    return Diagnostic(
        f"{second.site.name} on {second.pipe} waits for {first.site.name} on {first.pipe}, though nothing that the two "
        f"touch needs it{times}",
        second.site.place,
        _both(first, second),
        None,
        "lost-parallelism",
        Severity.WARNING,
    )


def run_words(run: RunValues) -> str:
    """`with n = 3`, or nothing for a kernel that always runs alike."""
    values = [f"{name} = {value}" for name, value in run]
    return f"with {', '.join(values)}" if values else ""


def trip_words(trips: Trips) -> str:
    """`trip 2 of the loop at line 14, trip 0 of the loop at line 10`, innermost first; trips count from 0."""
    return ", ".join(f"trip {number} of the loop at {_line(loop.site.place)}" for loop, number in reversed(trips))


def _line(place: Place | None) -> str:
    return "an unknown place" if place is None else f"line {place.line}"


def _at(point: Point) -> str:
    trips = trip_words(point.trips)
    core = f" of {point.core}" if point.core else ""
    return f"{point.site.name} on {point.pipe}{core}" + (f" ({trips})" if trips else "")


def _both(first: Point, second: Point) -> tuple[Note, ...]:
    """Where the two are, the later one only if there is more to say than its place."""
    notes = (Note(first.site.place, f"first {_at(first)}"),)
    return (*notes, Note(second.site.place, f"then {_at(second)}")) if second.trips else notes


def _buffer(memory: Space | str | None) -> str:
    return memory.buffer if isinstance(memory, Space) else f"global array %{memory}"


def _bytes(finding: Finding) -> str:
    return "" if finding.bytes is None else f" bytes [{finding.bytes[0]}, {finding.bytes[1]})"


def _tail(run: str) -> str:
    return f", {run}" if run else ""


def flag_words(finding: Finding) -> str:
    """`flag [<PIPE_M>, <PIPE_FIX>, 3]`, or what else is set and waited for."""
    if finding.lock is not None:
        return f"buffer lock {finding.lock}"
    if finding.signal is not None:
        return f"signal {finding.signal}"
    assert finding.flag is not None
    src, dst, lane = finding.flag
    return f"flag [<{src.pto}>, <{dst.pto}>, {lane}]"


def _race(finding: Finding, run: str) -> Diagnostic:
    first, second, hazard = finding.first, finding.second, finding.hazard
    assert first is not None and hazard is not None
    earlier, later = _VERBS[hazard]
    same = finding.fault is Fault.SAME_PIPE
    lever = (
        f"a barrier <{second.pipe.pto}> between them orders them"
        if same
        else f"set a flag <{first.pipe.pto}>, <{second.pipe.pto}> behind the {first.site.name} and wait for it before "
        f"the {second.site.name}"
    )
    message = (
        f"potential {hazard} hazard on {_buffer(finding.memory)}: {first.pipe} {earlier}{_bytes(finding)} "
        f"({first.site.name}), {second.pipe} {later} them ({second.site.name}), and no "
        f"{'barrier' if same else 'chain of flags'} orders the two{_tail(run)}"
    )
    return Diagnostic(
        message,
        second.site.place,
        _both(first, second),
        lever,
        finding.fault.value,
    )


def _global_read(finding: Finding, run: str) -> Diagnostic:
    first, second = finding.first, finding.second
    assert first is not None
    return Diagnostic(
        f"potential RAW hazard on {_buffer(finding.memory)}: {second.pipe} reads ({second.site.name}) what "
        f"{first.pipe} wrote ({first.site.name}); flags order the pipes, not global memory{_tail(run)}",
        second.site.place,
        _both(first, second),
        "keep the data on chip, or accept a flag as order with --gm-raw=flag",
        finding.fault.value,
    )


def _deadlock(finding: Finding, run: str) -> Diagnostic:
    second, first = finding.second, finding.first
    notes = [Note(second.site.place, f"hangs: {_at(second)}")] if second.trips or second.core else []
    if finding.lock is not None:
        assert first is not None
        why = "it is held"
        notes.append(Note(first.site.place, f"taken by {_at(first)}"))
    elif finding.signal is not None:
        why = "no core sends it"
    elif first is None:
        why = "no set of this flag comes before it"
    else:
        why = "every set before it is used up"
        notes.append(Note(first.site.place, f"the last set went to {_at(first)}"))
    return Diagnostic(
        f"deadlock: {second.pipe} waits for {flag_words(finding)} and {why}{_tail(run)}",
        second.site.place,
        tuple(notes),
        "set the flag before this wait on every path, also where a loop runs no trip",
        finding.fault.value,
    )


def _overflow(finding: Finding, run: str) -> Diagnostic:
    second, first = finding.second, finding.first
    assert first is not None
    if finding.lock is not None or finding.signal is not None:
        return _overflow_of_other(finding, run)
    waited = first.pipe is not second.pipe
    message = (
        f"overflow: {flag_words(finding)} may be set again before its wait on {first.pipe} has cleared it"
        if waited
        else f"overflow: {flag_words(finding)} is set again while it is still set"
    )
    note = f"the wait: {_at(first)}" if waited else f"the set before: {_at(first)}"
    lever = (
        f"let {second.pipe} wait for a flag that {first.pipe} sets behind its wait, or use another id"
        if waited
        else "wait for the flag between the two sets"
    )
    return Diagnostic(
        message + _tail(run),
        second.site.place,
        (Note(first.site.place, note), Note(second.site.place, f"the second set: {_at(second)}")),
        lever,
        finding.fault.value,
    )


def _overflow_of_other(finding: Finding, run: str) -> Diagnostic:
    if finding.lock is not None:
        message = f"{flag_words(finding)} is given back by a pipe that does not hold it"
        lever = "take it before, on the same pipe"
    else:
        message = f"overflow: more than {MOST_PENDING} sets of {flag_words(finding)} may be waiting"
        lever = "let the sender wait for a signal back"
    return Diagnostic(message + _tail(run), finding.second.site.place, (), lever, finding.fault.value)


def _clash(finding: Finding, run: str) -> Diagnostic:
    second, first = finding.second, finding.first
    assert first is not None
    return Diagnostic(
        f"{flag_words(finding)} is set when {second.site.name} runs, which uses it inside itself{_tail(run)}",
        second.site.place,
        _both(first, second),
        "use another id across this op, or wait for the flag before it",
        finding.fault.value,
    )


def _shared_id(finding: Finding, run: str) -> Diagnostic:
    first = finding.first
    assert first is not None and finding.flag is not None
    src, _, lane = finding.flag
    return Diagnostic(
        f"{flag_words(finding)} has the id of [<{src.pto}>, <{first.pipe.pto}>, {lane}]; where flags are told apart by "
        f"source and id alone, the two are one{_tail(run)}",
        finding.second.site.place,
        (Note(first.site.place, f"that one is in {first.site.name}"),),
        "use another id for one of them",
        finding.fault.value,
    )


def _leftover(finding: Finding, run: str) -> Diagnostic:
    end = finding.first or finding.second
    return Diagnostic(
        f"leftover: {flag_words(finding)} is still {'held' if finding.lock is not None else 'set'} when the kernel "
        f"ends{_tail(run)}",
        finding.second.site.place,
        (
            Note(finding.second.site.place, f"set by {_at(finding.second)}"),
            Note(end.site.place, "the end; the next kernel on this core would find the flag set"),
        ),
        "wait for the flag before the end on every path that sets it",
        finding.fault.value,
    )


def _lane(finding: Finding, run: str) -> Diagnostic:
    if finding.outside is None:
        assert finding.flag is not None
        src, dst, number = finding.flag
        what, count = f"event id of flag <{src.pto}>, <{dst.pto}>", EVENT_IDS
    else:
        what, number, count = finding.outside
    return Diagnostic(
        f"the {what} is {number}; there are 0 to {count - 1}{_tail(run)}",
        finding.second.site.place,
        (Note(finding.second.site.place, f"in {_at(finding.second)}"),),
        f"take it modulo a number of at most {count}",
        finding.fault.value,
    )


def _no_final_barrier(finding: Finding, run: str) -> Diagnostic:
    return Diagnostic(
        f"{finding.second.core or 'the kernel'} ends without a barrier on PIPE_ALL, and nothing adds one{_tail(run)}",
        finding.second.site.place,
        (),
        "end with pto.barrier #pto.pipe<PIPE_ALL>",
        finding.fault.value,
    )


_WORDS: Mapping[Fault, Callable[[Finding, str], Diagnostic]] = {
    Fault.RACE: _race,
    Fault.SAME_PIPE: _race,
    Fault.GLOBAL_READ: _global_read,
    Fault.DEADLOCK: _deadlock,
    Fault.OVERFLOW: _overflow,
    Fault.CLASH: _clash,
    Fault.SHARED_ID: _shared_id,
    Fault.LEFTOVER: _leftover,
    Fault.LANE: _lane,
    Fault.NO_FINAL_BARRIER: _no_final_barrier,
}
