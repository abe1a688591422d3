"""Packing byte ranges with lives into free ranges: first fit, best fit and next fit over several orders.

Two items need disjoint bytes if their lives meet. All functions are deterministic; ties go to the earlier item and the
lower address.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

Range = tuple[int, int]
"""First byte, and the byte behind the last."""

NOWHERE_ELSE = 1 << 62
"""The `step` of an item that may lie at its `phase` only."""

_ORDERED_LIMIT = 400
"""Items up to which orders other than program order are tried: they cost a look at every pair."""


@dataclass(frozen=True)
class Item:
    """`size` bytes, needed from `start` to `end` (both included), at an address that is `phase` modulo `step`."""

    key: int
    size: int
    start: int
    end: int
    step: int
    phase: int = 0

    def fit(self, address: int) -> int:
        """The lowest address at or above `address` where the item may start."""
        return address + (self.phase - address) % self.step

    @property
    def immovable(self) -> bool:
        return self.step == NOWHERE_ELSE


Addresses = dict[int, int]
"""Address by item key."""


def gaps(capacity: int, taken: Iterable[Range]) -> tuple[Range, ...]:
    """What `taken` leaves free of `[0, capacity)`."""
    found: list[Range] = []
    low = 0
    for start, end in sorted(taken):
        if start > low:
            found.append((low, min(start, capacity)))
        low = max(low, end)
    if low < capacity:
        found.append((low, capacity))
    return tuple(found)


def holes(free: Sequence[Range], taken: Sequence[Range]) -> Iterator[Range]:
    """What `taken`, sorted by address and possibly overlapping, leaves of `free`."""
    index = 0
    for low, high in free:
        while index < len(taken) and taken[index][0] < high:
            start, end = taken[index]
            if start > low:
                yield low, start
            low = max(low, end)
            if end > high:  # it may reach into the next free range too
                break
            index += 1
        if low < high:
            yield low, high


def height(items: Iterable[Item], addresses: Mapping[int, int]) -> int:
    """Bytes up to the highest one in use."""
    return max((addresses[item.key] + item.size for item in items), default=0)


def loads(items: Iterable[Item]) -> Iterator[tuple[Item, int]]:
    """Each item in order of its start, with the bytes that are needed when it has come."""
    load = 0
    dying: list[tuple[int, int]] = []
    for item in sorted(items, key=lambda item: (item.start, item.key)):
        while dying and dying[0][0] < item.start:
            load -= heappop(dying)[1]
        load += item.size
        heappush(dying, (item.end, item.size))
        yield item, load


def peak_load(items: Iterable[Item]) -> int:
    """The most bytes needed at once. No packing can need less."""
    return max((load for _, load in loads(items)), default=0)


# --- one after the other, all private -------------------------------------------------------------------------------


def stack(items: Iterable[Item], free: Sequence[Range]) -> Addresses | None:
    """Each item at the lowest address left, none sharing with any other; None where one does not fit."""
    left = list(free)
    addresses: Addresses = {}
    for item in items:
        for index, (low, high) in enumerate(left):
            address = item.fit(low)
            if address + item.size <= high:
                addresses[item.key] = address
                left[index : index + 1] = [
                    part for part in ((low, address), (address + item.size, high)) if part[0] < part[1]
                ]
                break
        else:
            return None
    return addresses


# --- sharing ----------------------------------------------------------------------------------------------------------


Choose = Callable[[Item, Iterable[Range]], int | None]
"""The address for an item among the holes it sees, or None if it fits in none."""


def first_fit(item: Item, seen: Iterable[Range]) -> int | None:
    """The lowest address."""
    for low, high in seen:
        address = item.fit(low)
        if address + item.size <= high:
            return address
    return None


def best_fit(item: Item, seen: Iterable[Range]) -> int | None:
    """The hole that is left with the least; the lowest of several."""
    best: tuple[int, int] | None = None
    for low, high in seen:
        address = item.fit(low)
        left = high - address - item.size
        if left >= 0 and (best is None or left < best[0]):
            best = left, address
    return None if best is None else best[1]


class NextFit:
    """The lowest address at or above the last one given, then from the bottom again.

    Bytes are taken over as late as possible after they were left, so that the fence that this needs seldom waits.
    """

    def __init__(self) -> None:
        self._cursor = 0

    def __call__(self, item: Item, seen: Iterable[Range]) -> int | None:
        lowest: int | None = None
        for low, high in seen:
            address = item.fit(low)
            if lowest is None and address + item.size <= high:
                lowest = address
            address = item.fit(max(low, self._cursor))
            if address + item.size <= high:
                lowest = address
                break
        if lowest is not None:
            self._cursor = lowest + item.size
        return lowest


def sweep(items: Sequence[Item], free: Sequence[Range], choose: Choose) -> Addresses | Item:
    """Place items as they are born, in order of their starts; the first that finds no place is returned."""
    addresses: Addresses = {}
    alive: list[tuple[int, int, int]] = []
    dying: list[tuple[int, int, int, int]] = []
    for item in sorted(items, key=lambda item: (item.start, item.key)):
        dead = False
        while dying and dying[0][0] < item.start:
            heappop(dying)
            dead = True
        if dead:
            alive = [entry for entry in alive if entry[2] >= item.start]
        address = choose(item, holes(free, [entry[:2] for entry in alive]))
        if address is None:
            return item
        addresses[item.key] = address
        insort(alive, (address, address + item.size, item.end))
        heappush(dying, (item.end, address, item.size, item.key))
    return addresses


def neighbours(items: Sequence[Item]) -> list[list[int]]:
    """For each item the positions of those whose lives meet its own. Looks at every pair that meets."""
    found: list[list[int]] = [[] for _ in items]
    alive: list[int] = []
    for index in sorted(range(len(items)), key=lambda index: (items[index].start, index)):
        alive = [other for other in alive if items[other].end >= items[index].start]
        for other in alive:
            found[index].append(other)
            found[other].append(index)
        alive.append(index)
    return found


def fill(
    items: Sequence[Item], near: Sequence[Sequence[int]], free: Sequence[Range], order: Iterable[int], choose: Choose
) -> Addresses | None:
    """Place the items in `order` (positions in `items`), each clear of its neighbours `near`."""
    ranges: list[Range | None] = [None] * len(items)
    for index in order:
        item = items[index]
        taken = sorted(placed for other in near[index] if (placed := ranges[other]) is not None)
        address = choose(item, holes(free, taken))
        if address is None:
            return None
        ranges[index] = (address, address + item.size)
    return {item.key: placed[0] for item, placed in zip(items, ranges, strict=True) if placed is not None}


def orders(items: Sequence[Item], near: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Orders that are good at one thing or another: large, long-lived, crowded, early and late items first."""

    def by(worth: Callable[[int], tuple[int, ...]]) -> list[int]:
        # An item that has only one place to go goes there before another takes it.
        return sorted(range(len(items)), key=lambda index: (not items[index].immovable, *worth(index), index))

    def length(index: int) -> int:
        return items[index].end - items[index].start + 1

    yield by(lambda index: (-items[index].size, -length(index)))
    yield by(lambda index: (-items[index].size * length(index),))
    yield by(lambda index: (-length(index), -items[index].size))
    yield by(lambda index: (-sum(items[other].size for other in near[index]), -items[index].size))
    yield by(lambda index: (items[index].start, -items[index].size))
    yield by(lambda index: (-items[index].end, -items[index].size))


def heuristics(
    items: Sequence[Item], free: Sequence[Range], near: Sequence[Sequence[int]] | None = None
) -> Iterator[Addresses]:
    """Every packing that first fit and best fit find, over program order and, unless there are many, the others.

    `near` lists for each item those that it must not share with, where lives do not say it.
    """
    if near is None:
        for choose in (best_fit, first_fit):
            found = sweep(items, free, choose)
            if isinstance(found, dict):
                yield found
        if len(items) > _ORDERED_LIMIT:
            return
        near = neighbours(items)
    for order in orders(items, near):
        for choose in (best_fit, first_fit):
            packed = fill(items, near, free, order, choose)
            if packed is not None:
                yield packed
