"""Checks of addresses that the user gave."""

from collections.abc import Sequence

from pto_buf.errors import Diagnostic, DiagnosticError, Note
from pto_buf.hw import Target
from pto_buf.memory.sharing import may_share, partners
from pto_buf.memory.tenant import Tenant, in_bytes

_KIND = "pinned-address"


def check_pinned(tenants: Sequence[Tenant], target: Target) -> None:
    """Check the pinned sets of one space: aligned, inside, and apart from each other unless they may share.

    Raises DiagnosticError with everything that is wrong.
    """
    wrong: list[Diagnostic] = []
    inside: list[tuple[int, int, Tenant]] = []
    for tenant in tenants:
        if tenant.addr is None:
            continue
        found = _bounds(tenant, tenant.addr, target)
        if found is None:
            inside.append((tenant.addr, tenant.addr + tenant.size(target), tenant))
        else:
            wrong.append(found)
    asked = partners(tenants)
    alive: list[tuple[int, Tenant]] = []
    for start, end, tenant in sorted(inside, key=lambda entry: (entry[0], entry[2].key)):
        alive = [entry for entry in alive if entry[0] > start]
        for _, other in alive:
            if not may_share(other, tenant, asked):
                first, second = (other, tenant) if other.key < tenant.key else (tenant, other)
                wrong.append(_overlap(first, second, asked, target))
        alive.append((end, tenant))
    if wrong:
        raise DiagnosticError(*wrong)


def _bounds(tenant: Tenant, addr: int, target: Target) -> Diagnostic | None:
    space, size = tenant.tile.space, tenant.size(target)
    alignment, capacity = target.alignment[space], target.capacity[space]
    if addr < 0 or addr % alignment:
        below = max(0, addr) // alignment * alignment
        return Diagnostic(
            f"'{tenant.name}' is pinned to address {addr}; in {space} ({space.buffer}) a slot starts at a multiple of "
            f"{alignment}",
            tenant.place,
            help=f"pin it to {below} or {below + alignment}" if addr >= 0 else "pin it to 0",
            kind=_KIND,
        )
    if addr + size > capacity:
        lever = f"pin it to {(capacity - size) // alignment * alignment} or below" if size <= capacity else None
        return Diagnostic(
            f"{tenant.describe(target)} pinned to address {addr} ends at {addr + size}, beyond the "
            f"{in_bytes(capacity)} of {space} ({space.buffer}) on {target.name}",
            tenant.place,
            help=lever,
            kind=_KIND if size <= capacity else "capacity-or-count",
        )
    return None


def _overlap(first: Tenant, second: Tenant, asked: dict[int, frozenset[int]], target: Target) -> Diagnostic:
    assert first.addr is not None and second.addr is not None
    meet = first.life.meets(second.life)
    agreed = second.key in asked.get(first.key, frozenset()) or (first.owned and second.owned)
    if agreed and meet:
        lever = "release the one before the other is written, or pin one of them elsewhere"
    elif meet:
        lever = "pin one of them elsewhere"
    else:
        lever = f"pin one of them elsewhere, or let '{second.name}' share with '{first.name}': their lives are apart"
    clause = "are both needed at once" if agreed else "do not share"
    return Diagnostic(
        f"'{second.name}' pinned to [{second.addr}, {second.addr + second.size(target)}) overlaps '{first.name}' at "
        f"[{first.addr}, {first.addr + first.size(target)}), and the two {clause}",
        second.place,
        (Note(first.place, f"'{first.name}' is declared here"),),
        help=lever,
        kind=_KIND,
    )
