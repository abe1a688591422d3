"""Slot sets for tests of the memory plan, and what every plan must keep to."""

import itertools
from collections.abc import Iterator, Sequence

import pytest

from pto_buf.errors import Diagnostic, DiagnosticError, Place
from pto_buf.hw import A2A3, Space, Target
from pto_buf.memory.plan import Plan, plan
from pto_buf.memory.tenant import Life, Tenant
from pto_buf.tile import canonical_tile

KIB = 1024


def at(line: int) -> Place:
    return Place("k.py", line, 5)


def tenant(
    key: int,
    name: str,
    count: int,
    space: Space,
    rows: int,
    cols: int,
    dtype: str,
    life: tuple[int, int] = (0, 100),
    *,
    owned: bool = False,
    addr: int | None = None,
    share: tuple[str, ...] = (),
    pipes: str = "",
) -> Tenant:
    tile = canonical_tile(space, rows, cols, dtype, A2A3)
    bounds = Life(life[0], life[1], at(life[0]), at(life[1]))
    return Tenant(key, name, count, tile, bounds, owned, addr, share, at(key + 1), frozenset(pipes.split()))


def vec(key: int, kib: int, life: tuple[int, int] = (0, 100), count: int = 1, **rest: object) -> Tenant:
    return tenant(key, f"t{key}", count, Space.VEC, kib, 256, "f32", life, **rest)  # pyright: ignore[reportArgumentType]


def apart(left: Tenant, right: Tenant, found: Plan, target: Target) -> bool:
    a, b = found.addresses[left.key], found.addresses[right.key]
    return a + left.size(target) <= b or b + right.size(target) <= a


def check(tenants: Sequence[Tenant], found: Plan, target: Target) -> None:
    assert sorted(found.addresses) == sorted(t.key for t in tenants)
    for one in tenants:
        space = one.tile.space
        assert found.addresses[one.key] % target.alignment[space] == 0
        assert 0 <= found.addresses[one.key] <= target.capacity[space] - one.size(target)
        assert one.addr in (None, found.addresses[one.key])
    for left, right in itertools.combinations(tenants, 2):
        if left.tile.space is right.tile.space and not apart(left, right, found, target):
            agreed = left.name in right.share or right.name in left.share
            assert (left.owned and right.owned) or agreed
            assert not left.life.meets(right.life)
    assert set(found.shared) == set(handed_over(tenants, found, target))
    assert len(set(found.shared)) == len(found.shared)


def handed_over(tenants: Sequence[Tenant], found: Plan, target: Target) -> Iterator[tuple[int, int]]:
    """Byte by byte, 32 at a time: who has it after whom."""
    holders: dict[tuple[Space, int], int] = {}
    for one in sorted(tenants, key=lambda one: (one.life.start, one.key)):
        start = found.addresses[one.key]
        for byte in range(start, start + one.size(target), 32):
            before = holders.get((one.tile.space, byte))
            if before is not None:
                yield before, one.key
            holders[one.tile.space, byte] = one.key


def failure(tenants: Sequence[Tenant], target: Target = A2A3) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        plan(tenants, target)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic
