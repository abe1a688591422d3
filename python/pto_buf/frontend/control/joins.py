"""What a name stands for behind a branch that may have bound it."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, SSAValue

from pto_buf.dialect.ptobuf import SlotSelectOp
from pto_buf.frontend.buffers.interference import clobbers
from pto_buf.frontend.buffers.placement import OwnedSet, is_inside
from pto_buf.frontend.buffers.tiles import copied, merge, owned_tile, seen_as, whatever
from pto_buf.frontend.context import Context
from pto_buf.frontend.scalars import bounds, common_type, ssa
from pto_buf.frontend.values import (
    Number,
    Poison,
    Scalar,
    Slot,
    SlotSet,
    Static,
    Tensor,
    Tile,
    Tuple,
    Unbound,
    Value,
    describe,
)


@dataclass
class Phi:
    """A number that differs between two arms: what each yields, and the type in which they meet."""

    name: str
    then: Number
    other: Number
    dtype: str
    slots: SlotSet | None = None
    """The set whose slot index this is."""
    held: bool = False
    """Whether what the slot holds is meant, rather than the slot."""


def same(left: Value, right: Value) -> bool:
    """Whether two values are one, so that it does not matter which arm ran."""
    if left is right:
        return True
    if isinstance(left, Static) and isinstance(right, Static):
        return type(left.value) is type(right.value) and left.value == right.value
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return left.view is right.view
    if isinstance(left, Tile) and isinstance(right, Tile):
        return left.ssa is right.ssa
    return isinstance(left, (Scalar, Slot)) and isinstance(right, (Scalar, Slot)) and left.ssa is right.ssa


def is_number(value: Value) -> bool:
    """Whether a value is a number, known or not."""
    return isinstance(value, Scalar) or (isinstance(value, Static) and isinstance(value.value, (int, float)))


def slot_of(value: Value) -> Slot | None:
    """The user's slot that a value is, or that the tile it is lies in."""
    if isinstance(value, Slot):
        return value
    return value.home if isinstance(value, Tile) else None


def phi(ctx: Context, node: ast.AST, name: str, then: Value, other: Value) -> Phi | None:
    """The number that has to leave the branch for `name`; None where none can or need."""
    one, two = slot_of(then), slot_of(other)
    if one is not None and two is not None and one.slots is two.slots and one.ssa is not two.ssa:
        held = isinstance(then, Tile) and isinstance(other, Tile)
        return Phi(name, one.index, two.index, "index", one.slots, held)
    if not is_number(then) or not is_number(other):
        return None
    assert isinstance(then, (Static, Scalar)) and isinstance(other, (Static, Scalar))
    if isinstance(then, Static) and isinstance(other, Static):
        kinds = {type(then.value), type(other.value)}
        if float in kinds:
            return Phi(name, then, other, "f32")
        return Phi(name, then, other, "i1" if kinds == {bool} else "index")
    return Phi(name, then, other, common_type(ctx, node, then, other))


def joined_number(ctx: Context, node: ast.AST, found: Phi, result: SSAValue) -> Value:
    """What `found` stands for behind the branch."""
    if found.dtype == "f32":
        return Scalar(result, "f32")
    (a, b), (c, d) = bounds(found.then), bounds(found.other)
    lo = None if a is None or c is None else min(a, c)
    hi = None if b is None or d is None else max(b, d)
    number = Scalar(result, found.dtype, lo, hi)
    return number if found.slots is None else reselected(ctx, node, found.slots, number, held=found.held)


def reselected(ctx: Context, node: ast.AST, slots: SlotSet, index: Number, *, held: bool) -> Slot:
    """The slot of a set, selected again here; `held` where what it holds now is meant."""
    with ctx.at(node):
        return Slot(slots, index, ctx.builder.add(SlotSelectOp(slots.ssa, ssa(ctx, index), held=held)).slot)


def taken_up(ctx: Context, node: ast.AST, value: Value) -> Value:
    """A tile in a slot of the user's that both arms wrote: what the slot holds here."""
    if not isinstance(value, Tile) or value.owned is not None or value.home is None:
        return value
    with ctx.at(node):
        select = ctx.builder.add(SlotSelectOp(value.select.slots, value.select.index, value.spec, held=True))
    return replace(value, ssa=select.slot, slot=select.slot, valid=())


@dataclass
class Arm:
    """One arm of a branch: where its ops stand and what it made of a name."""

    block: Block
    value: Value


class TileJoin:
    """Joins the tiles that the arms of one branch leave under a name."""

    def __init__(self, ctx: Context, node: ast.If, live: Sequence[tuple[str, Value]]):
        self._ctx = ctx
        self._node = node
        self._live = live
        """Names read behind the branch, each with what it is after an arm or without one."""
        self._taken: dict[OwnedSet, None] = {}

    def join(self, name: str, then: Arm, other: Arm) -> Value:
        """What `name` stands for behind the branch. Raises DiagnosticError where two values would need one buffer."""
        place = self._ctx.place(self._node)
        if isinstance(then.value, Poison) or isinstance(other.value, Poison):
            return Poison()
        if not isinstance(then.value, Tile) or not isinstance(other.value, Tile):
            return Unbound(
                place,
                f"is {describe(then.value)} after one arm of this branch and {describe(other.value)} after the other",
            )
        if (
            then.value.spec != other.value.spec
            or then.value.valid != other.value.valid
            or (then.value.folded != other.value.folded)
        ):
            return Unbound(place, "has another shape, type or valid extent in each arm of this branch")
        if None in then.value.spec.valid:
            return Unbound(
                place,
                "has a valid extent known only at run time, which no op gives it behind this branch",
                "use it inside the arms that make it",
            )
        if then.value.slot is other.value.slot:
            return self._left(then.value)
        self._own(name, then)
        self._own(name, other)
        if not self._is_fresh(then) and not self._is_fresh(other):
            self._copy(name, other)
        kept, fresh = (then, other) if self._is_fresh(other) else (other, then)
        if not self._is_fresh(kept) and not self._updates(name, kept, fresh):
            self._copy(name, kept)
        old, new = self._owned(kept), self._owned(fresh)
        if self._is_fresh(kept):
            root = merge(self._ctx, old, new)
            self._taken[root] = None
            return owned_tile(self._ctx, root, then.value.spec, folded=then.value.folded)
        assert isinstance(kept.value, Tile)
        self._taken[merge(self._ctx, old, new, kept.value)] = None
        return self._left(kept.value)

    def _left(self, tile: Tile) -> Tile:
        """What lies in the buffer of a tile behind the branch, with the extent that both arms give it."""
        if tile.spec == tile.held or tile.owned is None:
            return tile if tile.owned is None else whatever(tile)
        return seen_as(self._ctx, self._node, tile, tile.spec)

    @staticmethod
    def _owned(arm: Arm) -> OwnedSet:
        assert isinstance(arm.value, Tile) and arm.value.owned is not None
        return arm.value.owned.root

    def _is_fresh(self, arm: Arm) -> bool:
        """Whether the arm itself made the tile it leaves."""
        value = arm.value
        assert isinstance(value, Tile)
        owned = value.owned
        return owned is not None and all(is_inside(select, arm.block) for select in owned.root.selects)

    def _own(self, name: str, arm: Arm) -> None:
        """Copy what the arm leaves where it lies in a slot of the user's or is another name's already."""
        value = arm.value
        assert isinstance(value, Tile)
        if value.owned is None or value.owned.root in self._taken:
            self._copy(name, arm)

    def _copy(self, name: str, arm: Arm) -> None:
        assert isinstance(arm.value, Tile)
        with self._ctx.builder.inside(arm.block):
            arm.value = copied(self._ctx, self._node, arm.value, name)

    def _updates(self, name: str, kept: Arm, fresh: Arm) -> bool:
        """Whether the tile that one arm makes may take the place of the one that the other arm keeps."""
        old, root = kept.value, self._owned(kept)
        assert isinstance(old, Tile)
        if any(other != name and holds(value, root) for other, value in self._live):
            return False
        slots = self._owned(fresh).slots
        return not any(clobbers(fresh.block, value, slots) for value in (*root.slots, old.ssa))


def holds(value: Value, root: OwnedSet) -> bool:
    """Whether a value is, or contains, a tile of the set."""
    if isinstance(value, Tuple):
        return any(holds(item, root) for item in value.items)
    return isinstance(value, Tile) and value.owned is not None and value.owned.root is root
