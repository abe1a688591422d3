"""The typestate of the slots of one set: what each access and each release does to it, and which rule it breaks."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from pto_buf.dialect.table.row import Role
from pto_buf.errors import Place
from pto_buf.slots.complaints import Complaints, Witness
from pto_buf.slots.explore import Explorer, State
from pto_buf.slots.facts import Facts
from pto_buf.slots.flow import FlowBuilder, Origin, SiteKey
from pto_buf.slots.held import UNKNOWN, Bytes, Held, Lease, Value
from pto_buf.slots.linear import Linear
from pto_buf.slots.names import last_names, loops_of_ops
from pto_buf.slots.program import Access, Block, Loop, Node, Op, Release, SlotSet, While
from pto_buf.slots.scopes import Scopes
from pto_buf.slots.terms import Term
from pto_buf.slots.wording import Path, path_of

_ORDER = {Role.READ: 0, Role.UPDATE: 1, Role.SCRATCH: 2, Role.WRITE: 2}
"""An op reads before it writes."""

_SCRATCH = Role.SCRATCH


@dataclass
class Rules:
    """The typestate of one slot set: what each access and release does, and which rule it breaks."""

    scopes: Scopes
    slots: SlotSet
    block: Block
    complaints: Complaints
    flow: FlowBuilder
    explorer: Explorer[Held] = field(init=False)

    def __post_init__(self) -> None:
        self._loops = dict(loops_of_ops(self.block))
        self._named = last_names(self.block)
        self._all_named = frozenset(chain.from_iterable(self._named.values()))
        self._read: set[Hashable] = set()
        """The writes, as written by a person, of which a lease is read."""
        self._overwritten: dict[tuple[SiteKey, SiteKey], Witness] = {}
        self._takeovers: dict[tuple[int, SiteKey], Witness] = {}
        """By the writer of a value and the write that took its slot over: the first path on which it did."""

    def finish(self) -> None:
        """Complain of leases that were overwritten and that no path at all has read."""
        if self.complaints.has_wrong_index(self.slots):
            return
        for (opener, writer), witness in self._overwritten.items():
            if self.complaints.as_written(opener) not in self._read and not self.slots.owned:
                self.complaints.never_read(self.slots, opener, writer, witness)

    # --- loops and scopes ---

    def next_trip(self, loop: int, held: Held) -> Held:
        return held.all_changed(lambda lease: self._carried(loop, lease))

    def _carried(self, loop: int, lease: Lease | None) -> Lease | None:
        """A lease opened in the loop is from an earlier trip of it now, unless it is from one of a loop around it."""
        if lease is None or lease.opener is None:
            return lease
        around = self._loops[lease.opener.op]
        if loop not in around:
            return lease
        if lease.carried_by is not None and around.index(lease.carried_by) <= around.index(loop):
            return lease
        return lease._replace(carried_by=loop)

    def behind(self, node: Node, held: Held) -> Held:
        if isinstance(node, Loop | While):
            held = held.all_changed(lambda lease: _left(node.key, lease))
        gone = self._named.get(node.key)
        if gone and held.values:
            held = held._replace(values=tuple(value for value in held.values if value.writer not in gone))
        return held

    # --- accesses ---

    def at(self, node: Op | Release, state: State[Held]) -> Iterable[State[Held]]:
        if isinstance(node, Release):
            return self._release(node, state)
        if node.takes_up is not None:
            return self._taken_up(node, node.takes_up, state)
        own = [number for number, access in enumerate(node.accesses) if access.slots.key == self.slots.key]
        if len(own) > 1:
            own.sort(key=lambda number: _ORDER[node.accesses[number].role])
        ways: list[_Way] = [(state, {})]
        for number in own:
            ways = [after for before, read in ways for after in self._access(node, number, before, read)]
        return [after for after, _ in ways]

    def _taken_up(self, op: Op, access: Access, state: State[Held]) -> Iterator[State[Held]]:
        """What the slot holds becomes a value that is named later."""
        for slot, facts in self._selected(self.scopes.indices[op.key, 0], access.term, state, access.place):
            held = state.held if slot is None else self._written(SiteKey(op.key, 0), slot, state.held)
            yield State(facts, held)

    def _access(self, op: Op, number: int, state: State[Held], read: Mapping[int, int]) -> Iterator["_Way"]:
        """One access; `read` says which access of this op reads a slot, one that forbids working in place first."""
        access = op.accesses[number]
        for slot, facts in self._slot(access, SiteKey(op.key, number), state):
            if slot is None:
                yield State(facts, _all_unknown(state.held) if access.role.writes else state.held), read
                continue
            after = State(facts, self._after(op, SiteKey(op.key, number), slot, State(facts, state.held), read))
            if not access.role.writes and (slot not in read or access.operand not in op.in_place):
                yield after, {**read, slot: number}
            else:
                yield after, read

    def _slot(self, access: Access, site: SiteKey, state: State[Held]) -> Iterable[tuple[int | None, Facts]]:
        """The slots that the access may be in; None where its index is no slot, which is complained about."""
        value = state.held.value(access.lease, access.written)
        if value is not None:
            return [(value.slot, state.facts)]
        return self._selected(self.scopes.indices[site.op, site.access], access.term, state, access.place)

    def _selected(
        self, form: Linear, term: Term, state: State[Held], place: Place | None
    ) -> Iterator[tuple[int | None, Facts]]:
        values = self.scopes.decider.values(state.facts, form)
        if values is None:
            yield from self._partly_selected(form, term, state, place)
            return
        for value, facts in values:
            if 0 <= value < self.slots.count:
                yield value, facts
            else:
                self.complaints.outside(self.slots, term, place, value, self._path(facts))
                yield None, facts

    def _partly_selected(
        self, form: Linear, term: Term, state: State[Held], place: Place | None
    ) -> Iterator[tuple[int | None, Facts]]:
        """For an index with too many values to tell apart: those that name slots, and the rest."""
        assume, count = self.scopes.decider.reasoner.assume, self.slots.count
        for value in range(count):
            facts = assume(state.facts, form, value, value)
            if facts is not None:
                yield value, facts
        for low, high in ((None, -1), (count, None)):
            facts = assume(state.facts, form, low, high)
            if facts is not None:
                self.complaints.outside(self.slots, term, place, None, self._path(facts))
                yield None, facts

    def _path(self, facts: Facts) -> Callable[[], Path]:
        return lambda: path_of(self.scopes, self.explorer.around, facts)

    def _after(self, op: Op, site: SiteKey, slot: int, state: State[Held], read: Mapping[int, int]) -> Held:
        """What is held after one access of a slot."""
        access = op.accesses[site.access]
        value = state.held.value(access.lease, access.written) or state.held.value(access.held, None)
        if value is not None and (access.lease is not None or access.role.reads):
            self._name(value, site, self._path(state.facts))
        role = access.role
        if role.reads:
            used = self._used(access, site, slot, state)
            return self._written(site, slot, used) if role.writes else used
        if role is _SCRATCH:
            return self._opened(access, site, slot, state)
        if slot not in read:
            return self._written(site, slot, self._opened(access, site, slot, state))
        if op.accesses[read[slot]].operand not in op.in_place:
            self.complaints.not_in_place(self.slots, site, read[slot], slot)
        for lease in state.held.slots[slot]:
            if lease is not None and lease.opener is not None:
                self.flow.origin(site, lease.origin)
        return self._written(site, slot, state.held)

    def _name(self, value: Value, site: SiteKey, path: Callable[[], Path]) -> None:
        """A value is named: its lease must not have ended."""
        if value.released is not None:
            self.complaints.released(self.slots, site, value.slot, value.writer, value.released, path)
        elif value.ended is not None:
            self.complaints.overwritten(
                self.slots, value.writer, value.ended, site, self._takeovers[value.writer, value.ended]
            )

    def _used(self, access: Access, site: SiteKey, slot: int, state: State[Held]) -> Held:
        """A read or an update: there must be a lease."""
        path = self._path(state.facts)

        def used(lease: Lease | None) -> Lease:
            if lease is None:
                self.complaints.unwritten(self.slots, site, slot, path)
                return UNKNOWN
            if lease.opener is None:
                return lease
            if lease.released is not None:
                self.complaints.released(self.slots, site, slot, lease.opener.op, lease.released, path)
            elif lease.scratch:
                self.complaints.scratched(self.slots, site, slot, lease.opener)
            elif lease.filled is not None and not _covers(lease.filled, self._bytes(access)):
                self.complaints.unfilled(self.slots, site, slot, lease.opener.op, path)
            self.flow.origin(site, lease.origin)
            if access.role.writes:
                return lease
            self._read.add(self.complaints.as_written(lease.opener))
            return lease if lease.read else lease._replace(read=True)

        return state.held.changed(slot, used)

    def _opened(self, access: Access, site: SiteKey, slot: int, state: State[Held]) -> Held:
        """A first write ends what the slot held; one of a part continues a lease that it finds there."""
        scratch = access.role is _SCRATCH
        continues = access.is_partial and not scratch
        new = Lease(site, read=scratch, scratch=scratch, filled=(self._bytes(access),) if access.is_partial else None)

        def opened(lease: Lease | None) -> Lease:
            if continues and lease is not None and lease.is_open:
                return self._filled_further(access, site, lease)
            if lease is not None and lease.opener is not None:
                self._end(lease.opener, lease, site, slot, state.facts)
            self.flow.origin(site, new.origin)
            return new

        held = state.held.changed(slot, opened)
        if continues and any(lease is not None and lease.is_open for lease in state.held.slots[slot]):
            return held
        values = tuple(self._taken_over(value, slot, site, state.facts) for value in held.values)
        return held._replace(values=values)

    def _filled_further(self, access: Access, site: SiteKey, lease: Lease) -> Lease:
        """A write of a part continues the lease. Behind a read it begins the next one, on what is there already."""
        filled = None if lease.filled is None else _merged(lease.filled, self._bytes(access))
        if lease.opener is None or not lease.read:
            if lease.opener is not None:
                self.flow.origin(site, lease.origin)
            return lease._replace(filled=filled)
        self.flow.ends(site, lease.origin)
        self.flow.origin(site, Origin(site, None))
        return Lease(site, filled=filled)

    def _bytes(self, access: Access) -> Bytes:
        return access.start, self.slots.tile.footprint if access.end is None else access.end

    def _end(self, opener: SiteKey, lease: Lease, site: SiteKey, slot: int, facts: Facts) -> None:
        """The write at `site` takes the slot of a lease over."""
        self.flow.ends(site, lease.origin)
        if lease.read:
            return
        self.flow.unread(opener, site)
        if lease.released is None and (opener, site) not in self._overwritten:
            self._overwritten[opener, site] = Witness(slot, self._path(facts)())

    def _taken_over(self, value: Value, slot: int, site: SiteKey, facts: Facts) -> Value:
        """The value once the write at `site` holds the slot."""
        if value.slot != slot or not value.is_valid:
            return value
        if (value.writer, site) not in self._takeovers:
            self._takeovers[value.writer, site] = Witness(slot, self._path(facts)())
        return value._replace(ended=site)

    def _written(self, site: SiteKey, slot: int, held: Held) -> Held:
        """The access leaves a value in the slot, which is kept track of if it is named later."""
        if site.op not in self._all_named:
            return held
        others = (value for value in held.values if (value.writer, value.access) != (site.op, site.access))
        values = sorted((*others, Value(site.op, site.access, slot)), key=lambda value: (value.writer, value.access))
        return held._replace(values=tuple(values))

    # --- releases ---

    def _release(self, release: Release, state: State[Held]) -> Iterator[State[Held]]:
        value = state.held.value(release.lease, release.written)
        if value is not None:
            yield State(state.facts, self._ended(release, value.slot, value, state))
            return
        form = self.scopes.indices[release.key, 0]
        for slot, facts in self._selected(form, release.term, state, release.chosen):
            if slot is None:
                yield State(facts, _all_unknown(state.held))
            else:
                yield State(facts, self._ended(release, slot, None, State(facts, state.held)))

    def _ended(self, release: Release, slot: int, value: Value | None, state: State[Held]) -> Held:
        path = self._path(state.facts)
        if value is not None and value.released is not None:
            self.complaints.second_release(release, slot, value.writer, value.released, path)
            return state.held
        if value is not None and value.ended is not None:
            self.complaints.release_of_ended(release, slot, value.ended)
            return state.held

        def ended(lease: Lease | None) -> Lease | None:
            if lease is None:
                self.complaints.release_of_nothing(release, slot, path)
            elif lease.opener is not None:
                if lease.released is None:
                    return lease._replace(released=release.key)
                self.complaints.second_release(release, slot, lease.opener.op, lease.released, path)
            return lease

        values = tuple(
            value._replace(released=release.key) if value.slot == slot and value.is_valid else value
            for value in state.held.values
        )
        return state.held.changed(slot, ended)._replace(values=values)


_Way = tuple[State[Held], Mapping[int, int]]


def _all_unknown(held: Held) -> Held:
    """After a write that could be anywhere: slots without a lease may have been meant."""
    return held.all_changed(lambda lease: lease or UNKNOWN)


def _left(loop: int, lease: Lease | None) -> Lease | None:
    """The lease behind the loop."""
    return lease._replace(carried_by=None) if lease is not None and lease.carried_by == loop else lease


def _merged(filled: tuple[Bytes, ...], more: Bytes) -> tuple[Bytes, ...]:
    start, end = more
    apart = [part for part in filled if part[1] < start or part[0] > end]
    touching = [part for part in filled if part[1] >= start and part[0] <= end]
    whole = (min([start, *(part[0] for part in touching)]), max([end, *(part[1] for part in touching)]))
    return tuple(sorted([*apart, whole]))


def _covers(filled: tuple[Bytes, ...], wanted: Bytes) -> bool:
    return any(start <= wanted[0] and wanted[1] <= end for start, end in filled)
