"""What an exploration found, and the goals that it gave up. Pure."""

from dataclasses import dataclass, field
from typing import TypeAlias

from pto_buf.check.findings import Fault
from pto_buf.check.proof.ground import FlagKey
from pto_buf.check.proof.knowledge import Bits, Goal, undrained
from pto_buf.check.terms import Term, Var


@dataclass(frozen=True, slots=True)
class Went:
    """The branch at instruction `at` was taken, or not."""

    at: int
    way: bool


@dataclass(frozen=True, slots=True)
class Took:
    """At instruction `at`, the case in which `condition` holds was taken."""

    at: int
    condition: Term


@dataclass(frozen=True, slots=True)
class Kept:
    """At instruction `at`, variables of the checker's own took these values."""

    at: int
    pairs: tuple[tuple[Var, Term], ...]


Entry: TypeAlias = Went | Took | Kept


@dataclass(frozen=True, slots=True)
class Link:
    """The last thing that happened on the way to a state, and what was before."""

    before: "Link | None"
    entry: Entry


Trail: TypeAlias = Link | None
"""How a state was reached, back to the start."""


@dataclass(frozen=True)
class Alarm:
    """Something that may be wrong at instruction `at`, reached by `trail`."""

    fault: Fault
    goal: Goal
    at: int
    trail: Trail


@dataclass
class Alarms:
    """`blind` goals could not be followed: an id or address that may concern them was not worked out.

    A goal is given up after one alarm: its bits and flags no longer matter.
    """

    bits: Bits
    cores: int
    alarms: list[Alarm] = field(default_factory=list[Alarm])
    blind: dict[Goal, None] = field(default_factory=dict[Goal, None])
    gone: set[Goal] = field(default_factory=set[Goal])
    gone_bits: int = 0
    gone_flags: frozenset[FlagKey] = frozenset()

    def __post_init__(self) -> None:
        self._goal_of: dict[int, Goal] = {bit: Goal(flag=flag) for flag, bit in self.bits.waits.items()}
        for line, bits in self.bits.heard.items():
            self._goal_of.update({bit: Goal(line=line) for bit in bits})
        for table in (self.bits.reads, self.bits.writes):
            self._goal_of.update({bit: Goal(atom=atom) for (atom, _), bit in table.items()})

    @property
    def all_gone(self) -> bool:
        return len(self.gone) == len(self.bits.goals)

    def raise_bits(self, fault: Fault, bits: int, at: int, trail: Trail) -> None:
        """An alarm for each goal that has a bit set."""
        goals: dict[Goal, None] = {}
        while bits:
            low = bits & -bits
            goals[self._goal_of[low]] = None
            bits ^= low
        for goal in goals:
            self.raise_for(fault, goal, at, trail)

    def raise_for(self, fault: Fault, goal: Goal, at: int, trail: Trail) -> None:
        if goal not in self.gone:
            self.alarms.append(Alarm(fault, goal, at, trail))
            self._give_up(goal)

    def cannot_see(self, goal: Goal) -> None:
        if goal not in self.gone:
            self.blind[goal] = None
            self._give_up(goal)

    def _give_up(self, goal: Goal) -> None:
        self.gone.add(goal)
        if goal.flag is not None:
            self.gone_flags |= {goal.flag}
            self.gone_bits |= self.bits.waits.get(goal.flag, 0)
        elif goal.end:
            self.gone_flags |= frozenset(map(undrained, range(self.cores)))
        elif goal.atom is not None:
            self.gone_bits |= self.bits.all_reads[goal.atom] | self.bits.all_writes[goal.atom]
