"""Folding of index arithmetic, branches and loops, by what index terms say of values in every run."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from pto_buf.dialect.ptobuf import SlotSelectOp
from pto_buf.kept import changed
from pto_buf.lowering.constants import Constants
from pto_buf.slots.bounds import ANY
from pto_buf.slots.forms import Atoms
from pto_buf.slots.index_terms import FIXED_OPS, IndexTerms
from pto_buf.slots.linear import Linear
from pto_buf.slots.nesting import bind_counter, is_counted, trips_of
from pto_buf.slots.program import Loop
from pto_buf.slots.terms import Opaque
from pto_buf.walking import numbered, ops_in


def fold(function: FuncOp) -> None:
    """Replaces what is constant, or equal to an earlier value, by that; inlines branches and loops that are decided.

    Two values are equal if their linear forms are: `(i * 4 + 3) // 4` with `i` is, `i % 2` after `i & 1` too. Two
    slot_selects of one set with equal indices become one. Nothing is moved.

    Calls `changed` for all but merging two slot_selects by one index: the slots that ops name are still those.
    """
    _Folding(function).block(function.body.block, _Known())


def remove_unused(function: FuncOp) -> None:
    """Erases ops without effect whose results nobody uses, and loops and branches that are left empty.

    Calls `changed` if slot reasoning saw one of them.
    """
    for op in reversed(list(ops_in(function))):
        if op.parent is not None and not any(result.first_use for result in op.results) and _is_idle(op):
            if op.regions or (isinstance(op, SlotSelectOp) and op.held is not None):
                changed(function)
            op.detach()
            op.erase()


def _is_idle(op: Operation) -> bool:
    if isinstance(op, scf.ForOp | scf.IfOp):
        return all(
            isinstance(inner, scf.YieldOp) for region in op.regions for block in region.blocks for inner in block.ops
        )
    if op.regions or isinstance(op, scf.YieldOp | scf.ConditionOp):
        return False
    return _is_arithmetic(op) or isinstance(op, SlotSelectOp) or is_side_effect_free(op)


def _is_arithmetic(op: Operation) -> bool:
    """xDSL calls most of arith free of effects, but not `remui`."""
    return op.dialect_name() == "arith"


@dataclass
class _Known:
    """Values that are available in a block, by what is the same for equal ones."""

    outer: "_Known | None" = None
    own: dict[Hashable, SSAValue] = field(default_factory=dict[Hashable, SSAValue])

    def setdefault(self, key: Hashable, value: SSAValue) -> SSAValue:
        scope: _Known | None = self
        while scope is not None:
            if key in scope.own:
                return scope.own[key]
            scope = scope.outer
        self.own[key] = value
        return value


class _Folding:
    """One walk over a function. Terms stay right while ops are replaced, since what replaces a value equals it."""

    def __init__(self, function: FuncOp):
        self._function = function
        self._terms = IndexTerms(numbered(function), arguments=ANY)
        self._atoms = Atoms()
        self._constants = Constants(function)
        self._numbers = 0

    def block(self, block: Block, known: _Known) -> None:
        """Folds a block, in which `known` is available."""
        for argument in block.args:
            key = self._key(argument)
            if key is not None:
                known.setdefault(key, argument)
        op = block.first_op
        while op is not None:
            op = self._op(op, known)

    def _op(self, op: Operation, known: _Known) -> Operation | None:
        """Folds one op. Yields the one to go on with."""
        match op:
            case scf.IfOp():
                return self._branch(op, known)
            case scf.ForOp():
                return self._loop(op, known)
            case SlotSelectOp() if op.held is None:
                key = (op.slots, self._key(op.index) or op.index, op.slot.type)
                return self._merged(op, key, known)
            case _ if op.results and (_is_arithmetic(op) or op.name in FIXED_OPS):
                return self._arithmetic(op, known)
            case _:
                return self._regions(op, known)

    def _regions(self, op: Operation, known: _Known) -> Operation | None:
        for region in op.regions:
            for block in region.blocks:
                self.block(block, _Known(known))
        return op.next_op

    # --- values ---

    def _form(self, value: SSAValue) -> Linear | None:
        """The form of an integer value whose origin is understood."""
        if not isinstance(value.type, IndexType | IntegerType):
            return None
        term = self._terms.of(value)
        return None if isinstance(term, Opaque) else self._atoms.form(term)

    def _key(self, value: SSAValue) -> Hashable | None:
        form = self._form(value)
        return None if form is None else (form, value.type)

    def _number(self, value: SSAValue) -> int | None:
        """The one number that the value can be."""
        form = self._form(value)
        held = None if form is None else self._atoms.used(form)
        return held.low if held is not None and held.is_point else None

    def _arithmetic(self, op: Operation, known: _Known) -> Operation | None:
        if len(op.results) != 1 or isinstance(op, arith.ConstantOp):
            return op.next_op
        (result,) = op.results
        number = self._number(result)
        if number is not None:
            return self._erased(op, [self._constants.get(number, cast(IndexType | IntegerType, result.type))])
        key = self._key(result)
        return op.next_op if key is None else self._merged(op, key, known)

    def _merged(self, op: Operation, key: Hashable, known: _Known) -> Operation | None:
        (result,) = op.results
        earlier = known.setdefault(key, result)
        if earlier is result:
            return op.next_op
        earlier.name_hint = earlier.name_hint or result.name_hint
        if isinstance(op, SlotSelectOp) and cast(SlotSelectOp, earlier.owner).index is op.index:
            return _replaced(op, [earlier])
        return self._erased(op, [earlier])

    # --- control flow ---

    def _branch(self, op: scf.IfOp, known: _Known) -> Operation | None:
        number = self._number(op.cond)
        if number is None:
            return self._regions(op, known)
        region = op.true_region if number else op.false_region
        if not region.blocks:
            return self._erased(op, ())
        return self._inlined(op, region.block, ())

    def _loop(self, op: scf.ForOp, known: _Known) -> Operation | None:
        found = self._terms.loop(op)
        loop = Loop(self._next(), found.var, found.lower, found.upper, found.step, (), 1, None)
        bind_counter(self._atoms, loop)
        trips = trips_of(loop) if is_counted(loop) else ANY
        if trips.high <= 0:
            return self._erased(op, op.iter_args)
        if trips.low == trips.high == 1:
            return self._inlined(op, op.body.block, (op.lb, *op.iter_args))
        return self._regions(op, known)

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers

    def _inlined(self, op: Operation, block: Block, arguments: Sequence[SSAValue]) -> Operation | None:
        """Puts the block in the op's place. What it yields are the op's results."""
        self._terms.forget(block)
        first, last = block.first_op, block.last_op
        assert last is not None
        yielded = tuple(last.operands)
        last.detach()
        last.erase()
        Rewriter.inline_block(block, InsertPoint.before(op), arguments)
        handed: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
        following = self._erased(op, [handed.get(value, value) for value in yielded])
        return following if first is last else first

    def _erased(self, op: Operation, values: Sequence[SSAValue]) -> Operation | None:
        changed(self._function)
        return _replaced(op, values)


def _replaced(op: Operation, values: Sequence[SSAValue]) -> Operation | None:
    """Erases the op and lets values stand for its results. Yields the op behind it."""
    following = op.next_op
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()
    return following
