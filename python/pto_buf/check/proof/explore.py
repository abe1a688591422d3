"""Goes through all runs of a program at once, for one group of goals, until its states repeat. Pure.

A state is a place in the code, facts about the variables, and who knows what complete. The states at which paths meet
are remembered; `frontier` says in what order they go on, and which of them go on together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pto_buf.check.facts.changes import changed
from pto_buf.check.facts.facts import (
    NOTHING,
    Facts,
    Scope,
    forgotten,
    with_range,
)
from pto_buf.check.facts.poly import variable
from pto_buf.check.facts.questions import Asked, cases
from pto_buf.check.facts.reason import Reason
from pto_buf.check.model import Model
from pto_buf.check.program import (
    Assign,
    Await,
    Barrier,
    Branch,
    End,
    Enter,
    Fresh,
    Jump,
    Kind,
    Leave,
    Lock,
    Meet,
    Next,
    Run,
    SetFlag,
    Signal,
    WaitFlag,
    Within,
)
from pto_buf.check.proof.alarms import Alarms, Kept, Link, Took, Trail, Went
from pto_buf.check.proof.effects import Effects
from pto_buf.check.proof.frontier import ENDED, Frontier, State
from pto_buf.check.proof.ground import Ground
from pto_buf.check.proof.knowledge import Bits, Knowledge
from pto_buf.check.proof.liveness import Keys
from pto_buf.check.proof.tracker import Tracker
from pto_buf.check.whole import Whole

_NO_KEYS: Keys = frozenset()


@dataclass(frozen=True)
class Explored:
    """`complete` unless there were more states than allowed; comparing many of them counts as some more."""

    alarms: Alarms
    states: int
    complete: bool


@dataclass(frozen=True)
class Setting:
    """What is the same for all groups of goals. With `joint`, signals between cores are followed.

    `unites`: states that together are exactly one go on as one. Then a trail may be that of another part of it.
    """

    whole: Whole
    model: Model
    ground: Ground
    live: Sequence[Keys]
    joins: frozenset[int]
    joint: bool
    unites: bool = True


def start_facts(whole: Whole, scope: Scope) -> Facts:
    """What is known of the variables when a run begins."""
    facts: Facts | None = NOTHING
    for info in whole.program.variables:
        assert facts is not None
        if info.boolean and info.kind in (Kind.ARGUMENT, Kind.FIXED):
            facts = with_range(scope, facts, variable(info.var.key), (0, 1))
        elif info.kind is Kind.ARGUMENT:
            facts = with_range(scope, facts, variable(info.var.key), (0, None))
    assert facts is not None
    return facts


class Explorer:
    """Explores one group of goals. With `tracker`, one access to global memory is kept in mind, any one.

    What is known does not depend on how the cores interleave, so they take turns: each goes on until it has signalled,
    or waits for a signal that has not come. Those that are followed in step go on until they wait, for a signal or for
    each other.
    """

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
        self._whole = setting.whole
        self._code = setting.whole.code.instructions
        self._scope = scope
        self._bits = bits
        self._residues = residues
        self._limit = limit
        self._alarms = Alarms(bits, len(setting.whole.kinds))
        self._effects = Effects(setting.whole, setting.ground, bits, self._alarms, setting.model)
        self._tracker = tracker
        self._frontier = Frontier(self._code, setting.unites)

    @property
    def states(self) -> tuple[State, ...]:
        """The states that were found, where paths meet or part."""
        return tuple(self._frontier.states[number] for number in self._frontier.speaking())

    # --- the walk ---

    def explore(self) -> Explored:
        """Goes on until the states repeat."""
        self._begin()
        while not self._alarms.all_gone:
            numbers = self._frontier.take()
            if not numbers:
                break
            for number in numbers:
                if self._frontier.effort > self._limit:
                    return Explored(self._alarms, self._frontier.effort, False)
                self._go(number)
        return Explored(self._alarms, self._frontier.effort, True)

    def _begin(self) -> None:
        starts = self._whole.starts
        self._add(State(starts, 0, start_facts(self._whole, self._scope), Knowledge.nothing(len(starts)), None))

    def _add(self, state: State, answered: bool = False) -> int | None:
        """Keeps only what matters from here on; goes on later unless another state speaks for it: whose number it is.

        None if nothing more can go wrong in it.
        """
        if self._tracker is not None and self._tracker.settled(state.knowledge):
            return None
        return self._frontier.add(self._kept(state), answered)

    def _kept(self, state: State) -> State:
        """The state without what nothing asks any more."""
        places = [at for at in state.ats if at != ENDED]
        live = _NO_KEYS.union(*(self._setting.live[at] for at in places))
        residues = _NO_KEYS.union(*(self._residues[at] for at in places))
        facts = state.facts
        dead = {key for form in facts.ranges for mono, _ in form for key in mono} - live
        dead |= {var for var in facts.residues if var not in live}
        facts = forgotten(facts, sorted(dead))
        if any(key not in residues for key in facts.residues):
            kept = {key: residue for key, residue in facts.residues.items() if key in residues}
            facts = Facts(facts.ranges, kept, facts.outcomes)
        knowledge = state.knowledge
        knowledge.forget(self._bits, self._alarms.gone_bits)
        knowledge.pending -= self._alarms.gone_flags
        return replace(state, facts=facts)

    def _ask(self, state: State, asked: Asked) -> None:
        """Goes on once for each answer. An answer that leaves the facts as they are would be asked for again."""
        before = self._kept(replace(state, knowledge=state.knowledge.copy())).facts.key()
        for case in cases(self._scope, state.facts, asked.question):
            trail = Link(state.trail, Took(state.at, case.condition))
            answered = self._kept(replace(state, facts=case.facts, knowledge=state.knowledge.copy(), trail=trail))
            if answered.facts.key() == before:
                for goal in self._bits.goals:
                    self._alarms.cannot_see(goal)
                return
            self._add(answered, answered=True)

    def _go(self, number: int) -> None:
        """A state runs on to the next place where paths meet, to a question, or to another core's turn."""
        state = self._frontier.states[number]
        at, facts, knowledge, trail = state.at, state.facts, state.knowledge.copy(), state.trail
        first = True
        while True:
            if not first and at in self._setting.joins:
                self._add(state.moved(at, facts, knowledge, trail))
                return
            first = False
            one = self._code[at]
            reason = Reason(self._scope, facts)
            try:
                match one:
                    case Run():
                        self._effects.run(at, one, reason, knowledge, trail)
                        if self._track(state, at, reason, knowledge, trail):
                            return
                    case SetFlag() | WaitFlag():
                        if not self._effects.flag(at, one, reason, knowledge, trail):
                            return
                    case Barrier():
                        self._effects.barrier(at, one, knowledge)
                    case Lock():
                        if not self._effects.lock(at, one, reason, knowledge, trail):
                            return
                    case Within():
                        self._effects.within(at, one, reason, trail)
                    case Signal() if self._setting.joint:
                        if not self._effects.signal(at, one, reason, knowledge, trail):
                            return
                        if not self._whole.in_step:
                            self._pass_on(state.moved(at + 1, facts, knowledge, trail))
                            return
                    case Await() if self._setting.joint:
                        if not self._await(state.moved(at, facts, knowledge, trail), one, reason):
                            return
                    case Meet():
                        self._meet(state.moved(at, facts, knowledge, trail), one, reason)
                        return
                    case Branch():
                        way = reason.truth(one.condition)
                        trail = Link(trail, Went(at, way))
                        if not way:
                            at = one.otherwise - 1
                    case Assign() | Fresh() | Enter() | Leave():
                        after = changed(one, reason, self._whole.program, self._residues[at + 1])
                        if after is None:
                            return
                        facts = after
                    case Jump():
                        at = one.target - 1
                    case Signal() | Await():
                        self._effects.beyond(at, knowledge)
                    case Next():
                        pass
                    case End():
                        self._effects.end(at, knowledge, trail)
                        self._pass_on(state.moved(ENDED, facts, knowledge, trail), at)
                        return
                at += 1
            except Asked as asked:
                self._ask(state.moved(at, facts, knowledge, trail), asked)
                return

    # --- several cores ---

    def _pass_on(self, state: State, end: int = 0) -> None:
        """The next core that has not ended goes on. When all have, they ended at instruction `end`."""
        turn = self._next(state)
        if turn is None:
            self._effects.over(end, state.knowledge, state.trail)
        else:
            self._add(replace(state, turn=turn))

    @staticmethod
    def _next(state: State) -> int | None:
        count = len(state.ats)
        order = [(state.turn + step) % count for step in range(1, count + 1)]
        return next((core for core in order if state.ats[core] != ENDED), None)

    def _await(self, state: State, one: Await, reason: Reason) -> bool:
        """Whether the wait of the core whose turn it is is over. If not, another one goes on. Raises Asked."""
        heard = self._effects.can_hear(state.at, one, reason, state.knowledge)
        if heard:
            self._effects.hear(state.at, one, reason, state.knowledge)
            return True
        if heard is None:
            return False
        self._go_elsewhere(state, reason)
        return False

    def _meet(self, state: State, one: Meet, reason: Reason) -> None:
        """If all are here that meet here, they go on, the first of them before the others. Raises Asked."""
        if all(state.ats[core] != ENDED and self._code[state.ats[core]] == one for core in one.cores):
            ats = tuple(at + 1 if core in one.cores else at for core, at in enumerate(state.ats))
            self._add(replace(state, ats=ats, turn=one.cores[0]))
        else:
            self._go_elsewhere(state, reason)

    def _go_elsewhere(self, state: State, reason: Reason) -> None:
        """The next core goes on that does not wait in vain; if there is none, all are stuck. Raises Asked."""
        waiting: list[tuple[int, Await]] = []
        met = False
        count = len(state.ats)
        for step in range(1, count + 1):
            core = (state.turn + step) % count
            at = state.ats[core]
            if at == ENDED:
                continue
            one = self._code[at]
            if isinstance(one, Meet):
                met = True
            elif not isinstance(one, Await) or self._effects.can_hear(at, one, reason, state.knowledge) is not False:
                self._add(replace(state, turn=core))
                return
            else:
                waiting.append((at, one))
        if met:
            for goal in self._bits.goals:
                self._alarms.cannot_see(goal)  # they are stuck only because they go in step
        else:
            self._effects.stuck(waiting, reason, state.trail)

    def _track(self, state: State, at: int, reason: Reason, knowledge: Knowledge, trail: Trail) -> bool:
        """Compares the op with the access in mind; if there is none yet, goes on both with this one and without.

        Whether nothing more can go wrong with the access in mind, since the op takes its place.
        """
        tracker = self._tracker
        if tracker is None:
            return False
        fault = tracker.conflict(at, reason, knowledge)
        if fault is not None:
            self._alarms.raise_for(fault, tracker.goal, at, trail)
        if tracker.replaced(at, reason, knowledge):
            return True
        kept = tracker.keep(at, reason)
        if kept is not None and knowledge.present == 0:
            other = knowledge.copy()
            tracker.remember(other)
            self._add(state.moved(at + 1, kept, other, Link(trail, Kept(at, tracker.tracking.kept))))
        return False
