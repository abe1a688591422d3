"""From planned and fenced `ptobuf` to level-3 `pto`: addresses instead of slots, flags instead of events.

A slot named by a constant becomes one tile at a constant address, at the top of the kernel; one named by a computed
index becomes a tile at `addr + index * stride`, where it is selected. Each set and wait names a constant flag where
its lane is constant, and a computed one elsewhere.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.arith import AddiOp, IndexCastOp, MuliOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from pto_buf.dialect.groups import build
from pto_buf.dialect.pto import TILE_OPS, AllocTileOp, BarrierOp, SetFlagDynOp, SetFlagOp, WaitFlagDynOp, WaitFlagOp
from pto_buf.dialect.ptobuf import AllocSlotsOp, EventOp, ReleaseOp, SetOp, SlotSelectOp, WaitOp
from pto_buf.dialect.slot_op import ElementOp, IntoManyOp, IntoOp, SlotOp
from pto_buf.dialect.tile_op import constant_of, target_of
from pto_buf.dialect.types import EventType, TileBufType
from pto_buf.errors import DiagnosticError
from pto_buf.hw import EVENT_IDS, Pipe, Target
from pto_buf.lowering.allocate_events import event_ids
from pto_buf.lowering.constants import I64, Constants
from pto_buf.lowering.fenced import NOTES
from pto_buf.memory.footprint import slot_stride
from pto_buf.source import place_of
from pto_buf.walking import among, functions, ops_in, ops_of


@dataclass(frozen=True)
class ConvertToPtoPass(ModulePass):
    """ptobuf-convert-to-pto."""

    name: ClassVar[str] = "ptobuf-convert-to-pto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for function in functions(op):
            _Conversion(function, target).run()


_Converter = Callable[[Any], None]


class _Conversion:
    def __init__(self, function: FuncOp, target: Target):
        self.function = function
        self.target = target
        self.constants = Constants(function)
        self.fixed: dict[tuple[SSAValue, int, Attribute], SSAValue] = {}
        """The tile of each slot that a constant names, as it is seen."""
        self.derived: dict[Hashable, SSAValue] = {}
        """Addresses and flag numbers that were worked out, by the index and the numbers that they come from."""
        self.derived_last: dict[SSAValue, Operation] = {}
        self.ids: dict[SSAValue, Sequence[int]] = {}
        self.computed: tuple[Block, tuple[Pipe, Pipe]] | None = None
        """Where the first flag with a computed number stands, and between which pipes."""
        self.last_alloc: Operation | None = None
        """The tiles at constant addresses stand behind this op, in the order in which they are asked for."""
        self.converters: dict[type[Operation], _Converter] = {}

    def run(self) -> None:
        ops = list(ops_in(self.function))
        allocs = list(among(ops, AllocSlotsOp))
        events = list(among(ops, EventOp))
        self.last_alloc = allocs[-1] if allocs else None
        for op in ops:
            kind = type(op)
            if kind not in self.converters:
                self.converters[kind] = self._converter(kind)
            self.converters[kind](op)
        self._keep_static_flag()
        for op in (*events, *allocs):
            _remove(op)
        for note in NOTES:
            self.function.attributes.pop(note, None)

    def _converter(self, kind: type[Operation]) -> "_Converter":
        """What converts the ops of one class: each class is asked once for those that it is made from."""
        if issubclass(kind, ElementOp):
            return self._element
        if issubclass(kind, SlotOp):
            return self._tile_op
        own: Mapping[type[Operation], _Converter] = {
            SlotSelectOp: self._select,
            ReleaseOp: _remove,
            SetOp: self._flag,
            WaitOp: self._flag,
            ForOp: _forget_stage,
        }
        return own.get(kind, _leave)

    # --- slots ---

    def _select(self, op: Operation) -> None:
        select = cast(SlotSelectOp, op)
        index = constant_of(select.index)
        if index is None:
            tile = self._computed_tile(select)
        else:
            key = (select.slots, index, select.slot.type)
            if key not in self.fixed:
                self.fixed[key] = self._fixed_tile(select, index)
            tile = self.fixed[key]
        select.slot.replace_all_uses_with(tile)
        _remove(select)

    def _set(self, slots: SSAValue) -> tuple[AllocSlotsOp, int, int]:
        """The set's op, its first address and the distance of its slots, in bytes."""
        alloc = slots.owner
        assert isinstance(alloc, AllocSlotsOp)
        if alloc.addr is None:
            raise DiagnosticError.at(
                place_of(alloc),
                f"slot set '{alloc.set_name.data}' has no address",
                help="run ptobuf-plan-memory first",
                kind="pass-order",
            )
        tile = alloc.slots.type.data.tile
        return alloc, alloc.addr.value.data, slot_stride(tile, self.target)

    def _fixed_tile(self, select: SlotSelectOp, index: int) -> SSAValue:
        alloc, base, stride = self._set(select.slots)
        address = self.constants.i64(base + index * stride)
        op = build(AllocTileOp, [[address], [], []], [TileBufType(select.slot.type.data)])
        op.location = alloc.location
        op.tile.name_hint = _hint(alloc, index)
        assert self.last_alloc is not None
        block = self.last_alloc.parent
        assert block is not None
        block.insert_op_after(op, self.last_alloc)
        self.last_alloc = op
        return op.tile

    def _computed_tile(self, select: SlotSelectOp) -> SSAValue:
        alloc, base, stride = self._set(select.slots)
        address = self._derived(select.index, base, stride)
        place = _Before(select)
        tile = place(build(AllocTileOp, [[address], [], []], [TileBufType(select.slot.type.data)])).results[0]
        tile.name_hint = _hint(alloc, None)
        return tile

    def _derived(self, index: SSAValue, base: int, stride: int) -> SSAValue:
        """`base + index * stride` as i64, worked out once, where the index is."""
        number = self._once((index, "i64"), index, lambda: IndexCastOp(index, I64))
        scaled = self._once((index, stride), index, lambda: MuliOp(number, self.constants.i64(stride)))
        if base == 0:
            return scaled
        return self._once((index, stride, base), index, lambda: AddiOp(scaled, self.constants.i64(base)))

    def _once(self, key: Hashable, index: SSAValue, make: Callable[[], Operation]) -> SSAValue:
        """The result of the op with this key, made behind the others that were derived from the same index."""
        if key not in self.derived:
            op = make()
            owner = self.derived_last.get(index, index.owner)
            if isinstance(owner, Block):
                assert owner.first_op is not None
                op.location = owner.first_op.location
                owner.insert_op_before(op, owner.first_op)
            else:
                op.location = owner.location
                assert owner.parent is not None
                owner.parent.insert_op_after(op, owner)
            self.derived_last[index] = op
            self.derived[key] = op.results[0]
        return self.derived[key]

    # --- tile ops ---

    def _element(self, op: ElementOp) -> None:
        made = _Before(op)(build(TILE_OPS[op.row.mnemonic], [op.ins, ()], [op.value.type], op.attributes))
        op.value.replace_all_uses_with(made.results[0])
        _remove(op)

    def _tile_op(self, op: SlotOp) -> None:
        ins, outs = list(op.ins), list(op.outs)
        row = op.row
        if row.accumulates is not None:
            position = next(i for i, operand in enumerate(row.ins) if operand.name == row.accumulates)
            ins.insert(position, outs[0])
        place = _Before(op)
        written = op.written
        extents = iter(op.valid if written and isinstance(op, IntoOp | IntoManyOp) else ())
        for position, value in written:
            outs[position] = self._written_tile(value, outs[position], extents, place)
        place(build(TILE_OPS[row.mnemonic], [ins, outs], (), op.attributes))
        for position, value in written:
            value.replace_all_uses_with(outs[position])
        _remove(op)

    def _written_tile(self, value: SSAValue, tile: SSAValue, extents: Iterator[SSAValue], place: "_Before") -> SSAValue:
        """The tile that an op writes: the slot's own, or a narrower one at the same address."""
        if tile.type == value.type:
            return tile
        alloc = tile.owner
        assert isinstance(alloc, AllocTileOp) and alloc.addr is not None
        spec = cast(TileBufType, value.type).data
        rows, cols = ([next(extents)] if extent is None else [] for extent in spec.valid)
        return place(build(AllocTileOp, [[alloc.addr], rows, cols], [value.type])).results[0]

    # --- flags ---

    def _flag(self, op: Operation) -> None:
        event, number = op.operands
        spec = cast(EventType, event.type).data
        ids = self.ids.get(event)
        if ids is None:
            ids = self.ids[event] = self._ids(op, event)
        static, dynamic = (SetFlagOp, SetFlagDynOp) if isinstance(op, SetOp) else (WaitFlagOp, WaitFlagDynOp)
        lane = constant_of(number)
        place = _Before(op)
        if lane is not None:
            place(static(spec.src, spec.dst, ids[lane]))
        elif spec.lanes == 1:
            place(static(spec.src, spec.dst, ids[0]))
        else:
            place(dynamic(spec.src, spec.dst, self._flag_number(number, ids[0])))
            if self.computed is None:
                self.computed = place.block, (spec.src, spec.dst)
        _remove(op)

    def _keep_static_flag(self) -> None:
        """One pair of constant flags before the last barrier, where there are computed ones alone.

        pypto's assembler puts flags of its own into a function that has no constant one, and they clash. No event has
        the pair's number, so that nothing of it may still be pending; none of its source has it if that can be.
        """
        if self.computed is None or any(ops_of(self.function, SetFlagOp)):
            return
        block, (src, dst) = self.computed
        used = {
            (spec.src, spec.dst, number)
            for event, ids in self.ids.items()
            for spec in (cast(EventType, event.type).data,)
            for number in ids
        }
        keys = (
            (one, other, number) for number in reversed(range(EVENT_IDS)) for one, other in ((dst, src), (src, dst))
        )
        of_source = {(one, number) for one, _, number in used}
        free = [key for key in keys if key not in used]
        flag = min(free, key=lambda key: (key[0], key[2]) in of_source, default=None)
        last: Operation | None = None
        while block is not None:
            last = next((op for op in reversed(list(block.ops)) if _is_last_barrier(op)), last)
            parent = block.parent_op()
            block = None if parent is None or parent is self.function else parent.parent
        if last is not None and flag is not None:
            place = _Before(last)
            place(SetFlagOp(*flag))
            place(WaitFlagOp(*flag))

    @staticmethod
    def _ids(user: Operation, value: SSAValue) -> Sequence[int]:
        event = value.owner
        assert isinstance(event, EventOp)
        if event.ids is None:
            raise DiagnosticError.at(
                place_of(user),
                f"event '{event.event_name.data}' has no ids",
                help="run ptobuf-allocate-events first",
                kind="pass-order",
            )
        return event_ids(event)

    def _flag_number(self, lane: SSAValue, first: int) -> SSAValue:
        if first == 0:
            return lane
        return self._once((lane, "id", first), lane, lambda: AddiOp(lane, self.constants.index(first)))


def _is_last_barrier(op: Operation) -> bool:
    return isinstance(op, BarrierOp) and op.pipe.data is Pipe.ALL


class _Before:
    """Inserts ops before one, at its location."""

    def __init__(self, anchor: Operation):
        self.anchor = anchor
        assert anchor.parent is not None
        self.block = anchor.parent

    def __call__(self, op: Operation) -> Operation:
        op.location = self.anchor.location
        self.block.insert_op_before(op, self.anchor)
        return op


def _remove(op: Operation) -> None:
    op.detach()
    op.erase()


def _leave(op: Operation) -> None:
    pass


def _forget_stage(loop: Operation) -> None:
    loop.attributes.pop("ptobuf.stage", None)


def _hint(alloc: AllocSlotsOp, index: int | None) -> str | None:
    name = alloc.set_name.data if index is None else f"{alloc.set_name.data}_{index}"
    return name if SSAValue.is_valid_name(name) else None
