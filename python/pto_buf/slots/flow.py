"""Which write opened the lease that an access belongs to: the result of the lease analysis that fences are built on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class SiteKey(NamedTuple):
    """One access of one op: `op` is the op's key, `access` the position among its accesses."""

    op: int
    access: int


class Origin(NamedTuple):
    """A lease, named by the site of its first write, as met at another site.

    `carried_by` is the key of the outermost loop around both sites whose trips differ between the two; None where
    both stand in the same trip of every loop around both. A lease met in several such ways has an entry for each.
    """

    opener: SiteKey
    carried_by: int | None


@dataclass(frozen=True)
class Flow:
    """For all runs together, in a deterministic order; a site or way that no run takes is left out.

    `origins`: for each access, the leases that it may belong to. The site of a lease's first write has itself,
    carried by nothing; so a write that may also continue a lease has several.
    `ends`: for each site that may open a lease, the leases whose slot it takes over.
    `unread`: for each site that may open a lease, the sites at which the lease may end without having been read:
    the one that takes the slot over, or None for the end of the kernel.
    """

    origins: Mapping[SiteKey, tuple[Origin, ...]]
    ends: Mapping[SiteKey, tuple[Origin, ...]]
    unread: Mapping[SiteKey, tuple[SiteKey | None, ...]]


class FlowBuilder:
    """Collects a `Flow` from one path after another."""

    def __init__(self) -> None:
        self._origins: dict[SiteKey, dict[Origin, None]] = {}
        self._ends: dict[SiteKey, dict[Origin, None]] = {}
        self._unread: dict[SiteKey, dict[SiteKey | None, None]] = {}

    def origin(self, site: SiteKey, origin: Origin) -> None:
        """The access at `site` may belong to this lease."""
        self._origins.setdefault(site, {})[origin] = None

    def ends(self, site: SiteKey, origin: Origin) -> None:
        """The write at `site` may take over the slot of this lease."""
        self._ends.setdefault(site, {})[origin] = None

    def unread(self, opener: SiteKey, at: SiteKey | None) -> None:
        """The lease may end there without having been read."""
        self._unread.setdefault(opener, {})[at] = None

    def flow(self) -> Flow:
        def way(origin: Origin) -> tuple[SiteKey, int]:
            return origin.opener, -1 if origin.carried_by is None else origin.carried_by

        def end(site: SiteKey | None) -> tuple[bool, SiteKey]:
            return site is None, site or SiteKey(0, 0)

        return Flow(
            {site: tuple(sorted(self._origins[site], key=way)) for site in sorted(self._origins)},
            {site: tuple(sorted(self._ends[site], key=way)) for site in sorted(self._ends)},
            {site: tuple(sorted(self._unread[site], key=end)) for site in sorted(self._unread)},
        )
