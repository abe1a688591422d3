"""The error for a space whose sets do not fit: what is there, and which lever mends it."""

from collections.abc import Callable, Sequence

from pto_buf.errors import Diagnostic, DiagnosticError, Note, Place
from pto_buf.hw import Space, Target
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
            f"{target.name} has {in_bytes(capacity)}{_reserved(space, target)}"
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


def _reserved(space: Space, target: Target) -> str:
    kept = target.physical[space] - target.capacity[space]
    return f", besides {in_bytes(kept)} that the library keeps" if kept else ""


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
    """The smallest changes that would make room: fewer slots, a smaller tile, or the same for a larger neighbour.

    The shape of a tile of the compiler's comes from what it is made of, so it only changes together with those.
    """
    room = capacity - sum(tenant.size(target) for tenant in others)
    if culprit.owned:
        slots = _neighbours(culprit, others, room, target, lambda tenant, left: _fewer(tenant, left, target))
        return "; ".join(part for part in (slots, _alike(culprit, others, capacity, target)) if part) or None
    return _shrunk(culprit, room, target) or _neighbours(
        culprit, others, room, target, lambda tenant, left: _shrunk(tenant, left, target)
    )


def _neighbours(
    culprit: Tenant,
    others: Sequence[Tenant],
    room: int,
    target: Target,
    lever: Callable[[Tenant, int], str | None],
) -> str | None:
    """The lever in the largest neighbour that has one."""
    missing = culprit.size(target) - room
    for tenant in sorted(others, key=lambda tenant: (-tenant.size(target), tenant.key)):
        found = None if tenant.owned else lever(tenant, tenant.size(target) - missing)
        if found is not None:
            return f"in '{tenant.name}', {found}"
    return None


def _alike(culprit: Tenant, others: Sequence[Tenant], capacity: int, target: Target) -> str | None:
    """All tiles of the culprit's shape made smaller together."""
    shape, tile = culprit.tile.shape, culprit.tile
    tenants = [*others, culprit]
    while True:
        smaller = _halved(tile, target)
        if smaller is None:
            return None
        tile = smaller
        shrunk = (tenant.resized(tile.shape) if tenant.tile.shape == shape else tenant for tenant in tenants)
        if sum(tenant.size(target) for tenant in shrunk) <= capacity:
            return f"tiles of {tile.rows}x{tile.cols} instead of {shape[0]}x{shape[1]} would fit"


def _shrunk(tenant: Tenant, room: int, target: Target) -> str | None:
    smaller = _smaller(tenant, room, target)
    tile = f"tile {smaller.rows}x{smaller.cols} would fit" if smaller is not None else None
    return "; ".join(part for part in (_fewer(tenant, room, target), tile) if part is not None) or None


def _fewer(tenant: Tenant, room: int, target: Target) -> str | None:
    count = next((n for n in range(tenant.count - 1, 0, -1) if set_bytes(n, tenant.tile, target) <= room), None)
    if count is None:
        return None
    return f"{count} slot{'s' if count > 1 else ''} instead of {tenant.count} fit{'' if count > 1 else 's'}"


def _smaller(tenant: Tenant, room: int, target: Target) -> TileSpec | None:
    """The tile halved until its set fits; None if it stops being a whole tile before."""
    tile: TileSpec | None = tenant.tile
    while tile is not None and set_bytes(tenant.count, tile, target) > room:
        tile = _halved(tile, target)
    return tile


def _halved(tile: TileSpec, target: Target) -> TileSpec | None:
    """The tile halved along its longer side, or else the other; None if neither half is a whole tile."""
    shapes = [(tile.rows // 2, tile.cols)] if tile.rows % 2 == 0 else []
    shapes += [(tile.rows, tile.cols // 2)] if tile.cols % 2 == 0 else []
    halves = (tile.window(*shape) for shape in sorted(shapes, key=_squareness))
    return next((half for half in halves if _whole(half, target)), None)


def _squareness(shape: tuple[int, int]) -> float:
    return max(shape) / max(1, min(shape))


def _whole(tile: TileSpec, target: Target) -> bool:
    """Whether the shape fills whole boxes, or whole blocks of 32 bytes along its major dimension."""
    if min(tile.shape) < 1:
        return False
    if tile.slayout is SLayout.NONE_BOX:
        return slot_bytes(tile, target) // max(1, tile.rows) % 32 == 0
    return tile.rows % _ROWS_OF_A_BOX == 0 and tile.cols % _ROWS_OF_A_BOX == 0
