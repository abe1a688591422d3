"""Watching leases: which accesses each lease of a small run has, one behind the other."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from pto_buf.fences.runs import Run, numbers
from pto_buf.fences.tree import Site, Tree
from pto_buf.slots.flow import Flow, Origin, SiteKey

Trace = tuple[SiteKey, ...]
"""The accesses of one lease, a site that is met again at once only once."""


@dataclass
class _Lease:
    sites: list[SiteKey] = field(default_factory=list[SiteKey])
    read: bool = False


class _Watch(Run):
    def __init__(self, tree: Tree, sites: Sequence[Site], unknown: Iterable[int], flow: Flow):
        super().__init__(tree, sites, iter(unknown))
        self.flow = flow
        self.held: dict[tuple[int, int], _Lease] = {}
        self.leases: list[_Lease] = []

    def access(self, site: Site, lane: int) -> None:
        slot = (site.access.slots.key, lane)
        lease = self.held.get(slot)
        if lease is None or self._opens(site, lease):
            lease = self.held[slot] = _Lease()
            self.leases.append(lease)
        if not lease.sites or lease.sites[-1] != site.key:
            lease.sites.append(site.key)
        lease.read = lease.read or site.access.role.reads

    def _opens(self, site: Site, lease: _Lease) -> bool:
        origins = self.flow.origins.get(site.key, ())
        if Origin(site.key, None) not in origins:
            return False
        return len(origins) == 1 or lease.read


class Traces(NamedTuple):
    """What the leases of some small runs go through, each way once."""

    whole: tuple[Trace, ...]
    """Those that no other goes on from."""
    cut: tuple[Trace, ...]
    """The others: some of them the run cut short."""


def traces(tree: Tree, sites: Sequence[Site], flow: Flow) -> Traces:
    """The ways of the leases at these sites."""
    found: dict[Trace, None] = {}
    for unknown in numbers(tree, sites):
        watch = _Watch(tree, sites, unknown, flow)
        watch.go()
        found.update((tuple(lease.sites), None) for lease in watch.leases)
        if not watch.chose:
            break
    begun = {trace[:length] for trace in found for length in range(1, len(trace))}
    return Traces(tuple(t for t in found if t not in begun), tuple(t for t in found if t in begun))


def in_order(found: Sequence[Trace], sites: Sequence[Site]) -> tuple[Site, ...] | None:
    """The sites in an order that every lease keeps to; None if there is none: some take turns."""
    before: dict[SiteKey, set[SiteKey]] = {site.key: set() for site in sites}
    for trace in found:
        for one, other in itertools.pairwise(trace):
            if one not in before or other not in before:
                return None
            before[other].add(one)
    sorter = TopologicalSorter({key: sorted(before[key]) for key in sorted(before)})
    try:
        order = list(sorter.static_order())
    except CycleError:
        return None
    by_key = {site.key: site for site in sites}
    return tuple(by_key[key] for key in order)
