"""What a name stands for behind a branch or loop that may have bound it."""

import ast
from dataclasses import dataclass

from xdsl.ir import SSAValue

from pto_buf.dialect.ptobuf import SlotSelectOp
from pto_buf.frontend.context import Context
from pto_buf.frontend.placement import OwnedSet
from pto_buf.frontend.scalars import bounds, common_type, ssa
from pto_buf.frontend.tiles import select_owned
from pto_buf.frontend.values import (
    Number,
    Poison,
    Scalar,
    Slot,
    SlotSet,
    Static,
    Tensor,
    Tile,
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


def same(left: Value, right: Value) -> bool:
    """Whether two values are one, so that it does not matter which arm ran."""
    if left is right:
        return True
    if isinstance(left, Static) and isinstance(right, Static):
        return type(left.value) is type(right.value) and left.value == right.value
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return left.view is right.view
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        return left.ssa is right.ssa
    return isinstance(left, Slot) and isinstance(right, Slot) and left.ssa is right.ssa


def phi(ctx: Context, node: ast.AST, name: str, then: Value, other: Value) -> Phi | None:
    """The number that has to leave the branch for `name`; None where none can or need."""
    if isinstance(then, Slot) and isinstance(other, Slot) and then.slots is other.slots:
        return Phi(name, then.index, other.index, "index", then.slots)
    if not _is_number(then) or not _is_number(other):
        return None
    assert isinstance(then, (Static, Scalar)) and isinstance(other, (Static, Scalar))
    if isinstance(then, Static) and isinstance(other, Static):
        kinds = {type(then.value), type(other.value)}
        if float in kinds:
            return Phi(name, then, other, "f32")
        return Phi(name, then, other, "i1" if kinds == {bool} else "index")
    return Phi(name, then, other, common_type(ctx, node, then, other))


def _is_number(value: Value) -> bool:
    return isinstance(value, Scalar) or (isinstance(value, Static) and isinstance(value.value, (int, float)))


def joined_number(ctx: Context, node: ast.AST, found: Phi, result: SSAValue) -> Value:
    """What `found` stands for behind the branch."""
    (a, b), (c, d) = bounds(found.then), bounds(found.other)
    lo = None if a is None or c is None else min(a, c)
    hi = None if b is None or d is None else max(b, d)
    number = Scalar(result, found.dtype, lo, hi) if found.dtype != "f32" else Scalar(result, "f32")
    return number if found.slots is None else reselected(ctx, node, found.slots, number)


def reselected(ctx: Context, node: ast.AST, slots: SlotSet, index: Number) -> Slot:
    """The slot of a set, selected again here."""
    with ctx.at(node):
        return Slot(slots, index, ctx.builder.add(SlotSelectOp(slots.ssa, ssa(ctx, index))).slot)


def joined_tile(ctx: Context, node: ast.AST, name: str, then: Value, other: Value) -> Value:
    """What a name stands for behind a branch that left `then` or `other`; anything but a number."""
    if same(then, other):
        return then
    if isinstance(then, Poison) or isinstance(other, Poison):
        return Poison()
    place = ctx.place(node)
    if isinstance(then, Tile) and isinstance(other, Tile):
        if then.slot is other.slot and then.spec.valid == other.spec.valid == then.spec.shape:
            return Tile(then.slot, then.slot, then.home, then.owned, place=place)
        if then.owned is not None and other.owned is not None and then.owned.tile == other.owned.tile:
            if then.spec != then.owned.tile or other.spec != then.owned.tile:
                return Unbound(place, "has a valid extent that depends on the branch taken; give both arms one extent")
            return owned_tile(ctx, merge(ctx, then.owned, other.owned))
    return Unbound(place, f"is {describe(then)} after one arm of this branch and {describe(other)} after the other")


def merge(ctx: Context, one: OwnedSet, other: OwnedSet) -> OwnedSet:
    """Make two sets of ours one: tiles that take turns under one name."""
    one, other = one.root, other.root
    if one is other:
        return one
    if one.pipeline is not other.pipeline:
        one.pipeline = None
    for select in other.selects:
        select.operands = (one.alloc.slots, select.index)
    one.selects += other.selects
    other.merged = one
    ctx.owned.remove(other)
    ctx.builder.drop(other.alloc)
    return one


def owned_tile(ctx: Context, owned: OwnedSet) -> Tile:
    """A tile of ours, selected here, standing for whatever it holds."""
    slot = select_owned(ctx, owned.root)
    return Tile(slot, slot, None, owned.root, place=owned.place)
