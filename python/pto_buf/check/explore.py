"""Goes through all runs of a program at once, for one group of goals, until its states repeat. Pure.

A state is a place in the code, facts about the variables, and who knows what complete. The states at which paths meet
are remembered; the walk is breadth first, so that the first alarm has a short run behind it.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.check.alarms import Alarms, Kept, Took, Trail, Went
from pto_buf.check.effects import Effects
from pto_buf.check.facts import (
    NOTHING,
    Facts,
    Scope,
    assigned,
    eliminated,
    forgotten,
    range_of,
    with_range,
    with_residue,
)
from pto_buf.check.ground import Ground
from pto_buf.check.knowledge import Bits, Knowledge
from pto_buf.check.liveness import Keys
from pto_buf.check.model import Model
from pto_buf.check.poly import Poly, plus, split, variable
from pto_buf.check.program import (
    Assign,
    Await,
    Barrier,
    Branch,
    Code,
    End,
    Enter,
    Fresh,
    Jump,
    Kind,
    Leave,
    Lock,
    Next,
    Program,
    Run,
    SetFlag,
    Signal,
    WaitFlag,
)
from pto_buf.check.questions import Asked, Exactly, cases
from pto_buf.check.reason import MOST_VALUES, Reason
from pto_buf.check.terms import Term
from pto_buf.check.tracker import Tracker


@dataclass(frozen=True)
class Explored:
    """`complete` unless there were more states than allowed."""

    alarms: Alarms
    states: int
    complete: bool


@dataclass(frozen=True)
class Setting:
    """What is the same for all groups of goals."""

    program: Program
    code: Code
    model: Model
    ground: Ground
    live: Sequence[Keys]
    joins: frozenset[int]


@dataclass(frozen=True, slots=True)
class _State:
    at: int
    facts: Facts
    knowledge: Knowledge
    trail: Trail


class Explorer:
    """Explores one group of goals. With `tracking`, one access to global memory is kept in mind, any one."""

    def __init__(
        self,
        setting: Setting,
        scope: Scope,
        bits: Bits,
        residues: Sequence[Keys],
        limit: int,
        tracker: Tracker | None = None,
    ):
        self._setting = setting
        self._code = setting.code.instructions
        self._scope = scope
        self._bits = bits
        self._residues = residues
        self._limit = limit
        self._alarms = Alarms(bits)
        self._effects = Effects(setting.code, setting.ground, bits, self._alarms, setting.model.global_raw)
        self._tracker = tracker
        self._queue: deque[_State] = deque()
        self._seen: set[object] = set()

    # --- the walk ---

    def explore(self) -> Explored:
        self._add(_State(0, self._start(), Knowledge(), None))
        while self._queue and not self._alarms.all_gone:
            if len(self._seen) > self._limit:
                return Explored(self._alarms, len(self._seen), False)
            self._go(self._queue.popleft())
        return Explored(self._alarms, len(self._seen), True)

    def _start(self) -> Facts:
        facts: Facts | None = NOTHING
        for info in self._setting.program.variables:
            assert facts is not None
            if info.boolean and info.kind in (Kind.ARGUMENT, Kind.FIXED):
                facts = with_range(self._scope, facts, variable(info.var.key), (0, 1))
            elif info.kind is Kind.ARGUMENT:
                facts = with_range(self._scope, facts, variable(info.var.key), (0, None))
        assert facts is not None
        return facts

    def _add(self, state: _State) -> None:
        """Keeps only what matters from here on; goes on later unless the like was seen."""
        live, residues = self._setting.live[state.at], self._residues[state.at]
        facts = state.facts
        dead = {key for form in facts.ranges for mono, _ in form for key in mono} - live
        dead |= {var for var in facts.residues if var not in live}
        facts = forgotten(facts, sorted(dead))
        if any(key not in residues for key in facts.residues):
            kept = {key: residue for key, residue in facts.residues.items() if key in residues}
            facts = Facts(facts.ranges, kept, facts.outcomes)
        knowledge = state.knowledge
        if self._tracker is not None and self._tracker.settled(knowledge):
            return
        knowledge.forget(self._bits, self._alarms.gone_bits)
        knowledge.pending -= self._alarms.gone_flags
        key = state.at, facts.key(), knowledge.key()
        if key in self._seen:
            return
        self._seen.add(key)
        self._queue.append(_State(state.at, facts, knowledge, state.trail))

    def _go(self, state: _State) -> None:
        """Runs on to the next place where paths meet, or to a question."""
        at, facts, knowledge, trail = state.at, state.facts, state.knowledge.copy(), state.trail
        first = True
        while True:
            if not first and at in self._setting.joins:
                self._add(_State(at, facts, knowledge, trail))
                return
            first = False
            one = self._code[at]
            reason = Reason(self._scope, facts)
            try:
                match one:
                    case Run():
                        self._effects.run(at, one, reason, knowledge, trail)
                        if self._tracker is not None:
                            self._track(self._tracker, at, reason, knowledge, trail)
                        at += 1
                    case SetFlag() | WaitFlag():
                        if not self._effects.flag(at, one, reason, knowledge, trail):
                            return
                        at += 1
                    case Barrier():
                        self._effects.barrier(one, knowledge)
                        at += 1
                    case Lock():
                        if not self._effects.lock(at, one, reason, knowledge, trail):
                            return
                        at += 1
                    case Signal() | Await():
                        self._effects.signal(knowledge)
                        at += 1
                    case Branch():
                        way = reason.truth(one.condition)
                        trail = trail, Went(way)
                        at = at + 1 if way else one.otherwise
                    case Assign():
                        after = self._assign(one, reason)
                        if after is None:
                            return
                        facts = after
                        at += 1
                    case Fresh():
                        after = self._fresh(one, facts)
                        if after is None:
                            return
                        facts = after
                        at += 1
                    case Leave():
                        after = self._leave(one, facts)
                        if after is None:
                            return
                        facts = after
                        at += 1
                    case Jump():
                        at = one.target
                    case Enter() | Next():
                        at += 1
                    case End():
                        self._effects.end(at, knowledge, trail)
                        return
            except Asked as asked:
                for case in cases(self._scope, facts, asked.question):
                    taken = trail, Took(at, case.condition)
                    self._add(_State(at, case.facts, knowledge.copy(), taken))
                return

    def _track(self, tracker: Tracker, at: int, reason: Reason, knowledge: Knowledge, trail: Trail) -> None:
        """Compares the op with the access in mind; if there is none yet, goes on both with this one and without."""
        fault = tracker.conflict(at, reason, knowledge)
        if fault is not None:
            self._alarms.raise_for(fault, tracker.goal, at, trail)
        kept = tracker.keep(at, reason)
        if kept is not None and knowledge.present == 0:
            other = knowledge.copy()
            tracker.remember(other)
            self._add(_State(at + 1, kept, other, (trail, Kept(at, tracker.tracking.kept))))

    # --- variables ---

    def _assign(self, one: Assign, reason: Reason) -> Facts | None:
        scope = self._scope
        values: dict[int, Poly | None] = {}
        residues: list[tuple[int, int, int]] = []
        loose: list[tuple[int, Term]] = []
        for var, term in one.pairs:
            key = var.key
            values[key] = reason.poly(term)
            modulus = scope.moduli.get(key, 1)
            if modulus > 1:
                residue = reason.residue(term, modulus)
                if residue is not None:
                    residues.append((key, residue, modulus))
            if values[key] is None:
                loose.append((key, term))
        ranges = [(key, reason.range(term)) for key, term in loose]
        after = assigned(scope, reason.facts, values)
        for key, residue, modulus in residues:
            after = None if after is None else with_residue(scope, after, key, residue, modulus)
        for key, limit in ranges:
            after = None if after is None else with_range(scope, after, variable(key), limit)
        return after

    def _fresh(self, one: Fresh, facts: Facts) -> Facts | None:
        after = assigned(self._scope, facts, {one.var.key: None})
        if after is not None and self._setting.program.variables[one.var.key].boolean:
            after = with_range(self._scope, after, variable(one.var.key), (0, 1))
        return after

    def _leave(self, one: Leave, facts: Facts) -> Facts | None:
        """The counter goes; with a step above 1, how far it went past the end is worked out first if it matters."""
        loop = one.loop
        if loop.counter is None or loop.upper is None:
            return facts
        key = loop.counter.key
        upper = Reason(self._scope, facts).poly(loop.upper)
        if upper is not None and self._scope.moduli.get(key, 1) > 1:
            form, _ = split(plus(upper, variable(key), -1))
            if form in self._scope.forms:
                low, high = range_of(self._scope, facts, Poly(form, 0))
                if low is not None and high is not None and 0 < high - low < MOST_VALUES:
                    raise Asked(Exactly(form, low, high))
        return eliminated(self._scope, facts, key)
