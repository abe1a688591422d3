"""What ops, flags, barriers, locks and signals do to knowledge, said a second time for the check of certificates. Pure.

Nothing here is shared with `effects` and `knowledge` but the layout of the bits: what is wrong raises `Wrong`.
"""

from collections.abc import Sequence

from pto_buf.check.facts.reason import Reason
from pto_buf.check.program import Await, Barrier, Local, Lock, Run, SetFlag, Signal, WaitFlag, Within
from pto_buf.check.proof.explore import Setting
from pto_buf.check.proof.ground import FlagKey, lock_key
from pto_buf.check.proof.knowledge import Bits, Goal, Knowledge, undrained
from pto_buf.check.runs.clocks import number_of, pipes_of
from pto_buf.check.runs.signals import MOST_PENDING, Lines
from pto_buf.hw import EVENT_IDS, Pipe


class Wrong(Exception):
    """Something is wrong in a state, or cannot be told."""


class Rules:
    """For one group of goals. Every method changes the knowledge that it is given, or raises Wrong."""

    def __init__(self, setting: Setting, bits: Bits):
        self._setting, self._whole, self._ground, self._bits = setting, setting.whole, setting.ground, bits
        self._goals = frozenset(bits.goals)
        self._flags = frozenset(goal.flag for goal in bits.goals if goal.flag is not None)
        self._lines = Lines(setting.whole.kinds, setting.model.broadcast)
        self._ends = Goal(end=True) in self._goals

    # --- memory ---

    def run(self, at: int, one: Run, reason: Reason, held: Knowledge) -> None:
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
            self.renew(held, mask)
            if pipe < 0:
                held.present &= ~mask
            elif self._bits.ordered[pipe]:
                held.known[pipe] |= mask
        self._busy(core, held)

    @staticmethod
    def renew(held: Knowledge, mask: int) -> None:
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

    def flag(self, at: int, one: SetFlag | WaitFlag, reason: Reason, held: Knowledge) -> None:
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
            self.renew(held, bit)
            held.present &= ~bit
            held.tokens[flag] = self._complete(held, src) & held.tokens.get(flag, -1)
            held.pending |= {flag} if goal else frozenset()
            return
        if goal and flag not in held.pending:
            raise Wrong
        token = held.tokens.pop(flag, 0)
        if goal:
            self.renew(held, bit)
            held.pending -= {flag}
        for pipe in self._told(core, one.dst):
            held.known[pipe] |= (token & ~bit) | bit

    def _unknown_id(self, at: int, one: SetFlag | WaitFlag, reason: Reason) -> None:
        low, high = reason.range(one.lane)
        inside = low is not None and high is not None and low >= 0 and high < EVENT_IDS
        named = ((self._whole.core_of(at), one.src, one.dst, lane) for lane in self._ground.lanes[at])
        if (Goal(lane=at) in self._goals and not inside) or any(flag in self._flags for flag in named):
            raise Wrong

    def within(self, at: int, one: Within, reason: Reason) -> None:
        if Goal(lane=at) not in self._goals:
            return
        number = reason.value(one.lane)
        low, high = reason.range(one.lane) if number is None else (number, number)
        if low is None or high is None or low < 0 or high >= one.count:
            raise Wrong

    def barrier(self, core: int, one: Barrier, held: Knowledge) -> None:
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
            self.renew(held, stored & held.present)
            held.present &= ~stored

    def lock(self, at: int, one: Lock, reason: Reason, held: Knowledge) -> None:
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

    def beyond(self, at: int, held: Knowledge) -> None:
        """What other cores do is left out; but a pipe signals, or waits."""
        self._busy(self._whole.core_of(at), held)

    def send(self, at: int, one: Signal, reason: Reason, held: Knowledge) -> None:
        core, id = self._whole.core_of(at), reason.value(one.lane)
        self._busy(core, held)
        if id is None:
            raise Wrong
        pipe = number_of(core, one.pipe)
        for line in self._lines.sent_by(core, one.pipe, id, one.single):
            sent = (*held.signals.get(line, ()), self._complete(held, pipe))
            heard = self._bits.heard.get(line, ())
            unknown = [bit for bit in heard if held.present & bit & ~held.known[pipe]]
            if len(sent) + len(unknown) > MOST_PENDING:
                raise Wrong
            held.signals[line] = sent

    def come(self, at: int, one: Await, reason: Reason, held: Knowledge) -> bool:
        id = reason.value(one.lane)
        if id is None:
            raise Wrong
        lines = self._lines.heard_by(self._whole.core_of(at), id)
        return bool(lines) and all(held.signals.get(line) for line in lines)

    def hear(self, at: int, one: Await, reason: Reason, held: Knowledge) -> bool:
        """False if the signal has not come."""
        core, id = self._whole.core_of(at), reason.value(one.lane)
        if not self.come(at, one, reason, held) or id is None:
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
                self.renew(held, heard[0])
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

    def end(self, core: int, held: Knowledge) -> None:
        if any(flag[0] == core for flag in held.pending):
            raise Wrong
