"""Judges one run: is every conflict ordered, every flag set once and waited for once? Pure.

Each pipe works in order, but an op may start before the one in front of it is complete. The k-th wait of a flag is
released by its k-th set, which fires when all earlier work of its pipe is complete. So what a pipe can rely on does not
depend on how the pipes interleave: for each pipe, how far each other pipe (and it itself) is known to be complete.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pto_buf.check.findings import Fault, Finding, Hazard, Point
from pto_buf.check.model import Model
from pto_buf.check.runs.atoms import Atom, Atoms, Where
from pto_buf.check.runs.clocks import PIPES, SCALAR, Clocks, Vector, number_of, pipes_of
from pto_buf.check.runs.signals import Signals
from pto_buf.check.runs.steps import (
    Access,
    Awaited,
    Box,
    Bytes,
    Did,
    Done,
    Fence,
    Locked,
    Outside,
    Set,
    Signalled,
    Step,
    Stream,
    Trips,
    Wait,
)
from pto_buf.hw import EVENT_IDS, Pipe

Flag = tuple[Pipe, Pipe, int]


@dataclass(frozen=True, slots=True)
class _Past:
    """The latest access of one pipe to an atom: the `when`-th step of pipe number `pipe`."""

    pipe: int
    when: int
    point: Point
    where: Where


@dataclass(slots=True)
class _Held:
    """Who touched an atom since it was last written in order: by pipe."""

    writes: dict[int, _Past] = field(default_factory=dict[int, _Past])
    reads: dict[int, _Past] = field(default_factory=dict[int, _Past])


@dataclass(slots=True)
class _Core:
    """What is particular to one core. More than one token for a flag is an overflow; the run is judged on."""

    stream: Stream
    position: int = 0
    tokens: dict[Flag, deque[tuple[Vector, Point]]] = field(default_factory=dict[Flag, deque[tuple[Vector, Point]]])
    last_wait: dict[Flag, tuple[int, Point]] = field(default_factory=dict[Flag, tuple[int, Point]])
    locks: dict[int, Vector] = field(default_factory=dict[int, Vector])
    held_locks: dict[int, Point] = field(default_factory=dict[int, Point])
    skipped: set[Flag] = field(default_factory=set[Flag])
    drained: bool = True


@dataclass
class Result:
    """What a run shows. Pairs are numbered by their sets, barriers by themselves, in the order of issue."""

    findings: list[Finding] = field(default_factory=list[Finding])
    pairs: int = 0
    barriers: int = 0


def judge(
    steps: Sequence[Step], model: Model, without_pair: int | None = None, without_barrier: int | None = None
) -> Result:
    """Judges a run of one core, as if the pair or barrier with the given number were not there.

    Nothing is said about what follows a deadlock.
    """
    return judge_streams([Stream(None, 0, tuple(steps))], model, without_pair, without_barrier)


def judge_streams(
    streams: Sequence[Stream], model: Model, without_pair: int | None = None, without_barrier: int | None = None
) -> Result:
    """The same for the cores of a block, which run side by side."""
    return _Judge(streams, model, without_pair, without_barrier).run()


class _Judge:
    def __init__(self, streams: Sequence[Stream], model: Model, without_pair: int | None, without_barrier: int | None):
        self._model = model
        self._without_pair = without_pair
        self._without_barrier = without_barrier
        self._cores = [_Core(stream) for stream in streams]
        self._clocks = Clocks(len(streams), model.ordered)
        self._signals = Signals([stream.core for stream in streams], self._clocks, model.broadcast)
        every = (step for stream in streams for step in stream.steps if isinstance(step, Did))
        self._atoms = Atoms(access for step in every for access in step.accesses)
        self._held: dict[Atom, _Held] = {}
        self._fenced: dict[int, int] = {}
        """For each pipe, up to which step its stores can be loaded."""
        self._seen: set[object] = set()
        self._result = Result()

    def run(self) -> Result:
        """The cores take turns, each until it waits for another: what is known does not depend on the turns."""
        going = True
        while going:
            going = False
            for number, core in enumerate(self._cores):
                while core.position < len(core.stream.steps):
                    step = core.stream.steps[core.position]
                    if isinstance(step, Awaited) and not self._signals.hear(number, step.pipe, step.lane):
                        break
                    core.position += 1
                    going = True
                    if not self._take(number, core, step):
                        return self._result
        for core in self._cores:
            if core.position < len(core.stream.steps):
                step = core.stream.steps[core.position]
                assert isinstance(step, Awaited)
                point = self._point(core, step, step.pipe)
                self._report(Finding(Fault.DEADLOCK, point, signal=step.lane))
        if not any(finding.fault is Fault.DEADLOCK for finding in self._result.findings):
            for id, point in self._signals.pending():
                self._report(Finding(Fault.LEFTOVER, point, signal=id))
        return self._result

    def _take(self, number: int, core: _Core, step: Step) -> bool:
        """False where the run hangs."""
        result = self._result
        core.drained = core.drained and isinstance(step, Done)
        match step:
            case Did():
                self._did(number, core, step)
            case Set():
                result.pairs += 1
                if result.pairs - 1 == self._without_pair:
                    core.skipped.add((step.src, step.dst, step.lane))
                else:
                    self._set(number, core, step)
            case Wait():
                flag = (step.src, step.dst, step.lane)
                if flag in core.skipped and not core.tokens.get(flag):
                    core.skipped.remove(flag)
                else:
                    return self._wait(number, core, step)
            case Fence():
                result.barriers += 1
                if result.barriers - 1 != self._without_barrier:
                    self._fence(number, core, step)
            case Locked():
                return self._lock(number, core, step)
            case Signalled():
                if not self._signals.send(number, step):
                    point = self._point(core, step, step.pipe)
                    self._report(Finding(Fault.OVERFLOW, point, point, signal=step.lane))
            case Outside():
                point = self._point(core, step, Pipe.S)
                self._report(Finding(Fault.LANE, point, outside=(step.what, step.number, step.count)))
                return False
            case Awaited():
                pass  # heard when its turn came
            case Done():
                self._done(core, step)
        return True

    def _point(self, core: _Core, step: Step, pipe: Pipe) -> Point:
        trips: Trips = step.trips
        return Point(step.site, pipe, trips, core.stream.name)

    def _report(self, finding: Finding) -> None:
        if finding.key not in self._seen:
            self._seen.add(finding.key)
            self._result.findings.append(finding)

    # --- memory ---

    def _did(self, number: int, core: _Core, step: Did) -> None:
        pipes = {number_of(number, pipe): pipe for pipe in step.pipes}
        now = {pipe: self._clocks.advance(pipe) for pipe in pipes}
        for flag in step.raises:
            if pending := core.tokens.get(flag):
                point = self._point(core, step, step.pipes[0])
                self._report(Finding(Fault.CLASH, point, pending[-1][1], flag=flag))
        for access in step.accesses:
            for atom in self._atoms.of(access.where):
                held = self._held.get(atom)
                if held is not None:
                    for pipe, name in pipes.items():
                        self._check(core, step, access, held, pipe, name)
        for access in sorted(step.accesses, key=lambda one: one.writes):
            for atom in self._atoms.of(access.where):
                held = self._held.setdefault(atom, _Held())
                if access.writes:
                    held.writes, held.reads = {}, {}
                into = held.writes if access.writes else held.reads
                for pipe, name in pipes.items():
                    into[pipe] = _Past(pipe, now[pipe], self._point(core, step, name), access.where)
        for pipe in pipes:
            self._clocks.done(pipe)

    def _check(self, core: _Core, step: Did, access: Access, held: _Held, pipe: int, name: Pipe) -> None:
        hazard = Hazard.RAW if access.reads else Hazard.WAW
        found: list[tuple[_Past, Hazard, Fault | None]] = []
        for past in held.writes.values():
            if past.when > self._clocks.knows(pipe, past.pipe):
                found.append((past, hazard, None))
            elif hazard is Hazard.RAW and self._is_stale(access, past, pipe):
                found.append((past, hazard, Fault.GLOBAL_READ))
        if access.writes:
            found += [
                (past, Hazard.WAR, None)
                for past in held.reads.values()
                if past.when > self._clocks.knows(pipe, past.pipe)
            ]
        for past, kind, fault in found:
            if fault is None:
                fault = Fault.SAME_PIPE if past.pipe == pipe else Fault.RACE
            where = access.where
            memory = where.space if isinstance(where, Bytes) else where.name
            point = self._point(core, step, name)
            self._report(Finding(fault, point, past.point, kind, memory, _shared(where, past.where)))

    def _is_stale(self, access: Access, past: _Past, pipe: int) -> bool:
        """Whether the core loads what it stored itself, with nothing but flags between."""
        same_core = past.pipe // len(PIPES) == pipe // len(PIPES)
        fenced = past.when <= self._fenced.get(past.pipe, 0)
        return isinstance(access.where, Box) and same_core and not fenced and not self._model.global_raw

    # --- fences ---

    def _set(self, number: int, core: _Core, step: Set) -> None:
        flag = (step.src, step.dst, step.lane)
        src, dst = number_of(number, step.src), number_of(number, step.dst)
        self._clocks.advance(src)
        point = self._point(core, step, step.src)
        if not 0 <= step.lane < EVENT_IDS:
            self._report(Finding(Fault.LANE, point, flag=flag))
        pending, waited = core.tokens.setdefault(flag, deque()), core.last_wait.get(flag)
        if pending:
            self._report(Finding(Fault.OVERFLOW, point, pending[-1][1], flag=flag))
        elif waited is not None and waited[0] > self._clocks.knows(src, dst):
            self._report(Finding(Fault.OVERFLOW, point, waited[1], flag=flag))
        pending.append((self._clocks.token(src), point))
        self._clocks.done(src)

    def _wait(self, number: int, core: _Core, step: Wait) -> bool:
        flag = (step.src, step.dst, step.lane)
        dst = number_of(number, step.dst)
        now = self._clocks.advance(dst)
        point = self._point(core, step, step.dst)
        pending = core.tokens.get(flag)
        if not pending:
            fault = Fault.DEADLOCK if 0 <= step.lane < EVENT_IDS else Fault.LANE
            last = core.last_wait.get(flag)
            self._report(Finding(fault, point, None if last is None else last[1], flag=flag))
            return False
        token, _ = pending.popleft()
        self._passed(number, dst, token)
        core.last_wait[flag] = (now, point)
        return True

    def _passed(self, number: int, pipe: int, token: Vector) -> None:
        """A wait of a pipe is over. Where the scalar unit waits, all that it issues afterwards comes later."""
        pipes = pipes_of(number)
        if pipe != pipes.start + SCALAR:
            self._clocks.learn([pipe], token)
            return
        self._clocks.done(pipe)
        self._clocks.learn(pipes, token)
        self._clocks.learn(pipes, self._clocks.token(pipe))

    def _fence(self, number: int, core: _Core, step: Fence) -> None:
        if step.pipe is not Pipe.ALL:
            self._clocks.drain_one(number_of(number, step.pipe))
            return
        self._clocks.drain(pipes_of(number))
        core.drained = True
        if step.memory:
            self._fenced.update({pipe: self._clocks.knows(pipe, pipe) for pipe in pipes_of(number)})

    def _lock(self, number: int, core: _Core, step: Locked) -> bool:
        pipe = number_of(number, step.pipe)
        self._clocks.advance(pipe)
        point = self._point(core, step, step.pipe)
        holder = core.held_locks.get(step.lane)
        if step.take:
            if holder is not None:
                self._report(Finding(Fault.DEADLOCK, point, holder, lock=step.lane))
                return False
            core.held_locks[step.lane] = point
            if step.lane in core.locks:
                self._passed(number, pipe, core.locks[step.lane])
            return True
        if holder is None or holder.pipe is not step.pipe:
            self._report(Finding(Fault.OVERFLOW, point, holder or point, lock=step.lane))
            return True
        del core.held_locks[step.lane]
        token, before = self._clocks.token(pipe), core.locks.get(step.lane)
        core.locks[step.lane] = token if before is None else [max(pair) for pair in zip(token, before, strict=True)]
        self._clocks.done(pipe)
        return True

    def _done(self, core: _Core, step: Done) -> None:
        end = replace(self._point(core, step, Pipe.ALL), trips=())
        for flag, pending in core.tokens.items():
            for _, point in pending:
                self._report(Finding(Fault.LEFTOVER, point, end, flag=flag))
        for lock, point in core.held_locks.items():
            self._report(Finding(Fault.LEFTOVER, point, end, lock=lock))
        if not core.drained and self._model.final_barrier:
            self._report(Finding(Fault.NO_FINAL_BARRIER, end))


def _shared(one: Where, other: Where) -> tuple[int, int] | None:
    """A range of bytes that both cover."""
    if not isinstance(one, Bytes) or not isinstance(other, Bytes):
        return None
    for start, end in one.runs:
        for low, high in other.runs:
            if max(start, low) < min(end, high):
                return max(start, low), min(end, high)
    return None
