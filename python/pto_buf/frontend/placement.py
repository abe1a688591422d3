"""Slot sets for plain tiles, and how many slots each gets.

A tile made inside `pl.pipeline(stage=F)` gets F slots of its own, indexed by the trip of the innermost such loop, so
that F trips can be in flight; every other tile gets one. Where F do not fit, fewer: judged in each space on all sets
of the kernel. A set that continues another (an accumulate chain, an update in place) is that set.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import LocationAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from pto_buf.dialect.ptobuf import AllocSlotsOp, SlotSelectOp
from pto_buf.errors import Diagnostic, Place, Severity
from pto_buf.frontend.builder import Builder
from pto_buf.frontend.kinds import COUNT
from pto_buf.frontend.names import spelling
from pto_buf.hw import MAX_SLOTS, Space, Target
from pto_buf.tile import TileSpec


@dataclass
class Pipeline:
    """A `pl.pipeline` loop: `stage` trips may be in flight."""

    stage: int
    block: Block
    counter: SSAValue
    lower: int | SSAValue
    step: int
    location: LocationAttr
    _index: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def slot_index(self, count: int, builder: Builder) -> SSAValue:
        """((counter - lower) / step) % count, computed once at the start of the body."""
        if count not in self._index:
            self._index[count] = self._emit(count, builder)
        return self._index[count]

    def _emit(self, count: int, builder: Builder) -> SSAValue:
        ops: list[Operation] = []
        value = self.counter

        def append(kind: type[Operation], right: SSAValue) -> SSAValue:
            op = kind.create(operands=[value, right], result_types=[value.type])
            op.location = self.location
            ops.append(op)
            return op.results[0]

        with builder.at(self.location):
            if self.lower != 0:
                lower = builder.constant(self.lower) if isinstance(self.lower, int) else self.lower
                value = append(arith.SubiOp, lower)
            if self.step != 1:
                value = append(arith.DivUIOp, builder.constant(self.step))
            value = append(arith.RemUIOp, builder.constant(count))
        first = self.block.first_op
        assert first is not None, "a loop body that holds a tile is not empty"
        self.block.insert_ops_before(ops, first)
        return value


@dataclass(eq=False)
class OwnedSet:
    """A slot set of ours for one plain tile."""

    tile: TileSpec
    alloc: AllocSlotsOp
    pipeline: Pipeline | None
    place: Place
    selects: list[SlotSelectOp] = field(default_factory=list[SlotSelectOp])
    named: bool = False
    """Named by the user's variable rather than by the op."""
    merged: "OwnedSet | None" = None
    """The set that this one has become a part of."""

    def set_name(self, name: str) -> None:
        """Rename in the IR."""
        self.alloc.properties["set_name"] = StringAttr(name)

    @property
    def root(self) -> "OwnedSet":
        """The set that this one belongs to in the end."""
        one = self
        while one.merged is not None:
            one = one.merged
        return one

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
    counts = {id(one): 1 for one in owned}
    used: dict[Space, int] = {}
    for tile, count in declared:
        used[tile.space] = used.get(tile.space, 0) + count * target.stride(tile.space, tile.footprint)
    warnings: list[Diagnostic] = []
    for space in Space:
        here = [one for one in owned if one.tile.space is space]
        if here:
            free = target.capacity[space] - used.get(space, 0)
            counts.update(_fit(here, free, target))
    for one in owned:
        count = counts[id(one)]
        asked = _asked(one)
        if count < asked:
            warnings.append(_hint(one, asked, count, target))
        if count > 1 and one.pipeline is not None:
            _rotate(one, count, one.pipeline.slot_index(count, builder), builder)
    return warnings


def _asked(one: OwnedSet) -> int:
    return 1 if one.pipeline is None else min(one.pipeline.stage, MAX_SLOTS)


def _fit(sets: Sequence[OwnedSet], free: int, target: Target) -> dict[int, int]:
    """As many slots as asked for, or the largest equal cap that fits, and what the small sets still can above it."""
    size = {id(one): target.stride(one.tile.space, one.tile.footprint) for one in sets}
    asked = {id(one): _asked(one) for one in sets}

    def total(counts: dict[int, int]) -> int:
        return sum(counts[key] * size[key] for key in counts)

    top = max(asked.values())
    for cap in range(top, 1, -1):
        counts = {key: min(want, cap) for key, want in asked.items()}
        if total(counts) <= free:
            break
    else:
        counts = dict.fromkeys(asked, 1)
    left = free - total(counts)
    for one in sorted(sets, key=lambda one: size[id(one)]):
        key = id(one)
        more = max(0, min(asked[key] - counts[key], left // size[key]))
        counts[key] += more
        left -= more * size[key]
    return counts


def _hint(one: OwnedSet, asked: int, count: int, target: Target) -> Diagnostic:
    stride = target.stride(one.tile.space, one.tile.footprint)
    capacity = target.capacity[one.tile.space]
    name = one.alloc.set_name.data
    return Diagnostic(
        f"'{name}' asked for {asked}, got {count}: {capacity:,} B of {spelling(one.tile.space)}, {stride:,} B a stage",
        one.place,
        help="a smaller tile or a smaller stage= would keep every stage apart",
        kind=COUNT,
        severity=Severity.WARNING,
    )


def _rotate(one: OwnedSet, count: int, index: SSAValue, builder: Builder) -> None:
    """Make the set `count` slots wide and let every selection follow the trip."""
    old = one.alloc
    one.alloc = AllocSlotsOp(old.set_name.data, count, one.tile, owned=True)
    builder.replace(old, one.alloc)
    for select in one.selects:
        select.operands = (one.alloc.slots, index)
