"""What the ops, flags and barriers of a program do to the knowledge about a group of goals. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pto_buf.check.facts.reason import Reason
from pto_buf.check.findings import Fault
from pto_buf.check.model import Model
from pto_buf.check.program import Await, Barrier, Local, Lock, Run, SetFlag, Signal, WaitFlag, Within
from pto_buf.check.proof.alarms import Alarms, Link, Took, Trail
from pto_buf.check.proof.ground import Ground, lock_key
from pto_buf.check.proof.knowledge import Bits, Goal, Knowledge, undrained
from pto_buf.check.runs.clocks import number_of, pipes_of
from pto_buf.check.runs.signals import MOST_PENDING, Lines
from pto_buf.check.terms import at_most, const
from pto_buf.check.whole import Whole
from pto_buf.hw import EVENT_IDS, Pipe


@dataclass(frozen=True)
class _Masks:
    """Of one operand at one address. `before` must be complete; `after` are its own accesses by pipe number."""

    before: int
    after: tuple[tuple[int, int], ...]
    written: int
    """Earlier writes among `before`, where a load of global memory must not follow a store at all."""


@dataclass(frozen=True)
class _Operand:
    number: int
    writes: bool
    by_address: Mapping[int, _Masks]
    anywhere: _Masks


class Effects:
    """Raises alarms; changes the knowledge that it is given."""

    def __init__(self, whole: Whole, ground: Ground, bits: Bits, alarms: Alarms, model: Model):
        self._whole = whole
        self._code = whole.code.instructions
        self._ground = ground
        self._bits = bits
        self._alarms = alarms
        self._flags = frozenset(goal.flag for goal in bits.goals if goal.flag is not None)
        watched = range(len(whole.kinds)) if Goal(end=True) in bits.goals else range(0)
        self._undrained = {core: frozenset({undrained(core)}) for core in watched}
        self._lines = Lines(whole.kinds, model.broadcast)
        self._operands: dict[int, list[_Operand]] = {}
        self._lay_operands(model.global_raw)

    def _lay_operands(self, global_raw: bool) -> None:
        goals = frozenset(goal.atom for goal in self._bits.goals if goal.atom is not None)
        for (at, number), reach in self._ground.reach.items():
            if not any(atom in goals for atom in reach.all):
                continue
            one = self._code[at]
            assert isinstance(one, Run)
            touch = one.touches[number]
            strict = touch.reads and not isinstance(touch.where, Local) and not global_raw
            core = self._whole.core_of(at)
            pipes = tuple(number_of(core, pipe) for pipe in one.pipes)

            def masks(
                atoms: Sequence[int],
                writes: bool = touch.writes,
                strict: bool = strict,
                pipes: Sequence[int] = pipes,
                core: int = core,
            ) -> _Masks:
                bits, mine = self._bits, [atom for atom in atoms if atom in goals]
                written = sum(bits.all_writes[atom] for atom in mine)
                own = sum(bits.writes.get((atom, pipe), 0) for atom in mine for pipe in pipes_of(core))
                read = sum(bits.all_reads[atom] for atom in mine) if writes else 0
                table = bits.writes if writes else bits.reads
                after = tuple((pipe, sum(table[atom, pipe] for atom in mine)) for pipe in pipes)
                return _Masks(written | read, after, own if strict else 0)

            by_address = {address: masks(atoms) for address, atoms in reach.by_address.items()}
            self._operands.setdefault(at, []).append(_Operand(number, touch.writes, by_address, masks(reach.all)))

    def run(self, at: int, one: Run, reason: Reason, knowledge: Knowledge, trail: Trail) -> None:
        """A tile op. Raises Asked before anything is changed."""
        found: list[tuple[_Operand, _Masks, bool]] = []
        for operand in self._operands.get(at, ()):
            where = one.touches[operand.number].where
            if not isinstance(where, Local):
                found.append((operand, operand.anywhere, True))
                continue
            address = reason.value(where.address)
            if address is None or not operand.by_address:
                found.append((operand, operand.anywhere, False))
            elif address in operand.by_address:
                found.append((operand, operand.by_address[address], True))
        for _, masks, _ in found:
            for pipe, _ in masks.after:
                unknown = knowledge.unknown_to(pipe, masks.before)
                if unknown:
                    self._alarms.raise_bits(Fault.RACE, unknown, at, trail)
            if knowledge.present & masks.written:
                self._alarms.raise_bits(Fault.GLOBAL_READ, knowledge.present & masks.written, at, trail)
        core = self._whole.core_of(at)
        for raised in one.raises:
            flag = (core, *raised)
            if flag in knowledge.pending:
                self._alarms.raise_for(Fault.CLASH, Goal(flag=flag), at, trail)
        for operand, masks, exact in sorted(found, key=lambda one: one[0].writes):
            if operand.writes and exact:
                knowledge.replace(masks.before)
            for pipe, mask in masks.after:
                knowledge.access(self._bits, pipe, mask)
        self._busy(core, knowledge)

    def _busy(self, core: int, knowledge: Knowledge) -> None:
        if self._undrained:
            knowledge.pending |= self._undrained[core]

    def barrier(self, at: int, one: Barrier, knowledge: Knowledge) -> None:
        core = self._whole.core_of(at)
        knowledge.barrier(self._bits, core, one.pipe, one.memory)
        self._busy(core, knowledge)
        if one.pipe is Pipe.ALL and self._undrained:
            knowledge.pending -= self._undrained[core]

    def flag(self, at: int, one: SetFlag | WaitFlag, reason: Reason, knowledge: Knowledge, trail: Trail) -> bool:
        """A set or a wait. False where the run ends. Raises Asked before anything is changed."""
        lane = reason.value(one.lane)
        core = self._whole.core_of(at)
        self._busy(core, knowledge)
        if lane is None:
            self._unknown_lane(at, one, reason, trail)
            return True
        if not 0 <= lane < EVENT_IDS:
            self._alarms.raise_for(Fault.LANE, Goal(lane=at), at, trail)
            return False
        flag = (core, one.src, one.dst, lane)
        goal = flag in self._flags and flag not in self._alarms.gone_flags
        if isinstance(one, SetFlag):
            pending = goal and flag in knowledge.pending
            if knowledge.set(self._bits, flag, goal) or pending:
                self._alarms.raise_for(Fault.OVERFLOW, Goal(flag=flag), at, trail)
        elif goal and flag not in knowledge.pending:
            self._alarms.raise_for(Fault.DEADLOCK, Goal(flag=flag), at, trail)
        else:
            knowledge.wait(self._bits, flag, goal)
        return True

    def _unknown_lane(self, at: int, one: SetFlag | WaitFlag, reason: Reason, trail: Trail) -> None:
        """Orders nothing here; of the flags that it may name, nothing can be said."""
        low, high = reason.range(one.lane)
        above = high is None or high >= EVENT_IDS
        if Goal(lane=at) in self._bits.goals and (above or low is None or low < 0):
            outside = at_most(const(EVENT_IDS), one.lane) if above else at_most(one.lane, const(-1))
            self._alarms.raise_for(Fault.LANE, Goal(lane=at), at, Link(trail, Took(at, outside)))
        for lane in self._ground.lanes[at]:
            flag = (self._whole.core_of(at), one.src, one.dst, lane)
            if flag in self._flags:
                self._alarms.cannot_see(Goal(flag=flag))

    def within(self, at: int, one: Within, reason: Reason, trail: Trail) -> None:
        """Whether there is what has this number. Raises Asked before anything is changed."""
        if Goal(lane=at) not in self._bits.goals:
            return
        number = reason.value(one.lane)
        low, high = reason.range(one.lane) if number is None else (number, number)
        above = high is None or high >= one.count
        if above or low is None or low < 0:
            outside = at_most(const(one.count), one.lane) if above else at_most(one.lane, const(-1))
            self._alarms.raise_for(Fault.LANE, Goal(lane=at), at, Link(trail, Took(at, outside)))

    def lock(self, at: int, one: Lock, reason: Reason, knowledge: Knowledge, trail: Trail) -> bool:
        """A buffer lock is taken or given back. False where the run ends. Raises Asked before anything is changed."""
        number = reason.value(one.lane)
        core = self._whole.core_of(at)
        self._busy(core, knowledge)
        if number is None:
            for flag in self._ground.locks[at]:
                if flag in self._flags:
                    self._alarms.cannot_see(Goal(flag=flag))
            return True
        flag = lock_key(core, number)
        goal = flag in self._flags and flag not in self._alarms.gone_flags
        held = flag in knowledge.pending
        if one.take:
            if goal and held:
                self._alarms.raise_for(Fault.DEADLOCK, Goal(flag=flag), at, trail)
            knowledge.take(one.pipe, flag, goal)
        else:
            if goal and not held:
                self._alarms.raise_for(Fault.OVERFLOW, Goal(flag=flag), at, trail)
            knowledge.give(self._bits, one.pipe, flag, goal)
        return True

    def beyond(self, at: int, knowledge: Knowledge) -> None:
        """A signal, or the wait for one, where other cores are not followed."""
        self._busy(self._whole.core_of(at), knowledge)

    def signal(self, at: int, one: Signal, reason: Reason, knowledge: Knowledge, trail: Trail) -> bool:
        """To other cores. False where the run cannot be followed. Raises Asked before anything is changed."""
        core = self._whole.core_of(at)
        self._busy(core, knowledge)
        id = reason.value(one.lane)
        if id is None:
            return self._unknown_line(core, sends=True)
        for line in self._lines.sent_by(core, one.pipe, id, one.single):
            waiting = knowledge.send(self._bits, line, number_of(core, one.pipe))
            if waiting > MOST_PENDING:
                self._alarms.raise_for(Fault.OVERFLOW, Goal(line=line), at, trail)
                return False
        return True

    def can_hear(self, at: int, one: Await, reason: Reason, knowledge: Knowledge) -> bool | None:
        """Whether the signals that are waited for have come; None where they cannot be told. Raises Asked."""
        core = self._whole.core_of(at)
        id = reason.value(one.lane)
        if id is None:
            self._unknown_line(core, sends=False)
            return None
        lines = self._lines.heard_by(core, id)
        return bool(lines) and all(knowledge.signals.get(line) for line in lines)

    def hear(self, at: int, one: Await, reason: Reason, knowledge: Knowledge) -> None:
        """The signals have come."""
        core = self._whole.core_of(at)
        id = reason.value(one.lane)
        assert id is not None
        self._busy(core, knowledge)
        for line in self._lines.heard_by(core, id):
            knowledge.hear(self._bits, line, self._lines.told(core, one.pipe))

    def _unknown_line(self, core: int, sends: bool) -> bool:
        for goal in self._bits.goals:
            if goal.line is not None and goal.line[0 if sends else 1] == core:
                self._alarms.cannot_see(goal)
        return False

    def stuck(self, waiting: Sequence[tuple[int, Await]], reason: Reason, trail: Trail) -> None:
        """No core goes on: each has ended or waits."""
        for at, one in waiting:
            id = reason.value(one.lane)
            lines = [] if id is None else self._lines.heard_by(self._whole.core_of(at), id)
            for goal in [Goal(line=line) for line in lines] or self._bits.goals:  # with nobody to send it, all is open
                self._alarms.raise_for(Fault.DEADLOCK, goal, at, trail)

    def over(self, at: int, knowledge: Knowledge, trail: Trail) -> None:
        """Every core has ended."""
        for line, masks in knowledge.signals.items():
            if masks and line in self._bits.heard:
                self._alarms.raise_for(Fault.LEFTOVER, Goal(line=line), at, trail)

    def end(self, at: int, knowledge: Knowledge, trail: Trail) -> None:
        core = self._whole.core_of(at)
        for flag in sorted(flag for flag in knowledge.pending - self._alarms.gone_flags if flag[0] == core):
            if flag == undrained(core):
                self._alarms.raise_for(Fault.NO_FINAL_BARRIER, Goal(end=True), at, trail)
            else:
                self._alarms.raise_for(Fault.LEFTOVER, Goal(flag=flag), at, trail)
