"""Shapes of slot use that broke a simpler rule: each must be fenced right for every small trip count."""

import re
from collections.abc import Callable

import pytest

from support.slot_builder import SlotKernel, count, findings, lowered
from support.trials import wrong_runs

pytestmark = pytest.mark.campaign

Shape = Callable[[], SlotKernel]


def stream(slots: int) -> SlotKernel:
    """Load, compute, store: every slot in turn."""
    kernel = SlotKernel(ring=slots, out=1)
    with kernel.loop("%n") as i:
        index = kernel.number("remui", i, f"%c{slots}")
        kernel.load(kernel.slot("ring", index), i)
        kernel.adds(kernel.slot("ring", index), kernel.slot("out"))
        kernel.store(kernel.slot("out"), i)
    return kernel


def prefetch(slots: int, ahead: int, *, guarded: bool, lower: str = "%c0") -> SlotKernel:
    """Trip i loads for trip i + ahead; unguarded, the last loads are never read."""
    kernel = SlotKernel(ring=slots, out=1)
    for trip in range(ahead):
        first = kernel.number("addi", lower, f"%c{trip}")
        kernel.load(kernel.slot("ring", kernel.number("remui", first, f"%c{slots}")), first)
    with kernel.loop("%n", lower) as i:
        later = kernel.number("addi", i, f"%c{ahead}")
        index = kernel.number("remui", later, f"%c{slots}")
        if guarded:
            with kernel.branch("slt", later, "%n"):
                kernel.load(kernel.slot("ring", index), later)
        else:
            kernel.load(kernel.slot("ring", index), later)
        kernel.adds(kernel.slot("ring", kernel.number("remui", i, f"%c{slots}")), kernel.slot("out"))
        kernel.store(kernel.slot("out"), i)
    return kernel


def consume_then_refill() -> SlotKernel:
    """One slot, filled before the loop, read and filled again in each trip."""
    kernel = SlotKernel(ring=1, out=1)
    kernel.load(kernel.slot("ring"))
    with kernel.loop("%n") as i:
        kernel.adds(kernel.slot("ring"), kernel.slot("out"))
        kernel.store(kernel.slot("out"), i)
        kernel.load(kernel.slot("ring"), i)
    return kernel


def re_entered_prefetch() -> SlotKernel:
    """An inner prefetching loop, filled anew by each trip of the outer one; the inner may not run at all."""
    kernel = SlotKernel(ring=2, out=1)
    with kernel.loop("%m") as o:
        kernel.load(kernel.slot("ring"), o)
        with kernel.loop("%n") as i:
            later = kernel.number("addi", i, "%c1")
            kernel.load(kernel.slot("ring", kernel.number("remui", later, "%c2")), later)
            kernel.adds(kernel.slot("ring", kernel.number("remui", i, "%c2")), kernel.slot("out"))
            kernel.store(kernel.slot("out"), i)
    return kernel


def nested_cadences() -> SlotKernel:
    """A panel an outer trip, a block an inner one; the inner count is what it likes."""
    kernel = SlotKernel(panel=2, block=3)
    with kernel.loop("%m") as o:
        panel = kernel.slot("panel", kernel.number("remui", o, "%c2"))
        kernel.load(panel, o)
        with kernel.loop("%n") as i:
            index = kernel.number("remui", i, "%c3")
            kernel.adds(panel, kernel.slot("block", index))
            kernel.store(kernel.slot("block", index), i)
    return kernel


def two_readers() -> SlotKernel:
    """V and MTE3 read one lease: each frees the slot for the next load."""
    kernel = SlotKernel(ring=2, out=1)
    with kernel.loop("%n") as i:
        ring = kernel.slot("ring", kernel.number("remui", i, "%c2"))
        kernel.load(ring, i)
        kernel.store(ring, i)
        kernel.adds(ring, kernel.slot("out"))
        kernel.store(kernel.slot("out"), i)
    return kernel


def guarded_lease() -> SlotKernel:
    """Fill and use under one condition: no flag may stand outside of it."""
    kernel = SlotKernel(ring=1, out=1)
    with kernel.loop("%n") as i, kernel.branch("eq", kernel.number("remui", i, "%c3"), "%c1"):
        kernel.load(kernel.slot("ring"), i)
        kernel.adds(kernel.slot("ring"), kernel.slot("out"))
        kernel.store(kernel.slot("out"), i)
    return kernel


def filled_in_either_arm() -> SlotKernel:
    """Two openings, one join."""
    kernel = SlotKernel(ring=2, out=1)
    with kernel.loop("%n") as i:
        ring = kernel.slot("ring", kernel.number("remui", i, "%c2"))
        with kernel.branch("slt", i, "%m"):
            kernel.load(ring, i)
            kernel.otherwise()
            kernel.load(ring, "%c0")
        kernel.adds(ring, kernel.slot("out"))
        kernel.store(kernel.slot("out"), i)
    return kernel


def arms_on_different_pipes() -> SlotKernel:
    """One arm fills by MTE2, the other by V."""
    kernel = SlotKernel(ring=1, seed=1, out=1)
    kernel.load(kernel.slot("seed"))
    with kernel.loop("%n") as i:
        with kernel.branch("slt", i, "%m"):
            kernel.load(kernel.slot("ring"), i)
            kernel.otherwise()
            kernel.adds(kernel.slot("seed"), kernel.slot("ring"))
        kernel.adds(kernel.slot("ring"), kernel.slot("out"))
        kernel.store(kernel.slot("out"), i)
    return kernel


def inner_loop_alternates() -> SlotKernel:
    """Inside one outer lease an inner loop lets V and MTE3 take turns, or does not run."""
    kernel = SlotKernel(ring=1, out=2)
    with kernel.loop("%m") as o:
        kernel.load(kernel.slot("ring"), o)
        with kernel.loop("%n") as i:
            kernel.adds(kernel.slot("ring"), kernel.slot("ring"))
            kernel.store(kernel.slot("ring"), i)
    return kernel


def two_lease_shapes() -> SlotKernel:
    """One slot used as a load buffer, then as a store buffer."""
    kernel = SlotKernel(ring=1, out=1)
    with kernel.loop("%n") as i:
        kernel.load(kernel.slot("ring"), i)
        kernel.adds(kernel.slot("ring"), kernel.slot("out"))
        kernel.adds(kernel.slot("out"), kernel.slot("ring"))
        kernel.store(kernel.slot("ring"), i)
    return kernel


def in_place_chain(slots: int) -> SlotKernel:
    """Loaded two trips ahead, twice updated in place, stored: three events of one id a slot are enough."""
    kernel = SlotKernel(ring=slots)
    for trip in range(slots - 1):
        kernel.load(kernel.slot("ring", f"%c{trip}"), f"%c{trip}")
    with kernel.loop("%n") as i:
        later = kernel.number("addi", i, f"%c{slots - 1}")
        kernel.load(kernel.slot("ring", kernel.number("remui", later, f"%c{slots}")), later)
        now = kernel.slot("ring", kernel.number("remui", i, f"%c{slots}"))
        kernel.adds(now, now)
        kernel.adds(now, now)
        kernel.store(now, i)
    return kernel


def sibling_loops(loops: int) -> SlotKernel:
    """Loops one behind the other, each with a ring of its own."""
    kernel = SlotKernel(out=1, **{f"ring{loop}": 2 for loop in range(loops)})
    for loop in range(loops):
        with kernel.loop("%n") as i:
            ring = kernel.slot(f"ring{loop}", kernel.number("remui", i, "%c2"))
            kernel.load(ring, i)
            kernel.adds(ring, kernel.slot("out"))
            kernel.store(kernel.slot("out"), i)
    return kernel


def resident() -> SlotKernel:
    """Loaded once, read in every trip, overwritten behind the loop."""
    kernel = SlotKernel(fixed=1, out=2)
    kernel.load(kernel.slot("fixed"))
    with kernel.loop("%n") as i:
        out = kernel.slot("out", kernel.number("remui", i, "%c2"))
        kernel.adds(kernel.slot("fixed"), out)
        kernel.store(out, i)
    kernel.load(kernel.slot("fixed"), "%c1")
    kernel.store(kernel.slot("fixed"), "%c1")
    return kernel


def resident_slots(slots: int) -> SlotKernel:
    """One loop fills every slot, another one reads them all again and again; an outer loop starts over."""
    kernel = SlotKernel(fixed=slots, out=2)
    with kernel.loop("%m"):
        with kernel.loop(f"%c{slots}") as i:
            kernel.load(kernel.slot("fixed", i), i)
        with kernel.loop("%n") as i:
            out = kernel.slot("out", kernel.number("remui", i, "%c2"))
            kernel.adds(kernel.slot("fixed", kernel.number("remui", i, f"%c{slots}")), out)
            kernel.store(out, i)
    return kernel


def resident_by_constants(slots: int) -> SlotKernel:
    """One loop fills every slot, another one reads them; behind it one slot is read by name, the next one refilled."""
    kernel = SlotKernel(fixed=slots)
    with kernel.loop(f"%c{slots}") as i:
        kernel.load(kernel.slot("fixed", i), i)
    with kernel.loop("%n") as i:
        kernel.store(kernel.slot("fixed", kernel.number("remui", i, f"%c{slots}")), i)
    kernel.store(kernel.slot("fixed", "%c0"), "%c0")
    kernel.load(kernel.slot("fixed", "%c1"), "%c1")
    kernel.store(kernel.slot("fixed", "%c1"), "%c1")
    return kernel


def lagging(slots: int, lag: int) -> SlotKernel:
    """A slot is read some trips behind its load."""
    kernel = SlotKernel(ring=slots, out=1)
    for trip in range(lag):
        kernel.load(kernel.slot("ring", f"%c{trip}"), f"%c{trip}")
    with kernel.loop("%n") as i:
        later = kernel.number("addi", i, f"%c{lag}")
        kernel.load(kernel.slot("ring", kernel.number("remui", later, f"%c{slots}")), later)
        back = kernel.number("addi", i, f"%c{slots}")
        kernel.adds(kernel.slot("ring", kernel.number("remui", back, f"%c{slots}")), kernel.slot("out"))
        kernel.store(kernel.slot("out"), i)
    return kernel


REGULAR: dict[str, Shape] = {
    **{f"stream_{slots}": lambda slots=slots: stream(slots) for slots in (1, 2, 3, 5, 8)},
    "prefetch_2": lambda: prefetch(2, 1, guarded=False),
    "prefetch_3_by_2": lambda: prefetch(3, 2, guarded=False),
    "prefetch_5_by_1": lambda: prefetch(5, 1, guarded=False),
    "guarded_2": lambda: prefetch(2, 1, guarded=True),
    "guarded_3_by_2": lambda: prefetch(3, 2, guarded=True),
    "guarded_5_by_4": lambda: prefetch(5, 4, guarded=True),
    "prefetch_from_1": lambda: prefetch(2, 1, guarded=False, lower="%c1"),
    "guarded_from_m": lambda: prefetch(3, 1, guarded=True, lower="%m"),
    "consume_then_refill": consume_then_refill,
    "re_entered_prefetch": re_entered_prefetch,
    "nested_cadences": nested_cadences,
    "two_readers": two_readers,
    "guarded_lease": guarded_lease,
    "filled_in_either_arm": filled_in_either_arm,
    "in_place_chain_3": lambda: in_place_chain(3),
    "in_place_chain_8": lambda: in_place_chain(8),
    "sibling_loops_4": lambda: sibling_loops(4),
    "two_lease_shapes": two_lease_shapes,
    "resident": resident,
    "lagging_3_by_1": lambda: lagging(3, 1),
    "lagging_5_by_3": lambda: lagging(5, 3),
    "arms_on_different_pipes": arms_on_different_pipes,
    "inner_loop_alternates": inner_loop_alternates,
}

SHAPES: dict[str, Shape] = {
    **REGULAR,
    "resident_slots_3": lambda: resident_slots(3),
    "resident_by_constants_2": lambda: resident_by_constants(2),
    "resident_by_constants_3": lambda: resident_by_constants(3),
}
"""With those that are right, but in which a loop waits for all of another one."""

TRIPS = (0, 1, 2, 3, 5, 8)


def _faults(shape: Shape) -> list[object]:
    module, _ = lowered(shape())
    return [
        (numbers, finding.fault)
        for n in TRIPS
        for m in (0, 1, 3)
        for numbers in ({"n": n, "m": m},)
        for finding in findings(module, numbers)
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_fenced_right_for_every_trip_count(name: str):
    assert _faults(SHAPES[name]) == []


@pytest.mark.parametrize("name", SHAPES)
def test_right_values_however_late_the_pipes_run(name: str):
    """For 0 to 2 N + 1 trips of an inner loop (all up to three slots) in 0, 1 or 2 trips of an outer one."""
    kernel = SHAPES[name]()
    module, _ = lowered(kernel)
    slots = max(kernel.sets.values())
    for n in range(2 * slots + 2) if slots < 4 else (0, 1, slots - 1, slots, slots + 1, 2 * slots + 1):
        for m in (0, 1, 2) if "%m" in kernel.text().split("{", 2)[2] else (0,):
            assert wrong_runs(module, {"n": n, "m": m}) == []


@pytest.mark.parametrize("name", REGULAR)
def test_no_overlap_is_given_up(name: str):
    _, warnings = lowered(REGULAR[name]())
    assert [warning.message for warning in warnings] == []


def test_loops_with_more_slots_than_ids_hand_them_on_and_it_is_said():
    module, warnings = lowered(sibling_loops(5))
    assert [warning.message for warning in warnings] == [
        "overlap is lost: ring1: waits for the end of ring0, whose events it takes over, since MTE2 to V has too few "
        "event ids; its first leases wait for the last ones there"
    ]
    for n in TRIPS:
        assert findings(module, {"n": n}) == []


@pytest.mark.parametrize("name", REGULAR)
def test_no_barrier_over_all_pipes_but_the_last(name: str):
    module, _ = lowered(REGULAR[name]())
    barriers = [str(op) for op in module.walk() if op.name == "pto.barrier" and "PIPE_ALL" in str(op)]
    assert len(barriers) == 1


def test_an_in_place_chain_takes_three_events_of_one_lane_a_slot():
    module, _ = lowered(in_place_chain(3))
    flags = {
        tuple(str(prop) for prop in op.properties.values())[:2]
        for op in module.walk()
        if op.name in ("pto.set_flag", "pto.set_flag_dyn")
    }
    assert len(flags) == 3


@pytest.mark.parametrize("slots", [9, 16])
def test_more_slots_than_ids_share_lanes_and_it_is_said(slots: int):
    module, warnings = lowered(stream(slots))
    (message,) = [warning.message for warning in warnings]
    reason, cost = message.split("; ")
    assert reason == f"overlap is lost: ring: {slots} slots share 8 lanes, since MTE2 to V has too few event ids"
    assert re.fullmatch(r"\d+ of \d+ operations on it, in trial runs, wait for one that they do not depend on", cost)
    for n in (0, 1, 8, 9, 17, 20):
        assert findings(module, {"n": n}) == []


def test_too_many_rings_hand_over_by_handshake():
    kernel = SlotKernel(out=1, **{f"ring{number}": 1 for number in range(12)})
    with kernel.loop("%n") as i:
        for number in range(12):
            kernel.load(kernel.slot(f"ring{number}"), i)
        for number in range(12):
            kernel.adds(kernel.slot(f"ring{number}"), kernel.slot("out"))
            kernel.store(kernel.slot("out"), i)
    module, warnings = lowered(kernel)
    assert warnings
    assert all("too few event ids" in warning.message for warning in warnings)
    for n in (0, 1, 2, 3):
        assert findings(module, {"n": n}) == []


RETURNS = {
    tiles: [
        f"overlap is lost: {kernel} and others: a stream from {src} to {dst} has more tiles than there are event ids; "
        f"{src} waits for {dst} {times}, so that ids serve again"
        for src, dst, kernel in (("MTE2", "V", "in0"), ("V", "MTE3", "out0"))
    ]
    for tiles, times in ((9, "1 time"), (20, "3 times"))
}


@pytest.mark.parametrize("tiles", [3, 9, 20])
def test_a_stream_without_a_way_back_gets_returns_for_its_ids(tiles: int):
    kernel = SlotKernel(**{f"in{tile}": 1 for tile in range(tiles)}, **{f"out{tile}": 1 for tile in range(tiles)})
    for tile in range(tiles):
        kernel.load(kernel.slot(f"in{tile}"))
        kernel.adds(kernel.slot(f"in{tile}"), kernel.slot(f"out{tile}"))
        kernel.store(kernel.slot(f"out{tile}"))
    module, warnings = lowered(kernel)
    assert [warning.message for warning in warnings] == RETURNS.get(tiles, [])
    assert findings(module, {}) == []
    pairs = count(module, "pto.set_flag")
    assert 2 * tiles <= pairs <= 2 * tiles * 5 // 4


def test_a_lone_lease_needs_no_token_before_or_behind_it():
    kernel = SlotKernel(ring=1)
    kernel.load(kernel.slot("ring"))
    kernel.store(kernel.slot("ring"))
    module, _ = lowered(kernel)
    assert count(module, "pto.set_flag", "pto.wait_flag") == 2
