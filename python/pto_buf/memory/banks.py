"""Bank groups of UB on a2a3: a preference for where the two sources of a vector op lie.

One step of a vector op reads 256 bytes of each source, and consecutive 32 byte blocks lie in consecutive groups of 16.
Sources that are aligned alike modulo 512 meet in every group and the op runs at half speed; 256 bytes apart they never
meet. (Vendor documentation of the UB of architecture 2201.)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pto_buf.errors import Place
from pto_buf.hw import Space, Target
from pto_buf.memory.footprint import slot_bytes, slot_stride
from pto_buf.memory.tenant import Tenant

WINDOW = 512
"""Bytes after which the groups come round again."""

_STEP = 256


@dataclass(frozen=True)
class SourcePair:
    """Two sets that one vector op reads together, and where it stands."""

    left: int
    right: int
    place: Place | None


def relevant(pairs: Iterable[SourcePair], tenants: Mapping[int, Tenant], target: Target) -> tuple[SourcePair, ...]:
    """The pairs whose speed their addresses decide: both in UB, on a2a3, and at least one step long."""
    if target.name != "a2a3":
        return ()

    def counts(key: int) -> bool:
        tile = tenants[key].tile
        return tile.space is Space.VEC and slot_bytes(tile, target) >= _STEP

    return tuple(pair for pair in pairs if counts(pair.left) and counts(pair.right))


def phases(pairs: Sequence[SourcePair], tenants: Mapping[int, Tenant], target: Target) -> dict[int, int]:
    """For each set of a pair its wanted address modulo WINDOW: 0 or 256, opposite for the two sets of a pair.

    Sets are taken in program order; one that has partners on both sides goes with the majority. A set whose stride is
    no multiple of WINDOW shifts from slot to slot, so nothing can be wanted of it.
    """
    partners: dict[int, list[int]] = {}
    for pair in pairs:
        if pair.left != pair.right and _steady(tenants[pair.left], target) and _steady(tenants[pair.right], target):
            partners.setdefault(pair.left, []).append(pair.right)
            partners.setdefault(pair.right, []).append(pair.left)
    wanted = {key: addr % WINDOW for key in sorted(partners) if (addr := tenants[key].addr) is not None}

    def vote(key: int) -> int:
        apart = [(wanted[other] + _STEP) % WINDOW for other in partners[key] if other in wanted]
        return max(sorted(set(apart)), key=apart.count)

    def spread(queue: list[int]) -> None:
        for key in queue:
            for other in partners[key]:
                if other not in wanted:
                    wanted[other] = vote(other)
                    queue.append(other)

    spread(list(wanted))
    for key in sorted(partners):
        if key not in wanted:
            wanted[key] = 0
            spread([key])
    return wanted


def _steady(tenant: Tenant, target: Target) -> bool:
    return tenant.count == 1 or slot_stride(tenant.tile, target) % WINDOW == 0


def clashes(
    pairs: Sequence[SourcePair], tenants: Mapping[int, Tenant], addresses: Mapping[int, int], target: Target
) -> tuple[SourcePair, ...]:
    """The pairs that run at half speed: in whichever slots they lie, they are aligned alike."""
    return tuple(
        pair
        for pair in pairs
        if (addresses[pair.left] - addresses[pair.right]) % WINDOW == 0
        and _steady(tenants[pair.left], target)
        and _steady(tenants[pair.right], target)
    )
