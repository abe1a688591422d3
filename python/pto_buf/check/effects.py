"""What the ops, flags and barriers of a program do to the knowledge about a group of goals. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pto_buf.check.alarms import Alarms, Trail
from pto_buf.check.findings import Fault
from pto_buf.check.ground import FlagKey, Ground, lock_key
from pto_buf.check.knowledge import NUMBER, UNDRAINED, Bits, Goal, Knowledge
from pto_buf.check.program import Barrier, Code, Local, Lock, Run, SetFlag, WaitFlag
from pto_buf.check.reason import Reason
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

    def __init__(self, code: Code, ground: Ground, bits: Bits, alarms: Alarms, global_raw: bool):
        self._code = code.instructions
        self._ground = ground
        self._bits = bits
        self._alarms = alarms
        self._flags = frozenset(goal.flag for goal in bits.goals if goal.flag is not None)
        self._undrained = frozenset({UNDRAINED}) if Goal(end=True) in bits.goals else frozenset[FlagKey]()
        self._operands: dict[int, list[_Operand]] = {}
        self._lay_operands(global_raw)

    def _lay_operands(self, global_raw: bool) -> None:
        goals = frozenset(goal.atom for goal in self._bits.goals if goal.atom is not None)
        for (at, number), reach in self._ground.reach.items():
            if not any(atom in goals for atom in reach.all):
                continue
            one = self._code[at]
            assert isinstance(one, Run)
            touch = one.touches[number]
            strict = touch.reads and not isinstance(touch.where, Local) and not global_raw
            pipes = tuple(NUMBER[pipe] for pipe in one.pipes)

            def masks(
                atoms: Sequence[int], writes: bool = touch.writes, strict: bool = strict, pipes: Sequence[int] = pipes
            ) -> _Masks:
                bits, mine = self._bits, [atom for atom in atoms if atom in goals]
                written = sum(bits.all_writes[atom] for atom in mine)
                read = sum(bits.all_reads[atom] for atom in mine) if writes else 0
                table = bits.writes if writes else bits.reads
                after = tuple((pipe, sum(table[atom, pipe] for atom in mine)) for pipe in pipes)
                return _Masks(written | read, after, written if strict else 0)

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
        for flag in one.raises:
            if flag in knowledge.pending:
                self._alarms.raise_for(Fault.CLASH, Goal(flag=flag), at, trail)
        for operand, masks, exact in sorted(found, key=lambda one: one[0].writes):
            if operand.writes and exact:
                knowledge.replace(masks.before)
            for pipe, mask in masks.after:
                knowledge.access(self._bits, pipe, mask)
        knowledge.pending |= self._undrained

    def barrier(self, one: Barrier, knowledge: Knowledge) -> None:
        knowledge.barrier(self._bits, one.pipe, one.memory)
        if one.pipe is Pipe.ALL:
            knowledge.pending -= self._undrained
        else:
            knowledge.pending |= self._undrained

    def flag(self, at: int, one: SetFlag | WaitFlag, reason: Reason, knowledge: Knowledge, trail: Trail) -> bool:
        """A set or a wait. False where the run ends. Raises Asked before anything is changed."""
        lane = reason.value(one.lane)
        knowledge.pending |= self._undrained
        if lane is None:
            self._unknown_lane(at, one, reason)
            return True
        if not 0 <= lane < EVENT_IDS:
            self._alarms.raise_for(Fault.LANE, Goal(lane=at), at, trail)
            return False
        flag = (one.src, one.dst, lane)
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

    def _unknown_lane(self, at: int, one: SetFlag | WaitFlag, reason: Reason) -> None:
        """Orders nothing here; of the flags that it may name, nothing can be said."""
        if Goal(lane=at) in self._bits.goals:
            low, high = reason.range(one.lane)
            if low is None or low < 0 or high is None or high >= EVENT_IDS:
                self._alarms.cannot_see(Goal(lane=at))
        for lane in self._ground.lanes[at]:
            flag = (one.src, one.dst, lane)
            if flag in self._flags:
                self._alarms.cannot_see(Goal(flag=flag))

    def lock(self, at: int, one: Lock, reason: Reason, knowledge: Knowledge, trail: Trail) -> bool:
        """A buffer lock is taken or given back. False where the run ends. Raises Asked before anything is changed."""
        number = reason.value(one.lane)
        knowledge.pending |= self._undrained
        if number is None:
            for flag in self._ground.locks[at]:
                if flag in self._flags:
                    self._alarms.cannot_see(Goal(flag=flag))
            return True
        flag = lock_key(number)
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

    def signal(self, knowledge: Knowledge) -> None:
        """Between cores: inside one of them it orders nothing that is relied on."""
        knowledge.pending |= self._undrained

    def end(self, at: int, knowledge: Knowledge, trail: Trail) -> None:
        for flag in sorted(knowledge.pending - self._alarms.gone_flags):
            if flag == UNDRAINED:
                self._alarms.raise_for(Fault.NO_FINAL_BARRIER, Goal(end=True), at, trail)
            else:
                self._alarms.raise_for(Fault.LEFTOVER, Goal(flag=flag), at, trail)
