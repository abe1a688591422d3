"""`ptobuf-unroll-lanes`: unrolls loops by the number of trips after which their slots come back.

The copies of the body name slots and lanes by constants; a loop over the trips that are left over computes them.
Nothing changes its order. `pto_buf.fences.lanes` says which loops are worth it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import AddiOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from pto_buf.dialect.ptobuf import SetOp, SlotSelectOp, WaitOp
from pto_buf.dialect.tile_op import constant_of
from pto_buf.errors import UsageError
from pto_buf.fences.lanes import Lanes, Rotation, trips_together
from pto_buf.lowering.constants import Constants
from pto_buf.lowering.folding import fold
from pto_buf.lowering.grouping import Grouping, trip_count
from pto_buf.lowering.hoisting import repeatable
from pto_buf.slots.bounds import Interval
from pto_buf.slots.forms import Atoms
from pto_buf.slots.index_terms import IndexTerms
from pto_buf.slots.linear import Linear
from pto_buf.walking import functions, numbered, ops_in, ops_of


@dataclass(frozen=True)
class UnrollLanesPass(ModulePass):
    """auto, dynamic or unroll: see `pto_buf.fences.lanes.Lanes`."""

    name = "ptobuf-unroll-lanes"

    lanes: str = "auto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.lanes not in tuple(Lanes):
            raise UsageError(f"lanes={self.lanes} is no way out", f"there is: {', '.join(Lanes)}")
        for function in functions(op):
            _unroll(function, Lanes(self.lanes))


def _unroll(function: FuncOp, lanes: Lanes) -> None:
    constants = Constants(function)
    changed = False
    for loop in reversed(list(ops_of(function, ForOp))):  # inner ones first
        together = _together(function, loop, lanes)
        if together > 1:
            unrolling = _InOrder(loop, together, constants)
            unrolling.run()
            unrolling.peel()
            changed = True
    if changed:
        _name_by_constants(function, constants)
        fold(function)  # a copy whose trip is known takes one arm of a branch; what the other names may not exist
        _drop_unused(function)


def _together(function: FuncOp, loop: ForOp, lanes: Lanes) -> int:
    lower, step, count = constant_of(loop.lb), constant_of(loop.step), trip_count(loop)
    if lanes is Lanes.DYNAMIC or lower is None or step is None or step < 1 or count in (0, 1):
        return 1
    if lower != 0 and count is None:  # where its trips end would be more than the checker can follow
        return 1
    terms = _terms(function)
    counter = terms.loop(loop).var
    indices = [terms.of(use.operands[position]) for use, position in _indices(loop)]
    ops = sum(1 for _ in ops_in(loop)) - 1
    together = trips_together(Rotation(counter, lower, step, indices, ops), lanes)
    return together if count is None else min(together, count)


def _terms(function: FuncOp) -> IndexTerms:
    return IndexTerms(numbered(function))


def _indices(root: Operation) -> Iterator[tuple[Operation, int]]:
    """The ops that name a slot or a lane, with the position of the operand that does, constants left out."""
    for op in ops_in(root):
        if isinstance(op, SlotSelectOp | SetOp | WaitOp) and constant_of(op.operands[1]) is None:
            yield op, 1


class _InOrder(Grouping):
    """The trips of a group one behind the other."""

    def fill(self, block: Block) -> None:
        for trip in range(self.together):
            self.hand_over(trip)
            for op in self._body():
                block.add_op(op.clone(self.maps[trip]))

    def _body(self) -> Sequence[Operation]:
        return tuple(self.loop.body.block.ops)[:-1]

    def counted(self) -> tuple[ForOp, SSAValue]:
        """The loop runs while a whole group is left, and hands on where the next one would start.

        So that place is known to whoever has to prove what follows, and nothing divides.
        """
        loop, size = self.loop, self.times(self.loop.step, self.together)
        bound = self.sub(loop.ub, self.times(loop.step, self.together - 1))
        main = self.main(loop.lb, bound, size, None)
        block = main.body.block
        last = block.last_op
        assert isinstance(last, YieldOp)
        following = AddiOp(block.args[0], size)
        following.location = loop.location
        block.insert_op_before(following, last)
        block.insert_arg(loop.lb.type, len(block.args))
        last.operands = [*last.operands, following.result]
        found = ForOp(loop.lb, bound, size, [*loop.iter_args, loop.lb], main.detach_region(main.body))
        return found, found.results[-1]

    def peel(self) -> None:
        """Replaces the loop over the trips that are left over by these trips, where it is known how many there are."""
        loop, lower, step = self.loop, constant_of(self.loop.lb), constant_of(self.loop.step)
        parent = loop.parent
        count = trip_count(loop)
        if parent is None or count is None or lower is None or step is None:
            return
        values: Sequence[SSAValue] = tuple(loop.iter_args)
        last = loop.body.block.last_op
        assert last is not None
        for trip in range(count):
            counter = self.constants.index(lower + trip * step)
            known: dict[SSAValue, SSAValue] = dict(zip(loop.body.block.args, (counter, *values), strict=True))
            for op in self._body():
                parent.insert_op_before(op.clone(known), loop)
            values = [known.get(value, value) for value in last.operands]
        for old, new in zip(loop.results, values, strict=True):
            old.replace_all_uses_with(new)
        loop.detach()
        loop.erase()


def _name_by_constants(function: FuncOp, constants: Constants) -> None:
    """Replaces indices that are one number in all trips."""
    terms, atoms = _terms(function), Atoms()
    for loop in ops_in(function):
        step = constant_of(loop.step) if isinstance(loop, ForOp) else None
        if not isinstance(loop, ForOp) or step is None:
            continue
        found = terms.loop(loop)
        counter = atoms.form(found.lower)
        if trip_count(loop) != 1:
            trips = atoms.leaf(f"trip of {found.var.key}", Interval(0, found.var.high))
            counter += Linear(((trips, step),), 0)
        atoms.bind(found.var, counter)
    for op, position in _indices(function):
        form = atoms.form(terms.of(op.operands[position]))
        if not form.parts:
            op.operands[position] = constants.index(form.const)


def _drop_unused(function: FuncOp) -> None:
    """Erases arithmetic whose results nothing needs any more."""
    for op in reversed(list(ops_in(function))):
        used = any(result.first_use for result in op.results)
        if op.results and not used and op.parent is not function.body.block and repeatable(op):
            op.detach()
            op.erase()
