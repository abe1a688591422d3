"""`pto-buf profile`: how long does a kernel take, and what does it wait for?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pto_buf.errors import UsageError
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.output import write_output
from pto_buf.report.comparison import comparison
from pto_buf.report.timing import Shown, Window, headline, view
from pto_buf.sim.naming import Names
from pto_buf.sim.profile import Profile
from pto_buf.sim.trace import chrome_trace
from pto_buf.tools.progress import progress
from pto_buf.tools.screen import columns, show
from pto_buf.tools.subject import Subject, subject

_TRACES = (".json", ".pftrace")


@dataclass(frozen=True)
class Wanted:
    """What to time and to show. `args` are numbers for arguments, as `NAME=NUMBER`."""

    args: Sequence[str] = ()
    blocks: int = 1
    trace: str | None = None
    compare: str | None = None
    steps: int = 24
    stalls: int = 8
    window: str | None = None


def run(kernel: str, *, target: str | None, options: PipelineOptions, wanted: Wanted) -> int:
    """Time the kernel and print what it does; with another one, print both side by side. Write the trace."""
    if wanted.trace is not None and not wanted.trace.endswith(_TRACES):
        raise UsageError(f"'{wanted.trace}' is no name of a trace", f"a trace ends in {' or '.join(_TRACES)}")
    window = None if wanted.window is None else _window(wanted.window)
    one, profile, names = _timed(kernel, target, options, wanted)
    if wanted.trace is not None:
        write_output(wanted.trace, _trace(wanted.trace, profile, names))
    if wanted.compare is not None:
        _, before, others = _timed(wanted.compare, target, options, wanted)
        titles = _titles(wanted.compare, kernel)
        show([headline(before), headline(profile), comparison(before, profile, titles, (others, names))])
        return 0
    shown = Shown(wanted.steps, wanted.stalls, columns() - 6, window)
    show([*_arguments(one), *view(profile, names, shown)])
    return 0


def _timed(kernel: str, target: str | None, options: PipelineOptions, wanted: Wanted) -> tuple[Subject, Profile, Names]:
    with progress(f"timing {kernel}"):
        one = subject(kernel, wanted.args, target=target, options=options)
        profile = one.kernel.profile(one.numbers, blocks=wanted.blocks)
        return one, profile, one.kernel.names(profile)


def _arguments(one: Subject) -> list[str]:
    """The numbers that the times are for, if there are any."""
    words = ", ".join(f"{name} = {number}" for name, number in one.numbers.items())
    return [f"with {words}{' (from CASES)' if one.from_cases else ''}"] if words else []


def _trace(path: str, profile: Profile, names: Names) -> str | bytes:
    if path.endswith(".json"):
        return chrome_trace(profile, names)
    from pto_buf.sim.perfetto import perfetto_trace

    return perfetto_trace(profile, names)


def _titles(one: str, other: str) -> tuple[str, str]:
    """Short names of two files, as far as these differ."""
    short = Path(one).name, Path(other).name
    return short if short[0] != short[1] else (one, other)


def _window(text: str) -> Window:
    start, _, end = text.partition(":")
    if not (start.isdigit() and end.isdigit() and int(start) < int(end)):
        raise UsageError(f"'{text}' is no window", "for example --window 1000:3000, in cycles")
    return Window(int(start), int(end))
