"""Judges one run of a core: is every conflict ordered, every flag set once and waited for once? Pure.

Each pipe works in order, but an op may start before the one in front of it is complete. The k-th wait of a flag is
released by its k-th set, which fires when all earlier work of its pipe is complete. So what a pipe can rely on does not
depend on how the pipes interleave: for each pipe, how far each other pipe (and it itself) is known to be complete.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pto_buf.check.atoms import Atom, Atoms, Where
from pto_buf.check.findings import Fault, Finding, Hazard, Point
from pto_buf.check.model import Model
from pto_buf.check.steps import Access, Box, Bytes, Did, Done, Fence, Set, Step, Wait
from pto_buf.hw import EVENT_IDS, Pipe

_PIPES = tuple(pipe for pipe in Pipe if pipe is not Pipe.ALL)
_NUMBER = {pipe: number for number, pipe in enumerate(_PIPES)}
_SCALAR = _NUMBER[Pipe.S]

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
class _Token:
    """A flag that is set: what its wait will know complete."""

    known: list[int]
    point: Point


@dataclass
class Result:
    """What a run shows. Pairs are numbered by their sets, barriers by themselves, in the order of issue."""

    findings: list[Finding] = field(default_factory=list[Finding])
    pairs: int = 0
    barriers: int = 0


def judge(
    steps: Sequence[Step], model: Model, without_pair: int | None = None, without_barrier: int | None = None
) -> Result:
    """Judges a run, as if the pair or barrier with the given number were not there.

    Nothing is said about what follows a deadlock.
    """
    atoms = Atoms(access for step in steps if isinstance(step, Did) for access in step.accesses)
    return _Judge(model, atoms).run(steps, without_pair, without_barrier)


class _Judge:
    def __init__(self, model: Model, atoms: Atoms):
        self._model = model
        self._atoms = atoms
        self._ordered = [pipe in model.ordered for pipe in _PIPES]
        self._count = [0] * len(_PIPES)
        self._known = [[0] * len(_PIPES) for _ in _PIPES]
        # More than one token is an overflow; the run is judged on with the k-th wait taking the k-th.
        self._tokens: dict[Flag, deque[_Token]] = {}
        self._last_wait: dict[Flag, tuple[int, Point]] = {}
        self._held: dict[Atom, _Held] = {}
        self._seen: set[object] = set()
        self._result = Result()
        self._drained = True

    def run(self, steps: Iterable[Step], without_pair: int | None, without_barrier: int | None) -> Result:
        result = self._result
        skipped: set[Flag] = set()
        for step in steps:
            match step:
                case Did():
                    self._did(step)
                case Set():
                    result.pairs += 1
                    if result.pairs - 1 == without_pair:
                        skipped.add((step.src, step.dst, step.lane))
                    else:
                        self._set(step)
                case Wait():
                    flag = (step.src, step.dst, step.lane)
                    if flag in skipped and not self._tokens.get(flag):
                        skipped.remove(flag)
                    elif not self._wait(step):
                        return result
                case Fence():
                    result.barriers += 1
                    if result.barriers - 1 != without_barrier:
                        self._fence(step)
                case Done():
                    self._done(step)
        return result

    def _report(self, finding: Finding) -> None:
        if finding.key not in self._seen:
            self._seen.add(finding.key)
            self._result.findings.append(finding)

    def _advance(self, pipe: int) -> int:
        """Pipe `pipe` takes one more step; its number."""
        self._drained = False
        self._count[pipe] += 1
        return self._count[pipe]

    # --- memory ---

    def _did(self, step: Did) -> None:
        pipes = [_NUMBER[pipe] for pipe in step.pipes]
        now = {pipe: self._advance(pipe) for pipe in pipes}
        for flag in step.raises:
            if pending := self._tokens.get(flag):
                point = Point(step.site, step.pipes[0], step.trips)
                self._report(Finding(Fault.CLASH, point, pending[-1].point, flag=flag))
        for access in step.accesses:
            for atom in self._atoms.of(access.where):
                held = self._held.get(atom)
                if held is not None:
                    self._check(step, access, held, pipes)
        for access in sorted(step.accesses, key=lambda one: one.writes):
            for atom in self._atoms.of(access.where):
                held = self._held.setdefault(atom, _Held())
                if access.writes:
                    held.writes, held.reads = {}, {}
                into = held.writes if access.writes else held.reads
                for pipe in pipes:
                    into[pipe] = _Past(pipe, now[pipe], Point(step.site, _PIPES[pipe], step.trips), access.where)
        for pipe in pipes:
            if self._ordered[pipe]:
                self._known[pipe][pipe] = self._count[pipe]

    def _check(self, step: Did, access: Access, held: _Held, pipes: Sequence[int]) -> None:
        for pipe in pipes:
            known = self._known[pipe]
            for past in held.writes.values():
                hazard = Hazard.RAW if access.reads else Hazard.WAW
                if past.when > known[past.pipe]:
                    self._report(self._race(step, access, past, pipe, hazard))
                elif hazard is Hazard.RAW and isinstance(access.where, Box) and not self._model.global_raw:
                    self._report(self._race(step, access, past, pipe, hazard, Fault.GLOBAL_READ))
            if not access.writes:
                continue
            for past in held.reads.values():
                if past.when > known[past.pipe]:
                    self._report(self._race(step, access, past, pipe, Hazard.WAR))

    def _race(
        self, step: Did, access: Access, past: _Past, pipe: int, hazard: Hazard, fault: Fault | None = None
    ) -> Finding:
        if fault is None:
            fault = Fault.SAME_PIPE if past.pipe == pipe else Fault.RACE
        where = access.where
        return Finding(
            fault,
            Point(step.site, _PIPES[pipe], step.trips),
            past.point,
            hazard,
            where.space if isinstance(where, Bytes) else where.name,
            _shared(where, past.where),
        )

    # --- fences ---

    def _set(self, step: Set) -> None:
        flag = (step.src, step.dst, step.lane)
        src, dst = _NUMBER[step.src], _NUMBER[step.dst]
        now = self._advance(src)
        point = Point(step.site, step.src, step.trips)
        if not 0 <= step.lane < EVENT_IDS:
            self._report(Finding(Fault.LANE, point, flag=flag))
        pending, waited = self._tokens.setdefault(flag, deque()), self._last_wait.get(flag)
        if pending:
            self._report(Finding(Fault.OVERFLOW, point, pending[-1].point, flag=flag))
        elif waited is not None and waited[0] > self._known[src][dst]:
            self._report(Finding(Fault.OVERFLOW, point, waited[1], flag=flag))
        known = list(self._known[src])
        known[src] = now
        if self._ordered[src]:
            self._known[src][src] = now
        pending.append(_Token(known, point))

    def _wait(self, step: Wait) -> bool:
        """False if the run hangs here."""
        flag = (step.src, step.dst, step.lane)
        dst = _NUMBER[step.dst]
        now = self._advance(dst)
        point = Point(step.site, step.dst, step.trips)
        pending = self._tokens.get(flag)
        if not pending:
            fault = Fault.DEADLOCK if 0 <= step.lane < EVENT_IDS else Fault.LANE
            last = self._last_wait.get(flag)
            self._report(Finding(fault, point, None if last is None else last[1], flag=flag))
            return False
        token = pending.popleft()
        # The scalar unit itself stands at such a wait: what it issues afterwards, on any pipe, comes later.
        for pipe in range(len(_PIPES)) if dst == _SCALAR else (dst,):
            self._known[pipe] = [max(pair) for pair in zip(self._known[pipe], token.known, strict=True)]
            if dst == _SCALAR:
                self._known[pipe][dst] = now
        self._last_wait[flag] = (now, point)
        return True

    def _fence(self, step: Fence) -> None:
        if step.pipe is Pipe.ALL:
            self._known = [list(self._count) for _ in _PIPES]
            self._drained = True
        else:
            pipe = _NUMBER[step.pipe]
            self._known[pipe][pipe] = self._count[pipe]

    def _done(self, step: Done) -> None:
        for flag, pending in self._tokens.items():
            for token in pending:
                self._report(Finding(Fault.LEFTOVER, token.point, Point(step.site, flag[1], ()), flag=flag))
        if not self._drained and self._model.final_barrier:
            self._report(Finding(Fault.NO_FINAL_BARRIER, Point(step.site, Pipe.ALL, ())))


def _shared(one: Where, other: Where) -> tuple[int, int] | None:
    """A range of bytes that both cover."""
    if not isinstance(one, Bytes) or not isinstance(other, Bytes):
        return None
    for start, end in one.runs:
        for low, high in other.runs:
            if max(start, low) < min(end, high):
                return max(start, low), min(end, high)
    return None
