"""Watching leases: which accesses each lease of a small run has, one behind the other.

Where only some of the accesses are asked for, leases come in from others: they begin with the first of these accesses.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from pto_buf.fences.tree import OfOp, Site, Tree, by_op
from pto_buf.fences.trials.runs import Run, numbers
from pto_buf.slots.flow import Flow, Origin, SiteKey

Trace = tuple[SiteKey, ...]
"""The accesses of one lease, a site that is met again at once only once."""


@dataclass
class _Lease:
    slot: int
    inside: bool
    """Whether it is opened at one of the accesses that are asked for."""
    sites: list[SiteKey] = field(default_factory=list[SiteKey])
    read: bool = False


class _Watch(Run):
    def __init__(self, tree: Tree, of_op: OfOp, unknown: Iterable[int], flow: Flow, asked: Set[SiteKey]):
        super().__init__(tree, of_op, iter(unknown))
        self.flow = flow
        self.asked = asked
        self.held: dict[tuple[int, int], _Lease] = {}
        self.leases: list[_Lease] = []

    def access(self, site: Site, lane: int) -> None:
        slot = (site.access.slots.key, lane)
        lease = self.held.get(slot)
        if lease is None or self._opens(site, lease):
            lease = self.held[slot] = _Lease(lane, site.key in self.asked)
            self.leases.append(lease)
        if site.key in self.asked and (not lease.sites or lease.sites[-1] != site.key):
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
    entering: Mapping[int, Sequence[Trace]]
    """By slot, in order: the ways of leases that come in from other accesses."""


def traces(tree: Tree, sites: Sequence[Site], flow: Flow, others: Sequence[Site] = ()) -> Traces:
    """The ways of the leases at these sites. `others`: further ones, of which those come in."""
    found: dict[Trace, None] = {}
    entering: dict[int, dict[Trace, None]] = {}
    asked = {site.key for site in sites}
    everything = by_op(sorted((*sites, *(site for site in others if site.key not in asked)), key=lambda site: site.key))
    for unknown in numbers(tree, sites):
        watch = _Watch(tree, everything, unknown, flow, asked)
        watch.go()
        for lease in watch.leases:
            if lease.sites:
                found[tuple(lease.sites)] = None
                if not lease.inside:
                    entering.setdefault(lease.slot, {})[tuple(lease.sites)] = None
        if not watch.chose:
            break
    begun = {trace[:length] for trace in found for length in range(1, len(trace))}
    whole, cut = tuple(t for t in found if t not in begun), tuple(t for t in found if t in begun)
    return Traces(whole, cut, {slot: tuple(entering[slot]) for slot in sorted(entering)})


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
