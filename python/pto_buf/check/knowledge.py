"""Who knows what to be complete, for many goals at once as masks of bits. Pure.

A bit is the latest access of one pipe and kind (read, write) to one atom, or the latest wait for one flag. For each
pipe a mask says which of them it knows complete; each pending flag carries the mask that its wait will hand over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pto_buf.check.ground import FlagKey, Ground
from pto_buf.check.model import Model
from pto_buf.hw import Pipe, Space

PIPES = tuple(pipe for pipe in Pipe if pipe is not Pipe.ALL)
NUMBER = {pipe: number for number, pipe in enumerate(PIPES)}
_SCALAR = NUMBER[Pipe.S]

Key: TypeAlias = tuple[object, ...]

UNDRAINED: FlagKey = (Pipe.ALL, Pipe.ALL, 0)
"""Among the pending flags of a state: some pipe has done something since the last barrier on all of them."""


@dataclass(frozen=True)
class Goal:
    """One thing to prove.

    An atom is never raced on; a flag is never set twice, waited for in vain or left over; the id at instruction `lane`
    is one of 0..7; at the end every pipe is drained; the access to global memory by an operand of an instruction
    (`window`) races with no later one.
    """

    atom: int | None = None
    flag: FlagKey | None = None
    lane: int | None = None
    end: bool = False
    window: tuple[int, int] | None = None


@dataclass(frozen=True)
class Bits:
    """The layout of the masks for a group of goals."""

    goals: tuple[Goal, ...]
    reads: Mapping[tuple[int, int], int]
    """The bit of a pipe's reads of an atom, by (atom, pipe number)."""
    writes: Mapping[tuple[int, int], int]
    waits: Mapping[FlagKey, int]
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


def lay_out(goals: Sequence[Goal], ground: Ground, model: Model) -> Bits:
    reads: dict[tuple[int, int], int] = {}
    writes: dict[tuple[int, int], int] = {}
    waits: dict[FlagKey, int] = {}
    own = [0] * len(PIPES)
    needed = [0] * len(PIPES)
    all_reads: dict[int, int] = {}
    all_writes: dict[int, int] = {}
    bit = 1
    for goal in goals:
        if goal.flag is not None and goal.flag[0] is not Pipe.ALL:
            waits[goal.flag] = bit
            needed[NUMBER[goal.flag[0]]] |= bit
            bit <<= 1
            continue
        if goal.atom is None:
            continue
        atom = ground.atoms[goal.atom]
        writers = sorted(NUMBER[pipe] for pipe in atom.writers)
        readers = sorted(NUMBER[pipe] for pipe in atom.readers)
        everyone = sorted({*writers, *readers})
        all_reads[goal.atom] = all_writes[goal.atom] = 0
        for into, total, pipes, conflicting in (
            (writes, all_writes, writers, everyone),
            (reads, all_reads, readers, writers),
        ):
            for pipe in pipes:
                into[goal.atom, pipe] = bit
                total[goal.atom] |= bit
                own[pipe] |= bit
                for other in conflicting:
                    needed[other] |= bit
                bit <<= 1
    sticky = 0
    for number, mask in all_writes.items():
        if ground.atoms[number].space is Space.GM and not model.global_raw:
            sticky |= mask
    ordered = tuple(pipe in model.ordered for pipe in PIPES)
    return Bits(tuple(goals), reads, writes, waits, tuple(own), tuple(needed), all_reads, all_writes, ordered, sticky)


@dataclass(slots=True)
class Knowledge:
    """Changes in place; `copy` before going two ways."""

    present: int = 0
    """The accesses that still matter."""
    known: list[int] = field(default_factory=lambda: [0] * len(PIPES))
    tokens: dict[FlagKey, int] = field(default_factory=dict[FlagKey, int])
    pending: frozenset[FlagKey] = frozenset()
    """Of the flags that are goals, those that are set."""

    def copy(self) -> "Knowledge":
        return Knowledge(self.present, list(self.known), dict(self.tokens), self.pending)

    def key(self) -> Key:
        tokens = tuple(sorted((flag, mask) for flag, mask in self.tokens.items() if mask))
        return self.present, tuple(self.known), tokens, self.pending

    # --- what happens ---

    def _renew(self, mask: int) -> None:
        """Newer accesses: what was known of the older ones says nothing of them."""
        keep = ~mask
        self.present |= mask
        self.known = [known & keep for known in self.known]
        for flag, token in self.tokens.items():
            if token & mask:
                self.tokens[flag] = token & keep

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
        src = NUMBER[flag[0]]
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
        dst = NUMBER[flag[1]]
        told = range(len(PIPES)) if dst == _SCALAR else (dst,)
        for pipe in told:
            self.known[pipe] |= token
        if goal:
            self._renew(bits.waits[flag])
            self.pending -= {flag}
            for pipe in told:
                self.known[pipe] |= bits.waits[flag]

    def take(self, pipe: Pipe, lock: FlagKey, goal: bool) -> None:
        """A pipe takes a lock: what was complete when it was given back is complete."""
        told = range(len(PIPES)) if pipe is Pipe.S else (NUMBER[pipe],)
        for number in told:
            self.known[number] |= self.tokens.get(lock, 0)
        if goal:
            self.pending |= {lock}

    def give(self, bits: Bits, pipe: Pipe, lock: FlagKey, goal: bool) -> None:
        """A pipe gives a lock back when its earlier work is complete."""
        number = NUMBER[pipe]
        self.tokens[lock] = self.tokens.get(lock, 0) | (self.present & (self.known[number] | bits.own[number]))
        if goal:
            self.pending -= {lock}

    def barrier(self, bits: Bits, pipe: Pipe, memory: bool = False) -> None:
        if pipe is Pipe.ALL:
            self._drop(self.present & ~(0 if memory else bits.sticky))
            self.known = [known | self.present for known in self.known]
        else:
            number = NUMBER[pipe]
            self.known[number] |= self.present & bits.own[number]

    def forget(self, bits: Bits, gone: int) -> None:
        """Drops what every pipe knows that might have to, and the bits in `gone`."""
        settled = self.present & ~bits.sticky
        for pipe, needed in enumerate(bits.needed):
            settled &= self.known[pipe] | ~needed
        self._drop(settled | (gone & self.present))
