"""Flags that are told apart by source and id alone: does each id of a source go to one destination? Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from pto_buf.check.findings import Fault, Finding, Point
from pto_buf.check.program import Code, Instruction, Program, Run, SetFlag, Site, WaitFlag
from pto_buf.check.values import ValueSets
from pto_buf.hw import Pipe

_Flag = tuple[Site, Pipe, Pipe, int | None]
"""Of which source and destination, and its id; None for one that is not worked out."""


@dataclass(frozen=True)
class SharedIds:
    """For each id that a source uses for several destinations, where each of them but the first is named first.

    `open`: ids that are not worked out, of a source with several destinations.
    """

    found: tuple[Finding, ...]
    open: tuple[str, ...]


def shared_ids(program: Program) -> SharedIds:
    """What each kind of core shares, or may share."""
    flags = [tuple(_flags(program, code)) for code in program.codes]
    found = tuple(finding for named in flags for finding in _shared(named))
    return SharedIds(found, tuple(dict.fromkeys(words for named in flags for words in _open(named))))


def _shared(flags: tuple[_Flag, ...]) -> Iterator[Finding]:
    named: dict[tuple[Pipe, int], dict[Pipe, Site]] = {}
    for site, src, dst, lane in flags:
        if lane is None:
            continue
        places = named.setdefault((src, lane), {})
        if dst in places:
            continue
        for other, place in list(places.items())[:1]:
            yield Finding(Fault.SHARED_ID, Point(site, src), Point(place, other), flag=(src, dst, lane))
        places[dst] = site


def _open(flags: tuple[_Flag, ...]) -> Iterator[str]:
    destinations: dict[Pipe, set[Pipe]] = {}
    for _, src, dst, _ in flags:
        destinations.setdefault(src, set()).add(dst)
    for site, src, dst, lane in flags:
        if lane is None and len(destinations[src]) > 1:
            where = "" if site.place is None else f" at line {site.place.line}"
            yield (
                f"the event id of flag <{src.pto}>, <{dst.pto}>{where} could not be worked out, "
                "so it may be one of another destination"
            )


def _flags(program: Program, code: Code) -> Iterator[_Flag]:
    values = ValueSets(program, code, {})
    for one in code.instructions:
        yield from _flags_of(one, values)


def _flags_of(one: Instruction, values: ValueSets) -> Iterator[_Flag]:
    match one:
        case SetFlag() | WaitFlag():
            known = values.of(one.lane)
            lanes = (None,) if known is None else sorted(known)
            yield from ((one.site, one.src, one.dst, lane) for lane in lanes)
        case Run():
            yield from ((one.site, *raised) for raised in one.raises)
        case _:
            pass
