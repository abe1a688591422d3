"""How many trips may run together."""

import random
from collections.abc import Sequence

from pto_buf.dialect.table.row import Role
from pto_buf.schedule.grouping import Clash, Use, first_clash

READ, WRITE, UPDATE, SCRATCH = Role.READ, Role.WRITE, Role.UPDATE, Role.SCRATCH


def use(step: int, thing: str, where: int, role: Role) -> Use[int]:
    return Use(step, ord(thing[0]), thing, where, role, f"op{step}", None)


def rotating(count: int):
    """Slot `where` + trip, modulo `count`."""
    return lambda first, second, distance: (first - second - distance) % count == 0


def clash(uses: Sequence[Use[int]], count: int, most: int) -> Clash[int] | None:
    return first_clash(uses, most, rotating(count))


LOAD_ADD_STORE = [
    use(0, "in", 0, WRITE),
    use(1, "in", 0, READ),
    use(1, "out", 0, WRITE),
    use(2, "out", 0, READ),
]


def test_as_many_trips_as_slots():
    assert clash(LOAD_ADD_STORE, 2, 2) is None
    found = clash(LOAD_ADD_STORE, 2, 4)
    assert found is not None
    assert (found.distance, found.earlier.op, found.later.op) == (2, "op1", "op0")
    assert clash(LOAD_ADD_STORE, 3, 3) is None


def test_one_slot_keeps_trips_apart():
    found = clash(LOAD_ADD_STORE, 1, 2)
    assert found is not None
    assert found.distance == 1


def test_an_accumulator_keeps_its_order():
    chain = [use(0, "a", 0, WRITE), use(1, "a", 0, READ)]
    fixed = Use(1, 99, "c", 5, UPDATE, "mad", None)

    def meets(first: int, second: int, distance: int) -> bool:
        return first == second == 5 or rotating(2)(first, second, distance)

    assert first_clash([*chain, fixed], 2, meets) is None
    stored = Use(2, 99, "c", 5, READ, "store", None)
    found = first_clash([*chain, fixed, stored], 2, meets)
    assert found is not None
    assert (found.earlier.op, found.later.op) == ("store", "mad")


def test_reads_pass_reads_and_scratch_passes_scratch():
    assert clash([use(0, "q", 0, READ), use(1, "q", 0, READ)], 1, 4) is None
    assert clash([use(0, "t", 0, SCRATCH), use(1, "t", 0, SCRATCH)], 1, 4) is None
    assert clash([use(0, "t", 0, SCRATCH), use(1, "t", 0, READ)], 1, 4) is not None


def test_the_prefetched_slot_is_needed_at_once():
    # the later trip's load goes where the earlier trip still reads
    found = clash([use(0, "ring", 1, WRITE), use(1, "ring", 0, READ)], 2, 2)
    assert found is not None


def test_many_places_count_as_one():
    uses = [use(step, "out", step, WRITE) for step in range(100)]
    found = first_clash(uses, 2, lambda first, second, distance: False)
    assert found is not None
    assert first_clash(uses[:60], 2, lambda first, second, distance: False) is None


def runs_alike(uses: Sequence[Use[int]], count: int, together: int) -> bool:
    """Whether every read finds the same writer when the trips of a group run side by side."""
    trips = 2 * together

    def run(order: Sequence[tuple[int, int]]) -> dict[tuple[int, int, int], object]:
        memory: dict[tuple[str, int], object] = {}
        seen: dict[tuple[int, int, int], object] = {}
        for step, trip in order:
            mine = [(n, u) for n, u in enumerate(uses) if u.step == step]
            for n, one in mine:
                if one.role.reads:
                    seen[step, trip, n] = memory.get((one.name, (one.where + trip) % count))
            for n, one in mine:
                if one.role.writes:
                    memory[one.name, (one.where + trip) % count] = (step, trip, n)
        return seen

    steps = sorted({use.step for use in uses})
    source = [(step, trip) for trip in range(trips) for step in steps]
    grouped = [
        (step, trip) for first in range(0, trips, together) for step in steps for trip in range(first, first + together)
    ]
    return run(source) == run(grouped)


def test_random_bodies_read_what_they_read_before():
    together = refused = 0
    for seed in range(800):
        rng = random.Random(seed)
        count = rng.randint(1, 4)
        uses = [
            use(step, rng.choice("ab"), rng.randrange(count), rng.choice((READ, READ, WRITE, UPDATE)))
            for step in range(rng.randint(1, 4))
            for _ in range(rng.randint(1, 2))
        ]
        most = rng.randint(2, 4)
        if clash(uses, count, most) is None:
            together += 1
            assert runs_alike(uses, count, most), seed
        else:
            refused += 1
    assert together > 100
    assert refused > 100
