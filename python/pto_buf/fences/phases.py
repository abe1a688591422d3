"""The phases of a lease: in which order which pipes touch it, and where one execution of its frame does so.

A phase is either the writes of one pipe or the reads of several pipes between two writes; each pipe of one phase
hands the slot on to each pipe of the next.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.fences.components import Component
from pto_buf.fences.tree import Site, item_in
from pto_buf.hw import Pipe
from pto_buf.slots.flow import SiteKey


@dataclass(frozen=True)
class Span:
    """Items `first` to `last` of `block`: where one pipe has one phase of a lease."""

    block: int
    first: int
    last: int


@dataclass(frozen=True)
class Phase:
    """`spans` goes with `pipes`. `sites` are all accesses of the phase."""

    pipes: tuple[Pipe, ...]
    spans: tuple[Span, ...]
    sites: tuple[SiteKey, ...]


@dataclass(frozen=True)
class Lease:
    """A kind of lease: its phases, and an access whose slot index names the lane at every span."""

    phases: tuple[Phase, ...]
    lane: Site

    @property
    def signature(self) -> tuple[tuple[Pipe, ...], ...]:
        return tuple(phase.pipes for phase in self.phases)


@dataclass(frozen=True)
class Irregular:
    """Why the accesses of a component do not fall into phases."""

    reason: str


def lease_of(component: Component) -> Lease | Irregular:
    """The phases of a component whose frame holds one lease an execution."""
    if component.carried:
        return Irregular("its leases follow one another inside the loop that carries them")
    phases = [_phase(run, component.frame) for run in _runs(component.sites)]
    for before, after in itertools.pairwise(phases):
        for left, end in zip(before.pipes, before.spans, strict=True):
            for right, start in zip(after.pipes, after.spans, strict=True):
                if left is not right and end.last >= start.first:
                    return Irregular(f"{left} and {right} take turns inside one loop or branch")
    return Lease(tuple(phases), _lane_site(component))


def _runs(sites: Sequence[Site]) -> list[list[Site]]:
    """Cuts the accesses where a write follows another pipe's access, and where a read follows a write."""
    runs: list[list[Site]] = []
    writing = False
    by_op: dict[int, list[Site]] = {}
    for site in sites:
        by_op.setdefault(site.op.key, []).append(site)
    for of_op in by_op.values():
        writes = any(site.access.role.writes for site in of_op)
        same_pipes = bool(runs) and runs[-1][0].op.pipes == of_op[0].op.pipes
        if runs and writes == writing and (not writes or same_pipes):
            runs[-1].extend(of_op)
        else:
            runs.append(list(of_op))
        writing = writes
    return runs


def _phase(sites: Sequence[Site], frame: int) -> Phase:
    items: dict[Pipe, list[int]] = {}
    for site in sites:
        item = item_in(site.path, frame)
        assert item is not None
        for pipe in site.op.pipes:
            items.setdefault(pipe, []).append(item)
    pipes = tuple(pipe for pipe in Pipe if pipe in items)
    spans = tuple(Span(frame, min(items[pipe]), max(items[pipe])) for pipe in pipes)
    return Phase(pipes, spans, tuple(site.key for site in sites))


def _lane_site(component: Component) -> Site:
    """The first access that stands directly in the frame, where its index is at hand; else the first of all."""
    for site in component.sites:
        if site.path[-1].block == component.frame:
            return site
    return component.sites[0]
