"""Flags that are told apart by source and id alone: does each id of a source go to one destination? Pure."""

from collections.abc import Iterator, Sequence

from pto_buf.check.findings import Fault, Finding, Point
from pto_buf.check.program import Code, Instruction, Program, Run, SetFlag, Site, WaitFlag
from pto_buf.check.values import ValueSets
from pto_buf.hw import EVENT_IDS, Pipe


def shared_ids(program: Program) -> tuple[Finding, ...]:
    """For each id that a source uses for several destinations, where each of them but the first is named first."""
    return tuple(finding for code in program.codes for finding in _shared(program, code))


def _shared(program: Program, code: Code) -> Iterator[Finding]:
    values = ValueSets(program, code, {})
    named: dict[tuple[Pipe, int], dict[Pipe, Site]] = {}
    for one in code.instructions:
        for site, src, dst, lane in _flags(one, values):
            places = named.setdefault((src, lane), {})
            if dst in places:
                continue
            for other, place in list(places.items())[:1]:
                yield Finding(Fault.SHARED_ID, Point(site, src), Point(place, other), flag=(src, dst, lane))
            places[dst] = site


def _flags(one: Instruction, values: ValueSets) -> Iterator[tuple[Site, Pipe, Pipe, int]]:
    match one:
        case SetFlag() | WaitFlag():
            known = values.of(one.lane)
            lanes: Sequence[int] = range(EVENT_IDS) if known is None else sorted(known)
            yield from ((one.site, one.src, one.dst, lane) for lane in lanes)
        case Run():
            yield from ((one.site, *raised) for raised in one.raises)
        case _:
            pass
