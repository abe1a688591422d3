"""Which write opened the lease that an access belongs to: the result of the lease analysis that fences are built on."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class SiteKey:
    """One access of one op: `op` is the op's key, `access` the position among its accesses."""

    op: int
    access: int


@dataclass(frozen=True)
class Origin:
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
