"""Packing: nothing overlaps, nothing is misaligned, nothing is beyond the end, and nothing is looser than need be."""

import itertools
import random
from collections.abc import Mapping, Sequence

import pytest

from pto_buf.memory.exact import EXACT_ITEMS, fitting, tightest
from pto_buf.memory.packing import (
    NOWHERE_ELSE,
    Item,
    NextFit,
    Range,
    best_fit,
    first_fit,
    gaps,
    height,
    heuristics,
    holes,
    peak_load,
    stack,
    sweep,
)

pytestmark = pytest.mark.campaign


def meet(left: Item, right: Item) -> bool:
    return left.start <= right.end and right.start <= left.end


def check(items: Sequence[Item], free: Sequence[Range], addresses: Mapping[int, int], *, private: bool = False) -> None:
    assert sorted(addresses) == sorted(item.key for item in items)
    for item in items:
        low = addresses[item.key]
        assert low % item.step == item.phase
        assert any(start <= low and low + item.size <= end for start, end in free)
    for left, right in itertools.combinations(items, 2):
        if private or meet(left, right):
            a, b = addresses[left.key], addresses[right.key]
            assert a + left.size <= b or b + right.size <= a, (left, right)


def any_items(rng: random.Random, count: int) -> list[Item]:
    items: list[Item] = []
    for key in range(count):
        start = rng.randint(0, 12)
        step, phase = rng.choice(((32, 0), (32, 0), (64, 0), (512, 0), (512, 256)))
        items.append(Item(key, rng.randint(1, 40) * 32, start, start + rng.randint(0, 8), step, phase))
    return items


def any_free(rng: random.Random) -> tuple[Range, ...]:
    taken: list[Range] = []
    for _ in range(rng.choice((0, 0, 1, 2))):
        low = rng.randint(0, 60) * 32
        taken.append((low, low + rng.randint(1, 20) * 32))
    return gaps(rng.randint(20, 300) * 32, taken)


def lowest_by_first_fit(items: Sequence[Item], free: Sequence[Range]) -> int | None:
    """The lowest height that first fit reaches over all orders."""
    lowest: int | None = None
    for order in itertools.permutations(items):
        ranges: dict[int, Range] = {}
        for item in order:
            taken = sorted(ranges[other.key] for other in items if other.key in ranges and meet(item, other))
            address = first_fit(item, holes(free, taken))
            if address is None:
                break
            ranges[item.key] = (address, address + item.size)
        else:
            reached = max(end for _, end in ranges.values())
            lowest = reached if lowest is None else min(lowest, reached)
    return lowest


@pytest.mark.parametrize("block", range(20))
def test_random_packings(block: int):
    """2,000 of them, all sizes; those of up to five items against every order."""
    for seed in range(block * 100, block * 100 + 100):
        rng = random.Random(seed)
        items = any_items(rng, rng.choice((1, 2, 3, 4, 5, 12, 30)))
        free = any_free(rng)
        for found in heuristics(items, free):
            check(items, free, found)
        for choose in (first_fit, best_fit, NextFit()):
            swept = sweep(items, free, choose)
            if isinstance(swept, dict):
                check(items, free, swept)
        alone = stack(items, free)
        if alone is not None:
            check(items, free, alone, private=True)
        if len(items) > 5:
            continue
        tight = tightest(items, free)
        lowest = lowest_by_first_fit(items, free)
        assert (tight is None) == (lowest is None)
        assert (fitting(items, free) is None) == (lowest is None)
        if tight is not None:
            check(items, free, tight)
            assert height(items, tight) == lowest


@pytest.mark.parametrize("seed", range(24))
def test_up_to_seven_items_are_never_looser_than_the_best_order(seed: int):
    """Six and seven items, as one of more than 4,000 orders of first fit has them, in one free range or several."""
    rng = random.Random(seed)
    items = any_items(rng, EXACT_ITEMS - seed % 2)
    free = gaps(1 << 20, []) if seed % 3 == 0 else any_free(rng)
    tight, lowest = tightest(items, free), lowest_by_first_fit(items, free)
    assert (tight is None) == (fitting(items, free) is None) == (lowest is None)
    if tight is not None:
        check(items, free, tight)
        assert height(items, tight) == lowest


def test_many_items_are_never_looser_than_first_fit_and_best_fit():
    for seed in range(5):
        items = any_items(random.Random(seed), 25)
        free = gaps(1 << 20, [])
        tight = tightest(items, free)
        assert tight is not None
        check(items, free, tight)
        assert peak_load(items) <= height(items, tight) <= min(height(items, f) for f in heuristics(items, free))


def test_an_explicit_relation_replaces_lives():
    items = [Item(key, 64, 0, 0, 32) for key in range(3)]
    near = [[1], [0, 2], [1]]
    assert tightest(items, gaps(128, []), near) == {0: 0, 1: 64, 2: 0}
    assert tightest(items, gaps(96, []), near) is None


def test_an_immovable_item_is_placed_before_others_take_its_place():
    items = [Item(0, 64, 0, 9, 32), Item(1, 32, 0, 9, NOWHERE_ELSE, 0)]
    assert fitting(items, gaps(96, [])) == {0: 32, 1: 0}


def test_next_fit_takes_bytes_over_late():
    items = [Item(key, 32, key, key, 32) for key in range(5)]
    assert sweep(items, gaps(96, []), NextFit()) == {0: 0, 1: 32, 2: 64, 3: 0, 4: 32}


def test_next_fit_falls_back_to_the_bottom():
    items = [Item(0, 64, 0, 0, 32), Item(1, 32, 1, 1, 32), Item(2, 64, 2, 2, 32)]
    assert sweep(items, gaps(96, []), NextFit()) == {0: 0, 1: 64, 2: 0}


def test_sweep_names_the_item_without_a_place():
    items = [Item(0, 64, 0, 5, 32), Item(1, 64, 1, 3, 32), Item(2, 64, 4, 6, 32)]
    assert sweep(items, gaps(96, []), best_fit) == items[1]


def test_peak_load_counts_both_ends_of_a_life():
    assert peak_load([Item(0, 32, 0, 3, 32), Item(1, 64, 3, 4, 32), Item(2, 32, 4, 5, 32)]) == 96
    assert peak_load([]) == 0


def test_gaps_and_holes():
    assert gaps(100, [(10, 20), (15, 30), (90, 120)]) == ((0, 10), (30, 90))
    assert list(holes(((0, 10), (30, 90)), [(5, 40), (35, 50), (80, 95)])) == [(0, 5), (50, 80)]
    assert list(holes(((0, 10), (30, 90)), [])) == [(0, 10), (30, 90)]
    assert list(holes(((0, 10),), [(0, 10)])) == []
