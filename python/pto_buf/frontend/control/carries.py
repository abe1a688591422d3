"""Names whose value passes from one trip of a loop to the next.

Numbers and slot indices travel as loop-carried values. A tensor is one handle. A tile of ours stays where it is: its
successor takes its place where nothing reads the old one any more, takes turns with it in two slots where something
does, and is copied where neither can be.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from pto_buf.dialect.ptobuf import SlotSelectOp
from pto_buf.frontend.buffers.interference import clobbers
from pto_buf.frontend.buffers.placement import OwnedSet, is_inside
from pto_buf.frontend.buffers.tiles import copied, into_place, is_unfilled, merge, owned_tile, seen_as, whatever
from pto_buf.frontend.builder import scalar_type
from pto_buf.frontend.context import Context
from pto_buf.frontend.control.joins import holds, reselected, slot_of
from pto_buf.frontend.frames import Frame
from pto_buf.frontend.kinds import SHAPE
from pto_buf.frontend.scalars import binary, bounds, convert, ssa
from pto_buf.frontend.syntax.flow import never_negative
from pto_buf.frontend.values import Number, Poison, Scalar, SlotSet, Static, Tensor, Tile, Value, describe


@dataclass
class Carry:
    """A carried name: `inner` in the body, `outer` for what a trip leaves; `before` is its value before the loop."""

    inner: str
    outer: str
    before: Value

    @property
    def slots(self) -> SlotSet | None:
        """The set of a carried slot of the user's: its index is what is carried."""
        slot = slot_of(self.before)
        return None if slot is None else slot.slots

    @property
    def is_number(self) -> bool:
        """Whether something travels as a value of the IR."""
        return self.slots is not None or isinstance(self.before, (Static, Scalar))

    @property
    def dtype(self) -> str:
        """The type of what travels."""
        match self.before:
            case Scalar():
                return self.before.dtype
            case Static(value=bool()):
                return "i1"
            case Static(value=float()):
                return "f32"
            case _:
                return "index"


class Numbers:
    """The carries that travel as values of the IR."""

    def __init__(self, ctx: Context, node: ast.stmt, body: Sequence[ast.stmt], carries: Sequence[Carry]):
        self._ctx = ctx
        self._node = node
        self._body = body
        self.carries = [carry for carry in carries if carry.is_number]

    def inits(self) -> list[SSAValue]:
        """What enters the first trip. Raises DiagnosticError for what cannot be carried."""
        return [self._init(carry) for carry in self.carries]

    def _init(self, carry: Carry) -> SSAValue:
        slot = slot_of(carry.before)
        if slot is not None:
            return ssa(self._ctx, slot.index)
        if isinstance(carry.before, Scalar):
            return carry.before.ssa
        if isinstance(carry.before, Static) and isinstance(carry.before.value, (int, float)):
            return ssa(self._ctx, carry.before, carry.dtype)
        raise self._ctx.error(
            self._node, f"'{carry.inner}' cannot be carried: it is {describe(carry.before)}", kind=SHAPE
        )

    def bind(self, arguments: Sequence[SSAValue]) -> None:
        """Bind the names at the start of a trip."""
        for carry, argument in zip(self.carries, arguments, strict=True):
            argument.name_hint = carry.inner
            self._ctx.scope.bindings[carry.inner] = self._value(carry, argument)

    def bind_after(self, results: Sequence[SSAValue], after: Mapping[str, Value]) -> None:
        """Bind the names behind the loop."""
        for carry, result in zip(self.carries, results, strict=True):
            result.name_hint = carry.outer
            poisoned = isinstance(after[carry.outer], Poison)
            self._ctx.scope.bindings[carry.outer] = Poison() if poisoned else self._value(carry, result)

    def _value(self, carry: Carry, value: SSAValue) -> Value:
        number = Scalar(value, carry.dtype, *self._bounds(carry))
        if carry.slots is None:
            return number
        return reselected(self._ctx, self._node, carry.slots, number, held=isinstance(carry.before, Tile))

    def _bounds(self, carry: Carry) -> tuple[int | None, int | None]:
        """A name that starts at or above 0 and is only added to stays there."""
        before = carry.before
        if not isinstance(before, (Static, Scalar)) or carry.dtype == "f32" or carry.inner != carry.outer:
            return None, None
        low = bounds(before)[0]
        names: dict[str, Value] = {name: Static(value) for name, value in self._ctx.globals.items()}
        names.update(self._ctx.scope.bindings)
        known = frozenset(name for name, value in names.items() if _positive(value))
        if low is not None and low >= 0 and never_negative(self._body, carry.inner, known):
            return 0, None
        return None, None

    def next(self, after: Mapping[str, Value], inits: Sequence[SSAValue]) -> list[SSAValue]:
        """What a trip hands to the next. Raises DiagnosticError for something of another kind."""
        return [self._next(carry, after[carry.outer], init) for carry, init in zip(self.carries, inits, strict=True)]

    def _next(self, carry: Carry, value: Value, init: SSAValue) -> SSAValue:
        ctx, dtype = self._ctx, carry.dtype
        if isinstance(value, Poison):
            return init
        if carry.slots is not None:
            slot = slot_of(value)
            if slot is not None and slot.slots is carry.slots:
                return ssa(ctx, slot.index)
        elif isinstance(value, Static) and isinstance(value.value, (int, float)):
            if scalar_type(dtype) is not None and (dtype == "f32" or not isinstance(value.value, float)):
                return ssa(ctx, value, dtype)
        elif isinstance(value, Scalar) and (value.dtype == "f32") == (dtype == "f32"):
            return convert(ctx, value, dtype).ssa
        raise ctx.error(
            self._node,
            f"'{carry.inner}' is {describe(carry.before)} before this loop and {describe(value)} after a trip",
            kind=SHAPE,
        )


def _positive(value: Value) -> bool:
    if isinstance(value, Static):
        return isinstance(value.value, int) and value.value >= 0
    return isinstance(value, Scalar) and value.lo is not None and value.lo >= 0


class Tiles:
    """The carried tiles of ours."""

    def __init__(self, ctx: Context, node: ast.stmt, carries: Sequence[Carry], live: Mapping[str, Value]):
        self._ctx = ctx
        self._node = node
        self.carries = [carry for carry in carries if isinstance(carry.before, Tile) and carry.slots is None]
        self._start: dict[str, Tile] = {}
        """Where each carried tile lies before the loop."""
        self._inside: dict[str, Tile] = {}
        self._turns: dict[str, bool] = {}
        self._outer = ctx.builder.block
        for carry in self.carries:
            self._start[carry.inner] = self._own(carry, live)
        self._unfilled = {name for name, start in self._start.items() if is_unfilled(start)}
        """Tiles that nothing has filled before the loop."""

    def _own(self, carry: Carry, live: Mapping[str, Value]) -> Tile:
        """The tile before the loop, in a buffer that no other name reads from here on."""
        tile = carry.before
        assert isinstance(tile, Tile) and tile.owned is not None
        if None in tile.spec.valid:
            raise self._ctx.error(
                self._node,
                f"'{carry.inner}' is carried though how much of it is valid is known only at run time",
                kind=SHAPE,
            )
        if tile.spec != tile.held:
            tile = seen_as(self._ctx, self._node, tile, tile.spec)
        assert tile.owned is not None
        root = tile.owned.root
        started = any(one.owned is not None and one.owned.root is root for one in self._start.values())
        if started or any(name != carry.inner and holds(value, root) for name, value in live.items()):
            return copied(self._ctx, self._node, tile, carry.inner)
        return tile

    def bind(self) -> None:
        """Bind the names at the start of a trip."""
        for carry in self.carries:
            start = self._start[carry.inner]
            assert start.owned is not None
            root = start.owned.root
            with self._ctx.at(self._node):
                inside = owned_tile(self._ctx, root, start.held, root.selects[start.select], start.folded)
            self._inside[carry.inner] = inside
            self._ctx.scope.bindings[carry.inner] = inside

    def next(self, after: Mapping[str, Value], block: Block, frame: Frame | None) -> None:
        """Settle where each tile that a trip leaves lies. `frame` is None where trips cannot be counted."""
        fresh: list[tuple[Carry, Tile]] = []
        taken: dict[OwnedSet, None] = {}
        for carry in self.carries:
            value = after[carry.outer]
            self._turns[carry.outer] = False
            if isinstance(value, Poison):
                continue
            if isinstance(value, Tile):
                self._narrow(carry, value, block)
            start = self._start[carry.inner]
            if not isinstance(value, Tile) or value.spec != start.spec or value.folded != start.folded:
                raise self._ctx.error(
                    self._node,
                    f"'{carry.inner}' is a tile before this loop and {_other(value)} after a trip",
                    kind=SHAPE,
                )
            if self._stays(value, self._inside[carry.inner]):
                continue
            exclusive = value.owned is not None and value.owned.root not in taken
            if not exclusive or not self._is_fresh(value, block):
                value = copied(self._ctx, self._node, value, carry.outer)
            assert value.owned is not None
            taken[value.owned.root] = None
            fresh.append((carry, value))
        for carry, value in fresh:
            self._settle(carry, value, block, frame)

    def _narrow(self, carry: Carry, value: Tile, block: Block) -> None:
        """What no op has filled before the loop nor reads as a whole in it is valid as far as what a trip leaves."""
        start = self._start[carry.inner]
        spec = start.spec.with_valid(*value.spec.valid)
        if carry.inner not in self._unfilled or value.spec != spec or None in spec.valid:
            return
        used = (one.slot for one in self._selects(self._inside[carry.inner], block) if any(True for _ in one.slot.uses))
        if spec != start.spec and all(slot.type.data.valid == spec.valid for slot in used):
            with self._ctx.builder.inside(self._outer):
                self._start[carry.inner] = seen_as(self._ctx, self._node, start, spec)

    @staticmethod
    def _stays(value: Tile, inside: Tile) -> bool:
        """Whether a tile lies where the one that entered the trip lies."""
        if value.owned is None or inside.owned is None or value.owned.root is not inside.owned.root:
            return False
        selects = inside.owned.root.selects
        return selects[value.select] is selects[inside.select]

    @staticmethod
    def _is_fresh(value: Tile, block: Block) -> bool:
        assert value.owned is not None
        root = value.owned.root
        return root.is_plain and all(is_inside(select, block) for select in root.selects)

    def _settle(self, carry: Carry, new: Tile, block: Block, frame: Frame | None) -> None:
        start, inside = self._start[carry.inner], self._inside[carry.inner]
        assert start.owned is not None and new.owned is not None
        old = self._selects(inside, block)
        if not any(clobbers(block, select.slot, new.owned.root.slots) for select in old):
            merge(self._ctx, start.owned, new.owned, start)
        elif frame is None:
            into_place(self._ctx, self._node, new, inside)
        else:
            self._take_turns(carry, new, frame, old)

    @staticmethod
    def _selects(inside: Tile, block: Block) -> list[SlotSelectOp]:
        """The selections in the body of what entered the trip, seen in whatever shape."""
        assert inside.owned is not None
        selects = inside.owned.root.selects
        here = selects[inside.select]
        return [select for select, index in selects.items() if index is here and is_inside(select, block)]

    def _take_turns(self, carry: Carry, new: Tile, frame: Frame, old: Sequence[SlotSelectOp]) -> None:
        """Two slots: a trip reads one and writes the other."""
        start, inside = self._start[carry.inner], self._inside[carry.inner]
        assert start.owned is not None and inside.owned is not None and new.owned is not None
        builder = self._ctx.builder
        root = start.owned.root
        shared = sum(one.owned is not None and one.owned.root is root for one in self._inside.values())
        if not root.is_plain or shared > 1:
            for select in old:
                del root.selects[select]
            with builder.inside(self._outer):
                start = copied(self._ctx, self._node, start, carry.inner)
            assert start.owned is not None
            self._start[carry.inner] = start
            root = start.owned.root
            for select in old:
                select.operands = (root.alloc.slots, select.index)
        for select in old:
            root.selects[select] = frame.slot_index(2, builder)
        for select in new.owned.root.selects:
            new.owned.root.selects[select] = frame.slot_index(2, builder, 1)
        merge(self._ctx, root, new.owned)
        for select, index in root.selects.items():
            if index is None:
                root.selects[select] = builder.constant(0)
        root.count = 2
        root.pipeline = None
        self._turns[carry.outer] = True

    def bind_after(self, after: Mapping[str, Value], trips: Callable[[], Number]) -> None:
        """Bind the names behind the loop. `trips` yields the number of trips: where two slots took turns it decides."""
        for carry in self.carries:
            start = self._start[carry.inner]
            assert start.owned is not None
            if isinstance(after[carry.outer], Poison):
                self._ctx.scope.bindings[carry.outer] = Poison()
            elif not self._turns[carry.outer]:
                self._ctx.scope.bindings[carry.outer] = whatever(start)
            else:
                with self._ctx.at(self._node):
                    index = ssa(self._ctx, binary(self._ctx, self._node, ast.Mod(), trips(), Static(2)))
                    self._ctx.scope.bindings[carry.outer] = owned_tile(
                        self._ctx, start.owned.root, start.held, index, start.folded
                    )


def _other(value: Value) -> str:
    if isinstance(value, Tile):
        spec = value.spec
        part = "" if spec.valid == spec.shape else f", valid as far as {list(spec.valid)}"
        return f"one of {list(spec.shape)} {spec.dtype} in {spec.space}{part}"
    return describe(value)


def same_tensor(value: Value, before: Tensor) -> bool:
    """Whether a trip leaves the tensor that entered it."""
    return isinstance(value, Tensor) and value.view is before.view
