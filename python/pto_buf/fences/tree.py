"""Where things stand in a program: blocks, the items in them, and the spots between items."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pto_buf.slots.flow import SiteKey
from pto_buf.slots.program import Access, Block, Branch, Loop, Node, Op, Program, While
from pto_buf.slots.terms import DIVISIONS, Apply, Const, Select, Term


class Step(NamedTuple):
    """Item `item` of block `block`."""

    block: int
    item: int


@dataclass(frozen=True)
class BlockInfo:
    """`path` leads from the program's body to the block: the items around it, outermost first.

    `loops` are the keys of the loops among these.
    """

    key: int
    nodes: Block
    owner: Node | None
    path: tuple[Step, ...]
    loops: tuple[int, ...]
    first: int
    last: int
    """Keys of the first and the last node of the block in the whole program, of which `nodes` may be a part."""


class Site(NamedTuple):
    """One access, with the way down to its op: the last step is the op itself."""

    key: SiteKey
    op: Op
    access: Access
    path: tuple[Step, ...]
    ahead: tuple[int, int] | None = None
    """A loop and a distance: the slot index is the one that it would be for a counter of the loop that much further."""


OfOp = Mapping[int, Sequence[Site]]
"""By the keys of ops, their accesses."""


def by_op(sites: Sequence[Site]) -> OfOp:
    found: dict[int, list[Site]] = {}
    for site in sites:
        found.setdefault(site.op.key, []).append(site)
    return found


class Span(NamedTuple):
    """Items `first` to `last` of block `block`."""

    block: int
    first: int
    last: int


@dataclass(frozen=True)
class Tree:
    """Blocks in program order (the body is block 0) and every access. It may be of a part of a program: the nodes are
    then those of the whole, of which `inner` says what belongs to the part."""

    blocks: tuple[BlockInfo, ...]
    sites: tuple[Site, ...]
    inner: Mapping[int, tuple[int, ...]]
    """For the key of each loop and branch, the keys of its blocks, in the order of `inner_blocks`."""

    @cached_property
    def of_op(self) -> OfOp:
        """All accesses."""
        return by_op(self.sites)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return sum(len(block.nodes) for block in self.blocks)

    @cached_property
    def unit(self) -> int:
        """How far the counter of a loop gets in one trip at most, in numbers that bound the loops: by its step, and by
        what its bounds are divided by, which is how trips that run together are counted."""
        loops = [node for block in self.blocks for node in block.nodes if isinstance(node, Loop)]
        steps = [loop.step.value if isinstance(loop.step, Const) else 1 for loop in loops]
        units = (step * _divided_by(loop.upper) for loop, step in zip(loops, steps, strict=True))
        return min(max(units, default=1), _LARGEST_UNIT)

    def node(self, step: Step) -> Node:
        return self.blocks[step.block].nodes[step.item]

    def loops_around(self, path: tuple[Step, ...]) -> tuple[int, ...]:
        """Keys of the loops that a path goes through, outermost first."""
        return tuple(node.key for step in path if isinstance(node := self.node(step), Loop | While))


_LARGEST_UNIT = 16


def _divided_by(term: Term) -> int:
    match term:
        case Apply(fn, left, Const(value)) if fn in DIVISIONS and value > 0:
            return value * _divided_by(left)
        case Apply(_, left, right):
            return max(_divided_by(left), _divided_by(right))
        case Select(_, if_true, if_false):
            return max(_divided_by(if_true), _divided_by(if_false))
        case _:
            return 1


def build_tree(program: Program) -> Tree:
    """The tree of the whole program."""
    (tree,) = _trees(program, lambda slots: 0, everything=True).values()
    return tree


def build_trees(program: Program, part_of: Mapping[int, int]) -> Mapping[int, Tree]:
    """A tree for each part: its accesses and what is around them. `part_of` is the part of each slot set, by its key.

    Their sizes add up to that of the program.
    """
    return _trees(program, part_of.__getitem__, everything=False)


@dataclass
class _Part:
    """A block of one part: its nodes, each with the blocks inside."""

    nodes: list[tuple[Node, tuple["_Part", ...]]]
    first: int
    last: int


def _trees(program: Program, part_of: Callable[[int], int], *, everything: bool) -> Mapping[int, Tree]:
    parts = _parts(program.body, part_of, everything)
    if everything:
        parts.setdefault(0, _Part([], -1, -1))
    return {number: _tree(part, part_of, number) for number, part in sorted(parts.items())}


def _parts(nodes: Block, part_of: Callable[[int], int], everything: bool) -> dict[int, _Part]:
    found: dict[int, _Part] = {}
    for node in nodes:
        inside = () if isinstance(node, Op) else [_parts(block, part_of, everything) for block in inner_blocks(node)]
        if everything:
            numbers = (0,)
        elif isinstance(node, Op):
            numbers = dict.fromkeys([part_of(access.slots.key) for access in node.accesses])
        else:
            numbers = dict.fromkeys([number for one in inside for number in one])
        for number in numbers:
            if number not in found:
                found[number] = _Part([], nodes[0].key, nodes[-1].key)
            found[number].nodes.append((node, tuple([one.get(number) or _Part([], -1, -1) for one in inside])))
    return found


def _tree(body: _Part, part_of: Callable[[int], int], number: int) -> Tree:
    blocks: list[BlockInfo] = []
    sites: list[Site] = []
    inner: dict[int, tuple[int, ...]] = {}

    def enter(part: _Part, owner: Node | None, path: tuple[Step, ...], loops: tuple[int, ...]) -> int:
        key = len(blocks)
        nodes = tuple([node for node, _ in part.nodes])
        blocks.append(BlockInfo(key, nodes, owner, path, loops, part.first, part.last))
        for item, (node, inside) in enumerate(part.nodes):
            here = (*path, Step(key, item))
            if isinstance(node, Op):
                for index, access in enumerate(node.accesses):
                    if part_of(access.slots.key) == number:
                        sites.append(Site(SiteKey(node.key, index), node, access, here))
            elif inside:
                around = (*loops, node.key) if isinstance(node, Loop | While) else loops
                inner[node.key] = tuple(enter(one, node, here, around) for one in inside)
        return key

    enter(body, None, (), ())
    return Tree(tuple(blocks), tuple(sites), inner)


def inner_blocks(node: Node) -> Iterator[Block]:
    match node:
        case Loop():
            yield node.body
        case Branch():
            yield node.then
            yield node.otherwise
        case While():
            yield node.before
            yield node.after
        case _:
            return


def last_key(node: Node) -> int:
    """The key of the last node within `node`, itself included: behind it comes what is behind the node."""
    while not isinstance(node, Op):
        inner = [block for block in inner_blocks(node) if block]
        if not inner:
            break
        node = inner[-1][-1]
    return node.key


def span_in(block: int, sites: Sequence[Site]) -> Span:
    """The items of `block` that the accesses stand in."""
    items = [item for site in sites if (item := item_in(site.path, block)) is not None]
    return Span(block, min(items), max(items))


def common_block(paths: list[tuple[Step, ...]]) -> int:
    """The innermost block that every path passes through."""
    deepest = 0
    for steps in zip(*paths, strict=False):
        if len({step.block for step in steps}) > 1:
            break
        deepest = steps[0].block
        if len({step.item for step in steps}) > 1:
            break
    return deepest


def item_in(path: tuple[Step, ...], block: int) -> int | None:
    """The item of `block` that the path goes through; None if it does not pass through the block."""
    for step in path:
        if step.block == block:
            return step.item
    return None
