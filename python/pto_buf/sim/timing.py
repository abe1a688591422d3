"""How long a kernel takes: one scalar unit that issues into bounded queues, pipes that work them off in order.

Every time is the maximum of what has to be over before: the order in which this is worked out does not matter.
"""

from collections import deque
from dataclasses import dataclass, field, replace

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
    SyncSet,
    SyncWait,
    TakeLock,
    WaitFlag,
)
from pto_buf.sim.costs import CostError, Costs
from pto_buf.sim.orders import QUEUED
from pto_buf.sim.timeline import LANES, Arrow, Cause, Giver, Slice, Stall, Taker, Timeline, spelt
from pto_buf.sim.tokens import Entry, Token, Tokens
from pto_buf.sim.tokens import spelt as spelt_token

_LOOKED_BACK = 16
"""Ops of the setting pipe among which the one that a wait is for is looked for."""


@dataclass(frozen=True, slots=True)
class _Fired:
    """A set that has fired, and the number of the last slice before it."""

    step: Giver
    at: int
    slices: tuple[int, ...]
    core: int


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
    queue: deque["tuple[Entry, _Issued]"] = field(default_factory=deque["tuple[Entry, _Issued]"])
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


@dataclass
class Shared:
    """What the cores of a block share while they are timed: the tokens that were given, and everybody's slices."""

    costs: Costs
    tokens: Tokens
    signals_hold_scalar: bool
    fired: dict[Token, deque[_Fired]] = field(default_factory=dict[Token, "deque[_Fired]"])
    slices: list[list[Slice]] = field(default_factory=list[list[Slice]])


class Timer:
    """One core. Raises DiagnosticError for an op that has no cost."""

    def __init__(self, shared: Shared, steps: Steps, meter: Meter, block: int, name: str):
        self._shared = shared
        self._costs = shared.costs
        self._core = len(shared.slices)
        self._steps = steps
        self._meter = meter
        self._counted = Meter()
        self._next: Entry | None = None
        self._block = block
        self._name = name
        self._pipes = {pipe: _Pipe() for pipe in QUEUED}
        self._now = 0
        self._spent = 0
        self._held_until = 0
        self._held_by = Cause.ISSUE
        self._slices: list[Slice] = []
        self._arrows: list[Arrow] = []
        self._stalls: list[Stall] = []
        shared.slices.append(self._slices)

    def advance(self) -> bool:
        """Issue and work off what can be; whether that was anything."""
        moved = self._flow()  # what another core let go counts, even where the scalar unit stands still
        while (entry := self._fetch()) is not None and self._issue(entry):
            self._next = None
            moved = True
        return self._flow() or moved

    def finish(self) -> Timeline:
        """The run, when no core can advance any more. Raises DiagnosticError if this one is not done."""
        held = [self._next] if self._next is not None else []
        held += [pipe.queue[0][0] for pipe in self._pipes.values() if pipe.queue]
        if held:
            raise _stuck(next((entry for entry in held if entry.needs), held[0]))
        return self._timeline()

    def _fetch(self) -> Entry | None:
        """The next step that the scalar unit issues, its own work before it paid for; None at the end."""
        if self._next is None:
            step = next(self._steps, None)
            if step is None:
                return None
            done = self._meter.instructions - self._counted.instructions
            jumped = self._meter.branches - self._counted.branches
            self._counted = Meter(self._meter.instructions, self._meter.branches)
            self._spend((done + 1) * self._costs.instruction + jumped * self._costs.branch)
            tokens = self._shared.tokens
            self._next = Entry(step, tokens.needs(self._core, step), tokens.gives(self._core, step))
        return self._next

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
            self._name,
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

    def _issue(self, entry: Entry) -> bool:
        """Whether it could be."""
        step = entry.step
        match step:
            case WaitFlag() if step.dst is Pipe.S:
                return self._wait_on_scalar(entry, step)
            case SyncWait() if self._shared.signals_hold_scalar or step.pipe is Pipe.S:
                return self._wait_on_scalar(entry, step)
            case SetFlag() if step.src is Pipe.S:
                self._fire(entry, step, self._now, ())
            case Barrier() if step.pipe is Pipe.ALL:
                return self._drain()
            case Exec() if Pipe.S in step.pipes:
                self._spend(self._costs.instruction)
            case ScalarAccess():
                self._spend(self._costs.instruction)
            case SetFlag():
                return self._enqueue(step.src, entry)
            case WaitFlag():
                return self._enqueue(step.dst, entry)
            case Exec():
                return self._enqueue(step.pipes[0], entry)
            case Barrier() | SyncSet() | SyncWait() | TakeLock() | GiveLock():
                return self._enqueue(step.pipe, entry)
        return True

    def _wait_on_scalar(self, entry: Entry, step: Taker) -> bool:
        self._flow()
        taken = self._take(entry)
        if taken is None:
            return False
        for token, fired in taken:
            self._arrows.append(self._arrow(token, fired, step, self._now))
            self._hold_scalar(fired.at, Cause.FLAG)
        return True

    def _hold_scalar(self, until: int, cause: Cause) -> None:
        if until > self._now:
            self._now = self._held_until = until
            self._held_by = cause

    def _enqueue(self, name: Pipe, entry: Entry) -> bool:
        pipe, room = self._pipes[name], self._costs.queue
        if pipe.entered - pipe.left >= room:
            self._flow()
            if pipe.entered - pipe.left >= room:
                return False
        if pipe.entered >= room:  # the entry that many places ahead must have left
            self._hold_scalar(pipe.started[pipe.entered - room - (pipe.left - len(pipe.started))], Cause.QUEUE)
        pipe.queue.append((entry, _Issued(self._now, self._held_until, self._held_by)))
        pipe.entered += 1
        return True

    def _drain(self) -> bool:
        self._flow()
        if any(pipe.queue for pipe in self._pipes.values()):
            return False
        for pipe in self._pipes.values():
            self._hold_scalar(pipe.clock, Cause.BARRIER)
        for pipe in self._pipes.values():
            pipe.holds.append(_Hold(self._now, Cause.BARRIER, "a barrier over all pipes"))
            pipe.clock = max(pipe.clock, self._now)
        return True

    # --- the pipes ---

    def _flow(self) -> bool:
        """Every pipe works off what it can; whether that was anything."""
        moved, again = False, True
        while again:
            again = False
            for name, pipe in self._pipes.items():
                while pipe.queue and self._work(name, pipe):
                    moved = again = True
        return moved

    def _work(self, name: Pipe, pipe: _Pipe) -> bool:
        entry, issued = pipe.queue[0]
        step = entry.step
        start = max(pipe.clock, issued.at)
        match step:
            case WaitFlag() | SyncWait() | TakeLock():
                taken = self._take(entry)
                if taken is None:
                    return False
                pipe.holds += issued.holds()
                for token, fired in taken:
                    start = max(start, fired.at)
                    pipe.waits.append(len(self._arrows))
                    self._arrows.append(self._arrow(token, fired, step, start))
                    pipe.holds.append(_Hold(fired.at, Cause.FLAG, spelt_token(token), fired))
                pipe.clock = start
            case SetFlag() | SyncSet() | GiveLock():
                self._fire(entry, step, start, tuple(pipe.recent))
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
                given = None if hold.fired is None else hold.fired.step
                self._stalls.append(Stall(name, at, until, cause, why, step, given))
                at = until
        pipe.holds.clear()

    def _meaning(self, hold: _Hold, step: Exec) -> tuple[Cause, str]:
        """What a flag stood for: the op that it let go reads what was written before the set, or writes over it."""
        if hold.fired is None:
            return hold.cause, hold.why
        for number in reversed(hold.fired.slices):
            slice = self._shared.slices[hold.fired.core][number]
            earlier = slice.step
            if _meet(earlier, step, "writes", "reads"):
                return Cause.DATA, f"data from {slice.pipe}: {spelt(earlier)}"
            if _meet(earlier, step, "reads", "writes") or _meet(earlier, step, "writes", "writes"):
                return Cause.SLOT, f"slot in use by {slice.pipe}: {spelt(earlier)}"
        return hold.cause, hold.why

    # --- tokens ---

    def _fire(self, entry: Entry, step: Giver, at: int, slices: tuple[int, ...]) -> None:
        for token in entry.gives:
            self._shared.fired.setdefault(token, deque()).append(_Fired(step, at, slices, self._core))

    def _take(self, entry: Entry) -> list[tuple[Token, _Fired]] | None:
        """All that the entry waits for, or None if something is missing."""
        pending = [(token, self._shared.fired.get(token)) for token in entry.needs]
        if not all(queue for _, queue in pending):
            return None
        return [(token, queue.popleft()) for token, queue in pending if queue]

    def _arrow(self, token: Token, fired: _Fired, wait: Taker, taken: int) -> Arrow:
        source = fired.slices[-1] if fired.slices and fired.core == self._core else None
        return Arrow(spelt_token(token), fired.step, wait, fired.at, max(taken, fired.at), source, None)


def _stuck(entry: Entry) -> DiagnosticError:
    what = f" for {spelt_token(entry.needs[0])}" if entry.needs else ""
    return DiagnosticError.at(entry.step.place, f"deadlock: this waits{what} and never goes on", kind="deadlock")


def _meet(earlier: Exec, later: Exec, first: str, second: str) -> bool:
    return any(one.overlaps(other) for one in getattr(earlier, first) for other in getattr(later, second))
