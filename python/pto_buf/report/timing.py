"""A timed kernel for people: tables of pipes, stalls and steps, swimlanes. The terminal's view shows the same."""

from collections.abc import Iterator
from dataclasses import dataclass

from pto_buf.hw import Pipe
from pto_buf.report.parts import Lanes, Part
from pto_buf.report.table import Table
from pto_buf.sim.naming import Names
from pto_buf.sim.overlap import slot_overlaps
from pto_buf.sim.profile import Profile
from pto_buf.sim.timeline import LANES, Cause, Slice, Timeline, spelt

IDLE, PARTLY, BUSY = ".", "-", "#"
"""Marks of a swimlane: nothing to do or waiting for data, busy for less than half of a column, busy."""

_LEGEND = (
    "0 1 2 .. the slot of its set that an op writes (or reads, if it writes none), # an only one, - less than half\n"
    "busy; not busy: . no data yet, s slot in use, f flag, b barrier, i not issued, q queue full"
)


@dataclass(frozen=True)
class Window:
    """Cycles [start, end) that are shown."""

    start: int
    end: int


def headline(one: Profile) -> str:
    """How long it takes, what no order of its ops can beat, and how close it is."""
    timeline = one.slowest
    micro = one.costs.microseconds(one.cycles)
    lines = [
        f"{one.kernel} on {one.target.name}: {one.cycles} cycles ({micro:.2f} us at {one.costs.clock_mhz:g} MHz), "
        f"bound {timeline.bound} by {timeline.busiest or 'nothing'}: {_percent(timeline.bound, timeline.end)}"
    ]
    if len(one.timelines) > 1:
        ends = [each.end for each in one.timelines]
        lines.append(f"{len(ends)} cores, {min(ends)} to {max(ends)} cycles; {timeline.core} in detail:")
    return "\n".join(lines)


def pipe_table(timeline: Timeline) -> Table:
    """What each pipe did, and why it stood still: cycles by cause."""
    busy, stalled = timeline.busy, timeline.stalled()
    causes = [cause for cause in Cause if any(key[1] is cause for key in stalled)]
    rows: list[tuple[str, ...]] = []
    for pipe in LANES:
        if pipe in busy:
            ops = sum(one.pipe is pipe for one in timeline.slices)
            waits = (str(stalled.get((pipe, cause), 0)) for cause in causes)
            rows.append((str(pipe), str(ops), str(busy[pipe]), _percent(busy[pipe], timeline.end), *waits))
    rows.append(("S", "", str(timeline.issue), _percent(timeline.issue, timeline.end), *("" for _ in causes)))
    return Table(("pipe", "ops", "busy", "share", *map(str, causes)), tuple(rows))


def stall_table(timeline: Timeline, limit: int = 8) -> Table:
    """The longest stalls."""
    longest = sorted(timeline.stalls, key=lambda stall: (-stall.cycles, stall.start))[:limit]
    rows = tuple((str(stall.cycles), str(stall.pipe), spelt(stall.step), stall.why) for stall in longest)
    return Table(("cycles", "pipe", "before", "waits for"), rows, (1, 2, 3), "longest stalls:")


def slot_lines(timeline: Timeline, names: Names) -> Iterator[str]:
    """What the slots of each set are good for: how long one is read while another is written."""
    for one in slot_overlaps(timeline, names):
        yield (
            f"{one.group}: {one.reader} reads one while {one.writer} writes another for {one.cycles} "
            f"of the {one.busy} cycles that it reads"
        )


def swimlane(
    timeline: Timeline, width: int = 100, *, names: Names | None = None, window: Window | None = None
) -> Lanes:
    """A lane for each pipe, time from left to right: `width` columns of equal time."""
    shown = window or Window(0, timeline.end)
    rows = ((str(pipe), _lane(timeline, pipe, width, names, shown)) for pipe in LANES if pipe in timeline.busy)
    return Lanes(shown.start, shown.end, tuple(rows), _LEGEND)


def _lane(timeline: Timeline, pipe: Pipe, width: int, names: Names | None, window: Window) -> str:
    """Each column shows what fills most of its busy time; where nothing does, why the pipe stood still."""
    busy: list[dict[str, int]] = [{} for _ in range(width)]
    gaps = [IDLE] * width
    for one in timeline.slices:
        if one.pipe is pipe:
            mark = _mark(one, names)
            for column, cycles in _columns(one.start, one.end, window, width):
                busy[column][mark] = busy[column].get(mark, 0) + cycles
    for stall in timeline.stalls:
        if stall.pipe is pipe and stall.cause is not Cause.DATA:
            for column, _ in _columns(stall.start, stall.end, window, width):
                gaps[column] = str(stall.cause)[0]
    half = (window.end - window.start) / width / 2
    return "".join(
        gap if not marks else max(marks, key=lambda mark: marks[mark]) if sum(marks.values()) >= half else PARTLY
        for marks, gap in zip(busy, gaps, strict=True)
    )


def _columns(start: int, end: int, window: Window, width: int) -> Iterator[tuple[int, int]]:
    """The columns that a span of time falls into, and how many of its cycles fall into each."""
    span = max(1, window.end - window.start)
    first = max(0, (start - window.start) * width // span)
    for column in range(first, min(width, -(-(end - window.start) * width // span))):
        low, high = (window.start + edge * span // width for edge in (column, column + 1))
        if (cycles := min(end, high) - max(start, low)) > 0:
            yield column, cycles


def _mark(one: Slice, names: Names | None) -> str:
    slot = None if names is None else names.of_step(one.step)
    return BUSY if slot is None else slot.mark


def step_table(
    timeline: Timeline, limit: int | None = None, *, names: Names | None = None, window: Window | None = None
) -> Table:
    """The ops by their start, one column for each pipe, with the cycles at which each starts and ends."""
    used = [pipe for pipe in LANES if pipe in timeline.busy]
    inside = [s for s in timeline.slices if window is None or (s.end > window.start and s.start < window.end)]
    shown = inside if limit is None else inside[:limit]
    rows = [
        (str(one.start), str(one.end), *(_cell(one, names) if one.pipe is pipe else "" for pipe in used))
        for one in shown
    ]
    if len(shown) < len(inside):
        rows.append(("...", "", f"{len(inside) - len(shown)} more", *("" for _ in used[1:])))
    return Table(("start", "end", *map(str, used)), tuple(rows), tuple(range(2, 2 + len(used))))


def _cell(one: Slice, names: Names | None) -> str:
    slot = None if names is None else names.of_step(one.step)
    return spelt(one.step) if slot is None else f"{one.step.row.dsl} {slot.label}{_line(one)}"


def _line(one: Slice) -> str:
    place = one.step.place
    return f" :{place.line}" if place is not None and place.line else ""


@dataclass(frozen=True)
class Shown:
    """What of a profile is shown: how many steps and stalls, how wide, and which cycles."""

    steps: int = 0
    stalls: int = 8
    width: int = 100
    window: Window | None = None


def view(one: Profile, names: Names | None = None, shown: Shown | None = None) -> Iterator[Part]:
    """The summary, the slowest core in detail."""
    wanted, timeline = shown or Shown(), one.slowest
    yield headline(one)
    yield pipe_table(timeline)
    if names is not None:
        yield from slot_lines(timeline, names)
    if timeline.slices:
        yield swimlane(timeline, wanted.width, names=names, window=wanted.window)
    if timeline.stalls and wanted.stalls:
        yield stall_table(timeline, wanted.stalls)
    if wanted.steps:
        yield step_table(timeline, wanted.steps, names=names, window=wanted.window)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
