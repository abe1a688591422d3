"""What led to a finding, as a table for a terminal: the steps of its run, one column for each pipe. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.check.findings import Finding, Point
from pto_buf.check.runs.steps import Awaited, Did, Done, Fence, Locked, Outside, Set, Signalled, Step, Stream, Wait
from pto_buf.hw import Pipe

AROUND = 6
"""Steps that are shown before the first and behind the second of the two that a finding is about."""

_WIDTH = 14


@dataclass(frozen=True)
class _Row:
    pipe: Pipe
    words: str
    trips: str
    marked: bool


def timeline(streams: Sequence[Stream], finding: Finding, around: int = AROUND) -> str:
    """The run of each core that the finding is about, in the order of issue, the steps concerned marked with `>`.

    Steps far from both are left out.
    """
    points = [point for point in (finding.first, finding.second) if point is not None]
    parts = [_core(stream, points, around) for stream in streams]
    return "\n".join(part for part in parts if part)


def _core(stream: Stream, points: Sequence[Point], around: int) -> str:
    rows = [_row(step, stream, points) for step in stream.steps if not isinstance(step, Done)]
    marks = [number for number, row in enumerate(rows) if row.marked]
    if not marks:
        return ""
    shown = _near(marks, len(rows), around)
    pipes = [pipe for pipe in Pipe if any(rows[number].pipe is pipe for number in shown)]
    lines = [
        f"{stream.name}:" if stream.name else "",
        _line("step", "", {pipe: str(pipe) for pipe in pipes}, pipes, "trips"),
    ]
    last = shown[0] - 1
    for number in shown:
        if number != last + 1:
            lines.append(f"  ... {number - last - 1} steps ...")
        last = number
        row = rows[number]
        mark = ">" if row.marked else " "
        lines.append(_line(str(number), mark, {row.pipe: row.words}, pipes, row.trips))
    return "\n".join(line for line in lines if line)


def _near(marks: Sequence[int], count: int, around: int) -> list[int]:
    shown: dict[int, None] = {}
    for mark in sorted(marks):
        shown.update(dict.fromkeys(range(max(0, mark - around), min(count, mark + around + 1))))
    return sorted(shown)


def _line(number: str, mark: str, cells: dict[Pipe, str], pipes: Sequence[Pipe], trips: str) -> str:
    columns = "".join(f"{cells.get(pipe, ''):<{_WIDTH}}" for pipe in pipes)
    return f"{mark:1} {number:>5}  {columns}{trips}".rstrip()


def _row(step: Step, stream: Stream, points: Sequence[Point]) -> _Row:
    pipe, words = _cell(step)
    trips = ", ".join(f"{number}" for _, number in step.trips)
    marked = any(
        point.site.key == step.site.key and point.trips == step.trips and point.core == stream.name for point in points
    )
    return _Row(pipe, words, trips, marked)


def _cell(step: Step) -> tuple[Pipe, str]:
    match step:
        case Did():
            return step.pipes[0], step.site.name
        case Set():
            return step.src, f"set {step.dst} {step.lane}"
        case Wait():
            return step.dst, f"wait {step.src} {step.lane}"
        case Fence():
            return step.pipe, "barrier"
        case Locked():
            return step.pipe, f"{'take' if step.take else 'give'} {step.lane}"
        case Signalled():
            return step.pipe, f"signal {step.lane}"
        case Awaited():
            return step.pipe, f"hear {step.lane}"
        case Outside():
            return Pipe.S, f"{step.what} {step.number}"
        case Done():
            return Pipe.S, "return"
