"""A planned program in the order of its text: in each block, its nodes and what fences stand between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, TypeAlias

from pto_buf.fences.actions import Action, Rank
from pto_buf.fences.outline import in_order
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
    blocks: tuple[tuple[Item, ...], ...]
    marks: tuple[Mark, ...]
    spots: tuple[Spot, ...]
    """Of each mark, by its number."""
    items: Mapping[int, int]
    """By the key of a node, its place among the items of its block."""
    gaps: Mapping[tuple[int, bool], tuple[Item, ...]]
    """By the key of a node, and whether behind it: what stands there, if anything."""


def numbered(actions: Sequence[Action]) -> list[tuple[Action, tuple[int, ...]]]:
    """Each action with the number of the set, wait or barrier that it is, or those in it."""
    found: list[tuple[Action, tuple[int, ...]]] = []
    count = 0
    for action in actions:
        held = len(action.trip) if action.rank is Rank.CLOSING else 1
        found.append((action, tuple(range(count, count + held))))
        count += held
    return found


def layout(tree: Tree, actions: Sequence[Action]) -> Layout:
    """Lays a plan out. The marks of the actions are numbered in their order."""
    numbers = {id(action): of_action for action, of_action in numbered(actions)}
    gaps: dict[tuple[int, bool], list[Action]] = {}
    for action in actions:
        gaps.setdefault((action.anchor, action.behind), []).append(action)
    marks: dict[int, Mark] = {}
    spots: dict[int, Spot] = {}
    places: dict[int, int] = {}
    blocks: list[tuple[Item, ...]] = []
    found: dict[tuple[int, bool], tuple[Item, ...]] = {}
    for block in tree.blocks:
        items: list[Item] = []
        for node in block.nodes:
            for behind in (False, True):
                here = gaps.get((node.key, behind))
                gap = tuple(_items(node, in_order(here), numbers)) if here else ()
                if gap:
                    found[node.key, behind] = gap
                for item in gap:
                    for inner, mark in enumerate(marks_of(item)):
                        marks[mark.number] = mark
                        spots[mark.number] = Spot(block.key, len(items), inner)
                    items.append(item)
                if not behind:
                    places[node.key] = len(items)
                    items.append(node)
        blocks.append(tuple(items))
    ordered = range(len(marks))
    of_marks = tuple(marks[n] for n in ordered), tuple(spots[n] for n in ordered)
    return Layout(tuple(blocks), *of_marks, places, found)


def marks_of(item: Item) -> tuple[Mark, ...]:
    """The marks that an item is or holds; a node holds none."""
    match item:
        case Mark():
            return (item,)
        case Guarded() | Closed():
            return item.marks
        case _:
            return ()


def _items(node: Node, actions: Sequence[Action], numbers: Mapping[int, tuple[int, ...]]) -> Iterator[Item]:
    for once, group in groupby(actions, key=lambda action: action.once):
        found: list[Mark] = []
        for action in group:
            of_action = numbers[id(action)]
            if action.rank is Rank.CLOSING:
                parts = zip(of_action, action.trip, strict=True)
                yield Closed(node, action, tuple(Mark(number, part) for number, part in parts))
            elif once:
                found.append(Mark(of_action[0], action))
            else:
                yield Mark(of_action[0], action)
        if found:
            yield Guarded(tuple(found))
