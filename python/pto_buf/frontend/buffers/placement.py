"""Slot sets for plain tiles, and how many slots each gets.

A tile made inside `pl.pipeline(stage=F)` gets F slots of its own, indexed by the trip of the innermost such loop, so
that F trips can be in flight; every other tile gets one. Where F do not fit, fewer: judged in each space on all sets
of the kernel, and first for tiles that one pipe alone works on, since its ops wait for each other anyway. A set that
continues another (an accumulate chain, an update in place) is that set. A tile carried from trip to trip while its
successor is made has two slots that take turns, whatever loop that is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from pto_buf.dialect.ptobuf import AllocSlotsOp, SlotSelectOp
from pto_buf.dialect.slot_op import value_in
from pto_buf.dialect.tile_op import TileOp
from pto_buf.errors import Diagnostic, Place, Severity
from pto_buf.frontend.builder import Builder
from pto_buf.frontend.frames import Frame
from pto_buf.frontend.kinds import COUNT
from pto_buf.frontend.names import spelling
from pto_buf.hw import MAX_SLOTS, Pipe, Space, Target
from pto_buf.memory.footprint import slot_stride
from pto_buf.tile import TileSpec


@dataclass(eq=False)
class OwnedSet:
    """A slot set of ours for plain tiles."""

    tile: TileSpec
    alloc: AllocSlotsOp
    pipeline: Frame | None
    place: Place
    selects: dict[SlotSelectOp, SSAValue | None] = field(default_factory=dict[SlotSelectOp, SSAValue | None])
    """Selections, each with its index where that is not the set's usual one."""
    count: int = 1
    """Slots that it needs, whatever pipeline it is in."""
    named: bool = False
    """Named by the user's variable rather than by the op."""
    merged: "OwnedSet | None" = None
    """The set that this one has become a part of."""

    @property
    def root(self) -> "OwnedSet":
        """The set that this one belongs to in the end."""
        one = self
        while one.merged is not None:
            one = one.merged
        return one

    @property
    def slots(self) -> list[SSAValue]:
        """The slots selected from it."""
        return [select.slot for select in self.selects]

    @property
    def is_plain(self) -> bool:
        """Whether every selection names the one usual slot."""
        return self.count == 1 and all(index is None for index in self.selects.values())

    def set_name(self, name: str) -> None:
        """Rename in the IR."""
        self.alloc.properties["set_name"] = StringAttr(name)

    def rename(self, name: str) -> None:
        """Take the user's name, once."""
        if not self.named:
            self.named = True
            self.set_name(name)


def place_sets(
    owned: Sequence[OwnedSet], declared: Iterable[tuple[TileSpec, int]], target: Target, builder: Builder
) -> list[Diagnostic]:
    """Decide the counts of our sets and write them into the IR. Returns a warning for each that got fewer slots.

    `declared` are the user's own sets, as (tile, count). What does not fit even with one slot each is left to the
    memory plan, which also knows what can share bytes.
    """
    used: dict[Space, int] = {}
    for tile, count in declared:
        used[tile.space] = used.get(tile.space, 0) + count * slot_stride(tile, target)
    counts: dict[int, int] = {}
    for space in Space:
        here = [one for one in owned if one.tile.space is space]
        if here:
            counts.update(_fit(here, target.capacity[space] - used.get(space, 0), target))
    warnings: list[Diagnostic] = []
    for one in owned:
        count, asked = counts[id(one)], _asked(one)
        if count < asked and len(_pipes(one, target)) > 1:
            warnings.append(_hint(one, asked, count, target))
        index = one.pipeline.slot_index(count, builder) if count > one.count and one.pipeline is not None else None
        _rotate(one, count, index, builder)
    return warnings


def _asked(one: OwnedSet) -> int:
    """Slots wanted: a tile that also lives outside its pipeline's trips has one."""
    frame = one.pipeline
    if one.count > 1 or frame is None or frame.stage is None:
        return one.count
    if not all(is_inside(select, frame.block) for select, index in one.selects.items() if index is None):
        return one.count
    return min(frame.stage, MAX_SLOTS)


def is_inside(op: Operation, block: Block) -> bool:
    """Whether an op lies in a block or in a region below it."""
    current: Operation | None = op
    while current is not None:
        if current.parent_block() is block:
            return True
        current = current.parent_op()
    return False


def _fit(sets: Sequence[OwnedSet], free: int, target: Target) -> dict[int, int]:
    """As many slots as asked for, or the largest equal cap that fits, and what the small sets still can above it."""
    size = {id(one): slot_stride(one.tile, target) for one in sets}
    asked = {id(one): _asked(one) for one in sets}
    least = {id(one): one.count for one in sets}

    def total(counts: dict[int, int]) -> int:
        return sum(counts[key] * size[key] for key in counts)

    if total(asked) <= free:
        return asked
    local = {id(one) for one in sets if len(_pipes(one, target)) < 2}
    counts = dict(least)
    for cap in range(max(asked.values()), 1, -1):
        capped = {key: least[key] if key in local else max(least[key], min(want, cap)) for key, want in asked.items()}
        if total(capped) <= free:
            counts = capped
            break
    left = free - total(counts)
    for one in sorted(sets, key=lambda one: (id(one) in local, size[id(one)])):
        key = id(one)
        more = max(0, min(asked[key] - counts[key], left // size[key]))
        counts[key] += more
        left -= more * size[key]
    return counts


def _pipes(one: OwnedSet, target: Target) -> set[Pipe]:
    """The pipes that work on the slots of a set."""
    found: set[Pipe] = set()
    for select in one.selects:
        for op in (use.operation for use in select.slot.uses):
            value = value_in(op, select.slot)
            for user in (op, *(use.operation for use in (value.uses if value is not None else ()))):
                if isinstance(user, TileOp):
                    found.update(user.form(target).pipes)
    return found


def _hint(one: OwnedSet, asked: int, count: int, target: Target) -> Diagnostic:
    stride = slot_stride(one.tile, target)
    capacity = target.capacity[one.tile.space]
    name = one.alloc.set_name.data
    return Diagnostic(
        f"'{name}' asked for {asked}, got {count}: {capacity:,} B of {spelling(one.tile.space)}, {stride:,} B a stage",
        one.place,
        help="a smaller tile or a smaller stage= would keep every stage apart",
        kind=COUNT,
        severity=Severity.WARNING,
    )


def _rotate(one: OwnedSet, count: int, usual: SSAValue | None, builder: Builder) -> None:
    """Make the set `count` slots wide and let every selection name its slot."""
    if count > 1:
        old = one.alloc
        one.alloc = AllocSlotsOp(old.set_name.data, count, one.tile, owned=True)
        builder.replace(old, one.alloc)
    for select, index in one.selects.items():
        found = usual if index is None else index
        select.operands = (one.alloc.slots, select.index if found is None else found)
