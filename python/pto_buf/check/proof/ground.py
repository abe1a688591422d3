"""The ground that a program works on: atoms of memory and flags, and which instruction may reach which. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pto_buf.check.model import Model
from pto_buf.check.program import Code, Local, Lock, Run, SetFlag, WaitFlag, Window, Within
from pto_buf.check.proof.windows import At, Operand, constant_window, windows_by_argument
from pto_buf.check.runs.atoms import Atoms
from pto_buf.check.runs.clocks import NUMBER, PIPES, number_of
from pto_buf.check.runs.run import global_box, owners
from pto_buf.check.runs.steps import Access
from pto_buf.check.values import ValueSets
from pto_buf.check.whole import Whole
from pto_buf.hw import BUFFER_IDS, EVENT_IDS, Pipe, Space

FlagKey = tuple[int, Pipe, Pipe, int]
"""Core, source, destination and id; a buffer lock is one too, see `lock_key`."""


def lock_key(core: int, number: int) -> FlagKey:
    """A buffer lock among the flags."""
    return core, Pipe.ALL, Pipe.S, number


@dataclass(frozen=True)
class Atom:
    """A piece of a space that is covered whole or not at all; pieces that the same accesses cover count as one.

    Readers and writers are pipe numbers, counted through all cores.
    """

    number: int
    space: Space
    start: int
    end: int
    readers: frozenset[int]
    writers: frozenset[int]

    @property
    def cores(self) -> frozenset[int]:
        """The cores that touch it."""
        return frozenset(pipe // len(PIPES) for pipe in self.readers | self.writers)


@dataclass(frozen=True)
class Reach:
    """What one operand of an op may touch: the atoms for each address, or, if the address can be anything, `all`."""

    by_address: Mapping[int, tuple[int, ...]]
    all: tuple[int, ...]
    bounded: bool


@dataclass(frozen=True)
class Ground:
    """`reach` is keyed by instruction and operand, `lanes` by instruction: the ids that it may name."""

    atoms: tuple[Atom, ...]
    reach: Mapping[At, Reach]
    flags: tuple[FlagKey, ...]
    lanes: Mapping[int, tuple[int, ...]]
    locks: Mapping[int, tuple[FlagKey, ...]]
    """By instruction, the buffer locks that it may name."""
    loose_lanes: tuple[int, ...]
    """The instructions whose id, or what it is the number of, may be none that there is."""


_Role = tuple[tuple[int, ...], bool, bool]
"""The pipe numbers of an operand's op, and whether it reads and writes."""


@dataclass(frozen=True)
class _Range:
    at: At
    address: int | None
    start: int
    end: int


def survey_ground(whole: Whole, values: ValueSets, model: Model) -> Ground:
    """Finds every atom and flag. Atoms on which nothing can conflict are left out."""
    ranges: dict[tuple[Space, int], list[_Range]] = {}
    roles: dict[At, _Role] = {}
    lanes: dict[int, tuple[int, ...]] = {}
    locks: dict[int, tuple[FlagKey, ...]] = {}
    loose: list[int] = []
    flags: dict[FlagKey, None] = {}
    for at, one in enumerate(whole.code.instructions):
        core = whole.core_of(at)
        match one:
            case Run():
                for number, touch in enumerate(one.touches):
                    if isinstance(touch.where, Local):
                        roles[at, number] = _numbers(core, one.pipes), touch.reads, touch.writes
                        found = list(_ranges((at, number), touch.where, values))
                        for owner in owners(whole.kinds, core, touch.where):
                            ranges.setdefault((touch.where.space, owner), []).extend(found)
            case SetFlag() | WaitFlag():
                found = values.of(one.lane)
                ids = range(EVENT_IDS) if found is None else sorted(found)
                lanes[at] = tuple(lane for lane in ids if 0 <= lane < EVENT_IDS)
                if found is None or len(lanes[at]) < len(found):
                    loose.append(at)
                flags.update(dict.fromkeys((core, one.src, one.dst, lane) for lane in lanes[at]))
            case Lock():
                found = values.of(one.lane)
                numbers = range(BUFFER_IDS) if found is None else sorted(found)
                locks[at] = tuple(lock_key(core, number) for number in numbers)
                flags.update(dict.fromkeys(locks[at]))
            case Within():
                found = values.of(one.lane)
                if found is None or not all(0 <= number < one.count for number in found):
                    loose.append(at)
            case _:
                pass
    windows = list(_constant_windows(whole.code))
    for touches in windows:
        for at, run, touch in touches:
            roles[at] = _numbers(whole.core_of(at[0]), run.pipes), touch.reads, touch.writes
    reach: dict[At, _Building] = {at: _Building() for at in roles}
    builder = _Atoms(roles, reach, model)
    for (space, _), found in ranges.items():
        _cut_space(space, found, builder)
    for touches in windows:
        _cut_array(touches, builder)
    return Ground(
        tuple(builder.atoms),
        {at: one.done() for at, one in reach.items()},
        tuple(sorted(flags)),
        lanes,
        locks,
        tuple(loose),
    )


def _numbers(core: int, pipes: tuple[Pipe, ...]) -> tuple[int, ...]:
    return tuple(number_of(core, pipe) for pipe in pipes)


def _ranges(at: At, where: Local, values: ValueSets) -> Iterable[_Range]:
    addresses = values.of(where.address)
    if addresses is None:
        yield _Range(at, None, 0, 1 << 62)
        return
    for address in sorted(addresses):
        for start, end in where.runs:
            yield _Range(at, address, address + start, address + end)


class _Building:
    def __init__(self) -> None:
        self.by_address: dict[int, list[int]] = {}
        self.anything: list[int] | None = None

    def add(self, address: int | None, atom: int) -> None:
        if address is None:
            self.anything = self.anything or []
            self.anything.append(atom)
        else:
            self.by_address.setdefault(address, []).append(atom)

    def done(self) -> Reach:
        by_address = {address: tuple(dict.fromkeys(atoms)) for address, atoms in self.by_address.items()}
        if self.anything is not None:
            return Reach({}, tuple(dict.fromkeys(self.anything)), False)
        return Reach(by_address, tuple(sorted({atom for atoms in by_address.values() for atom in atoms})), True)


_Cover = tuple[tuple[At, int | None], ...]
"""The operands that cover a piece, each with the address at which it does."""


class _Atoms:
    """Makes an atom of each piece that something can conflict on, one for all pieces with the same cover."""

    def __init__(self, roles: Mapping[At, _Role], reach: Mapping[At, _Building], model: Model):
        self.atoms: list[Atom] = []
        self._roles = roles
        self._reach = reach
        self._ordered = frozenset(NUMBER[pipe] for pipe in model.ordered)
        self._seen: set[_Cover] = set()

    def add(self, space: Space, start: int, end: int, cover: _Cover) -> None:
        if cover in self._seen:
            return
        self._seen.add(cover)
        roles = [self._roles[at] for at, _ in cover]
        pipes = frozenset(pipe for role in roles for pipe in role[0])
        if not any(writes for _, _, writes in roles) or self._orders_itself(pipes):
            return
        readers = frozenset(pipe for pipes, reads, _ in roles if reads for pipe in pipes)
        writers = frozenset(pipe for pipes, _, writes in roles if writes for pipe in pipes)
        number = len(self.atoms)
        self.atoms.append(Atom(number, space, start, end, readers, writers))
        for at, address in cover:
            self._reach[at].add(address, number)

    def _orders_itself(self, pipes: frozenset[int]) -> bool:
        return len(pipes) == 1 and all(pipe % len(PIPES) in self._ordered for pipe in pipes)


def _cut_space(space: Space, ranges: list[_Range], into: _Atoms) -> None:
    ends = sorted({end for one in ranges for end in (one.start, one.end)})
    covers: list[list[_Range]] = [[] for _ in ends]
    for one in ranges:
        for piece in range(bisect_left(ends, one.start), bisect_left(ends, one.end)):
            covers[piece].append(one)
    for piece, cover in enumerate(covers):
        if cover:
            into.add(space, ends[piece], ends[piece + 1], tuple((one.at, one.address) for one in cover))


def _constant_windows(code: Code) -> Iterator[list[Operand]]:
    """The operands in each array whose windows all lie at constant places."""
    for touches in windows_by_argument(code).values():
        if all(isinstance(touch.where, Window) and constant_window(touch.where) for _, _, touch in touches):
            yield touches


def _cut_array(touches: list[Operand], into: _Atoms) -> None:
    boxes = {at: global_box(touch.where, {}) for at, _, touch in touches if isinstance(touch.where, Window)}
    pieces = Atoms(Access(boxes[at], touch.reads, touch.writes) for at, _, touch in touches)
    covers: dict[object, list[At]] = {}
    for at, box in boxes.items():
        for piece in pieces.of(box):
            covers.setdefault(piece, []).append(at)
    for cover in covers.values():
        into.add(Space.GM, 0, 0, tuple((at, None) for at in cover))
