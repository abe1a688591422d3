"""The stretch of program order in which a slot set holds something that is needed.

A set's life runs from its first to its last access, and over every loop through which it is carried: a loop that
holds a read, but not the write whose content is read, needs that content until its last trip has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pto_buf.errors import Place
from pto_buf.memory.tenant import Life
from pto_buf.slots import program
from pto_buf.slots.program import Access, Block, Branch, Op, Program, Release
from pto_buf.slots.terms import Const, Term


@dataclass(frozen=True)
class Loop:
    """A loop in program order: the position before its first op and behind its last, and the loop around it."""

    start: int
    end: int
    outer: int | None
    """Position of the enclosing loop in the list of loops."""
    first: Place | None = None
    last: Place | None = None


class Touch(NamedTuple):
    """An access of a set at a position of program order, within the innermost loop `loop`."""

    at: int
    loop: int | None
    reads: bool
    since: int | None = None
    """The innermost loop around the write whose content is read; only with `known`."""
    known: bool = False
    """Whether a write that comes before in every run is known to have left what is read here."""
    place: Place | None = None


def lives(kernel: Program) -> dict[int, Life]:
    """The life of every slot set of a kernel, by the key of the set. Positions are the keys of ops."""
    walk = _Walk()
    walk.block(kernel.body, None)
    return {one.key: life_of(walk.touches.get(one.key, ()), walk.loops) for one in kernel.sets}


def private_loops(kernel: Program) -> dict[int, frozenset[int]]:
    """For each slot set, by its key, the keys of the loops around all its accesses in whose every trip it is written
    before it is read: nothing of it goes from trip to trip, or in or out."""
    walk = _Walk()
    walk.block(kernel.body, None)
    found: dict[int, frozenset[int]] = {}
    for key, touches in walk.touches.items():
        around = set(_up_to(touches[0].loop, None, walk.loops))
        for touch in touches:
            around &= set(_up_to(touch.loop, None, walk.loops))
            if touch.reads:
                around &= set(_up_to(touch.since, None, walk.loops)) if touch.known else set()
        found[key] = frozenset(walk.loops[loop].start for loop in around)
    return found


def life_of(touches: Sequence[Touch], loops: Sequence[Loop], born: int = 0) -> Life:
    """The life of the set with these accesses; a set that is never accessed lives at `born` only."""
    if not touches:
        return Life(born, born)
    spans = [(touch.at, touch.at, touch.place, touch.place) for touch in touches]
    carried: dict[int, None] = {}
    if any(touch.reads and not touch.known for touch in touches):
        # Any write, in any trip, may have left what is read: the set lives through every loop that it appears in.
        for touch in touches:
            carried.update(dict.fromkeys(_up_to(touch.loop, None, loops)))
    else:
        for touch in touches:
            if touch.reads:
                carried.update(dict.fromkeys(_up_to(touch.loop, touch.since, loops)))
    spans += [(loops[loop].start, loops[loop].end, loops[loop].first, loops[loop].last) for loop in carried]
    first = min(spans, key=lambda span: span[0])
    last = max(spans, key=lambda span: span[1])
    return Life(first[0], last[1], first[2], last[3])


def _up_to(loop: int | None, outside: int | None, loops: Sequence[Loop]) -> list[int]:
    """The loops around `loop`, itself included, that are not around `outside`."""
    around: set[int] = set()
    while outside is not None:
        around.add(outside)
        outside = loops[outside].outer
    found: list[int] = []
    while loop is not None and loop not in around:
        found.append(loop)
        loop = loops[loop].outer
    return found


_Slot = tuple[int, Term]
"""A slot as its set and index name it. The index of a set of one slot is 0, however it is spelt."""

_NOT_WRITTEN = -1


@dataclass
class _Walk:
    """Finds for each read the write before it in the same block or in one around it."""

    loops: list[Loop] = field(default_factory=list[Loop])
    touches: dict[int, list[Touch]] = field(default_factory=dict[int, list[Touch]])
    loop_of: dict[int, int | None] = field(default_factory=dict[int, int | None])
    """The innermost loop around each op, by the op's key."""
    written: dict[_Slot, int | None] = field(default_factory=dict[_Slot, int | None])
    """For slots that were written before in every run, the innermost loop around that write."""
    undo: list[tuple[_Slot, int | None]] = field(default_factory=list[tuple[_Slot, int | None]])
    """What `written` said before each write in the blocks that are being walked."""

    def block(self, nodes: Block, loop: int | None) -> tuple[int, Place | None]:
        """Walk a block that may not run, or not once: what it writes is forgotten. Returns the last position."""
        before = len(self.undo)
        last = self._nodes(nodes, loop)
        self._forget(before)
        return last

    def _nodes(self, nodes: Block, loop: int | None) -> tuple[int, Place | None]:
        last: tuple[int, Place | None] = (-1, None)
        for node in nodes:
            match node:
                case Op():
                    self._op(node, loop)
                    last = node.key, node.place
                case Release():
                    last = node.key, node.place
                case Branch():
                    ends = [self.block(arm, loop) for arm in (node.then, node.otherwise)]
                    last = max((node.key, node.place), *ends, key=lambda end: end[0])
                case program.Loop():
                    last = self._loop(node, (node.body,), loop)
                case program.While():
                    last = self._loop(node, (node.before, node.after), loop)
        return last

    def _loop(
        self, node: program.Loop | program.While, bodies: Sequence[Block], outer: int | None
    ) -> tuple[int, Place | None]:
        index = len(self.loops)
        self.loops.append(Loop(node.key, node.key, outer))
        before = len(self.undo)
        ends = [self._nodes(body, index) for body in bodies]
        self._forget(before)
        last = max((node.key, node.place), *ends, key=lambda end: end[0])
        self.loops[index] = Loop(node.key, last[0], outer, node.place, last[1])
        return last

    def _op(self, op: Op, loop: int | None) -> None:
        self.loop_of[op.key] = loop
        for access in op.accesses:
            since, known = self._writer(access)
            touch = Touch(op.key, loop, access.role.reads, since, known, op.place)
            self.touches.setdefault(access.slots.key, []).append(touch)
        for access in op.accesses:
            # A write through a view leaves the rest of the slot as it was.
            if access.role.writes and not access.is_partial:
                slot = _slot(access)
                self.undo.append((slot, self.written.get(slot, _NOT_WRITTEN)))
                self.written[slot] = loop

    def _forget(self, before: int) -> None:
        while len(self.undo) > before:
            slot, loop = self.undo.pop()
            if loop == _NOT_WRITTEN:
                del self.written[slot]
            else:
                self.written[slot] = loop

    def _writer(self, access: Access) -> tuple[int | None, bool]:
        if access.lease is not None:
            return self.loop_of[access.lease], True
        loop = self.written.get(_slot(access), _NOT_WRITTEN)
        return (None, False) if loop == _NOT_WRITTEN else (loop, True)


def _slot(access: Access) -> _Slot:
    return access.slots.key, _ONLY if access.slots.count == 1 else access.term


_ONLY = Const(0)
