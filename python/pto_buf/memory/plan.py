"""An address for every slot set: whole sets at one stride, aligned, within capacity, apart while both are needed.

Bytes are shared only if a space would overflow otherwise, since whoever takes bytes over has to wait for whoever left
them. So each space is tried in steps: no sharing; the sharing that the user asked for; the compiler's own sets
sharing, whole places first; both; and last, the tightest packing that is found.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pto_buf.errors import DiagnosticError
from pto_buf.hw import Space, Target
from pto_buf.memory.banks import WINDOW, SourcePair, clashes, phases, relevant
from pto_buf.memory.exact import fitting, tightest
from pto_buf.memory.handover import Stay, handovers
from pto_buf.memory.overflow import overflow
from pto_buf.memory.packing import NOWHERE_ELSE, Addresses, Item, NextFit, Range, gaps, stack, sweep
from pto_buf.memory.pinned import check_pinned
from pto_buf.memory.sharing import may_share, partners, wrong_requests
from pto_buf.memory.takeover import take_over
from pto_buf.memory.tenant import Tenant

_EXACT_STACK = 12
"""Private sets between pinned ones up to which an exact search decides whether they fit."""


@dataclass(frozen=True)
class Plan:
    """Where each set lies, by its key, and what that costs."""

    addresses: Mapping[int, int]
    shared: tuple[tuple[int, int], ...] = ()
    """Pairs of sets of which the later one takes bytes over from the earlier one, and has to wait for it."""
    paired: tuple[SourcePair, ...] = ()
    """Pairs of sources of vector ops whose speed depends on their addresses."""
    slow: tuple[SourcePair, ...] = ()
    """Those of them that are aligned alike, so that the op runs at half speed."""
    used: Mapping[Space, int] = field(default_factory=dict[Space, int])
    """Bytes up to the highest one in use, by space."""
    padding: int = 0
    """Bytes left free to keep the sources of vector ops apart."""


def plan(tenants: Sequence[Tenant], target: Target, pairs: Sequence[SourcePair] = ()) -> Plan:
    """Place all sets of a function. `tenants` are in program order and have keys of their own.

    Raises DiagnosticError with one error for each space whose sets do not fit (`capacity-or-count`) and one for each
    pinned address that cannot be had (`pinned-address`) or request to share that cannot be met (`slot-set`).
    """
    by_key = {tenant.key: tenant for tenant in tenants}
    paired = relevant(pairs, by_key, target)
    wanted = phases(paired, by_key, target)
    addresses: Addresses = {}
    wrong = list(wrong_requests(tenants))
    for space in Space:
        here = [tenant for tenant in tenants if tenant.tile.space is space]
        if not here:
            continue
        try:
            check_pinned(here, target)
            addresses |= _Area(here, target, wanted if space is Space.VEC else {}).place()
        except DiagnosticError as err:
            wrong += err.diagnostics
    if wrong:
        raise DiagnosticError(*wrong)
    return _plan(tenants, target, addresses, paired)


def _plan(tenants: Sequence[Tenant], target: Target, addresses: Addresses, paired: tuple[SourcePair, ...]) -> Plan:
    by_key = {tenant.key: tenant for tenant in tenants}
    used: dict[Space, int] = {}
    for tenant in tenants:
        space = tenant.tile.space
        used[space] = max(used.get(space, 0), addresses[tenant.key] + tenant.size(target))
    return Plan(
        addresses,
        tuple(_shared(tenants, target, addresses)),
        paired,
        clashes(paired, by_key, addresses, target),
        used,
        _padding(tenants, target, addresses) if paired else 0,
    )


def _padding(tenants: Sequence[Tenant], target: Target, addresses: Addresses) -> int:
    """Bytes of UB in gaps too short to come from anything but the wish for an address modulo WINDOW."""
    padding = high = 0
    for start, size in sorted((addresses[t.key], t.size(target)) for t in tenants if t.tile.space is Space.VEC):
        if 0 < start - high < WINDOW:
            padding += start - high
        high = max(high, start + size)
    return padding


def _shared(tenants: Sequence[Tenant], target: Target, addresses: Addresses) -> Iterator[tuple[int, int]]:
    """Handovers of bytes, space by space."""
    for space in Space:
        yield from handovers(
            Stay(tenant.key, addresses[tenant.key], addresses[tenant.key] + tenant.size(target), tenant.life.start)
            for tenant in tenants
            if tenant.tile.space is space
        )


class _Area:
    """The sets of one space."""

    def __init__(self, tenants: Sequence[Tenant], target: Target, wanted: Mapping[int, int]):
        self.tenants = tenants
        self.target = target
        self.space = tenants[0].tile.space
        self.capacity = target.capacity[self.space]
        self.wanted = wanted
        self.size = {tenant.key: tenant.size(target) for tenant in tenants}
        self.pinned = {tenant.key: tenant.addr for tenant in tenants if tenant.addr is not None}
        loose = [tenant for tenant in tenants if tenant.addr is None]
        self.named = [tenant for tenant in loose if not tenant.owned]
        self.owned = [tenant for tenant in loose if tenant.owned]
        self.partners = partners(tenants)

    def place(self) -> Addresses:
        """Raises DiagnosticError if the sets do not fit."""
        for attempt in self._attempts():
            if attempt is not None:
                return {**self.pinned, **attempt}
        raise overflow(self.tenants, self.target)

    def _attempts(self) -> Iterator[Addresses | None]:
        yield from self._private()
        asked = bool(self.partners)
        if asked:
            yield from self._shared(named=True, owned=False)
        if len(self.owned) > 1:
            yield from self._shared(named=False, owned=True)
            if asked:
                yield from self._shared(named=True, owned=True)

    # --- no sharing ---

    def _private(self) -> Iterator[Addresses | None]:
        free = self._free()
        loose = [*self.named, *self.owned]
        if sum(self.size[tenant.key] for tenant in loose) > sum(high - low for low, high in free):
            return
        if self.wanted:
            yield stack(self._items(loose), free)
            # The two phases in one run each need only one gap, between the runs.
            grouped = sorted(loose, key=lambda tenant: self.wanted.get(tenant.key, WINDOW // 4))
            yield stack(self._items(grouped), free)
        plain = self._items(loose, apart=False)
        yield stack(plain, free)
        if self.pinned:
            yield stack(sorted(plain, key=lambda item: -item.size), free)
            if len(plain) <= _EXACT_STACK:
                yield fitting([replace(item, start=0, end=0) for item in plain], free)

    # --- sharing ---

    def _shared(self, *, named: bool, owned: bool) -> Iterator[Addresses | None]:
        for apart in (True, False) if self.wanted else (False,):
            base = self._named_shared(apart) if named else stack(self._items(self.named, apart=apart), self._free())
            if base is None:
                continue
            free = self._free(base)
            items = self._items(self.owned, apart=apart)
            for packed in self._pooled(items, free) if owned else (stack(items, free),):
                yield None if packed is None else {**base, **packed}

    def _pooled(self, items: Sequence[Item], free: Sequence[Range]) -> Iterator[Addresses | None]:
        yield take_over(items, free, {tenant.key: tenant.pipes for tenant in self.owned})
        late = sweep(items, free, NextFit())
        yield late if isinstance(late, dict) else None
        yield fitting(items, free)

    def _named_shared(self, apart: bool) -> Addresses | None:
        """The user's sets as tight as they get: those that asked to share below, the others above them."""
        sharing = [tenant for tenant in self.tenants if tenant.key in self.partners]
        near = [
            [
                index
                for index, other in enumerate(sharing)
                if other.key != tenant.key and not may_share(tenant, other, self.partners)
            ]
            for tenant in sharing
        ]
        others = {key: addr for key, addr in self.pinned.items() if key not in self.partners}
        packed = tightest(self._items(sharing, apart=apart), self._gaps(others), near)
        if packed is None:
            return None
        private = [tenant for tenant in self.named if tenant.key not in self.partners]
        rest = stack(self._items(private, apart=apart), self._free(packed))
        return None if rest is None else {**packed, **rest}

    # --- helpers ---

    def _free(self, base: Mapping[int, int] | None = None) -> tuple[Range, ...]:
        """What the pinned sets, and those in `base`, leave."""
        return self._gaps({**self.pinned, **(base or {})})

    def _gaps(self, taken: Mapping[int, int]) -> tuple[Range, ...]:
        return gaps(self.capacity, ((addr, addr + self.size[key]) for key, addr in taken.items()))

    def _items(self, tenants: Sequence[Tenant], *, apart: bool = True) -> list[Item]:
        return [self._item(tenant, self.wanted.get(tenant.key) if apart else None) for tenant in tenants]

    def _item(self, tenant: Tenant, phase: int | None) -> Item:
        size, life = self.size[tenant.key], tenant.life
        if tenant.addr is not None:
            return Item(tenant.key, size, life.start, life.end, NOWHERE_ELSE, tenant.addr)
        if phase is not None:
            return Item(tenant.key, size, life.start, life.end, WINDOW, phase)
        return Item(tenant.key, size, life.start, life.end, self.target.alignment[self.space])
