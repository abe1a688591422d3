"""The tightest packing, by a search over the orders in which first fit places items.

Every tight packing comes out of first fit for some order: taken by rising address, each item lies no higher than in
the tight packing, and sorting anew by the addresses found only lowers them. So the search need only extend a partial
packing at or above the address placed last.
"""

from collections.abc import Sequence

from pto_buf.memory.packing import Addresses, Item, Range, first_fit, height, heuristics, holes, neighbours, peak_load

EXACT_ITEMS = 7
"""Up to this many items the search always finishes."""

_SEARCHED = 200
"""With more items than this there is no search: it would not come far."""

_BUDGET = 20_000
"""Partial packings that are looked at with more items; about a second."""


Near = Sequence[Sequence[int]]
"""For each item the positions of those that it must not share with."""


def tightest(items: Sequence[Item], free: Sequence[Range], near: Near | None = None) -> Addresses | None:
    """The packing with the lowest height that was found; None if none fits `free`.

    Items must not share if their lives meet or, where `near` is given, if it lists them. The height is the lowest of
    all for up to EXACT_ITEMS items, and never above what first fit and best fit reach over several orders.
    """
    if not items:
        return {}
    best: Addresses | None = None
    for found in heuristics(items, free, near):
        if best is None or height(items, found) < height(items, best):
            best = found
    bound = _floor(items, free) if near is None else 0
    if len(items) > _SEARCHED or (best is not None and height(items, best) <= bound):
        return best
    return _Search(items, free, neighbours(items) if near is None else near, best, bound).run() or best


def fitting(items: Sequence[Item], free: Sequence[Range], near: Near | None = None) -> Addresses | None:
    """Any packing that fits `free`, searched as long as `tightest` would."""
    found = next(heuristics(items, free, near), None)
    if found is not None or (near is None and peak_load(items) > sum(high - low for low, high in free)):
        return found
    return tightest(items, free, near)


def _floor(items: Sequence[Item], free: Sequence[Range]) -> int:
    """No packing is lower: the peak load, laid into the free ranges without a gap."""
    left = peak_load(items)
    for low, high in free:
        if left <= high - low:
            return low + left
        left -= high - low
    return free[-1][1] if free else 0


class _Search:
    def __init__(self, items: Sequence[Item], free: Sequence[Range], near: Near, best: Addresses | None, floor: int):
        self.items = items
        self.free = free
        self.near = near
        self.floor = floor
        self.best: Addresses | None = None
        self.limit = height(items, best) if best is not None else (free[-1][1] + 1 if free else 0)
        """Only packings below this are wanted."""
        self.budget = None if len(items) <= EXACT_ITEMS else _BUDGET
        self.placed: list[Range | None] = [None] * len(items)
        self.twin = [self._twin(index) for index in range(len(items))]

    def _twin(self, index: int) -> int | None:
        """An earlier item that is the same in all respects: it goes first."""
        item = self.items[index]
        same = (item.size, item.start, item.end, item.step, item.phase)
        for other in range(index - 1, -1, -1):
            twin = self.items[other]
            if (twin.size, twin.start, twin.end, twin.step, twin.phase) == same:
                return other
        return None

    def run(self) -> Addresses | None:
        self._extend((-1, -1), len(self.items))
        return self.best

    def _extend(self, last: tuple[int, int], left: int) -> bool:
        """Try every next item; True when the search may stop."""
        if left == 0:
            self.best = {
                item.key: placed[0] for item, placed in zip(self.items, self.placed, strict=True) if placed is not None
            }
            self.limit = height(self.items, self.best)
            return self.limit <= self.floor
        if self.budget is not None:
            self.budget -= 1
            if self.budget < 0:
                return True
        candidates: list[tuple[int, int]] = []
        for index, item in enumerate(self.items):
            if self.placed[index] is not None:
                continue
            address = self._address(index)
            # Whatever is placed next, this item will not come to lie lower than it would now.
            if address is None or address + item.size >= self.limit:
                return False
            candidates.append((address, index))
        for address, index in sorted(candidates):
            twin = self.twin[index]
            if (address, index) < last or (twin is not None and self.placed[twin] is None):
                continue
            if address + self.items[index].size >= self.limit:
                continue
            self.placed[index] = (address, address + self.items[index].size)
            stop = self._extend((address, index), left - 1)
            self.placed[index] = None
            if stop:
                return True
        return False

    def _address(self, index: int) -> int | None:
        taken = sorted(placed for other in self.near[index] if (placed := self.placed[other]) is not None)
        return first_fit(self.items[index], holes(self.free, taken))
