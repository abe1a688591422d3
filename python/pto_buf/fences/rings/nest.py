"""Rings of rings: where several pipes take turns inside a loop or branch, the region has rings of its own.

Seen from outside, such a region is one phase of all its pipes. Inside, each execution of a block is one round of that
block's ring: its stages are the phases. A ring's tokens stay where they are between two executions of its region, so
nothing has to be primed or drained at the region's border.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pto_buf.fences.phases import Closing, Pass, Piece, Shape
from pto_buf.fences.rings.rings import Placed, ring_of
from pto_buf.fences.rings.stages import Stage, stages
from pto_buf.fences.tree import Site, Tree, item_in
from pto_buf.slots.program import Branch, Loop, While

Lane = tuple[Site | int, int]
"""The lane of all accesses in one execution of a region, and how many lanes there are."""


def shape_of(found: Sequence[Stage], lane: Site | int, around: tuple[int, ...]) -> Shape:
    """The shape of what goes through these stages, one behind the other, in each execution of their block."""
    pieces = [Piece(number, pipe, stage.part(pipe), lane) for number, stage in enumerate(found) for pipe in stage.pipes]
    phase = {site.key: number for number, stage in enumerate(found) for site in stage.sites}
    return Shape(tuple([stage.pipes for stage in found]), tuple(pieces), phase, around)


class Parts:
    """Parts of regions that keep order by themselves. There are none of these."""

    def stages(self, block: int, sites: Sequence[Site], tree: Tree) -> list[Stage]:
        """The stages of a block, each such part a mixed one."""
        return stages(block, sites, tree)

    def rings(self, stage: Stage) -> tuple[Placed, ...]:
        """The rings of a stage that keeps order by itself; none if it does not."""
        return ()


NO_PARTS = Parts()


def rings_in(
    block: int, sites: Sequence[Site], tree: Tree, lane: Lane, *, around: bool, parts: Parts = NO_PARTS
) -> Iterator[Placed]:
    """The rings of one block and of what is inside it. `around`: executions of the block follow one another."""
    found = parts.stages(block, sites, tree)
    if len(found) == 1:
        yield from _rings_of_item(found[0], tree, lane, around, parts)
    elif found:
        loops = tree.blocks[block].loops
        signature = tuple(stage.pipes for stage in found)
        yield Placed(ring_of(signature, around=around), (shape_of(found, lane[0], loops),), lane[1])
        yield from rings_inside(found, tree, lane, parts)


def rings_inside(found: Sequence[Stage], tree: Tree, lane: Lane, parts: Parts = NO_PARTS) -> Iterator[Placed]:
    """The rings inside the stages of a ring, which keeps the executions of each of them apart."""
    for stage in found:
        if stage.mixed:
            yield from parts.rings(stage) or _rings_of_blocks(stage, tree, lane, parts)


def _rings_of_item(stage: Stage, tree: Tree, lane: Lane, around: bool, parts: Parts) -> Iterator[Placed]:
    """The rings of a stage that is all there is in its block."""
    if not stage.mixed:
        return
    whole = parts.rings(stage)
    if whole:
        yield from whole
        return
    if around and isinstance(tree.blocks[stage.span.block].nodes[stage.span.first], Branch):
        yield _turns(stage, tree, lane)
    yield from _rings_of_blocks(stage, tree, lane, parts)


def _rings_of_blocks(stage: Stage, tree: Tree, lane: Lane, parts: Parts) -> Iterator[Placed]:
    node = tree.blocks[stage.span.block].nodes[stage.span.first]
    by_block = [
        (block, [site for site in stage.sites if item_in(site.path, block) is not None])
        for block in tree.inner[node.key]
    ]
    inside = [(block, sites) for block, sites in by_block if sites]
    if isinstance(node, While) and len(inside) == 2:
        yield from _rings_of_while(node, inside, tree, lane)
        return
    for block, sites in inside:
        yield from rings_in(block, sites, tree, lane, around=isinstance(node, Loop | While), parts=parts)


def _turns(stage: Stage, tree: Tree, lane: Lane) -> Placed:
    """Executions of one item kept apart: behind it each pipe tells all others."""
    shape = shape_of([stage], lane[0], tree.blocks[stage.span.block].loops)
    passes = tuple(Piece(1, pipe, stage.span, lane[0], Pass.BEHIND) for pipe in stage.pipes)
    signature = (stage.pipes, stage.pipes)
    return Placed(ring_of(signature), (replace(shape, signature=signature, pieces=(*shape.pieces, *passes)),), lane[1])


def _rings_of_while(
    node: While, inside: Sequence[tuple[int, Sequence[Site]]], tree: Tree, lane: Lane
) -> Iterator[Placed]:
    """A round is one run of both regions; the last one, of the first region alone, is closed behind the loop."""
    found = [stage for block, sites in inside for stage in stages(block, sites, tree)]
    first = stages(*inside[0], tree)
    loops = tree.blocks[inside[0][0]].loops
    shape = replace(shape_of(found, lane[0], loops), closing=Closing(node.key, 1, False), opening=len(first) - 1)
    yield Placed(ring_of(shape.signature), (shape,), lane[1])
    yield from rings_inside(found, tree, lane)
