"""Who knows what to be complete, for many goals at once as masks of bits. Pure.

A bit is the latest access of one pipe and kind (read, write) to one atom, or the latest wait for one flag. For each
pipe a mask says which of them it knows complete; each pending flag carries the mask that its wait will hand over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pto_buf.check.model import Model
from pto_buf.check.proof.ground import FlagKey, Ground
from pto_buf.check.runs.clocks import PIPES, number_of, pipes_of
from pto_buf.check.runs.signals import MOST_PENDING
from pto_buf.hw import Pipe, Space

Key: TypeAlias = tuple[object, ...]

Line: TypeAlias = tuple[int, int, int]
"""Signals from one core to another, of one id."""


def undrained(core: int) -> FlagKey:
    """Among the pending flags of a state: some pipe has done something since the last barrier on all of them."""
    return core, Pipe.ALL, Pipe.ALL, 0


@dataclass(frozen=True)
class Goal:
    """One thing to prove.

    An atom is never raced on; a flag is never set twice, waited for in vain or left over; the id at instruction `lane`
    is one of 0..7; at the end every pipe is drained; the access to global memory by an operand of an instruction
    (`window`) races with no later one; the signals of a line between cores are each sent, heard, and not too many.
    """

    atom: int | None = None
    flag: FlagKey | None = None
    lane: int | None = None
    end: bool = False
    window: tuple[int, int] | None = None
    line: Line | None = None


@dataclass(frozen=True)
class Bits:
    """The layout of the masks for a group of goals."""

    goals: tuple[Goal, ...]
    reads: Mapping[tuple[int, int], int]
    """The bit of a pipe's reads of an atom, by (atom, pipe number)."""
    writes: Mapping[tuple[int, int], int]
    waits: Mapping[FlagKey, int]
    heard: Mapping[Line, tuple[int, ...]]
    """The bits of the latest waits of a line, the last one first."""
    own: tuple[int, ...]
    """For each pipe, the bits of its own accesses."""
    needed: tuple[int, ...]
    """For each pipe, the bits that it may ever have to know."""
    all_reads: Mapping[int, int]
    """Every pipe's bits, by atom."""
    all_writes: Mapping[int, int]
    ordered: tuple[bool, ...]
    sticky: int = 0
    """Writes of global memory that no order makes safe to read."""


def lay_out(
    goals: Sequence[Goal], ground: Ground, model: Model, cores: int, senders: Mapping[Line, frozenset[int]]
) -> Bits:
    """The bits for these goals, on so many cores. `senders`: the numbers of the pipes that send on a line."""
    return _Layout(goals, ground, model, cores, senders).done()


class _Layout:
    def __init__(
        self, goals: Sequence[Goal], ground: Ground, model: Model, cores: int, senders: Mapping[Line, frozenset[int]]
    ):
        self._senders = senders
        self._goals = tuple(goals)
        self._ground = ground
        self._ordered = tuple(pipe in model.ordered for pipe in PIPES) * cores
        self._bit = 1
        self._own = [0] * len(self._ordered)
        self._needed = [0] * len(self._ordered)
        self._sticky_space = None if model.global_raw else Space.GM

    def _next(self) -> int:
        self._bit <<= 1
        return self._bit >> 1

    def done(self) -> Bits:
        reads: dict[tuple[int, int], int] = {}
        writes: dict[tuple[int, int], int] = {}
        waits: dict[FlagKey, int] = {}
        heard: dict[Line, tuple[int, ...]] = {}
        all_reads: dict[int, int] = {}
        all_writes: dict[int, int] = {}
        sticky = 0
        for goal in self._goals:
            if goal.flag is not None and goal.flag[1] is not Pipe.ALL:
                core, src, _, _ = goal.flag
                waits[goal.flag] = self._next()
                self._needed[number_of(core, src)] |= waits[goal.flag]
            elif goal.line is not None:
                heard[goal.line] = tuple(self._next() for _ in range(MOST_PENDING))
                for pipe in self._senders[goal.line]:
                    self._needed[pipe] |= sum(heard[goal.line])
            elif goal.atom is not None:
                atom = self._ground.atoms[goal.atom]
                everyone = atom.readers | atom.writers
                all_writes[goal.atom] = self._add(goal.atom, atom.writers, everyone, writes)
                all_reads[goal.atom] = self._add(goal.atom, atom.readers, atom.writers, reads)
                if atom.space is self._sticky_space:
                    sticky |= all_writes[goal.atom]
        tables = tuple(self._own), tuple(self._needed), all_reads, all_writes
        return Bits(self._goals, reads, writes, waits, heard, *tables, self._ordered, sticky)

    def _add(
        self, atom: int, pipes: frozenset[int], conflicting: frozenset[int], into: dict[tuple[int, int], int]
    ) -> int:
        total = 0
        for pipe in sorted(pipes):
            bit = into[atom, pipe] = self._next()
            total |= bit
            self._own[pipe] |= bit
            for other in conflicting:
                self._needed[other] |= bit
        return total


@dataclass(slots=True)
class Knowledge:
    """Changes in place; `copy` before going two ways."""

    known: list[int]
    """By pipe number."""
    present: int = 0
    """The accesses that still matter."""
    tokens: dict[FlagKey, int] = field(default_factory=dict[FlagKey, int])
    pending: frozenset[FlagKey] = frozenset()
    """Of the flags that are goals, those that are set."""
    signals: dict[Line, tuple[int, ...]] = field(default_factory=dict[Line, tuple[int, ...]])
    """For each line, the masks of the signals that are sent and not heard."""

    @classmethod
    def nothing(cls, cores: int) -> "Knowledge":
        return cls([0] * (cores * len(PIPES)))

    def copy(self) -> "Knowledge":
        return Knowledge(list(self.known), self.present, dict(self.tokens), self.pending, dict(self.signals))

    def key(self) -> Key:
        """Equal for equal knowledge."""
        tokens = tuple(sorted((flag, mask) for flag, mask in self.tokens.items() if mask))
        signals = tuple(sorted((line, masks) for line, masks in self.signals.items() if masks))
        return self.present, tuple(self.known), tokens, self.pending, signals

    def shape(self) -> Key:
        """Equal for knowledge that can be compared: with the same flags set, and as many signals sent."""
        return self.pending, tuple(sorted((line, len(masks)) for line, masks in self.signals.items() if masks))

    def says_no_more(self, other: "Knowledge") -> bool:
        """Whether all that is known here, of what still matters there, is known there too. Both have one shape."""
        here = other.present
        if here & ~self.present or bool(here) is not bool(self.present):
            return False
        if any(mine & here & ~theirs for mine, theirs in zip(self.known, other.known, strict=True)):
            return False
        if any(mask & here & ~other.tokens.get(flag, 0) for flag, mask in self.tokens.items()):
            return False
        pairs = ((line, back, mask) for line, masks in self.signals.items() for back, mask in enumerate(masks))
        return not any(mask & here & ~other.signals[line][back] for line, back, mask in pairs)

    # --- what happens ---

    def _renew(self, mask: int) -> None:
        """Newer accesses: what was known of the older ones says nothing of them."""
        keep = ~mask
        self.present |= mask
        self.known = [known & keep for known in self.known]
        for flag, token in self.tokens.items():
            if token & mask:
                self.tokens[flag] = token & keep
        for line, masks in self.signals.items():
            if any(one & mask for one in masks):
                self.signals[line] = tuple(one & keep for one in masks)

    def _drop(self, mask: int) -> None:
        if self.present & mask:
            self._renew(mask)
            self.present &= ~mask

    def unknown_to(self, pipe: int, mask: int) -> int:
        """Of the accesses in `mask`, those that pipe number `pipe` does not know complete."""
        return self.present & mask & ~self.known[pipe]

    def access(self, bits: Bits, pipe: int, mask: int) -> None:
        """Pipe number `pipe` makes the accesses in `mask`."""
        self._renew(mask)
        if bits.ordered[pipe]:
            self.known[pipe] |= mask

    def replace(self, mask: int) -> None:
        """A write in order takes the place of all earlier accesses in `mask`."""
        self._drop(mask)

    def set(self, bits: Bits, flag: FlagKey, goal: bool) -> int:
        """Returns the bit of the last wait if the source does not know of it."""
        src = number_of(flag[0], flag[1])
        overflow = 0
        if goal:
            bit = bits.waits[flag]
            overflow = self.unknown_to(src, bit)
            self._drop(bit)
            self.pending |= {flag}
        token = self.present & (self.known[src] | bits.own[src])
        # Set twice, which is wrong: the next wait takes the older token.
        self.tokens[flag] = token & self.tokens[flag] if flag in self.tokens else token
        return overflow

    def wait(self, bits: Bits, flag: FlagKey, goal: bool) -> None:
        token = self.tokens.pop(flag, 0)
        told = _told(flag[0], flag[2])
        for pipe in told:
            self.known[pipe] |= token
        if goal:
            self._renew(bits.waits[flag])
            self.pending -= {flag}
            for pipe in told:
                self.known[pipe] |= bits.waits[flag]

    def take(self, pipe: Pipe, lock: FlagKey, goal: bool) -> None:
        """A pipe takes a lock: what was complete when it was given back is complete."""
        for number in _told(lock[0], pipe):
            self.known[number] |= self.tokens.get(lock, 0)
        if goal:
            self.pending |= {lock}

    def give(self, bits: Bits, pipe: Pipe, lock: FlagKey, goal: bool) -> None:
        """A pipe gives a lock back when its earlier work is complete."""
        number = number_of(lock[0], pipe)
        self.tokens[lock] = self.tokens.get(lock, 0) | (self.present & (self.known[number] | bits.own[number]))
        if goal:
            self.pending -= {lock}

    def barrier(self, bits: Bits, core: int, pipe: Pipe, memory: bool = False) -> None:
        if pipe is not Pipe.ALL:
            number = number_of(core, pipe)
            self.known[number] |= self.present & bits.own[number]
            return
        pipes = pipes_of(core)
        complete = 0
        for number in pipes:
            complete |= self.present & (bits.own[number] | self.known[number])
        for number in pipes:
            self.known[number] |= complete
        if memory:
            for number in pipes:
                self._drop(bits.own[number] & bits.sticky)

    def send(self, bits: Bits, line: Line, pipe: int) -> int:
        """Pipe number `pipe` signals. Returns how many signals may be waiting, as far as it knows."""
        masks = self.signals.get(line, ())
        self.signals[line] = (*masks, self.present & (self.known[pipe] | bits.own[pipe]))
        if line not in bits.heard:
            return len(self.signals[line])
        known = [back for back, bit in enumerate(bits.heard[line]) if not self.unknown_to(pipe, bit)]
        return len(self.signals[line]) + (known[0] if known else MOST_PENDING)

    def hear(self, bits: Bits, line: Line, told: Sequence[int]) -> None:
        """A wait for the oldest signal of a line is over."""
        mask, *rest = self.signals[line]
        self.signals[line] = tuple(rest)
        for pipe in told:
            self.known[pipe] |= mask
        heard = bits.heard.get(line)
        if heard is not None:
            self._age(heard)
            self.present |= heard[0]
            for pipe in told:
                self.known[pipe] |= heard[0]

    def _age(self, heard: tuple[int, ...]) -> None:
        """The latest wait of a line becomes the one before it."""
        field_mask = sum(heard)
        last = heard[-1]

        def older(mask: int) -> int:
            inside = mask & field_mask & ~last
            return (mask & ~field_mask) | (inside << 1)

        self.present = older(self.present)
        self.known = [older(mask) for mask in self.known]
        self.tokens = {flag: older(mask) for flag, mask in self.tokens.items()}
        self.signals = {line: tuple(older(mask) for mask in masks) for line, masks in self.signals.items()}

    def forget(self, bits: Bits, gone: int) -> None:
        """Drops what every pipe knows that might have to, and the bits in `gone`."""
        settled = self.present & ~bits.sticky
        for pipe, needed in enumerate(bits.needed):
            settled &= self.known[pipe] | ~needed
        self._drop(settled | (gone & self.present))


def _told(core: int, pipe: Pipe) -> Sequence[int]:
    """The pipes that go on only when a wait of this pipe is over: the scalar unit holds up all of them."""
    return pipes_of(core) if pipe is Pipe.S else (number_of(core, pipe),)
