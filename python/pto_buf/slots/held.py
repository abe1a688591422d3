"""What the slots of one set hold: leases, the values in them that are named later, and how paths are taken together."""

from collections.abc import Callable
from typing import NamedTuple

from pto_buf.slots.flow import Origin, SiteKey

Bytes = tuple[int, int]
"""First byte within a slot, and the one behind the last."""


class Lease(NamedTuple):
    """What a slot holds. `opener` wrote it first; None for a slot whose content an error made unknown."""

    opener: SiteKey | None
    carried_by: int | None = None
    """The outermost loop around opener and now whose trips differ between them."""
    read: bool = False
    released: int | None = None
    """The key of the release that ended it."""
    scratch: bool = False
    """Working space of an op: nothing in it is meant to be read."""
    filled: tuple[Bytes, ...] | None = None
    """The bytes written so far, in order and apart; None for all of the slot."""

    @property
    def origin(self) -> Origin:
        assert self.opener is not None
        return Origin(self.opener, self.carried_by)

    @property
    def is_open(self) -> bool:
        """Whether a write of a part continues it."""
        return self.released is None and not self.scratch


UNKNOWN = Lease(None, read=True)
"""What an error left behind: nothing more is said about it."""

Leases = tuple[Lease | None, ...]
"""Each once: what a slot may hold on the paths that are followed together; None where it was never written."""


class Value(NamedTuple):
    """A value that is named later, and the slot in which it was left."""

    writer: int
    access: int
    """Which access of the writer left it."""
    slot: int
    released: int | None = None
    ended: SiteKey | None = None
    """The write that took its slot over."""

    @property
    def is_valid(self) -> bool:
        return self.released is None and self.ended is None


class Held(NamedTuple):
    """The slots of one set and the values in them that are still named, on all paths that are followed together.

    What becomes of a slot hangs on the numbers, on the values and on its own lease, never on the lease of another
    slot, and neither do the values. So paths that agree in numbers and values are followed as one, slot by slot with
    each lease that any of them left there, and nothing that holds on each of them is lost.

    What was followed before from the same place is left out; a slot may then have no lease at all.
    """

    slots: tuple[Leases, ...]
    values: tuple[Value, ...] = ()

    @property
    def shared(self) -> tuple[Value, ...]:
        """What paths must agree in to be followed as one."""
        return self.values

    @property
    def weight(self) -> int:
        """The most leases of one slot."""
        return max(map(len, self.slots))

    def joined(self, other: "Held") -> "Held":
        """What is held on the paths of either."""
        if self.slots == other.slots:
            return self
        pairs = zip(self.slots, other.slots, strict=True)
        return self._replace(slots=tuple(a if a == b else tuple(dict.fromkeys((*a, *b))) for a, b in pairs))

    def beyond(self, known: "Held") -> "Held | None":
        """What is held here and not there; None if that is nothing."""
        if self.slots == known.slots:
            return None
        pairs = zip(self.slots, known.slots, strict=True)
        slots = tuple(() if a == b else _without(a, b) for a, b in pairs)
        return self._replace(slots=slots) if any(slots) else None

    def changed(self, number: int, change: Callable[[Lease | None], Lease | None]) -> "Held":
        """What is held once each lease of the slot has become another one."""
        before = self.slots[number]
        after = tuple(dict.fromkeys(map(change, before)))
        if after == before:
            return self
        return self._replace(slots=(*self.slots[:number], after, *self.slots[number + 1 :]))

    def all_changed(self, change: Callable[[Lease | None], Lease | None]) -> "Held":
        return self._replace(slots=tuple(tuple(dict.fromkeys(map(change, leases))) for leases in self.slots))

    def value(self, writer: int | None, access: int | None) -> Value | None:
        """The value that an op left, with that access if it left several."""
        if writer is None:
            return None
        return next((v for v in self.values if v.writer == writer and access in (None, v.access)), None)


def _without(leases: Leases, known: Leases) -> Leases:
    gone = set(known)
    return tuple(lease for lease in leases if lease not in gone)
