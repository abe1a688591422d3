"""The error for a space whose sets do not fit: what is there, and which lever mends it."""

from collections.abc import Sequence
from dataclasses import replace

from pto_buf.errors import Diagnostic, DiagnosticError, Note, Place
from pto_buf.hw import Target
from pto_buf.memory.footprint import set_bytes, slot_bytes
from pto_buf.memory.packing import Item, best_fit, gaps, loads, sweep
from pto_buf.memory.tenant import Tenant, in_bytes
from pto_buf.tile import SLayout, TileSpec

_KIND = "capacity-or-count"
_ROWS_OF_A_BOX = 16


def overflow(tenants: Sequence[Tenant], target: Target) -> DiagnosticError:
    """The error for the sets of one space, in program order, that cannot be packed.

    It stands at the first set that does not fit beside those before it: a set of the user's counts from its
    declaration to the end, one of the compiler's while it is needed.
    """
    space = tenants[0].tile.space
    capacity = target.capacity[space]
    culprit, others = _culprit(tenants, target)
    taken = sum(tenant.size(target) for tenant in others)
    size = culprit.size(target)
    where = f"{space} ({space.buffer})"
    if size + taken > capacity:
        text = (
            f"'{culprit.name}' does not fit in {where}: {in_bytes(size + taken)} are needed at once, "
            f"{target.name} has {in_bytes(capacity)}"
        )
    else:
        text = (
            f"'{culprit.name}' does not fit in {where}: {in_bytes(size + taken)} of {in_bytes(capacity)} are needed "
            f"at once, but no gap of {in_bytes(size)} is left between sets that cannot move"
        )
    residents = [*others, culprit]
    notes = tuple(Note(tenant.place, f"{tenant.describe(target)}, {_span(tenant)}") for tenant in residents)
    help = _lever(culprit, others, capacity, target)
    return DiagnosticError(Diagnostic(text, culprit.place, notes, help, _KIND))


def _culprit(tenants: Sequence[Tenant], target: Target) -> tuple[Tenant, list[Tenant]]:
    """The set that does not fit, and those that are needed together with it, in program order."""
    capacity = target.capacity[tenants[0].tile.space]
    named = [tenant for tenant in tenants if not tenant.owned]
    load = 0
    for index, tenant in enumerate(named):
        load += tenant.size(target)
        if load > capacity:
            return tenant, named[:index]
    owned = [tenant for tenant in tenants if tenant.owned]
    by_key = {tenant.key: tenant for tenant in owned}
    alignment = target.alignment[tenants[0].tile.space]
    items = [Item(t.key, t.size(target), t.life.start, t.life.end, alignment) for t in owned]
    item = next((item for item, needed in loads(items) if load + needed > capacity), None)
    if item is None:  # enough bytes, but in pieces
        placed = sweep(items, gaps(capacity, [(0, load)]), best_fit)
        if not isinstance(placed, Item):  # so it is the pinned sets that are in the way
            return _beside_pinned(tenants, target)
        item = placed
    culprit = by_key[item.key]
    born = culprit.life.start
    beside = [
        tenant
        for tenant in owned
        if tenant.life.start <= born <= tenant.life.end and (tenant.life.start, tenant.key) < (born, culprit.key)
    ]
    return culprit, [*named, *beside]


def _beside_pinned(tenants: Sequence[Tenant], target: Target) -> tuple[Tenant, list[Tenant]]:
    """The first loose set that finds no gap between the pinned ones and those placed before it."""
    space = tenants[0].tile.space
    pinned = [tenant for tenant in tenants if tenant.addr is not None]
    taken = [(tenant.addr, tenant.addr + tenant.size(target)) for tenant in pinned if tenant.addr is not None]
    before = list(pinned)
    for tenant in tenants:
        if tenant.addr is not None:
            continue
        item = Item(tenant.key, tenant.size(target), 0, 0, target.alignment[space])
        address = best_fit(item, gaps(target.capacity[space], taken))
        if address is None:
            return tenant, before
        taken.append((address, address + item.size))
        before.append(tenant)
    return before[-1], before[:-1]


def _span(tenant: Tenant) -> str:
    if not tenant.owned:
        return "kept throughout"
    first, last = tenant.life.first, tenant.life.last
    if first is None or last is None:
        return "live for a part of the function"
    if (first.file, first.line) == (last.file, last.line):
        return f"live at {_line(first)}"
    return f"live from {_line(first)} to {_line(last)}"


def _line(place: Place) -> str:
    return f"line {place.line}" if place.line else str(place)


# --- levers ----------------------------------------------------------------------------------------------------------


def _lever(culprit: Tenant, others: Sequence[Tenant], capacity: int, target: Target) -> str | None:
    """The smallest change that would make room: fewer slots, a smaller tile, or the same for a larger neighbour."""
    taken = sum(tenant.size(target) for tenant in others)
    own = _shrunk(culprit, capacity - taken, target)
    if own is not None:
        return own
    size = culprit.size(target)
    for tenant in sorted(others, key=lambda tenant: (-tenant.size(target), tenant.key)):
        found = _shrunk(tenant, capacity - size - (taken - tenant.size(target)), target)
        if found is not None:
            return f"in '{tenant.name}', {found}"
    return None


def _shrunk(tenant: Tenant, room: int, target: Target) -> str | None:
    fewer = next(
        (count for count in range(tenant.count - 1, 0, -1) if set_bytes(count, tenant.tile, target) <= room), None
    )
    smaller = _smaller(tenant, room, target)
    parts: list[str] = []
    if fewer is not None:
        parts.append(f"{fewer} slot{'s' if fewer > 1 else ''} instead of {tenant.count} fit{'' if fewer > 1 else 's'}")
    if smaller is not None:
        parts.append(f"tile {smaller.rows}x{smaller.cols} would fit")
    return "; ".join(parts) or None


def _smaller(tenant: Tenant, room: int, target: Target) -> TileSpec | None:
    """The tile halved along its longer side until its set fits; None before it stops being a whole tile."""
    tile = tenant.tile
    while set_bytes(tenant.count, tile, target) > room:
        halves = [
            replace(tile, rows=rows, cols=cols, v_rows=rows, v_cols=cols)
            for rows, cols in sorted(((tile.rows // 2, tile.cols), (tile.rows, tile.cols // 2)), key=_squareness)
            if (rows * 2, cols) == tile.shape or (rows, cols * 2) == tile.shape
        ]
        legal = [half for half in halves if _whole(half, target)]
        if not legal:
            return None
        tile = legal[0]
    return tile


def _squareness(shape: tuple[int, int]) -> float:
    return max(shape) / max(1, min(shape))


def _whole(tile: TileSpec, target: Target) -> bool:
    """Whether the shape fills whole boxes, or whole blocks of 32 bytes along its major dimension."""
    if min(tile.shape) < 1:
        return False
    if tile.slayout is SLayout.NONE_BOX:
        return slot_bytes(tile, target) // max(1, tile.rows) % 32 == 0
    return tile.rows % _ROWS_OF_A_BOX == 0 and tile.cols % _ROWS_OF_A_BOX == 0
