"""Which of the compiler's tiles may have the buffer of a tile that the op making them reads for the last time.

An elementwise op may write its result over an operand. The operand's set then goes on as the result's, where nothing
needs the operand behind the op, and nothing that is there before the op is the result's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pto_buf.dialect.table.row import Role
from pto_buf.memory.lives import private_loops
from pto_buf.slots.program import Access, Block, Branch, Loop, Op, Program, Release, SlotSet, While
from pto_buf.slots.terms import Const, Term


@dataclass
class _Uses:
    """All accesses of a set."""

    first: int
    last: int
    terms: dict[Term, None] = field(default_factory=dict[Term, None])
    around: tuple[int, ...] = ()
    """The blocks that hold all of them, outermost first."""


@dataclass(frozen=True)
class Pair:
    """A set whose buffer another one can go on with. Keys of sets."""

    old: int
    new: int


def pairs(kernel: Program) -> list[Pair]:
    """Sets of the compiler's that can be one, in program order of the op that joins them."""
    walk = _Walk()
    walk.block(kernel.body, (0,), None)
    private = private_loops(kernel)
    found: list[Pair] = []
    for op, blocks, loop in walk.ops:
        for new in op.accesses:
            for old in op.accesses:
                if _same_kind(op, old, new) and _hands_over(op, old, new, blocks, loop, walk.uses, private):
                    found.append(Pair(old.slots.key, new.slots.key))
    return found


def _same_kind(op: Op, old: Access, new: Access) -> bool:
    """Whether `op` writes over `old` what it makes in `new`, and a slot of the one can be one of the other."""
    one, other = old.slots, new.slots
    if one.key == other.key or not (one.owned and other.owned) or one.count != other.count:
        return False
    if new.role is not Role.WRITE or old.role is not Role.READ or old.operand not in op.in_place:
        return False
    if old.is_partial or new.is_partial:
        return False
    same = one.tile.space is other.tile.space and one.tile.boxed == other.tile.boxed
    return same and one.tile.footprint == other.tile.footprint


def _hands_over(
    op: Op,
    old: Access,
    new: Access,
    blocks: tuple[int, ...],
    loop: int | None,
    uses: Mapping[int, _Uses],
    private: Mapping[int, frozenset[int]],
) -> bool:
    """Whether all of `old` lies up to `op` and all of `new` from it on, in each run of the block that holds `op`."""
    before, behind = uses[old.slots.key], uses[new.slots.key]
    depth = len(blocks)
    if before.around[:depth] != blocks or behind.around[:depth] != blocks:
        return False
    if before.last > op.key or behind.first < op.key:
        return False
    if loop is not None and not all(loop in private[one.slots.key] for one in (old, new)):
        return False
    return before.terms.keys() == behind.terms.keys() and len(before.terms) == 1


@dataclass
class _Walk:
    ops: list[tuple[Op, tuple[int, ...], int | None]] = field(
        default_factory=list[tuple[Op, tuple[int, ...], int | None]]
    )
    """Each op with the blocks around it and the innermost loop."""
    uses: dict[int, _Uses] = field(default_factory=dict[int, _Uses])
    _blocks: int = 0

    def block(self, nodes: Block, blocks: tuple[int, ...], loop: int | None) -> None:
        for node in nodes:
            match node:
                case Op():
                    self.ops.append((node, blocks, loop))
                    for access in node.accesses:
                        self._use(access.slots, access.term, node.key, blocks)
                case Release():
                    self._use(node.slots, node.term, node.key, blocks)
                case _:
                    for inner, around in _inner(node, loop):
                        self._blocks += 1
                        self.block(inner, (*blocks, self._blocks), around)

    def _use(self, slots: SlotSet, term: Term, at: int, blocks: tuple[int, ...]) -> None:
        uses = self.uses.setdefault(slots.key, _Uses(at, at, around=blocks))
        uses.last = max(uses.last, at)
        uses.terms[term if slots.count > 1 else Const(0)] = None
        common = 0
        for one, other in zip(uses.around, blocks, strict=False):
            if one != other:
                break
            common += 1
        uses.around = blocks[:common]


def _inner(node: Loop | Branch | While, loop: int | None) -> Iterator[tuple[Block, int | None]]:
    match node:
        case Loop():
            yield node.body, node.key
        case Branch():
            yield node.then, loop
            yield node.otherwise, loop
        case While():
            yield node.before, node.key
            yield node.after, node.key
