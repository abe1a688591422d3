"""Checks the states of a proof in one pass: from each, one stretch of a run leads to states among them. Pure.

Written by itself, apart from what finds the states: what flags, barriers, locks and signals do is said here a second
time. Only numbers (terms under facts, addresses, which places are apart) are worked out by the same code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pto_buf.check.changes import changed
from pto_buf.check.clocks import number_of, pipes_of
from pto_buf.check.explore import ENDED, Setting, State, start_facts
from pto_buf.check.facts import Facts, Scope, range_of, residue_of
from pto_buf.check.ground import FlagKey, lock_key
from pto_buf.check.knowledge import Bits, Goal, Knowledge, undrained
from pto_buf.check.liveness import Keys
from pto_buf.check.poly import form_poly
from pto_buf.check.program import (
    Assign,
    Await,
    Barrier,
    Branch,
    End,
    Fresh,
    Jump,
    Leave,
    Local,
    Lock,
    Run,
    SetFlag,
    Signal,
    WaitFlag,
)
from pto_buf.check.questions import Asked, cases
from pto_buf.check.reason import Reason
from pto_buf.check.signals import MOST_PENDING, Lines
from pto_buf.check.tracker import Tracker
from pto_buf.hw import EVENT_IDS, Pipe


class Wrong(Exception):
    """Something is wrong in a state, or cannot be told."""


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
        self._setting, self._whole, self._ground = setting, setting.whole, setting.ground
        self._code = setting.whole.code.instructions
        self._scope, self._bits, self._residues, self._tracker = scope, bits, residues, tracker
        self._goals = frozenset(bits.goals)
        self._flags = frozenset(goal.flag for goal in bits.goals if goal.flag is not None)
        self._lines = Lines(setting.whole.kinds, setting.model.broadcast)
        self._ends = Goal(end=True) in self._goals

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
        first = True
        while first or at not in self._setting.joins:
            first = False
            one, reason = self._code[at], Reason(self._scope, facts)
            try:
                match one:
                    case Run():
                        self._run(at, one, reason, held)
                        yield from self._kept(state, at, reason, held)
                    case SetFlag() | WaitFlag():
                        self._flag(at, one, reason, held)
                    case Barrier():
                        self._barrier(self._whole.core_of(at), one, held)
                    case Lock():
                        self._lock(at, one, reason, held)
                    case Signal() if self._setting.joint:
                        self._send(at, one, reason, held)
                        yield from self._others(state.moved(at + 1, facts, held, None))
                        return
                    case Await() if self._setting.joint:
                        if not self._hear(at, one, reason, held):
                            yield self._turn(state.moved(at, facts, held, None), reason)
                            return
                    case Branch():
                        at = at if reason.truth(one.condition) else one.otherwise - 1
                    case Assign() | Fresh() | Leave():
                        new = changed(one, reason, self._whole.program, self._residues[at + 1])
                        if new is None:
                            return
                        facts = new
                    case Jump():
                        at = one.target - 1
                    case End():
                        self._end(self._whole.core_of(at), held)
                        yield from self._others(state.moved(ENDED, facts, held, None))
                        return
                    case _:
                        pass
            except Asked as asked:
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
                self._renew(other, bit)
                if self._bits.ordered[pipe]:
                    other.known[pipe] |= bit
            yield state.moved(at + 1, facts, other, None)

    # --- memory ---

    def _run(self, at: int, one: Run, reason: Reason, held: Knowledge) -> None:
        core = self._whole.core_of(at)
        pipes = [number_of(core, pipe) for pipe in one.pipes]
        touched: list[tuple[int, int, bool]] = []
        for number, touch in enumerate(one.touches):
            reach = self._ground.reach.get((at, number))
            if reach is None:
                continue
            address = reason.value(touch.where.address) if isinstance(touch.where, Local) and reach.bounded else None
            exact = address is not None or not isinstance(touch.where, Local)
            atoms = [
                atom
                for atom in (reach.by_address.get(address, ()) if address is not None else reach.all)
                if Goal(atom=atom) in self._goals
            ]
            before = sum(self._bits.all_writes[atom] for atom in atoms)
            if touch.reads and not isinstance(touch.where, Local) and not self._setting.model.global_raw:
                own = (self._bits.writes.get((atom, pipe), 0) for atom in atoms for pipe in pipes_of(core))
                if held.present & sum(own):
                    raise Wrong
            if touch.writes:
                before |= sum(self._bits.all_reads[atom] for atom in atoms)
            if any(held.present & before & ~held.known[pipe] for pipe in pipes):
                raise Wrong
            table = self._bits.writes if touch.writes else self._bits.reads
            for pipe in pipes:
                touched.append((pipe, sum(table[atom, pipe] for atom in atoms), touch.writes))
            if touch.writes and exact:
                touched.append((-1, before, True))
        if any((core, *raised) in held.pending for raised in one.raises):
            raise Wrong
        for pipe, mask, _ in sorted(touched, key=lambda one: (one[2], one[0])):
            self._renew(held, mask)
            if pipe < 0:
                held.present &= ~mask
            elif self._bits.ordered[pipe]:
                held.known[pipe] |= mask
        self._busy(core, held)

    @staticmethod
    def _renew(held: Knowledge, mask: int) -> None:
        """Nobody knows these accesses complete."""
        held.present |= mask
        held.known = [known & ~mask for known in held.known]
        held.tokens = {flag: token & ~mask for flag, token in held.tokens.items()}
        held.signals = {line: tuple(one & ~mask for one in masks) for line, masks in held.signals.items()}

    def _complete(self, held: Knowledge, pipe: int) -> int:
        """What is complete when the earlier work of a pipe is."""
        return held.present & (held.known[pipe] | self._bits.own[pipe])

    def _busy(self, core: int, held: Knowledge, drained: bool = False) -> None:
        if self._ends:
            mark = frozenset({undrained(core)})
            held.pending = held.pending - mark if drained else held.pending | mark

    @staticmethod
    def _told(core: int, pipe: Pipe) -> Sequence[int]:
        return pipes_of(core) if pipe is Pipe.S else (number_of(core, pipe),)

    # --- order ---

    def _flag(self, at: int, one: SetFlag | WaitFlag, reason: Reason, held: Knowledge) -> None:
        core, lane = self._whole.core_of(at), reason.value(one.lane)
        self._busy(core, held)
        if lane is None:
            self._unknown_id(at, one, reason)
            return
        if not 0 <= lane < EVENT_IDS:
            raise Wrong
        flag: FlagKey = (core, one.src, one.dst, lane)
        goal = flag in self._flags
        bit = self._bits.waits.get(flag, 0)
        if isinstance(one, SetFlag):
            src = number_of(core, one.src)
            if goal and (flag in held.pending or held.present & bit & ~held.known[src]):
                raise Wrong
            self._renew(held, bit)
            held.present &= ~bit
            held.tokens[flag] = self._complete(held, src) & held.tokens.get(flag, -1)
            held.pending |= {flag} if goal else frozenset()
            return
        if goal and flag not in held.pending:
            raise Wrong
        token = held.tokens.pop(flag, 0)
        if goal:
            self._renew(held, bit)
            held.pending -= {flag}
        for pipe in self._told(core, one.dst):
            held.known[pipe] |= (token & ~bit) | bit

    def _unknown_id(self, at: int, one: SetFlag | WaitFlag, reason: Reason) -> None:
        low, high = reason.range(one.lane)
        inside = low is not None and high is not None and low >= 0 and high < EVENT_IDS
        named = ((self._whole.core_of(at), one.src, one.dst, lane) for lane in self._ground.lanes[at])
        if (Goal(lane=at) in self._goals and not inside) or any(flag in self._flags for flag in named):
            raise Wrong

    def _barrier(self, core: int, one: Barrier, held: Knowledge) -> None:
        self._busy(core, held, drained=one.pipe is Pipe.ALL)
        if one.pipe is not Pipe.ALL:
            pipe = number_of(core, one.pipe)
            held.known[pipe] |= held.present & self._bits.own[pipe]
            return
        complete = 0
        for pipe in pipes_of(core):
            complete |= self._complete(held, pipe)
        for pipe in pipes_of(core):
            held.known[pipe] |= complete
        if one.memory:
            stored = sum({self._bits.own[pipe] & self._bits.sticky for pipe in pipes_of(core)})
            self._renew(held, stored & held.present)
            held.present &= ~stored

    def _lock(self, at: int, one: Lock, reason: Reason, held: Knowledge) -> None:
        core, number = self._whole.core_of(at), reason.value(one.lane)
        self._busy(core, held)
        if number is None:
            if any(flag in self._flags for flag in self._ground.locks[at]):
                raise Wrong
            return
        lock = lock_key(core, number)
        goal = lock in self._flags
        if goal and (lock in held.pending) == one.take:
            raise Wrong
        if one.take:
            for pipe in self._told(core, one.pipe):
                held.known[pipe] |= held.tokens.get(lock, 0)
            held.pending |= {lock} if goal else frozenset()
        else:
            held.tokens[lock] = held.tokens.get(lock, 0) | self._complete(held, number_of(core, one.pipe))
            held.pending -= {lock}

    # --- between cores ---

    def _send(self, at: int, one: Signal, reason: Reason, held: Knowledge) -> None:
        core, id = self._whole.core_of(at), reason.value(one.lane)
        self._busy(core, held)
        if id is None:
            raise Wrong
        pipe = number_of(core, one.pipe)
        for line in self._lines.sent_by(core, one.pipe, id):
            sent = (*held.signals.get(line, ()), self._complete(held, pipe))
            heard = self._bits.heard.get(line, ())
            unknown = [bit for bit in heard if held.present & bit & ~held.known[pipe]]
            if len(sent) + len(unknown) > MOST_PENDING:
                raise Wrong
            held.signals[line] = sent

    def _come(self, at: int, one: Await, reason: Reason, held: Knowledge) -> bool:
        id = reason.value(one.lane)
        if id is None:
            raise Wrong
        lines = self._lines.heard_by(self._whole.core_of(at), id)
        return bool(lines) and all(held.signals.get(line) for line in lines)

    def _hear(self, at: int, one: Await, reason: Reason, held: Knowledge) -> bool:
        """False if the signal has not come."""
        core, id = self._whole.core_of(at), reason.value(one.lane)
        if not self._come(at, one, reason, held) or id is None:
            return False
        self._busy(core, held)
        for line in self._lines.heard_by(core, id):
            held.signals[line], token = held.signals[line][1:], held.signals[line][0]
            told = self._lines.told(core, one.pipe)
            for pipe in told:
                held.known[pipe] |= token
            heard = self._bits.heard.get(line, ())
            for older, newer in zip(reversed(heard), reversed(heard[:-1]), strict=False):
                self._rename(held, newer, older)
            if heard:
                self._renew(held, heard[0])
                for pipe in told:
                    held.known[pipe] |= heard[0]
        return True

    def _rename(self, held: Knowledge, newer: int, older: int) -> None:
        """What was known of one wait is known of the one counted before it."""

        def moved(mask: int) -> int:
            return (mask & ~(newer | older)) | (older if mask & newer else 0)

        held.present = moved(held.present)
        held.known = [moved(known) for known in held.known]
        held.tokens = {flag: moved(token) for flag, token in held.tokens.items()}
        held.signals = {line: tuple(moved(one) for one in masks) for line, masks in held.signals.items()}

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
            one = self._code[state.ats[core]]
            if not isinstance(one, Await) or self._come(state.ats[core], one, reason, state.knowledge):
                return replace(state, turn=core)
        raise Wrong

    def _end(self, core: int, held: Knowledge) -> None:
        if any(flag[0] == core for flag in held.pending):
            raise Wrong

    # --- whether a state speaks for another ---

    def _covers(self, target: State, state: State) -> bool:
        """Whether all that `target` claims holds in `state`, and it forgets nothing that may still matter."""
        held, less = state.knowledge, target.knowledge
        if (target.ats, target.turn) != (state.ats, state.turn) or less.pending != held.pending:
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
