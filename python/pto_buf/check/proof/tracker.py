"""Keeps one access to global memory in mind and compares later ones with it. Pure."""

from dataclasses import dataclass

from pto_buf.check.facts.facts import Facts, assigned, range_of, residue_of_poly
from pto_buf.check.facts.reason import Reason
from pto_buf.check.findings import Fault
from pto_buf.check.model import Model
from pto_buf.check.proof.knowledge import Bits, Goal, Knowledge
from pto_buf.check.proof.windows import Against, Tracking
from pto_buf.check.runs.clocks import PIPES
from pto_buf.check.terms import Term, add, constant_of


@dataclass(frozen=True)
class Tracker:
    """Goal `goal` has one bit for each pipe that the access may run on."""

    tracking: Tracking
    goal: Goal
    bits: Bits
    by_pipe: tuple[tuple[int, int], ...]
    """Pipe number and bit."""
    global_raw: bool

    def remember(self, knowledge: Knowledge) -> None:
        for pipe, bit in self.by_pipe:
            knowledge.access(self.bits, pipe, bit)

    def settled(self, knowledge: Knowledge) -> bool:
        """Whether every pipe that could conflict knows the access complete, so that nothing more can go wrong."""
        if not knowledge.present or self.bits.sticky:
            return False
        unsettled = 0
        for pipe, needed in enumerate(self.bits.needed):
            unsettled |= knowledge.unknown_to(pipe, needed)
        return not unsettled

    def keep(self, at: int, reason: Reason) -> Facts | None:
        """The facts when the access at this instruction is kept in mind; None if it is another instruction."""
        if at != self.tracking.at[0]:
            return None
        values = {var.key: reason.poly(term) for var, term in self.tracking.kept}
        return assigned(reason.scope, reason.facts, values)

    def conflict(self, at: int, reason: Reason, knowledge: Knowledge) -> Fault | None:
        """What is wrong with the op at this instruction. Raises Asked."""
        if not knowledge.present:
            return None
        pipes = self.tracking.pipes_at.get(at, ())
        for one in self.tracking.against.get(at, ()):
            unordered = any(knowledge.unknown_to(pipe, knowledge.present) for pipe in pipes)
            stale = one.reads and self.tracking.writes and not self.global_raw and self._same_core(pipes)
            if (unordered or stale) and not self._apart(one, reason):
                return Fault.RACE if unordered else Fault.GLOBAL_READ
        return None

    def replaced(self, at: int, reason: Reason, knowledge: Knowledge) -> bool:
        """Whether the op at this instruction is ordered and writes over all that the access kept in mind touched.

        What comes later is in order with that access if it is with this one, which is looked at by itself.
        """
        pipes = self.tracking.pipes_at.get(at, ())
        if not knowledge.present or any(knowledge.unknown_to(pipe, knowledge.present) for pipe in pipes):
            return False
        found = self.tracking.against.get(at, ())
        return any(one.covers and all(_not_negative(term, reason) for term in one.covers) for one in found)

    def _apart(self, one: Against, reason: Reason) -> bool:
        if any(_not_negative(gap, reason) for gap in one.gaps) or _passed_by(one, reason):
            return True
        return any(reason.is_at_least_zero(gap) for gap in one.gaps)

    def _same_core(self, pipes: tuple[int, ...]) -> bool:
        return pipes[0] // len(PIPES) == self.tracking.pipes[0] // len(PIPES)


def _not_negative(term: Term, reason: Reason) -> bool:
    """Whether that is known already."""
    poly = reason.poly(term)
    low = None if poly is None else range_of(reason.scope, reason.facts, poly)[0]
    return low is not None and low >= 0


def _passed_by(one: Against, reason: Reason) -> bool:
    """Whether some gap is known not to lie where the two windows overlap, by what it leaves when it is divided."""
    for gap, back, modulus in zip(one.gaps[::2], one.gaps[1::2], one.moduli, strict=True):
        both, poly = constant_of(add(gap, back)), reason.poly(gap) if modulus > 1 else None
        if both is None or poly is None:
            continue
        residue, known = residue_of_poly(reason.scope, reason.facts, poly, modulus)
        if both + 1 + (residue - both - 1) % known >= 0:
            return True
    return False


def make_tracker(tracking: Tracking, model: Model, cores: int) -> Tracker:
    """The tracker and the layout of its bits."""
    by_pipe = tuple((pipe, 1 << number) for number, pipe in enumerate(tracking.pipes))
    mask = (1 << len(by_pipe)) - 1
    own = [0] * (len(PIPES) * cores)
    for pipe, bit in by_pipe:
        own[pipe] |= bit
    needed = tuple(mask if pipe in tracking.conflicting else 0 for pipe in range(len(own)))
    ordered = tuple(pipe in model.ordered for pipe in PIPES) * cores
    goal = Goal(window=tracking.at)
    read_later = any(one.reads for found in tracking.against.values() for one in found)
    sticky = mask if tracking.writes and read_later and not model.global_raw else 0
    bits = Bits((goal,), {}, {}, {}, {}, tuple(own), needed, {}, {}, ordered, sticky)
    return Tracker(tracking, goal, bits, by_pipe, model.global_raw)
