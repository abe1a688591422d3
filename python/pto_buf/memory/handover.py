"""Who takes bytes over from whom."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Stay:
    """Bytes [low, high) that a set has; `start` orders sets in time."""

    key: int
    low: int
    high: int
    start: int


def handovers(stays: Iterable[Stay]) -> Iterator[tuple[int, int]]:
    """Pairs (earlier set, later set) where the later one is the next to have a byte of the earlier one."""
    holders: list[tuple[int, int, int]] = []
    """Ranges that do not overlap, sorted, each with the set that had it last."""
    for stay in sorted(stays, key=lambda stay: (stay.start, stay.key)):
        first = bisect_left(holders, (stay.low, stay.low, -1))
        if first and holders[first - 1][1] > stay.low:
            first -= 1
        end = first
        while end < len(holders) and holders[end][0] < stay.high:
            end += 1
        met = holders[first:end]
        yield from dict.fromkeys((key, stay.key) for _, _, key in met)
        rest = [part for low, high, key in met for part in ((low, stay.low, key), (stay.high, high, key))]
        holders[first:end] = [part for part in rest if part[0] < part[1]]
        insort(holders, (stay.low, stay.high, stay.key))
