"""Which sets may have bytes in common."""

from collections.abc import Iterator, Sequence

from pto_buf.errors import Diagnostic, Note, near_miss
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


def wrong_requests(tenants: Sequence[Tenant]) -> Iterator[Diagnostic]:
    """An error for each request to share that no other set of the user's in the same space can meet."""
    by_name = {tenant.name: tenant for tenant in tenants if not tenant.owned}
    for tenant in tenants:
        for name in tenant.share:
            wish, other = f"'{tenant.name}' wants to share with", by_name.get(name)
            if other is None:
                others = [known for known in by_name if known != tenant.name]
                message = f"{wish} '{name}', but there is no slot set of that name"
                yield Diagnostic(message, tenant.place, help=near_miss(name, others), kind="slot-set")
            elif other.key == tenant.key:
                yield Diagnostic(f"{wish} itself", tenant.place, kind="slot-set")
            elif other.tile.space is not tenant.tile.space:
                spaces = f"one is in {tenant.tile.space}, the other in {other.tile.space}"
                note = Note(other.place, f"'{name}' is declared here")
                yield Diagnostic(f"{wish} '{name}', but {spaces}", tenant.place, (note,), kind="slot-set")
