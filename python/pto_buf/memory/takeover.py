"""Sharing as little as possible: whole places are taken over, and only when no untouched bytes are left.

Who takes a place over waits for whoever left it. That costs least where all accesses of both run on one pipe, since
order within a pipe needs no flag; and next, where the place was left long ago.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from pto_buf.memory.packing import Addresses, Item, Range, best_fit

_LOOKED_AT = 64
"""Places that are compared, those that were left longest ago."""


@dataclass
class _Place:
    address: int
    size: int
    pipes: frozenset[str]


def take_over(items: Sequence[Item], free: Sequence[Range], pipes: Mapping[int, frozenset[str]]) -> Addresses | None:
    """Untouched bytes first, then the places of items whose lives are over; None if an item finds neither.

    `pipes` names for each item, by its key, the pipes that touch it.
    """
    addresses: Addresses = {}
    untouched = list(free)
    alive: list[tuple[int, int, _Place]] = []
    left: list[_Place] = []
    for count, item in enumerate(sorted(items, key=lambda item: (item.start, item.key))):
        while alive and alive[0][0] < item.start:
            left.append(heappop(alive)[2])
        address = best_fit(item, untouched)
        if address is not None:
            place = _Place(address, item.size, pipes.get(item.key, frozenset()))
            untouched = _without(untouched, (address, address + item.size))
        else:
            found = _cheapest(item, left, pipes.get(item.key, frozenset()))
            if found is None:
                return None
            place = left.pop(found)
            place.pipes |= pipes.get(item.key, frozenset())
        addresses[item.key] = place.address
        heappush(alive, (item.end, count, place))
    return addresses


def _cheapest(item: Item, left: Sequence[_Place], pipes: frozenset[str]) -> int | None:
    """The place, among those left longest ago, that costs least to take over."""
    costs = [
        (len(place.pipes | pipes), place.size - item.size, index)
        for index, place in enumerate(left[:_LOOKED_AT])
        if place.size >= item.size and item.fit(place.address) == place.address
    ]
    return min(costs)[2] if costs else None


def _without(free: Sequence[Range], taken: Range) -> list[Range]:
    found: list[Range] = []
    for low, high in free:
        if taken[0] >= high or taken[1] <= low:
            found.append((low, high))
        else:
            found += [part for part in ((low, taken[0]), (taken[1], high)) if part[0] < part[1]]
    return found
