"""`ptobuf-schedule`: runs neighbouring trips of a loop side by side.

With F trips together, the loop

    for i in n:  load, compute, store

becomes, for the trips that fill groups, and itself for those that are left over,

    for i in n by F:  load(i) load(i+1) ..  compute(i) compute(i+1) ..  store(i) store(i+1) ..

Order changes, nothing else: each copy works out its slot index for its own trip. A loop inside is one step, whose
copies follow one another. Where a step must not pass another, fewer trips run together, and the user is told why.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from pto_buf.errors import Diagnostic, DiagnosticError, Note, UsageError, collecting_warnings, warn
from pto_buf.kept import Keeps, changed
from pto_buf.lowering.constants import Constants
from pto_buf.lowering.grouping import Grouping, trip_count
from pto_buf.lowering.plan_memory import plan_of
from pto_buf.schedule.collect import SLOT_SET, TENSOR, TILE, Body, Grant, Kernel, Where, is_innermost, steps_of
from pto_buf.schedule.grouping import Clash
from pto_buf.schedule.widen import widen_sets
from pto_buf.slots.build import STAGE_ATTRIBUTE
from pto_buf.source import place_of
from pto_buf.walking import functions, ops_of


@dataclass(frozen=True)
class SchedulePass(ModulePass, Keeps):
    """Groups trips as `ptobuf.stage` on the loops asks for; `interleave` overrides it on all innermost loops."""

    name = "ptobuf-schedule"

    interleave: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.interleave is not None and self.interleave < 1:
            raise UsageError(f"interleave={self.interleave} is not a number of trips", "1 leaves loops as they are")
        for func in tuple(functions(op)):
            self._function(func)

    def _function(self, func: FuncOp) -> None:
        if not any(self._asked(op) > 1 for op in ops_of(func, scf.ForOp)):
            _forget(func)
            return
        overflow: Diagnostic | None = None
        for widen in (True, False):
            trial = _beside(func)
            with collecting_warnings() as said:
                grouped = self._schedule(trial, widen)
            overflow = _overflow(trial) if grouped else None
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
        loops = list(ops_of(func, scf.ForOp))
        kernel, asked = Kernel(func), {loop: self._asked(loop) for loop in loops}
        grants = {loop: _granted(kernel.body(loop), trips, widen) for loop, trips in asked.items() if trips > 1}
        constants, pieces = Constants(func), dict[Operation, Operation]()
        for loop in reversed(loops):  # inner loops come behind outer ones
            grant = grants.get(loop)
            if grant is not None and grant.trips > 1:
                widen_sets(loop, grant.widened, grant.trips, constants)
                grouping = _SideBySide(loop, grant.trips, constants, pieces)
                main = grouping.run()
                if loop.parent is not None:
                    pieces[loop] = main
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
    for op in ops_of(func, scf.ForOp):
        if op.attributes.pop(STAGE_ATTRIBUTE, None) is not None:
            changed(func)


# --- how many trips together ---------------------------------------------------------------------------------------


def _granted(body: Body, asked: int, widen: bool) -> Grant:
    """As many trips as may run together, at most as many as the loop has. Tells the user where they are fewer."""
    count = trip_count(body.loop)
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
    elif later.name.startswith(TENSOR):
        help = f"with more places in {later.name}, the next trip taking the next one, it would not"
    return reason, notes, help


class _SideBySide(Grouping):
    """Steps of several trips side by side. `pieces` maps what is left of a loop to the loop over its groups."""

    def __init__(self, loop: scf.ForOp, together: int, constants: Constants, pieces: dict[Operation, Operation]):
        super().__init__(loop, together, constants)
        self.pieces = pieces

    def fill(self, block: Block) -> None:
        body = steps_of(self.loop, self.pieces)
        for trip in range(self.together):
            self.hand_over(trip)
            for op in body.ahead:
                block.add_op(op.clone(self.maps[trip]))
        for step in body.steps:
            for trip in range(self.together):
                self.hand_over(trip)
                for op in step:
                    block.add_op(op.clone(self.maps[trip]))
        for trip in range(self.together):
            self.hand_over(trip)
