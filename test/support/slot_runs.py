"""One run of a program of slot reasoning, with all its numbers given: what the analysis must agree with."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pto_buf.dialect.table.row import Role
from pto_buf.slots.carried import evaluate
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.names import loops_of_ops
from pto_buf.slots.program import Access, Block, Branch, Loop, Op, Program, Release, While
from pto_buf.slots.terms import Opaque, Term, Var, leaves

Fault = tuple[str, int]
"""The kind of an error and the line it is reported at."""

Way = tuple[SiteKey, int | None]


@dataclass
class _Lease:
    opener: SiteKey
    trips: dict[int, int]
    read: bool = False
    released: int | None = None
    values: set[int] = field(default_factory=set[int])


@dataclass
class _Value:
    lease: _Lease
    over: int | None = None
    """The op that took the slot over."""


@dataclass
class Run:
    """What one run shows. It stops at its first fault."""

    faults: list[Fault] = field(default_factory=list[Fault])
    origins: set[tuple[SiteKey, Way]] = field(default_factory=set[tuple[SiteKey, Way]])
    ends: set[tuple[SiteKey, Way]] = field(default_factory=set[tuple[SiteKey, Way]])
    unread: set[tuple[SiteKey, SiteKey | None]] = field(default_factory=set[tuple[SiteKey, SiteKey | None]])
    read: set[SiteKey] = field(default_factory=set[SiteKey])
    overwritten: set[tuple[SiteKey, SiteKey]] = field(default_factory=set[tuple[SiteKey, SiteKey]])


_MOST_TRIPS = 40


class _Stop(Exception):
    pass


def run(program: Program, fixed: Mapping[Var | Opaque, int], choose: Callable[[Opaque], int]) -> Run:
    """Executes the program. `choose` decides an unknown each time it is worked out anew."""
    machine = _Machine(program, dict(fixed), choose)
    try:
        machine.block(program.body)
    except _Stop:
        return machine.result
    for lease in machine.slots.values():
        if not lease.read:
            machine.result.unread.add((lease.opener, None))
    return machine.result


class _Machine:
    def __init__(self, program: Program, values: dict[Var | Opaque, int], choose: Callable[[Opaque], int]):
        self.values = values
        self.choose = choose
        self.result = Run()
        self.slots: dict[tuple[int, int], _Lease] = {}
        self.named: dict[int, _Value] = {}
        self.trips: dict[int, int] = {}
        self._loops = dict(loops_of_ops(program.body))

    def block(self, block: Block) -> None:
        for node in block:
            match node:
                case Op():
                    self._op(node)
                case Release():
                    self._release(node)
                case Branch():
                    self.block(node.then if self._number(node.condition) else node.otherwise)
                case Loop():
                    self._loop(node)
                case While():
                    self._while(node)

    def _number(self, term: Term) -> int:
        for leaf in _opaques(term):
            if leaf not in self.values:
                self.values[leaf] = self.choose(leaf)
        value = evaluate(term, self.values)
        assert value is not None
        return value

    def _forget(self, loop: int) -> None:
        """Unknowns of a trip are other ones in the next."""
        self.values = {
            leaf: value for leaf, value in self.values.items() if not (isinstance(leaf, Opaque) and leaf.loop == loop)
        }

    def _loop(self, loop: Loop) -> None:
        counter, upper, step = self._number(loop.lower), self._number(loop.upper), self._number(loop.step)
        for entry, value in [(entry, self._number(entry.init)) for entry in loop.carried]:
            self.values[entry.var] = value
        self.trips[loop.key] = 0
        while counter < upper:
            self.values[loop.var] = counter
            self.block(loop.body)
            for entry, value in [(entry, self._number(entry.next)) for entry in loop.carried]:
                self.values[entry.var] = value
            self._forget(loop.key)
            counter += step
            self.trips[loop.key] += 1
        del self.trips[loop.key]

    def _while(self, loop: While) -> None:
        for entry, value in [(entry, self._number(entry.init)) for entry in loop.carried]:
            self.values[entry.var] = value
        self.trips[loop.key] = 0
        while True:
            self.values[loop.var] = self.trips[loop.key]
            self.block(loop.before)
            if not self._number(loop.condition):
                break
            if self.trips[loop.key] > _MOST_TRIPS:  # no run that anybody waits for
                raise _Stop
            self.block(loop.after)
            for entry, value in [(entry, self._number(entry.next)) for entry in loop.carried]:
                self.values[entry.var] = value
            self._forget(loop.key)
            self.trips[loop.key] += 1
        del self.trips[loop.key]

    def _fault(self, kind: str, line: int) -> None:
        self.result.faults.append((kind, line))
        raise _Stop

    def _slot(self, slots: int, count: int, term: Term, line: int) -> tuple[int, int]:
        index = self._number(term)
        if not 0 <= index < count:
            self._fault("slot-index-out-of-range", line)
        return slots, index

    def _way(self, lease: _Lease, op: int) -> Way:
        """The lease as met at an op: with the outermost loop around both whose trips differ."""
        shared = [loop for loop in self._loops[lease.opener.op] if loop in self._loops[op]]
        return lease.opener, next((loop for loop in shared if lease.trips[loop] != self.trips[loop]), None)

    def _op(self, op: Op) -> None:
        order = {Role.READ: 0, Role.UPDATE: 1}
        numbers = sorted(range(len(op.accesses)), key=lambda n: order.get(op.accesses[n].role, 2))
        touched: dict[tuple[int, int], str] = {}
        for number in numbers:
            access, site = op.accesses[number], SiteKey(op.key, number)
            value = None if access.lease is None else self.named.get(access.lease)
            if value is not None and value.over is not None and value.lease.released is None:
                self._fault("clobber", value.over)
            if value is not None and value.lease.released is not None:
                self._fault("use-after-release", op.key)
            line = op.key if access.place is None else access.place.line
            slot = self._slot(access.slots.key, access.slots.count, access.term, line)
            lease = self.slots.get(slot)
            if access.role in (Role.READ, Role.UPDATE):
                self._use(op, site, lease, access)
                touched[slot] = access.operand
            elif slot in touched and lease is not None:
                if touched[slot] not in op.in_place:
                    self._fault("clobber", op.key)
                self.result.origins.add((site, self._way(lease, op.key)))
            else:
                self._open(op, site, slot, lease)
            self.named[op.key] = _Value(self.slots[slot])

    def _use(self, op: Op, site: SiteKey, lease: _Lease | None, access: Access) -> None:
        if lease is None:
            self._fault("read-before-write", op.key)
            return
        if lease.released is not None:
            self._fault("use-after-release", op.key)
        self.result.origins.add((site, self._way(lease, op.key)))
        if access.role is Role.READ:
            lease.read = True
            self.result.read.add(lease.opener)

    def _open(self, op: Op, site: SiteKey, slot: tuple[int, int], before: _Lease | None) -> None:
        if before is not None:
            self.result.ends.add((site, self._way(before, op.key)))
            if not before.read:
                self.result.unread.add((before.opener, site))
                if before.released is None:
                    self.result.overwritten.add((before.opener, site))
            for value in self.named.values():
                if value.lease is before and value.over is None:
                    value.over = op.key
        self.slots[slot] = _Lease(site, dict(self.trips))
        self.result.origins.add((site, (site, None)))

    def _release(self, release: Release) -> None:
        value = None if release.lease is None else self.named.get(release.lease)
        if value is not None and (value.over is not None or value.lease.released is not None):
            self._fault("release-misuse", release.key)
        slot = self._slot(release.slots.key, release.slots.count, release.term, release.key)
        lease = self.slots.get(slot)
        if lease is None or lease.released is not None:
            self._fault("release-misuse", release.key)
            return
        lease.released = release.key


def _opaques(term: Term) -> Iterator[Opaque]:
    return (leaf for leaf in leaves(term) if isinstance(leaf, Opaque))
