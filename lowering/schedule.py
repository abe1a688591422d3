"""`ptobuf-schedule`: runs neighbouring trips of a loop side by side.

With F trips together, the loop

    for i in n:  load, compute, store

becomes, for the trips that fill groups, and itself for those that are left over,

    for i in n by F:  load(i) load(i+1) ..  compute(i) compute(i+1) ..  store(i) store(i+1) ..

Order changes, nothing else: each copy works out its slot index for its own trip. A loop inside is one step, whose
copies follow one another. Where a step must not pass another, fewer trips run together, and the user is told why.
"""

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from pto_buf.dialect.tile_op import constant_of
from pto_buf.errors import Diagnostic, DiagnosticError, Note, UsageError, collecting_warnings, warn
from pto_buf.lowering.constants import Constants
from pto_buf.lowering.plan_memory import functions, plan_of
from pto_buf.schedule.collect import SLOT_SET, TILE, Body, Grant, Kernel, Where, is_innermost, steps_of
from pto_buf.schedule.grouping import Clash
from pto_buf.schedule.widen import widen_sets
from pto_buf.slots.build import STAGE_ATTRIBUTE
from pto_buf.source import place_of


@dataclass(frozen=True)
class SchedulePass(ModulePass):
    """Groups trips as `ptobuf.stage` on the loops asks for; `interleave` overrides it on all innermost loops."""

    name = "ptobuf-schedule"

    interleave: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.interleave is not None and self.interleave < 1:
            raise UsageError(f"interleave={self.interleave} is not a number of trips", "1 leaves loops as they are")
        for func in tuple(functions(op)):
            self._function(func)

    def _function(self, func: FuncOp) -> None:
        if not any(self._asked(op) > 1 for op in func.walk() if isinstance(op, scf.ForOp)):
            _forget(func)
            return
        overflow: Diagnostic | None = None
        for widen in (True, False):
            trial = _beside(func)
            with collecting_warnings() as said:
                changed = self._schedule(trial, widen)
            overflow = _overflow(trial) if changed else None
            if overflow is None or _overflow(func) is not None:  # what overflows anyway the plan will report
                func.detach()
                func.erase()
                _forget(trial)
                for one in said:
                    warn(one.place, one.message, *one.notes, help=one.help, kind=one.kind)
                return
            trial.detach()
            trial.erase()
        assert overflow is not None
        message = f"trips of '{func.sym_name.data}' stay one after another: side by side, {overflow.message}"
        warn(place_of(func), message, *overflow.notes, help=overflow.help, kind="schedule")
        _forget(func)

    def _schedule(self, func: FuncOp, widen: bool) -> bool:
        """Group what may be grouped. Whether anything changed."""
        loops = [op for op in func.walk() if isinstance(op, scf.ForOp)]
        kernel, asked = Kernel(func), {loop: self._asked(loop) for loop in loops}
        grants = {loop: _granted(kernel.body(loop), trips, widen) for loop, trips in asked.items() if trips > 1}
        constants, pieces = Constants(func), dict[Operation, Operation]()
        for loop in reversed(loops):  # inner loops come behind outer ones
            grant = grants.get(loop)
            if grant is not None and grant.trips > 1:
                widen_sets(loop, grant.widened, grant.trips, constants)
                _Grouping(loop, grant.trips, constants, pieces).run()
        return any(grant.trips > 1 for grant in grants.values())

    def _asked(self, loop: scf.ForOp) -> int:
        if self.interleave is not None and is_innermost(loop):
            return self.interleave
        stage = loop.attributes.get(STAGE_ATTRIBUTE)
        return stage.value.data if isinstance(stage, IntegerAttr) else 1


def _beside(func: FuncOp) -> FuncOp:
    """A copy of a function that stands before it, and so belongs to the same module."""
    block = func.parent
    assert block is not None
    copy = func.clone()
    block.insert_op_before(copy, func)
    return copy


def _overflow(func: FuncOp) -> Diagnostic | None:
    """Side by side, the tiles of several trips are live: whether they fit."""
    try:
        plan_of(func)
    except DiagnosticError as err:
        return err.diagnostics[0]
    return None


def _forget(func: FuncOp) -> None:
    for op in func.walk():
        if isinstance(op, scf.ForOp):
            op.attributes.pop(STAGE_ATTRIBUTE, None)


def _trip_count(loop: scf.ForOp) -> int | None:
    lower, upper, step = (constant_of(value) for value in (loop.lb, loop.ub, loop.step))
    if lower is None or upper is None or step is None or step < 1:
        return None
    return max(0, -((lower - upper) // step))


# --- how many trips together ---------------------------------------------------------------------------------------


def _granted(body: Body, asked: int, widen: bool) -> Grant:
    """As many trips as may run together, at most as many as the loop has. Tells the user where they are fewer."""
    count = _trip_count(body.loop)
    most = asked if count is None else min(asked, count)
    if most < 2:
        return _ONE
    obstacle = body.obstacle()
    if obstacle is not None:
        op, reason = obstacle
        _refused(body, asked, 1, reason, Note(place_of(op), f"'{op.name}' stands here"))
        return _ONE
    grant = body.grant(most, widen=widen)
    if grant.clash is not None:
        reason, notes, help = _explained(grant.clash, widen)
        _refused(body, asked, grant.trips, reason, *notes, help=help)
    return grant


_ONE = Grant(1, None, ())


def _refused(body: Body, asked: int, granted: int, reason: str, *notes: Note, help: str | None = None) -> None:
    outcome = "trips stay one after another" if granted == 1 else f"{granted} run together"
    message = f"asked for {asked} trips of this loop together, {outcome}: {reason}"
    warn(place_of(body.loop), message, *notes, help=help, kind="schedule")


def _explained(clash: Clash[Where], widen: bool) -> tuple[str, tuple[Note, ...], str | None]:
    earlier, later, distance = clash.earlier, clash.later, clash.distance
    ahead = "the next trip" if distance == 1 else f"the trip {distance} later"
    reason = f"'{later.op}' of {ahead} would pass '{earlier.op}' of this one, and both may touch {later.name}"
    notes = (Note(earlier.place, f"'{earlier.op}' of this trip"), Note(later.place, f"'{later.op}' of {ahead}"))
    help = None
    if later.name.startswith(SLOT_SET):
        help = f"with more slots in {later.name}, the next trip taking the next one, it would not"
    elif later.name.startswith(TILE) and not widen:
        help = f"there is no room for more slots of {later.name}: a smaller tile would make some"
    return reason, notes, help


# --- rewriting -----------------------------------------------------------------------------------------------------


@dataclass
class _Grouping:
    """Rewrites one loop. `pieces` maps the parts of a loop that was rewritten before to its first part."""

    loop: scf.ForOp
    together: int
    constants: Constants
    pieces: dict[Operation, Operation]
    maps: list[dict[SSAValue, SSAValue]] = field(default_factory=list[dict[SSAValue, SSAValue]])
    """For each trip of a group what stands for the values of the body."""

    def run(self) -> None:
        loop = self.loop
        count, lower, step = _trip_count(loop), constant_of(loop.lb), constant_of(loop.step)
        if count is None or lower is None or step is None:
            main, rest = self._counted()
        else:
            grouped = count // self.together * self.together
            rest = None if grouped == count else self._constant(lower + grouped * step, loop.lb.type)
            main = self._main(loop.lb, loop.ub if rest is None else rest, self._times(loop.step, self.together), None)
        self._insert(main)
        for name, attribute in loop.attributes.items():
            main.attributes[name] = attribute
        if rest is None:
            for old, new in zip(loop.results, main.results, strict=True):
                old.replace_all_uses_with(new)
            loop.detach()
            loop.erase()
            return
        loop.operands = [rest, loop.ub, loop.step, *main.results]
        self.pieces[loop] = main

    def _counted(self) -> tuple[scf.ForOp, SSAValue]:
        """The loop over whole groups, by their number, and where the trips that are left over start.

        Counted in ones, how groups and the trips behind them meet is plain to whoever has to prove it.
        """
        loop, zero, one = self.loop, self._constant(0, self.loop.lb.type), self._constant(1, self.loop.lb.type)
        # A loop that ends before it starts has no trips; the division below must not see how far before.
        distance = self._apply(arith.MaxSIOp(self._sub(loop.ub, loop.lb), zero))
        if constant_of(loop.step) != 1:
            short = self._apply(arith.SubiOp(loop.step, one))
            distance = self._apply(arith.DivUIOp(self._apply(arith.AddiOp(distance, short)), loop.step))
        groups = self._apply(arith.DivUIOp(distance, self._constant(self.together, loop.lb.type)))
        size = self._times(loop.step, self.together)
        rest = self._add(loop.lb, self._apply(arith.MuliOp(groups, size)))
        return self._main(zero, groups, one, size), rest

    def _main(self, lower: SSAValue, upper: SSAValue, step: SSAValue, size: SSAValue | None) -> scf.ForOp:
        """The loop over groups. With `size`, the distance of two groups, it counts them; else it counts as before."""
        loop, old = self.loop, self.loop.body.block
        block = Block(arg_types=[argument.type for argument in old.args])
        for new, known in zip(block.args, old.args, strict=True):
            new.name_hint = known.name_hint
        first: SSAValue = block.args[0]
        offsets = [self._times(loop.step, trip) for trip in range(self.together)]

        def add(op: arith.AddiOp | arith.MuliOp) -> SSAValue:
            op.location = loop.location
            op.result.name_hint = old.args[0].name_hint
            block.add_op(op)
            return op.result

        if size is not None:
            first.name_hint = "group"
            first = add(arith.MuliOp(first, size))
            first = first if constant_of(loop.lb) == 0 else add(arith.AddiOp(first, loop.lb))
        for trip in range(self.together):
            counter = first if trip == 0 else add(arith.AddiOp(first, offsets[trip]))
            self.maps.append({old.args[0]: counter})
        self.maps[0].update(zip(old.args[1:], block.args[1:], strict=True))
        self._fill(block)
        yielded = scf.YieldOp(*(self._carried(self.together, index) for index in range(1, len(old.args))))
        yielded.location = loop.location
        block.add_op(yielded)
        return scf.ForOp(lower, upper, step, loop.iter_args, Region(block))

    def _fill(self, block: Block) -> None:
        body = steps_of(self.loop, self.pieces)
        for trip in range(self.together):
            self._hand_over(trip)
            for op in body.ahead:
                block.add_op(op.clone(self.maps[trip]))
        for step in body.steps:
            for trip in range(self.together):
                self._hand_over(trip)
                for op in step:
                    block.add_op(op.clone(self.maps[trip]))
        for trip in range(self.together):
            self._hand_over(trip)

    def _hand_over(self, trip: int) -> None:
        """Make what the trip before yields known to this one, as far as it is there."""
        if trip == 0:
            return
        for index, argument in enumerate(self.loop.body.block.args[1:], 1):
            if argument not in self.maps[trip] and self._is_there(trip, index):
                self.maps[trip][argument] = self._carried(trip, index)

    def _is_there(self, trip: int, index: int) -> bool:
        value = self._yielded(index)
        if isinstance(value, BlockArgument) and value.block is self.loop.body.block:
            return value in self.maps[trip - 1]
        return not self._inside(value) or value in self.maps[trip - 1]

    def _carried(self, trip: int, index: int) -> SSAValue:
        """What enters trip number `trip` in place of the body's argument `index`."""
        value = self._yielded(index)
        return self.maps[trip - 1].get(value, value)

    def _yielded(self, index: int) -> SSAValue:
        last = self.loop.body.block.last_op
        assert last is not None
        return last.operands[index - 1]

    def _inside(self, value: SSAValue) -> bool:
        return isinstance(value, OpResult) and value.op.parent_block() is self.loop.body.block

    # --- arithmetic in front of the loop ---

    def _insert(self, op: Operation) -> None:
        op.location = self.loop.location
        block = self.loop.parent_block()
        assert block is not None
        block.insert_op_before(op, self.loop)

    def _apply(self, op: Operation) -> SSAValue:
        self._insert(op)
        return op.results[0]

    def _constant(self, value: int, type: Attribute) -> SSAValue:
        return self.constants.get(value, cast(IndexType | IntegerType, type))

    def _add(self, left: SSAValue, right: SSAValue) -> SSAValue:
        return right if constant_of(left) == 0 else self._apply(arith.AddiOp(left, right))

    def _sub(self, left: SSAValue, right: SSAValue) -> SSAValue:
        return left if constant_of(right) == 0 else self._apply(arith.SubiOp(left, right))

    def _times(self, value: SSAValue, factor: int) -> SSAValue:
        if factor == 1:
            return value
        known = constant_of(value)
        if known is not None:
            return self._constant(known * factor, value.type)
        return self._apply(arith.MuliOp(value, self._constant(factor, value.type)))
