"""Inserts the events and barriers that order all conflicting accesses to slots and to global memory, and the final
barrier.

The plan is made by `pto_buf.fences` on the plain program; this pass reads the program off the IR and puts what the
plan says where it says. The lane of each set and wait is the slot index of the access that it guards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.arith import AddiOp, AndIOp, CeilDivSIOp, CmpiOp, MaxSIOp, MuliOp, RemUIOp, SubiOp
from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from pto_buf.dialect.pto import BarrierOp
from pto_buf.dialect.ptobuf import EventOp, SetOp, WaitOp
from pto_buf.dialect.tile_op import constant_of, target_of
from pto_buf.errors import DiagnosticError, Place
from pto_buf.fences.actions import Action
from pto_buf.fences.numbering.ids import Ids
from pto_buf.fences.phases import Closing
from pto_buf.fences.plan import FencePlan, plan_fences
from pto_buf.fences.reducing.outline import gaps_of
from pto_buf.fences.rings.pools import Pool, Reach
from pto_buf.fences.rings.trips import Trips
from pto_buf.fences.tree import Site
from pto_buf.hw import Pipe, Space, Target
from pto_buf.kept import kept
from pto_buf.lowering.constants import INDEX, Constants
from pto_buf.lowering.fenced import IMPLIED, PLAIN, RETURNS, is_ordered, reserved_flags
from pto_buf.lowering.global_windows import of_written, windows_of
from pto_buf.lowering.hoisting import Hoisting, behind_last, computed_for, follows
from pto_buf.lowering.lost_overlap import note_lost, tell_lost
from pto_buf.lowering.verify_slots import verdict_of
from pto_buf.memory.footprint import set_bytes
from pto_buf.slots.build import Built, build
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.program import SlotSet
from pto_buf.source import place_of
from pto_buf.walking import functions


@dataclass(frozen=True)
class InsertFencesPass(ModulePass):
    """ptobuf-insert-fences."""

    name: ClassVar[str] = "ptobuf-insert-fences"

    fail_on_lost_overlap: bool = False
    """Overlap that is given up is an error; else a warning. Either way the function says so in an attribute."""
    flags_by_source: bool = False
    """Each event id of a source is to serve one destination only."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        by_source = self.flags_by_source
        lost = [one for function in functions(op) for one in _fence(function, target, by_source)]
        tell_lost(lost, fail=self.fail_on_lost_overlap)


def _fence(function: FuncOp, target: Target, by_source: bool) -> list[tuple[Place | None, str]]:
    """Fences one function. Returns what overlap is lost, and where."""
    built = kept(function, build)
    if not built.sets:
        _close(function)
        return []
    pools = [Pool(tuple(sets)) for sets in sharing_bytes(built, target)]
    verdict = kept(function, verdict_of)
    if verdict.errors:
        raise DiagnosticError(*verdict.errors)
    hoisting = Hoisting(function)
    plan = plan_fences(
        built.program,
        pools,
        verdict.flow,
        target,
        Ids(reserved_flags(function, target), by_source),
        _IndexReach(built, hoisting),
        of_written(kept(function, windows_of)),
        reduce=not is_ordered(function),
        plain=PLAIN in function.attributes,
    )
    _Writer(function, built, hoisting).write(plan)
    _close(function)
    note_lost(function, [str(lost) for lost in plan.lost])
    return [(lost.slots.place or place_of(function), str(lost)) for lost in plan.lost]


def sharing_bytes(built: Built, target: Target) -> list[list[SlotSet]]:
    """The slot sets in groups that have bytes in common, as far as their addresses are planned."""
    spans: dict[Space, list[tuple[int, int, SlotSet]]] = {}
    groups: list[list[SlotSet]] = []
    for slots in built.program.sets:
        address = built.sets[slots.key].addr
        if address is None:
            groups.append([slots])
            continue
        start, tile = address.value.data, slots.tile
        end = start + set_bytes(slots.count, tile, target)
        spans.setdefault(tile.space, []).append((start, end, slots))
    for space in spans.values():
        behind = -1
        for start, end, slots in sorted(space, key=lambda span: (span[0], span[1], span[2].key)):
            if start < behind:
                groups[-1].append(slots)
            else:
                groups.append([slots])
            behind = max(behind, end)
    return sorted((sorted(group, key=lambda slots: slots.key) for group in groups), key=lambda group: group[0].key)


def _close(function: FuncOp) -> None:
    """Every kernel ends with a barrier over all pipes: the assembler adds none."""
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    barrier = BarrierOp(Pipe.ALL)
    barrier.location = last.location
    function.body.block.insert_op_before(barrier, last)


class _IndexReach(Reach):
    """Where slot indices are to be had, by the IR."""

    def __init__(self, built: Built, hoisting: Hoisting):
        self.built = built
        self.hoisting = hoisting

    def at(self, site: SiteKey, anchor: int, behind: bool) -> bool:
        return self.hoisting.reaches(self.built.indices[site], self.built.ops[anchor])

    def closing(self, site: SiteKey, closing: Closing) -> bool:
        loop = self.built.ops[closing.loop]
        assert isinstance(loop, ForOp | WhileOp)
        known = set(behind_last(loop)) if closing.lag == 1 and not closing.to_lag else set[SSAValue]()
        if isinstance(loop, ForOp):
            known.add(loop.body.block.args[0])
        return follows(self.built.indices[site], loop, known)

    def ahead(self, site: SiteKey, loop: int) -> bool:
        op = self.built.ops[loop]
        return isinstance(op, ForOp) and follows(self.built.indices[site], op, {op.body.block.args[0]})


class _Writer:
    def __init__(self, function: FuncOp, built: Built, hoisting: Hoisting):
        self.built = built
        self.constants = Constants(function)
        self.hoisting = hoisting
        self.block = function.body.block

    def write(self, plan: FencePlan) -> None:
        events = self._events(plan)
        for (anchor, behind), actions in gaps_of(plan.actions).items():
            self._gap(self.built.ops[anchor], behind, actions, events)

    def _events(self, plan: FencePlan) -> Sequence[SSAValue]:
        """One op for each event, behind the slot sets."""
        made: list[SSAValue] = []
        at: Operation = self.built.sets[len(self.built.sets) - 1]
        for event in plan.events:
            op = EventOp(event.name, event.src, event.dst, event.lanes, event.why)
            if event.returns:
                op.attributes[RETURNS] = UnitAttr()
            op.location = at.location
            self.block.insert_op_after(op, at)
            at = op
            made.append(op.event)
        return made

    def _gap(self, anchor: Operation, behind: bool, actions: Sequence[Action], events: Sequence[SSAValue]) -> None:
        outside = _Behind(anchor) if behind else _Before(anchor)
        for once, of_trips in groupby(actions, key=lambda action: action.once):
            group = list(of_trips)
            if once:
                for action in group:  # a lane that is worked out here has to be before the condition
                    self._lane(action.lane, anchor, outside)
            put = self._in_trips(once, anchor, outside) if once else outside
            self._put(anchor, group, events, put)

    def _in_trips(self, once: Sequence[Trips], anchor: Operation, put: "_Put") -> "_Put":
        """Puts ops under the condition that each of these loops is in one of those trips."""
        condition: SSAValue | None = None
        for one in once:
            loop = self.built.ops[one.loop]
            assert isinstance(loop, ForOp)
            compare = "slt" if one.below else "eq"
            here = put(CmpiOp(loop.body.block.args[0], self.constants.index(one.value), compare)).results[0]
            condition = here if condition is None else put(AndIOp(condition, here)).results[0]
        assert condition is not None
        last = YieldOp()
        branch = put(IfOp(condition, [], [last]))
        last.location = branch.location
        return _Before(last, anchor.location)

    def _put(self, anchor: Operation, actions: Sequence[Action], events: Sequence[SSAValue], put: "_Put") -> None:
        for action in actions:
            if action.closing is not None:
                self._close_leases(anchor, action.closing, action.trip, events, put)
            elif action.pipe is not None:
                barrier = put(BarrierOp(action.pipe))
                if action.implied:
                    barrier.attributes[IMPLIED] = UnitAttr()
            else:
                put(_signal(action, self._folded(self._lane(action.lane, anchor, put), action, put), events))

    def _lane(self, lane: Site | int, anchor: Operation, put: "_Put") -> SSAValue:
        if isinstance(lane, int):
            return self.constants.index(lane)
        here = self.hoisting.value_at(self.built.indices[lane.key], anchor)
        return here if lane.ahead is None else computed_for(here, self._ahead(lane.ahead, {}, put), put)

    def _ahead(
        self, ahead: tuple[int, int], known: Mapping[SSAValue, SSAValue], put: "_Put"
    ) -> dict[SSAValue, SSAValue]:
        """What a loop's counter, which may be known to be another value, is that much further."""
        loop = self.built.ops[ahead[0]]
        assert isinstance(loop, ForOp)
        counter = loop.body.block.args[0]
        further = put(AddiOp(known.get(counter, counter), self.constants.index(ahead[1]))).results[0]
        return {counter: further}

    def _folded(self, slot: SSAValue, action: Action, put: "_Put") -> SSAValue:
        """The lane of a slot where several slots share one."""
        if action.modulus is None:
            return slot
        return put(RemUIOp(slot, self.constants.index(action.modulus))).results[0]

    def _close_leases(
        self, loop: Operation, closing: Closing, trip: Sequence[Action], events: Sequence[SSAValue], put: "_Put"
    ) -> None:
        """The trips that would have read what is left, without their work: they go on from the loop's end."""
        assert isinstance(loop, ForOp | WhileOp)
        carried = behind_last(loop)
        if isinstance(loop, WhileOp):
            self._trip(trip, carried, events, put)
            return
        counter = loop.body.block.args[0]
        done = self._end(loop, put)
        if closing.if_run:
            ran = put(CmpiOp(done, loop.lb, "sgt")).results[0]
            last = YieldOp()
            put(IfOp(ran, [], [last]))
            last.location = loop.location
            put = _Before(last, loop.location)
        if not closing.to_lag:
            for number in range(closing.lag):
                ahead = put(MuliOp(self.constants.index(number), loop.step)).results[0] if number else None
                now = done if ahead is None else put(AddiOp(done, ahead)).results[0]
                self._trip(trip, {counter: now, **carried}, events, put)
            return
        far = put(MuliOp(self.constants.index(closing.lag), loop.step)).results[0]
        end = put(AddiOp(loop.lb, far)).results[0]
        body = Block(arg_types=[INDEX])
        last = YieldOp()
        body.add_op(last)
        self._trip(trip, {counter: body.args[0]}, events, _Before(last))
        put(ForOp(done, end, loop.step, [], body))
        for op in body.walk():
            op.location = loop.location

    def _end(self, loop: ForOp, put: "_Put") -> SSAValue:
        """The loop's counter behind its last trip."""
        if constant_of(loop.step) == 1:
            return put(MaxSIOp(loop.ub, loop.lb)).results[0]
        span = put(SubiOp(loop.ub, loop.lb)).results[0]
        trips = put(MaxSIOp(put(CeilDivSIOp(span, loop.step)).results[0], self.constants.index(0))).results[0]
        return put(AddiOp(loop.lb, put(MuliOp(trips, loop.step)).results[0])).results[0]

    def _trip(
        self, trip: Sequence[Action], known: dict[SSAValue, SSAValue], events: Sequence[SSAValue], put: "_Put"
    ) -> None:
        """The sets and waits of one trip, in which the loop's own values are as `known` has them."""
        begun = dict(known)
        for action in trip:
            lane = action.lane
            if isinstance(lane, int):
                value = self.constants.index(lane)
            else:
                there = known if lane.ahead is None else {**begun, **self._ahead(lane.ahead, begun, put)}
                value = computed_for(self.built.indices[lane.key], there, put)
            put(_signal(action, self._folded(value, action, put), events))


def _signal(action: Action, lane: SSAValue, events: Sequence[SSAValue]) -> Operation:
    assert action.event is not None
    op = (WaitOp if action.waits else SetOp)(events[action.event], lane)
    if action.implied:
        op.attributes[IMPLIED] = UnitAttr()
    return op


_Put = Callable[[Operation], Operation]


class _Before:
    """Puts ops before one, in their order, at its place in the source."""

    def __init__(self, anchor: Operation, location: LocationAttr | None = None):
        self.anchor = anchor
        self.location = location or anchor.location
        assert anchor.parent is not None
        self.block = anchor.parent

    def __call__(self, op: Operation) -> Operation:
        op.location = self.location
        self.block.insert_op_before(op, self.anchor)
        return op


class _Behind(_Before):
    """Puts ops behind one, in their order, at its place in the source."""

    def __init__(self, anchor: Operation):
        super().__init__(anchor)
        self.last = anchor

    def __call__(self, op: Operation) -> Operation:
        op.location = self.location
        self.block.insert_op_after(op, self.last)
        self.last = op
        return op
