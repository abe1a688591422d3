"""Checks the states of a proof in one pass: from each, one stretch of a run leads to states among them. Pure.

Written by itself, apart from what finds the states; `rules` says a second time what ops, flags, barriers, locks and
signals do. Shared with the search are the program and its layout (`prepare`, `whole`, `joint`, `ground`, `lay_out`) and
the reasoning about numbers (`facts`, `reason`, `changes`, `tracker`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pto_buf.check.certificate.rules import Rules, Wrong
from pto_buf.check.facts.changes import changed
from pto_buf.check.facts.facts import Facts, Scope, range_of, residue_of
from pto_buf.check.facts.poly import form_poly
from pto_buf.check.facts.questions import Asked, Remainder, cases
from pto_buf.check.facts.reason import Reason
from pto_buf.check.program import (
    Assign,
    Await,
    Barrier,
    Branch,
    End,
    Enter,
    Fresh,
    Jump,
    Leave,
    Lock,
    Meet,
    Run,
    SetFlag,
    Signal,
    WaitFlag,
    Within,
)
from pto_buf.check.proof.explore import Setting, start_facts
from pto_buf.check.proof.frontier import ENDED, State
from pto_buf.check.proof.knowledge import Bits, Knowledge
from pto_buf.check.proof.liveness import Keys
from pto_buf.check.proof.tracker import Tracker

_MOST_REMAINDERS = 1 << 16
"""That are gone through one by one: a certificate may not make that take long."""


class Replay:
    """Of one group of goals."""

    def __init__(
        self,
        setting: Setting,
        scope: Scope,
        bits: Bits,
        residues: Sequence[Keys],
        limit: int,
        tracker: Tracker | None = None,
    ):
        self._setting, self._whole = setting, setting.whole
        self._code = setting.whole.code.instructions
        self._scope, self._bits, self._residues, self._tracker = scope, bits, residues, tracker
        self._rules = Rules(setting, bits)

    def holds(self, states: Sequence[State], after: Sequence[Sequence[int]]) -> bool:
        """Whether the first state is where a run begins, each leads to those named for it, and none is wrong."""
        starts = self._whole.starts
        first = State(starts, 0, start_facts(self._whole, self._scope), Knowledge.nothing(len(starts)), None)
        if not states or len(after) != len(states) or not self._covers(states[0], first):
            return False
        for state, targets in zip(states, after, strict=True):
            found = iter(targets)
            try:
                for one in self._from(state):
                    if self._tracker is not None and self._tracker.settled(one.knowledge):
                        continue  # nothing more can go wrong with the access that is kept in mind
                    target = next(found, None)
                    if target is None or not 0 <= target < len(states) or not self._covers(states[target], one):
                        return False
            except Wrong:
                return False
        return True

    # --- what one state leads to ---

    def _from(self, state: State) -> Iterator[State]:
        """Runs on to where paths meet, to a question, or to another core's turn. Raises Wrong."""
        at, facts, held = state.at, state.facts, state.knowledge.copy()
        first, rules = True, self._rules
        while first or at not in self._setting.joins:
            first = False
            one, reason = self._code[at], Reason(self._scope, facts)
            try:
                match one:
                    case Run():
                        rules.run(at, one, reason, held)
                        yield from self._kept(state, at, reason, held)
                        if self._tracker is not None and self._tracker.replaced(at, reason, held):
                            return
                    case SetFlag() | WaitFlag():
                        rules.flag(at, one, reason, held)
                    case Barrier():
                        rules.barrier(self._whole.core_of(at), one, held)
                    case Lock():
                        rules.lock(at, one, reason, held)
                    case Within():
                        rules.within(at, one, reason)
                    case Signal() if self._setting.joint:
                        rules.send(at, one, reason, held)
                        if not self._whole.in_step:
                            yield from self._others(state.moved(at + 1, facts, held, None))
                            return
                    case Await() if self._setting.joint:
                        if not rules.hear(at, one, reason, held):
                            yield self._turn(state.moved(at, facts, held, None), reason)
                            return
                    case Meet():
                        yield self._met(state.moved(at, facts, held, None), one, reason)
                        return
                    case Branch():
                        at = at if reason.truth(one.condition) else one.otherwise - 1
                    case Assign() | Fresh() | Enter() | Leave():
                        new = changed(one, reason, self._whole.program, self._residues[at + 1])
                        if new is None:
                            return
                        facts = new
                    case Jump():
                        at = one.target - 1
                    case End():
                        rules.end(self._whole.core_of(at), held)
                        yield from self._others(state.moved(ENDED, facts, held, None))
                        return
                    case Signal() | Await():
                        rules.beyond(at, held)
                    case _:
                        pass
            except Asked as asked:
                if isinstance(asked.question, Remainder) and asked.question.modulus > _MOST_REMAINDERS:
                    raise Wrong from None
                for case in cases(self._scope, facts, asked.question):
                    yield state.moved(at, case.facts, held.copy(), None)
                return
            at += 1
        yield state.moved(at, facts, held, None)

    def _kept(self, state: State, at: int, reason: Reason, held: Knowledge) -> Iterator[State]:
        """The access that is kept in mind: compared with this op; or it is this one."""
        if self._tracker is None:
            return
        if self._tracker.conflict(at, reason, held) is not None:
            raise Wrong
        facts = self._tracker.keep(at, reason)
        if facts is not None and not held.present:
            other = held.copy()
            for pipe, bit in self._tracker.by_pipe:
                self._rules.renew(other, bit)
                if self._bits.ordered[pipe]:
                    other.known[pipe] |= bit
            yield state.moved(at + 1, facts, other, None)

    def _turns(self, state: State) -> list[int]:
        """The other cores that have not ended, the next one first, and this one last."""
        count = len(state.ats)
        order = [(state.turn + step) % count for step in range(1, count + 1)]
        return [core for core in order if state.ats[core] != ENDED]

    def _others(self, state: State) -> Iterator[State]:
        turns = self._turns(state)
        if turns:
            yield replace(state, turn=turns[0])
        elif any(state.knowledge.signals.get(line) for line in self._bits.heard):
            raise Wrong

    def _turn(self, state: State, reason: Reason) -> State:
        """Another core goes on; wrong if each waits in vain."""
        for core in self._turns(state):
            at = state.ats[core]
            one = self._code[at]
            waits = isinstance(one, Await) and not self._rules.come(at, one, reason, state.knowledge)
            if not waits and not isinstance(one, Meet):
                return replace(state, turn=core)
        raise Wrong

    def _met(self, state: State, one: Meet, reason: Reason) -> State:
        """Those that meet here go on if all have come; else another core does."""
        if any(state.ats[core] == ENDED or self._code[state.ats[core]] != one for core in one.cores):
            return self._turn(state, reason)
        ats = tuple(at + (core in one.cores) for core, at in enumerate(state.ats))
        return replace(state, ats=ats, turn=one.cores[0])

    # --- whether a state speaks for another ---

    def _covers(self, target: State, state: State) -> bool:
        """Whether all that `target` claims holds in `state`, and it forgets nothing that may still matter."""
        held, less = state.knowledge, target.knowledge
        if (target.ats, target.turn) != (state.ats, state.turn) or less.pending != held.pending:
            return False
        # One present that is none is only looked at in vain; but whoever has one in mind takes up no other.
        if self._tracker is not None and bool(less.present) is not bool(held.present):
            return False
        gone = held.present & ~less.present
        if gone & self._bits.sticky or any(
            gone & needed & ~known for needed, known in zip(self._bits.needed, held.known, strict=True)
        ):
            return False
        lines = less.signals.keys() | held.signals.keys()
        claims = [*zip(less.known, held.known, strict=True)]
        claims += [(mask, held.tokens.get(flag, 0)) for flag, mask in less.tokens.items()]
        for line in sorted(lines):
            ours, theirs = less.signals.get(line, ()), held.signals.get(line, ())
            if len(ours) != len(theirs):
                return False
            claims += zip(ours, theirs, strict=True)
        return not any(claimed & held.present & ~is_so for claimed, is_so in claims) and self._follow(
            target.facts, state.facts
        )

    def _follow(self, claimed: Facts, facts: Facts) -> bool:
        for form, (least, most) in claimed.ranges.items():
            low, high = range_of(self._scope, facts, form_poly(form))
            if (least is not None and (low is None or low < least)) or (
                most is not None and (high is None or high > most)
            ):
                return False
        for key, (residue, modulus) in claimed.residues.items():
            value, known = residue_of(self._scope, facts, key)
            if known % modulus or value % modulus != residue:
                return False
        return all(facts.outcomes.get(node) == outcome for node, outcome in claimed.outcomes.items())
