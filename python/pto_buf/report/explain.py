"""Why a fence is there: what it orders, what it costs, what would make it go."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pto_buf.errors import UsageError
from pto_buf.hw import Core
from pto_buf.machine.steps import Exec
from pto_buf.report.fences import EventLine
from pto_buf.sim.fences import Fence, Hazard, Ordered

_SHOWN = 4
"""Pairs of ops that are shown of a fence; they are told apart by where they stand, and few fences have more."""


@dataclass(frozen=True)
class Cost:
    """Of a run of `cycles` cycles the fence held its pipe for `held`; without it the run would take `without`."""

    cycles: int
    held: int
    without: int


@dataclass(frozen=True)
class Explanation:
    """Fence number `number` of a kernel.

    `event` is what the compiler knows of it; None for a text that it did not write. `fence` is what a run shows of it;
    None where the run does not come there, or there was none.
    """

    number: int
    event: EventLine | None
    fence: Fence | None
    cost: Cost | None = None
    core: Core | None = None
    """The kind of core that it is on, in a kernel for two."""

    def at_line(self, line: int) -> bool:
        """Whether it orders an op of this line of the source, or is one itself."""
        return line in self.lines

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the source with the ops that it orders, and its own."""
        found = [place.line for place in (self.event.places if self.event is not None else ())]
        if self.fence is not None:
            steps = (step.place for one in self.fence.ordered for step in (one.earlier, one.later))
            found += [place.line for place in (*self.fence.places, *steps) if place is not None]
        return tuple(sorted(dict.fromkeys(found)))

    def __str__(self) -> str:
        return explanation_text(self)


def explanation_text(one: Explanation, source: Callable[[str, int], str] | None = None) -> str:
    """Some lines of text. `source` gives a line of a file, to be shown."""
    return "".join(f"{line}\n" for line in _lines(one, source))


def _lines(one: Explanation, source: Callable[[str, int], str] | None) -> Iterator[str]:
    yield f"fence {one.number}: {_what(one)}"
    if one.event is not None:
        yield f"  why    {one.event.why}"
    if one.fence is None:
        yield "  runs   no run was followed to it: what it costs is not known"
        return
    for pair in one.fence.ordered[:_SHOWN]:
        yield f"  {pair.hazard:<5}  on {_slot(pair)}"
        yield f"  from   {_step(pair.earlier, str(one.fence.src), source)}"
        yield f"  to     {_step(pair.later, str(one.fence.dst), source)}"
    if not one.fence.ordered:
        yield "  from   nothing near it that meets: it hands an id on, or was asked for by hand"
    if one.cost is not None:
        yield f"  costs  {_cost(one.fence, one.cost)}"
    yield f"  remove {_lever(one.fence, one.cost)}"


def _what(one: Explanation) -> str:
    if one.fence is not None and one.fence.barrier:
        return f"barrier on {one.fence.src}"
    src, dst = (one.event.src, one.event.dst) if one.event is not None else ("", "")
    ids: tuple[int, ...] = one.event.ids if one.event is not None else ()
    if one.fence is not None:
        src, dst, ids = one.fence.src, one.fence.dst, ids or one.fence.ids
    words = f"{src} -> {dst}, id{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"
    return words if one.event is None else f"{words}, {one.event.name}"


def _slot(pair: Ordered) -> str:
    if pair.slot is None or pair.left is None:
        return "global memory"
    return pair.slot.label if pair.slot == pair.left else f"bytes that {pair.left.label} and {pair.slot.label} share"


def _step(step: Exec, pipe: str, source: Callable[[str, int], str] | None) -> str:
    trips = f", trip {', '.join(str(trip) for _, trip in step.trips)}" if step.trips else ""
    at = f" at {step.place}" if step.place is not None else ""
    text = source(step.place.file, step.place.line) if source is not None and step.place is not None else ""
    return f"{pipe}: {step.row.dsl}{at}{trips}{f'    {text.strip()}' if text else ''}"


def _cost(fence: Fence, cost: Cost) -> str:
    runs = f"{fence.times} times a run" if fence.times != 1 else "once a run"
    if fence.barrier:
        return f"{runs}; {cost.cycles - cost.without} of {cost.cycles} cycles"
    return (
        f"{runs}; holds {fence.dst} for {cost.held} of {cost.cycles} cycles; "
        f"without it, were that right, the run would take {cost.without}"
    )


def _lever(fence: Fence, cost: Cost | None) -> str:
    """What a person can do about it."""
    if fence.barrier:
        return "with a fence of another pipe between the two ops, which proves the first one complete"
    if not fence.ordered:
        return "with ids to spare: fewer events from this pipe"
    first = fence.ordered[0]
    if first.slot is None:
        return "never: one op has to see in memory what the other left there"
    if first.left is not None and first.left.group != first.slot.group:
        return f"with bytes of its own for {first.slot.group}: the two share them, since the plan has no more"
    if cost is not None and cost.held == 0:
        return "it costs nothing here: nothing to gain"
    more = f"{first.slot.count + 1} slots" if first.slot.count > 1 else "two slots"
    if first.hazard is Hazard.RAW:
        return f"never: the data goes this way; {more} of {first.slot.group}, filled ahead, hide the wait"
    return f"with {more} of {first.slot.group}: {fence.dst} fills one while {fence.src} is at another"


def chosen_of(every: tuple[Explanation, ...], line: int | None, fence: int | None) -> tuple[Explanation, ...]:
    """Those at a line, or the one with a number; all for neither. Raises UsageError where there is none."""
    chosen = every
    if fence is not None:
        chosen = tuple(one for one in chosen if one.number == fence)
        if not chosen:
            raise UsageError(f"there is no fence {fence}", f"there are {len(every)}" if every else "there are none")
    if line is not None:
        chosen = tuple(one for one in chosen if one.at_line(line))
        if not chosen:
            lines = ", ".join(str(number) for number in sorted({number for one in every for number in one.lines}))
            raise UsageError(f"no fence orders an op of line {line}", f"there are fences at lines {lines}")
    return chosen
