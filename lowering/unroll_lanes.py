"""`ptobuf-unroll-lanes`: unrolls loops by the number of trips after which their slots come back.

The copies of the body name slots and lanes by constants; a loop over the trips that are left over computes them.
Nothing changes its order. `pto_buf.fences.lanes` says which loops are worth it. Both cores of a mixed kernel unroll a
loop alike: as long as they do the same trips, the checker can follow them side by side.
"""

from collections import Counter
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
from pto_buf.lowering.core_signals import PART_OF
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
        kernels: dict[object, list[FuncOp]] = {}
        for function in functions(op):
            kernels.setdefault(function.attributes.get(PART_OF, function), []).append(function)
        for parts in kernels.values():
            _unroll(parts, Lanes(self.lanes))


def _unroll(parts: Sequence[FuncOp], lanes: Lanes) -> None:
    """Unrolls the loops of a kernel, or of what each core does of a mixed one."""
    constants = {part: Constants(part) for part in parts}
    changed: dict[FuncOp, None] = {}
    for loops in reversed(_same_loops(parts)):  # inner ones first
        together = _together(loops, lanes)
        for part, loop in loops if together > 1 else ():
            unrolling = _InOrder(loop, together, constants[part])
            unrolling.run()
            unrolling.peel()
            changed[part] = None
    for part in changed:
        _name_by_constants(part, constants[part])
        fold(part)  # a copy whose trip is known takes one arm of a branch; what the other names may not exist
        _drop_unused(part)


_Loop = tuple[FuncOp, ForOp]


def _same_loops(parts: Sequence[FuncOp]) -> list[list[_Loop]]:
    """The loops of the parts of a kernel, outer ones first, together with what each other part has of the same one.

    They are of one place in the source; of several at one place, they come in one order in each part.
    """
    found: dict[tuple[object, int], list[_Loop]] = {}
    for part in parts:
        seen: Counter[object] = Counter()
        for loop in ops_of(part, ForOp):
            seen[loop.location] += 1
            found.setdefault((loop.location, seen[loop.location]), []).append((part, loop))
    return list(found.values())


def _together(loops: Sequence[_Loop], lanes: Lanes) -> int:
    rotations = [rotation for part, loop in loops if (rotation := _rotation(part, loop)) is not None]
    if lanes is Lanes.DYNAMIC or len(rotations) < len(loops):
        return 1
    counts = [count for _, loop in loops if (count := trip_count(loop)) is not None]
    return min([trips_together(rotations, lanes), *counts])


def _rotation(function: FuncOp, loop: ForOp) -> Rotation | None:
    """None for a loop that is not unrolled."""
    lower, step, count = constant_of(loop.lb), constant_of(loop.step), trip_count(loop)
    if lower is None or step is None or step < 1 or count in (0, 1):
        return None
    if lower != 0 and count is None:  # where its trips end would be more than the checker can follow
        return None
    terms = _terms(function)
    counter = terms.loop(loop).var
    indices = [terms.of(use.operands[position]) for use, position in _indices(loop)]
    return Rotation(counter, lower, step, indices, sum(1 for _ in ops_in(loop)) - 1)


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
