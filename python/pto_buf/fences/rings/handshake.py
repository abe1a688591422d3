"""The last resort: an access that hands over to every other pipe at once, right in all control flow.

Before the access each conflicting pipe says that it is done, behind it the access's pipe says so. Set and wait stand
side by side, so all such accesses share two flags for each ordered pair of pipes, one before and one behind accesses:
each is set again only after the other has come back. Nothing is primed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.fences.rings.pools import PoolFences
from pto_buf.fences.tree import Site
from pto_buf.hw import Pipe


@dataclass(frozen=True)
class Handover:
    """A set on `src` and the wait for it on `dst`, before or behind the op."""

    op: int
    behind: bool
    src: Pipe
    dst: Pipe


def handovers(pools: Sequence[PoolFences]) -> list[Handover]:
    """All handovers of the pools that hand over so, each once, in program order."""
    wanted: dict[Handover, None] = {}
    sites: list[tuple[Site, PoolFences]] = [
        (site, fences) for fences in pools if fences.handshake for site in fences.sites
    ]
    for site, fences in sorted(sites, key=lambda entry: entry[0].key):
        partners = fences.partners(site.op.pipes, site.access.role.writes)
        for pipe in site.op.pipes:
            for partner in partners:
                wanted[Handover(site.op.key, False, partner, pipe)] = None
                wanted[Handover(site.op.key, True, pipe, partner)] = None
    return list(wanted)
