"""Timing a kernel: every block on a core of its own, and what is to be said about it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pto_buf.dialect.tile_op import target_of
from pto_buf.hw import Pipe, Target
from pto_buf.machine.code import Meter
from pto_buf.machine.steps import CoreId
from pto_buf.sim.costs import Costs, costs_of
from pto_buf.sim.simulate import Launch, cores_of_block, roles_of
from pto_buf.sim.timeline import LANES, Cause, Stall, Timeline, spelt
from pto_buf.sim.timing import Shared, Timer
from pto_buf.sim.tokens import Tokens


@dataclass(frozen=True)
class Profile:
    """A timed kernel: one timeline for each core of each block."""

    kernel: str
    target: Target
    costs: Costs
    timelines: tuple[Timeline, ...]

    @property
    def cycles(self) -> int:
        """From the start of the kernel to the end of its last block, without the launch."""
        return max((timeline.end for timeline in self.timelines), default=0)

    @property
    def slowest(self) -> Timeline:
        return max(self.timelines, key=lambda timeline: timeline.end)

    def text(self, stalls: int = 8) -> str:
        """The summary as plain text, the slowest block in detail, with its longest `stalls` stalls."""
        return "\n".join(_lines(self, stalls)) + "\n"


def profile(launch: Launch, costs: Costs | None = None) -> Profile:
    """Time every block of the kernel, each on cores of its own; `launch` needs no arrays.

    Raises DiagnosticError for a kernel that gets stuck, whose numbers depend on memory, or an op without a cost.
    """
    target = target_of(launch.function)
    table = costs or costs_of(target)
    timelines: list[Timeline] = []
    for block in range(launch.blocks):
        timelines += _block(launch, block, table, target)
    return Profile(launch.function.sym_name.data, target, table, tuple(timelines))


def _block(launch: Launch, block: int, costs: Costs, target: Target) -> list[Timeline]:
    cores = cores_of_block(launch, block)
    shared = Shared(costs, Tokens(roles_of(cores)), target.name == "a2a3")
    timers: list[Timer] = []
    for core in cores:
        meter = Meter()
        timers.append(Timer(shared, launch.steps(core, meter), meter, block, _name(core, cores)))
    while any(timer.advance() for timer in timers):
        pass
    return [timer.finish() for timer in timers]


def _name(core: CoreId, cores: Sequence[CoreId]) -> str:
    if core.core is None:
        return f"block {core.block}"
    number = f" {core.subblock}" if sum(one.core is core.core for one in cores) > 1 else ""
    return f"block {core.block} {core.core}{number}"


def _lines(one: Profile, stalls: int) -> Iterator[str]:
    timeline = one.slowest
    micro = one.costs.microseconds(one.cycles)
    share = _percent(timeline.bound, timeline.end)
    yield (
        f"{one.kernel} on {one.target.name}: {one.cycles} cycles ({micro:.2f} us at {one.costs.clock_mhz:g} MHz), "
        f"bound {timeline.bound} by {timeline.busiest or 'nothing'}: {share}"
    )
    if len(one.timelines) > 1:
        ends = [each.end for each in one.timelines]
        yield f"{len(ends)} cores, {min(ends)} to {max(ends)} cycles; {timeline.core} in detail:"
    yield from _pipe_table(timeline)
    longest = sorted(timeline.stalls, key=lambda stall: (-stall.cycles, stall.start))[:stalls]
    if longest:
        yield "longest stalls:"
        yield from (_stall_line(stall) for stall in longest)


def _pipe_table(timeline: Timeline) -> Iterator[str]:
    busy, stalled = timeline.busy, timeline.stalled()
    causes = [cause for cause in Cause if any(key[1] is cause for key in stalled)]
    yield "  ".join(
        ["pipe", f"{'ops':>6}", f"{'busy':>9}", f"{'share':>6}", *(f"{cause:>8}" for cause in causes)]
    ).rstrip()
    for pipe in LANES:
        if pipe in busy:
            ops = sum(one.pipe is pipe for one in timeline.slices)
            cells = [f"{pipe:<4}", f"{ops:>6}", f"{busy[pipe]:>9}", f"{_percent(busy[pipe], timeline.end):>6}"]
            yield "  ".join([*cells, *(f"{stalled.get((pipe, cause), 0):>8}" for cause in causes)])
    yield "  ".join(["S   ", f"{'':>6}", f"{timeline.issue:>9}", f"{_percent(timeline.issue, timeline.end):>6}"])


def _stall_line(stall: Stall) -> str:
    return f"  {stall.cycles:>7}  {stall.pipe:<4}  before {spelt(stall.step)}: {stall.why}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def swimlane(timeline: Timeline, width: int = 100) -> str:
    """One row for each pipe, time from left to right; `#` busy for most of the column, `-` for less, `.` not at all."""
    used = [pipe for pipe in LANES if pipe in timeline.busy]
    rows = [f"{'':<4}  0{timeline.end:>{width - 1}}", *(_lane(timeline, pipe, width) for pipe in used)]
    return "\n".join(rows) + "\n"


def _lane(timeline: Timeline, pipe: Pipe, width: int) -> str:
    filled = [0] * width
    span = max(timeline.end, 1)
    for one in timeline.slices:
        if one.pipe is pipe:
            for column in range(one.start * width // span, min(width, -(-one.end * width // span))):
                low, high = column * span // width, (column + 1) * span // width
                filled[column] += max(0, min(one.end, high) - max(one.start, low))
    marks = ("." if busy == 0 else "#" if 2 * busy * width >= span else "-" for busy in filled)
    return f"{pipe:<4}  {''.join(marks)}"


def step_table(timeline: Timeline, limit: int | None = None) -> str:
    """The ops by their start, one column for each pipe, with the cycles at which each starts and ends."""
    used = [pipe for pipe in LANES if pipe in timeline.busy]
    slices = sorted(timeline.slices, key=lambda one: (one.start, LANES.index(one.pipe)))
    shown = slices if limit is None else slices[:limit]
    rows = [
        [str(one.start), str(one.end), *(spelt(one.step) if one.pipe is pipe else "" for pipe in used)] for one in shown
    ]
    head = ["start", "end", *used]
    wide = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [_row(row, wide) for row in [head, *rows]]
    if len(shown) < len(slices):
        lines.append(f"... {len(slices) - len(shown)} more")
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str], wide: list[int]) -> str:
    numbers = 2
    return "  ".join(
        cell.rjust(width) if column < numbers else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, wide, strict=True))
    ).rstrip()
