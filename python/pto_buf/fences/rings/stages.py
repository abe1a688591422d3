"""What follows what in one block: its items in stages, each of which conflicts with the one before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pto_buf.fences.phases import pipes_of
from pto_buf.fences.tree import Site, Span, Tree, span_in
from pto_buf.hw import Pipe
from pto_buf.slots.flow import Flow, SiteKey
from pto_buf.slots.program import Op


@dataclass(frozen=True)
class Stage:
    """Items of one block one behind the other: writes of one pipe, reads of some, or one item with pipes taking turns.

    In a `mixed` stage, an item with blocks inside, several pipes conflict with each other.
    """

    sites: tuple[Site, ...]
    span: Span
    pipes: tuple[Pipe, ...]
    writes: bool
    mixed: bool

    def part(self, pipe: Pipe) -> Span:
        """The items of the stage in which a pipe has work."""
        if self.pipes == (pipe,):
            return self.span
        return span_in(self.span.block, [site for site in self.sites if pipe in site.op.pipes])


def stages(block: int, sites: Sequence[Site], tree: Tree) -> list[Stage]:
    """The stages of a block that all `sites` are in, given in program order."""
    found: list[Stage] = []
    for item, group in _by_item(block, sites):
        pipes = pipes_of(group)
        writes = any(site.access.role.writes for site in group)
        mixed = writes and len(pipes) > 1 and not isinstance(tree.blocks[block].nodes[item], Op)
        last = found[-1] if found else None
        alike = last is not None and not mixed and not last.mixed and writes == last.writes
        if last is not None and alike and (not writes or (pipes == last.pipes and len(pipes) == 1)):
            together = (*last.sites, *group)
            both = pipes if pipes == last.pipes else pipes_of(together)
            found[-1] = Stage(together, Span(block, last.span.first, item), both, writes, False)
            continue
        found.append(Stage(tuple(group), Span(block, item, item), pipes, writes, mixed))
    return found


def _by_item(block: int, sites: Sequence[Site]) -> Iterator[tuple[int, list[Site]]]:
    if not sites:
        return
    depth = next(depth for depth, step in enumerate(sites[0].path) if step.block == block)
    for item, group in groupby(sites, key=lambda site: site.path[depth].item):
        yield item, list(group)


def lease_groups(block: int, sites: Sequence[Site], flow: Flow) -> Iterator[list[Site]]:
    """The accesses of a block, given in program order, in groups of whole items between which no lease goes on."""
    items = list(_by_item(block, sites))
    first: dict[SiteKey, int] = {}
    last: dict[SiteKey, int] = {}
    for number, (_, group) in enumerate(items):
        for site in group:
            for origin in flow.origins[site.key]:
                first.setdefault(origin.opener, number)
                last[origin.opener] = number
    until = list(range(len(items)))
    for opener, number in first.items():
        until[number] = max(until[number], last[opener])
    together: list[Site] = []
    end = 0
    for number, (_, group) in enumerate(items):
        if together and number > end:
            yield together
            together = []
        together.extend(group)
        end = max(end, until[number])
    if together:
        yield together
