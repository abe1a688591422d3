"""Which sets may have bytes in common."""

from collections.abc import Sequence

from pto_buf.memory.tenant import Tenant


def partners(tenants: Sequence[Tenant]) -> dict[int, frozenset[int]]:
    """For each set of the user's that shares on request, the sets it may share with; either of the two may ask."""
    by_name = {tenant.name: tenant for tenant in tenants if not tenant.owned}
    found: dict[int, set[int]] = {}
    for tenant in by_name.values():
        for name in tenant.share:
            other = by_name.get(name)
            if other is not None and other.key != tenant.key and other.tile.space is tenant.tile.space:
                found.setdefault(tenant.key, set()).add(other.key)
                found.setdefault(other.key, set()).add(tenant.key)
    return {key: frozenset(found[key]) for key in sorted(found)}


def may_share(left: Tenant, right: Tenant, asked: dict[int, frozenset[int]]) -> bool:
    """Whether the two may have a byte in common: their lives are apart, and both agree to it."""
    if left.life.meets(right.life):
        return False
    return (left.owned and right.owned) or right.key in asked.get(left.key, frozenset())
