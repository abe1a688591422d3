"""Programs of slot reasoning, built by hand: `load(ring, i % 2)`, `loop(i, 0, n, ...)`."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pto_buf.dialect.table.row import Role
from pto_buf.errors import Place
from pto_buf.hw import Pipe, Space
from pto_buf.slots.bounds import bounds
from pto_buf.slots.program import Access, Block, Branch, Carried, Loop, Node, Op, Program, Release, SlotSet, While
from pto_buf.slots.simplify import apply
from pto_buf.slots.terms import Const, Fn, Opaque, Term, Var
from pto_buf.tile import TileSpec

_TILE = TileSpec(Space.VEC, 16, 64, "f32", 16, 64)

Number = Term | int


def term(number: Number) -> Term:
    return Const(number) if isinstance(number, int) else number


def binary(fn: Fn, left: Number, right: Number) -> Term:
    return apply(fn, term(left), term(right))


def add(left: Number, right: Number) -> Term:
    return binary(Fn.ADD, left, right)


def mod(left: Number, right: int) -> Term:
    return binary(Fn.REMU, left, right)


@dataclass
class Maker:
    """Gives out keys in program order; the key of a node is also the line of its place."""

    sets: list[SlotSet] = field(default_factory=list[SlotSet])
    _key: int = 0
    _variables: int = 0

    def _next(self) -> int:
        self._key += 1
        return self._key

    def ring(self, count: int, name: str = "r", owned: bool = False) -> SlotSet:
        slots = SlotSet(len(self.sets), name, count, _TILE, owned, Place("k", 0))
        self.sets.append(slots)
        return slots

    def argument(self, name: str, low: int = 0, high: int = (1 << 31) - 1) -> Var:
        self._variables += 1
        return Var(self._variables, name, low, high)

    def unknown(self, name: str, loop: int | None = None, low: int = 0, high: int = 1) -> Opaque:
        self._variables += 1
        return Opaque(self._variables, name, loop, low, high)

    def counter(self, name: str, lower: Number, upper: Number) -> Var:
        low, high = bounds(term(lower)).low, bounds(term(upper)).high - 1
        self._variables += 1
        return Var(self._variables, name, low, max(low, high))

    def op(self, name: str, pipe: Pipe, *accesses: Access, in_place: Iterable[str] = ()) -> Op:
        key = self._next()
        placed = tuple(replace(access, place=Place("k", key)) for access in accesses)
        return Op(key, name, (pipe,), placed, Place("k", key), frozenset(in_place))

    def load(self, slots: SlotSet, index: Number) -> Op:
        return self.op("load", Pipe.MTE2, Access(slots, term(index), Role.WRITE, "dst", None))

    def store(self, slots: SlotSet, index: Number, lease: int | None = None) -> Op:
        return self.op("store", Pipe.MTE3, Access(slots, term(index), Role.READ, "src", lease))

    def update(self, slots: SlotSet, index: Number) -> Op:
        return self.op("update", Pipe.V, Access(slots, term(index), Role.UPDATE, "dst", None))

    def release(self, slots: SlotSet, index: Number, lease: int | None = None) -> Release:
        key = self._next()
        return Release(key, slots, term(index), lease, Place("k", key), Place("k", key))

    def key(self) -> int:
        """The key of a loop or branch, taken before the nodes in it are made."""
        return self._next()

    def loop(
        self,
        key: int,
        var: Var,
        lower: Number,
        upper: Number,
        *body: Node,
        step: int = 1,
        carried: tuple[Carried, ...] = (),
    ) -> Loop:
        return Loop(key, var, term(lower), term(upper), Const(step), body, 1, Place("k", key), carried)

    def repeat(
        self,
        key: int,
        var: Var,
        condition: Term,
        before: Block,
        *after: Node,
        carried: tuple[Carried, ...] = (),
    ) -> While:
        return While(key, var, condition, before, after, Place("k", key), carried)

    def branch(self, key: int, condition: Term, then: Block, otherwise: Block = ()) -> Branch:
        return Branch(key, condition, then, otherwise, Place("k", key))

    def program(self, *body: Node) -> Program:
        return Program("kernel", tuple(self.sets), body)
