"""A planned program in the order of its text: in each block, its nodes and what fences stand between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple, TypeAlias

from pto_buf.fences.actions import Action, Rank
from pto_buf.fences.reducing.outline import gaps_of
from pto_buf.fences.tree import Tree
from pto_buf.slots.program import Node


class Mark(NamedTuple):
    """A set, wait or barrier, with its number among all of the plan."""

    number: int
    action: Action

    @property
    def event(self) -> int:
        assert self.action.event is not None
        return self.action.event


@dataclass(frozen=True)
class Guarded:
    """Marks in some trips only of a loop around them."""

    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Closed:
    """Marks of a closing, which run once for each of its trips, behind the loop `node`."""

    node: Node
    action: Action
    marks: tuple[Mark, ...]


Item: TypeAlias = Node | Mark | Guarded | Closed


class Spot(NamedTuple):
    """Where a mark stands: item `item` of block `block`, and which mark of that item."""

    block: int
    item: int
    inner: int


@dataclass(frozen=True)
class Layout:
    tree: Tree
    actions: Sequence[Action]
    of_action: tuple[tuple[Mark, ...], ...]
    """The set, wait or barrier that each action is, or those in it."""
    marks: tuple[Mark, ...]
    """Each at the place of its number."""
    gaps: Mapping[tuple[int, bool], tuple[Item, ...]]
    """By the key of a node, and whether behind it: what stands there, if anything."""

    @cached_property
    def blocks(self) -> tuple[tuple[Item, ...], ...]:
        return tuple(tuple(item for node in block.nodes for item in self._with(node)) for block in self.tree.blocks)

    def _with(self, node: Node) -> Iterator[Item]:
        yield from self.gaps.get((node.key, False), ())
        yield node
        yield from self.gaps.get((node.key, True), ())

    @cached_property
    def spots(self) -> Mapping[int, Spot]:
        """Of each mark, by its number."""
        return {
            mark.number: Spot(block, place, inner)
            for block, items in enumerate(self.blocks)
            for place, item in enumerate(items)
            for inner, mark in enumerate(marks_of(item))
        }

    @cached_property
    def items(self) -> Mapping[int, int]:
        """By the key of a node, its place among the items of its block."""
        return {
            item.key: place
            for items in self.blocks
            for place, item in enumerate(items)
            if not isinstance(item, Mark | Guarded | Closed)
        }


def layout(tree: Tree, actions: Sequence[Action]) -> Layout:
    """Lays a plan out. The marks of the actions are numbered in their order."""
    marks: list[Mark] = []
    of_action: list[tuple[Mark, ...]] = []
    for action in actions:
        parts = action.trip if action.rank is Rank.CLOSING else (action,)
        of_action.append(tuple([Mark(number, part) for number, part in enumerate(parts, len(marks))]))
        marks += of_action[-1]
    held = {id(action): mine for action, mine in zip(actions, of_action, strict=True)}
    nodes = {node.key: node for block in tree.blocks for node in block.nodes}
    gaps = {gap: tuple(_items(nodes[gap[0]], here, held)) for gap, here in gaps_of(actions).items()}
    return Layout(tree, actions, tuple(of_action), tuple(marks), gaps)


def marks_of(item: Item) -> tuple[Mark, ...]:
    """The marks that an item is or holds; a node holds none."""
    match item:
        case Mark():
            return (item,)
        case Guarded() | Closed():
            return item.marks
        case _:
            return ()


def _items(node: Node, actions: Sequence[Action], held: Mapping[int, tuple[Mark, ...]]) -> Iterator[Item]:
    """What stands in a gap of the node. `held`: the marks of each action, by its identity."""
    for once, group in groupby(actions, key=lambda action: action.once):
        found: list[Mark] = []
        for action in group:
            marks = held[id(action)]
            if action.rank is Rank.CLOSING:
                yield Closed(node, action, marks)
            elif once:
                found += marks
            else:
                yield from marks
        if found:
            yield Guarded(tuple(found))
