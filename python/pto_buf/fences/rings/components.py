"""Leases that belong together: the accesses of some slots, grouped by the leases that reach them.

A component is a group of lease openings that share an access, with all accesses of their leases. Its *frame* is the
innermost block of which one execution holds whole leases.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.fences.tree import Site, Tree, common_block
from pto_buf.slots.flow import Flow, SiteKey


@dataclass(frozen=True)
class Component:
    frame: int
    carried: bool
    """Several leases of the component follow one another within one execution of the frame."""
    sites: tuple[Site, ...]
    """In program order."""


def components(sites: Sequence[Site], tree: Tree, flow: Flow) -> tuple[Component, ...]:
    """The components of these accesses, in program order of their first one. Unreachable accesses are left out."""
    leader: dict[SiteKey, SiteKey] = {}
    """For an opening that goes with another one, that one."""

    def find(key: SiteKey) -> SiteKey:
        while key in leader:
            above = leader[key]
            leader[key] = leader.get(above, above)
            key = above
        return key

    reached = [site for site in sites if site.key in flow.origins]
    for site in reached:
        origins = flow.origins[site.key]
        for origin in origins[1:]:
            one, other = find(origin.opener), find(origins[0].opener)
            if one != other:
                leader[one] = other
    groups: dict[SiteKey, list[Site]] = {}
    for site in reached:
        groups.setdefault(find(flow.origins[site.key][0].opener), []).append(site)
    return tuple(_component(group, tree, flow) for group in groups.values())


def _component(sites: Sequence[Site], tree: Tree, flow: Flow) -> Component:
    frame = common_block([site.path for site in sites])
    carriers = {origin.carried_by for site in sites for origin in flow.origins[site.key]}
    for step in tree.blocks[frame].path:
        if tree.node(step).key in carriers:
            frame = step.block
            break
    around = tree.blocks[frame].loops
    members = {site.key for site in sites}
    carried = any(
        ended.opener in members and ended.carried_by not in around
        for site in sites
        for ended in flow.ends.get(site.key, ())
    )
    return Component(frame, carried, tuple(sites))
