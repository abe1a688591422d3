"""How long a kernel takes: one scalar unit that issues into bounded queues, pipes that work them off in order.

Every time is the maximum of what has to be over before: the order in which this is worked out does not matter.
"""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe
from pto_buf.machine.code import Meter
from pto_buf.machine.exec import Steps
from pto_buf.machine.steps import (
    Barrier,
    Exec,
    GiveLock,
    ScalarAccess,
    SetFlag,
    Step,
    SyncSet,
    SyncWait,
    TakeLock,
    WaitFlag,
)
from pto_buf.sim.costs import CostError, Costs
from pto_buf.sim.orders import QUEUED
from pto_buf.sim.timeline import LANES, Arrow, Cause, Slice, Stall, Timeline, spelt

Key: TypeAlias = tuple[Pipe, Pipe, int]

_LOOKED_BACK = 16
"""Ops of the setting pipe among which the one that a wait is for is looked for."""


@dataclass(frozen=True, slots=True)
class _Fired:
    """A set that has fired, and the number of the last slice before it."""

    step: SetFlag
    at: int
    slices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Hold:
    """Until `time`, something held the pipe."""

    time: int
    cause: Cause
    why: str
    fired: _Fired | None = None


@dataclass(frozen=True, slots=True)
class _Issued:
    """When a step was issued, and until when what had held the scalar unit the last time before."""

    at: int
    held_until: int
    held_by: Cause

    def holds(self) -> "tuple[_Hold, _Hold]":
        why = {Cause.QUEUE: "a full queue holds the scalar unit", Cause.BARRIER: "a barrier over all pipes"}
        held = _Hold(self.held_until, self.held_by, why.get(self.held_by, "a flag holds the scalar unit"))
        return held, _Hold(self.at, Cause.ISSUE, "not issued yet")


@dataclass
class _Pipe:
    queue: deque["tuple[Step, _Issued]"] = field(default_factory=deque["tuple[Step, _Issued]"])
    """Steps that have not started."""
    started: deque[int] = field(default_factory=deque[int])
    """When the latest entries left the queue, as many as the queue holds."""
    entered: int = 0
    left: int = 0
    clock: int = 0
    free: int = 0
    """When its last op ended."""
    holds: list[_Hold] = field(default_factory=list[_Hold])
    recent: deque[int] = field(default_factory=lambda: deque[int](maxlen=_LOOKED_BACK))
    """Its latest slices."""
    waits: list[int] = field(default_factory=list[int])
    """Arrows whose waits were taken since its last op."""


class Timer:
    """One core. Raises DiagnosticError when the kernel gets stuck or an op has no cost."""

    def __init__(self, costs: Costs, block: int = 0):
        self._costs = costs
        self._block = block
        self._pipes = {pipe: _Pipe() for pipe in QUEUED}
        self._now = 0
        self._spent = 0
        self._held_until = 0
        self._held_by = Cause.ISSUE
        self._fired: dict[Key, deque[_Fired]] = {}
        self._slices: list[Slice] = []
        self._arrows: list[Arrow] = []
        self._stalls: list[Stall] = []

    def run(self, steps: Steps, meter: Meter) -> Timeline:
        """Time the steps. `meter` is the one that they count with."""
        instructions = branches = 0
        for step in steps:
            done, jumped = meter.instructions - instructions, meter.branches - branches
            instructions, branches = meter.instructions, meter.branches
            self._spend(done * self._costs.instruction + jumped * self._costs.branch)
            self._issue(step)
        self._flow()
        stuck = next((pipe for pipe in QUEUED if self._pipes[pipe].queue), None)
        if stuck is not None:
            raise self._stuck(self._pipes[stuck].queue[0][0])
        return self._timeline()

    def _timeline(self) -> Timeline:
        """Everything in the order of time, whatever order it was worked out in."""
        end = max(self._now, *(pipe.clock for pipe in self._pipes.values()))
        order = sorted(
            range(len(self._slices)), key=lambda n: (self._slices[n].start, LANES.index(self._slices[n].pipe))
        )
        place = {old: new for new, old in enumerate(order)}
        arrows = (
            replace(
                one,
                source=None if one.source is None else place[one.source],
                target=None if one.target is None else place[one.target],
            )
            for one in self._arrows
        )
        return Timeline(
            self._block,
            tuple(self._slices[number] for number in order),
            tuple(sorted(arrows, key=lambda one: (one.at, one.taken))),
            tuple(sorted(self._stalls, key=lambda one: (one.start, LANES.index(one.pipe)))),
            end,
            self._spent,
        )

    # --- the scalar unit ---

    def _spend(self, cycles: int) -> None:
        self._now += cycles
        self._spent += cycles

    def _issue(self, step: Step) -> None:
        self._spend(self._costs.instruction)
        match step:
            case WaitFlag() if step.dst is Pipe.S:
                self._flow()
                fired = self._take(step)
                if fired is None:
                    raise self._stuck(step)
                self._arrows.append(self._arrow(fired, step, self._now))
                self._hold_scalar(fired.at, Cause.FLAG)
            case SetFlag() if step.src is Pipe.S:
                self._fire(step, self._now, ())
            case Barrier() if step.pipe is Pipe.ALL:
                self._drain(step)
            case Exec() if Pipe.S in step.pipes:
                self._spend(self._costs.instruction)
            case SetFlag():
                self._enqueue(step.src, step)
            case WaitFlag():
                self._enqueue(step.dst, step)
            case Exec():
                self._enqueue(step.pipes[0], step)
            case Barrier():
                self._enqueue(step.pipe, step)
            case ScalarAccess():
                raise DiagnosticError.at(
                    step.place, "global memory read by the scalar unit is not timed", kind="unsupported"
                )
            case SyncSet() | SyncWait() | TakeLock() | GiveLock():
                message = "signals between cores and buffer locks are not timed"
                raise DiagnosticError.at(step.place, message, kind="unsupported")

    def _hold_scalar(self, until: int, cause: Cause) -> None:
        if until > self._now:
            self._now = self._held_until = until
            self._held_by = cause

    def _enqueue(self, name: Pipe, step: Step) -> None:
        pipe = self._pipes[name]
        if pipe.entered - pipe.left >= self._costs.queue:
            self._flow()
            if pipe.entered - pipe.left >= self._costs.queue:
                raise self._stuck(pipe.queue[0][0])
        if pipe.entered >= self._costs.queue:  # the entry that many places ahead must have left
            self._hold_scalar(
                pipe.started[pipe.entered - self._costs.queue - (pipe.left - len(pipe.started))], Cause.QUEUE
            )
        pipe.queue.append((step, _Issued(self._now, self._held_until, self._held_by)))
        pipe.entered += 1

    def _drain(self, step: Barrier) -> None:
        self._flow()
        for pipe in self._pipes.values():
            if pipe.queue:
                raise self._stuck(pipe.queue[0][0])
            self._hold_scalar(pipe.clock, Cause.BARRIER)
        for pipe in self._pipes.values():
            pipe.holds.append(_Hold(self._now, Cause.BARRIER, "a barrier over all pipes"))
            pipe.clock = max(pipe.clock, self._now)

    # --- the pipes ---

    def _flow(self) -> None:
        """Every pipe works off what it can."""
        moved = True
        while moved:
            moved = False
            for name, pipe in self._pipes.items():
                while pipe.queue and self._work(name, pipe):
                    moved = True

    def _work(self, name: Pipe, pipe: _Pipe) -> bool:
        step, issued = pipe.queue[0]
        start = max(pipe.clock, issued.at)
        match step:
            case WaitFlag():
                fired = self._take(step)
                if fired is None:
                    return False
                start = max(start, fired.at)
                pipe.waits.append(len(self._arrows))
                self._arrows.append(self._arrow(fired, step, start))
                pipe.holds += issued.holds()
                pipe.holds.append(_Hold(fired.at, Cause.FLAG, f"flag {step.src} -> {step.dst} id {step.id}", fired))
                pipe.clock = start
            case SetFlag():
                self._fire(step, start, tuple(pipe.recent))
            case Exec():
                pipe.holds += issued.holds()
                self._execute(name, pipe, step, start, issued.at)
            case _:
                pipe.clock = start
        pipe.queue.popleft()
        pipe.left += 1
        pipe.started.append(start)
        if len(pipe.started) > self._costs.queue:
            pipe.started.popleft()
        return True

    def _execute(self, name: Pipe, pipe: _Pipe, step: Exec, start: int, issued: int) -> None:
        try:
            end = start + self._costs.cycles(step)
        except CostError as error:
            raise DiagnosticError.at(step.place, f"{step.name}: {error}", kind="no-cost") from None
        self._explain(name, pipe, step, start)
        number = len(self._slices)
        self._slices.append(Slice(name, start, end, issued, step))
        for arrow in pipe.waits:
            self._arrows[arrow] = replace(self._arrows[arrow], target=number)
        pipe.waits.clear()
        pipe.recent.append(number)
        pipe.clock = pipe.free = end

    def _explain(self, name: Pipe, pipe: _Pipe, step: Exec, start: int) -> None:
        """Cut the time since the last op among what held the pipe meanwhile."""
        at = pipe.free
        for hold in pipe.holds:
            if hold.time > at:
                until = min(hold.time, start)
                cause, why = self._meaning(hold, step)
                self._stalls.append(Stall(name, at, until, cause, why, step))
                at = until
        pipe.holds.clear()

    def _meaning(self, hold: _Hold, step: Exec) -> tuple[Cause, str]:
        """What a flag stood for: the op that it let go reads what was written before the set, or writes over it."""
        if hold.fired is None:
            return hold.cause, hold.why
        for number in reversed(hold.fired.slices):
            earlier = self._slices[number].step
            if _meet(earlier, step, "writes", "reads"):
                return Cause.DATA, f"data from {hold.fired.step.src}: {spelt(earlier)}"
            if _meet(earlier, step, "reads", "writes") or _meet(earlier, step, "writes", "writes"):
                return Cause.SLOT, f"slot in use by {hold.fired.step.src}: {spelt(earlier)}"
        return hold.cause, hold.why

    # --- flags ---

    def _fire(self, step: SetFlag, at: int, slices: tuple[int, ...]) -> None:
        self._fired.setdefault((step.src, step.dst, step.id), deque()).append(_Fired(step, at, slices))

    def _take(self, step: WaitFlag) -> _Fired | None:
        pending = self._fired.get((step.src, step.dst, step.id))
        return pending.popleft() if pending else None

    @staticmethod
    def _arrow(fired: _Fired, wait: WaitFlag, taken: int) -> Arrow:
        return Arrow(fired.step, wait, fired.at, max(taken, fired.at), fired.slices[-1] if fired.slices else None, None)

    @staticmethod
    def _stuck(step: Step) -> DiagnosticError:
        what = f" for flag {step.src} -> {step.dst} id {step.id}" if isinstance(step, WaitFlag) else ""
        return DiagnosticError.at(step.place, f"deadlock: this waits{what} and never goes on", kind="deadlock")


def _meet(earlier: Exec, later: Exec, first: str, second: str) -> bool:
    return any(one.overlaps(other) for one in getattr(earlier, first) for other in getattr(later, second))
