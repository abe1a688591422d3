"""From a loop of the `ptobuf` dialect to its steps and what they touch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from pto_buf.dialect.pto import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.ptobuf import AllocSlotsOp, ReleaseOp, SlotSelectOp
from pto_buf.dialect.slot_op import SlotOp
from pto_buf.dialect.table.row import Kind, Role
from pto_buf.memory.lives import private_loops
from pto_buf.schedule.grouping import Clash, Use, first_clash
from pto_buf.schedule.trips import Trips, Window, may_be_equal, may_overlap
from pto_buf.slots.build import Built, build
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.index_terms import IndexTerms
from pto_buf.slots.program import Block, Branch, Loop, Op, Release, While
from pto_buf.slots.simplify import apply
from pto_buf.slots.terms import Const, Fn, Term
from pto_buf.source import place_of

Where = Term | Window | None
"""A slot by its index, or a window of a tensor; None for the whole tensor."""

SLOT_SET, TILE, TENSOR = "slot set", "the compiler's tile", "tensor"
"""What sets of the user's and of the compiler's are called, and what lies in global memory."""

_STRUCTURE = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp)


def is_innermost(loop: scf.ForOp) -> bool:
    """Whether the loop works on tiles, but holds no loop that does."""
    return _touches(loop) and not any(
        isinstance(op, scf.ForOp | scf.WhileOp) and op is not loop and _touches(op) for op in loop.walk()
    )


def _touches(op: Operation) -> bool:
    return any(isinstance(inner, SlotOp | ReleaseOp) for inner in op.walk())


def _is_arithmetic(op: Operation) -> bool:
    """Whether the op only works out values. (xDSL does not say so of a division, since its divisor may be 0.)"""
    if op.regions:
        inner = (inner for region in op.regions for block in region.blocks for inner in block.ops)
        return isinstance(op, scf.IfOp) and all(_is_arithmetic(one) for one in inner)
    return op.dialect_name() == "arith" or isinstance(op, scf.YieldOp) or is_side_effect_free(op)


# --- steps ---------------------------------------------------------------------------------------------------------


@dataclass
class Steps:
    """The body of a loop: arithmetic that can be worked out ahead of all else, and the steps behind it.

    `late` holds what is known only behind a step, the loop's carried values among it, and `made_by` says which step.
    """

    ahead: list[Operation] = field(default_factory=list[Operation])
    steps: list[list[Operation]] = field(default_factory=list[list[Operation]])
    late: set[SSAValue] = field(default_factory=set[SSAValue])
    made_by: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])


def steps_of(loop: scf.ForOp, pieces: Mapping[Operation, Operation]) -> Steps:
    """Divide the body of a loop. Ops with the same first piece are one step."""
    block = loop.body.block
    last = block.last_op
    assert isinstance(last, scf.YieldOp)
    late: set[SSAValue] = set()
    while True:
        found = _divide(loop, late, pieces)
        # What a step yields is there only behind it, so what the next trip makes of it is not ahead either.
        more = {arg for arg, value in zip(block.args[1:], last.operands, strict=True) if value in found.late}
        if more <= late:
            return found
        late |= more


def _divide(loop: scf.ForOp, late: set[SSAValue], pieces: Mapping[Operation, Operation]) -> Steps:
    found = Steps(late=set(late))
    number: dict[Operation, int] = {}
    for op in loop.body.block.ops:
        if op is loop.body.block.last_op:
            continue
        if _is_arithmetic(op) and not any(value in found.late for inner in op.walk() for value in inner.operands):
            found.ahead.append(op)
            continue
        first = pieces.get(op)
        step = number.get(op if first is None else first)
        if step is None:
            step = len(found.steps)
            found.steps.append([])
        number[op] = step
        found.steps[step].append(op)
        found.late.update(op.results)
        found.made_by.update(dict.fromkeys(op.results, step))
    return found


# --- what they touch -----------------------------------------------------------------------------------------------


class Kernel:
    """A function before its loops are rewritten."""

    def __init__(self, func: FuncOp):
        self.built: Built = build(func)
        self.keys = self.built.keys
        self.nodes = dict(_nodes(self.built.program.body))
        self.terms = IndexTerms(self.keys)
        self.private = private_loops(self.built.program)
        self._layouts: dict[SSAValue, tuple[object, ...]] = {}

    def body(self, loop: scf.ForOp) -> "Body":
        return Body(self, loop)

    def slot_uses(self, step: int, op: SlotOp | ReleaseOp) -> Iterator[Use[Where]]:
        """The slots that an op touches. Ending a lease counts as writing it."""
        key = self.keys[op]
        node = self.nodes.get(key)
        if isinstance(node, Release):
            touched = [(node.slots, Role.WRITE)]
        else:
            touched = [(access.slots, access.role) for access in node.accesses] if node is not None else []
        for number, (slots, role) in enumerate(touched):
            index = self.terms.of(self.built.indices[SiteKey(key, number)]) if slots.count > 1 else Const(0)
            name = f"{TILE if slots.owned else SLOT_SET} '{slots.name}'"
            yield Use(step, slots.key, name, index, role, _spelt(op), place_of(op))

    def tensor_uses(self, step: int, op: SlotOp) -> Iterator[Use[Where]]:
        """The windows of global memory that an op touches. Raises LookupError for one whose tensor is not known."""
        for operand, value in op.named_operands():
            if operand.kind is Kind.VIEW:
                tensor, window = self._window(value)
                name = f"{TENSOR} '{tensor.name_hint or tensor.index}'"
                yield Use(step, -1 - tensor.index, name, window, operand.role, _spelt(op), place_of(op))

    def _window(self, view: SSAValue) -> tuple[BlockArgument, Window | None]:
        part = view.owner
        whole = part.source.owner if isinstance(part, PartitionViewOp) else part
        if not isinstance(whole, MakeTensorViewOp) or not isinstance(whole.ptr, BlockArgument):
            raise LookupError
        if not isinstance(part, PartitionViewOp):
            return whole.ptr, None
        layout = (whole.view.type, *(self.terms.of(stride) for stride in whole.strides))
        if self._layouts.setdefault(whole.ptr, layout) != layout:
            return whole.ptr, None
        offsets, sizes = (tuple(self.terms.of(value) for value in group) for group in (part.offsets, part.sizes))
        return whole.ptr, Window(offsets, sizes)

    def trips(self, loop: scf.ForOp) -> Trips:
        found = self.terms.loop(loop)
        inner = {entry.var for entry in found.carried}
        loops = {self.keys[loop]}
        for op in loop.walk():
            if isinstance(op, scf.ForOp | scf.WhileOp) and op is not loop:
                one = self.terms.loop(op)
                inner.update([one.var, *(entry.var for entry in one.carried)])
                loops.add(self.keys[op])
        return Trips(found.var, found.lower, found.step, frozenset(inner), frozenset(loops))


def _nodes(block: Block) -> Iterator[tuple[int, Op | Release]]:
    for node in block:
        match node:
            case Op() | Release():
                yield node.key, node
            case Branch():
                yield from _nodes(node.then)
                yield from _nodes(node.otherwise)
            case Loop():
                yield from _nodes(node.body)
            case While():
                yield from _nodes(node.before)
                yield from _nodes(node.after)


def _spelt(op: Operation) -> str:
    return op.name.removeprefix("ptobuf.").removesuffix("_into")


@dataclass(frozen=True)
class Grant:
    """How many trips of a loop may run together, and what keeps more of them apart.

    `widened` are the compiler's sets that need a slot for each of these trips.
    """

    trips: int
    clash: Clash[Where] | None
    widened: tuple[AllocSlotsOp, ...]


@dataclass
class Body:
    """One loop of a kernel."""

    kernel: Kernel
    loop: scf.ForOp

    @cached_property
    def _steps(self) -> Steps:
        return steps_of(self.loop, {})

    def obstacle(self) -> tuple[Operation, str] | None:
        """An op that no trip can be moved across, and why."""
        for step in self._steps.steps:
            for op in (inner for one in step for inner in one.walk()):
                if not isinstance(op, (SlotOp, ReleaseOp, *_STRUCTURE)) and not _is_arithmetic(op):
                    return op, f"'{op.name}' keeps its place among all other ops"
                if isinstance(op, SlotOp):
                    try:
                        list(self.kernel.tensor_uses(0, op))
                    except LookupError:
                        return op, f"'{_spelt(op)}' works on a tensor that is no argument of the kernel"
        return self._handed_over_late()

    def _handed_over_late(self) -> tuple[Operation, str] | None:
        """A step that needs what the trip before makes in a later step."""
        found = self._steps
        last = self.loop.body.block.last_op
        assert last is not None
        ready = max((found.made_by[value] for value in last.operands if value in found.made_by), default=0)
        carried = set(self.loop.body.block.args[1:]) & found.late
        for step in found.steps[:ready]:
            for op in (inner for one in step for inner in one.walk()):
                if any(value in carried for value in op.operands):
                    return op, f"'{_spelt(op)}' needs what the trip before makes after it"
        return None

    def grant(self, most: int, *, widen: bool) -> Grant:
        """As many of `most` trips as may run together; with `widen` the compiler's tiles get slots for it."""
        uses = list(self._uses())
        private = self._private() if widen else {}
        counter = self._trip_term(most)
        rotated = [replace(use, where=counter) if use.thing in private else use for use in uses]
        clash = first_clash(rotated, most, self._meets)
        trips = most if clash is None else clash.distance
        widened = [
            alloc
            for key, alloc in private.items()
            if first_clash([use for use in uses if use.thing == key], trips, self._meets) is not None
        ]
        return Grant(trips, clash, tuple(widened))

    def _uses(self) -> Iterator[Use[Where]]:
        for number, step in enumerate(self._steps.steps):
            for op in (inner for one in step for inner in one.walk()):
                if isinstance(op, SlotOp | ReleaseOp):
                    yield from self.kernel.slot_uses(number, op)
                if isinstance(op, SlotOp):
                    yield from self.kernel.tensor_uses(number, op)

    @cached_property
    def _trips(self) -> Trips:
        return self.kernel.trips(self.loop)

    def _meets(self, first: Where, second: Where, distance: int) -> bool:
        if isinstance(first, Window) and isinstance(second, Window):
            return may_overlap(first, second, self._trips, distance)
        if first is None or second is None or isinstance(first, Window) or isinstance(second, Window):
            return True
        return may_be_equal(first, second, self._trips, distance)

    def _trip_term(self, most: int) -> Term:
        since = apply(Fn.SUB, self._trips.counter, self._trips.lower)
        return apply(Fn.REMU, apply(Fn.DIVU, since, self._trips.step), Const(most))

    def _private(self) -> dict[int, AllocSlotsOp]:
        """The compiler's sets of one slot that live within a trip, and whose every mention is inside the loop."""
        if not isinstance(self.loop.body.block.args[0].type, IndexType):
            return {}
        found: dict[int, AllocSlotsOp] = {}
        for key, alloc in self.kernel.built.sets.items():
            if alloc.owned is None or alloc.addr is not None or alloc.slots.type.data.count != 1:
                continue
            users = [use.operation for use in alloc.slots.uses]
            inside = all(isinstance(user, SlotSelectOp) and self.loop.is_ancestor(user) for user in users)
            if inside and self.kernel.keys[self.loop] in self.kernel.private.get(key, frozenset()):
                found[key] = alloc
        return found
