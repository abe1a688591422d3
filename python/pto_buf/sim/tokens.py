"""What lets a waiting step go: flags, signals between cores, locks. One token for each set, taken by one wait."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from pto_buf.errors import Note
from pto_buf.hw import Pipe
from pto_buf.machine.steps import GiveLock, SetFlag, Step, SyncSet, SyncWait, TakeLock, WaitFlag
from pto_buf.sim.faults import Fault

MOST_SIGNALS = 15
"""Signals of one id that may be pending; one more hangs the core."""

_SECOND = 16
"""Ids from here on are those of the second vector core, where a signal names its core by its id."""


class Kind(StrEnum):
    FLAG = "flag"
    SIGNAL = "signal"
    LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Token:
    """`giver` and `taker` are cores. A lock's `turn` counts who takes it, from 0."""

    kind: Kind
    giver: int
    taker: int
    id: int
    src: Pipe = Pipe.S
    dst: Pipe = Pipe.S
    turn: int = 0


Provider: TypeAlias = tuple[int, Pipe, int]
"""A step that will give a token: its core, its pipe, and its place in the queue."""


@dataclass(frozen=True)
class Roles:
    """The cores of a block that run together: positions of the cube core, if any, and of the vector cores."""

    cube: int | None
    vectors: tuple[int, ...]


class Tokens:
    """Which tokens are pending, and who is going to give the others."""

    def __init__(self, roles: Roles):
        self._roles = roles
        self._pending: dict[Token, int] = {}
        self._setter: dict[Token, Step] = {}
        self._queued: dict[Token, deque[Provider]] = {}
        self._taken: dict[tuple[int, int], int] = {}
        self._given: dict[tuple[int, int], int] = {}
        self.faults: list[Fault] = []

    # --- what steps need and give; called once for each step, as it is issued ---

    def needs(self, core: int, step: Step) -> tuple[Token, ...]:
        match step:
            case WaitFlag():
                return (Token(Kind.FLAG, core, core, step.id, step.src, step.dst),)
            case SyncWait():
                return tuple(Token(Kind.SIGNAL, peer, core, number) for peer, number in self._peers(core, step))
            case TakeLock():
                turn = self._taken.get((core, step.id), 0)
                self._taken[core, step.id] = turn + 1
                return (Token(Kind.LOCK, core, core, step.id, turn=turn),) if turn else ()
            case _:
                return ()

    def gives(self, core: int, step: Step) -> tuple[Token, ...]:
        match step:
            case SetFlag():
                return (Token(Kind.FLAG, core, core, step.id, step.src, step.dst),)
            case SyncSet():
                return tuple(Token(Kind.SIGNAL, core, peer, number) for peer, number in self._peers(core, step))
            case GiveLock():
                turn = self._given.get((core, step.id), 0) + 1
                self._given[core, step.id] = turn
                return (Token(Kind.LOCK, core, core, step.id, turn=turn),)
            case _:
                return ()

    def _peers(self, core: int, step: SyncSet | SyncWait) -> Sequence[tuple[int, int]]:
        """The other cores that a signal goes to or comes from, and its id there."""
        roles = self._roles
        if core != roles.cube:
            return () if roles.cube is None else ((roles.cube, step.id),)
        if step.mirrored:
            return tuple((peer, step.id) for peer in roles.vectors)
        which, number = divmod(step.id, _SECOND)
        return ((roles.vectors[which], number),) if which < len(roles.vectors) else ()

    # --- what happens to them ---

    def announce(self, tokens: Sequence[Token], provider: Provider) -> None:
        """The tokens will be given by a step that is queued now."""
        for token in tokens:
            self._queued.setdefault(token, deque()).append(provider)

    def announced(self, token: Token) -> Provider | None:
        """The first queued step that will give the token."""
        queued = self._queued.get(token)
        return queued[0] if queued else None

    def missing(self, tokens: Sequence[Token]) -> Token | None:
        """The first of the tokens that is not pending."""
        return next((token for token in tokens if not self._pending.get(token)), None)

    def pending(self, token: Token) -> Step | None:
        """The step that set the token, if it is pending."""
        return self._setter[token] if self._pending.get(token) else None

    def take(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            self._pending[token] -= 1

    def give(self, tokens: Sequence[Token], step: Step) -> None:
        for token in tokens:
            queued = self._queued.get(token)
            if queued:
                queued.popleft()
            count = self._pending.get(token, 0)
            if token.kind is Kind.FLAG and count:
                note = Note(self._setter[token].place, "it was set here")
                message = f"{spelt(token)} is set a second time while it is pending"
                self.faults.append(Fault("overflow", message, step.place, (note,)))
            elif token.kind is Kind.SIGNAL and count >= MOST_SIGNALS:
                message = f"{spelt(token)} is set while {count} are pending; one more hangs the core"
                self.faults.append(Fault("overflow", message, step.place))
            self._pending[token] = count + 1
            self._setter[token] = step

    def leftovers(self) -> None:
        """Note a fault for everything that is still set when the kernel ends."""
        for token, count in self._pending.items():
            if count and token.kind is not Kind.LOCK:
                message = f"{spelt(token)} is still set when the kernel ends"
                self.faults.append(Fault("leftover", message, self._setter[token].place))


def spelt(token: Token) -> str:
    """The token for people."""
    if token.kind is Kind.FLAG:
        return f"flag {token.src} -> {token.dst} id {token.id}"
    return f"{token.kind} {token.id}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A step in a queue, with the tokens that it waits for and those that it gives when it is done."""

    step: Step
    needs: tuple[Token, ...] = ()
    gives: tuple[Token, ...] = ()


@dataclass
class Queue:
    entries: list[Entry] = field(default_factory=list[Entry])
    head: int = 0

    @property
    def waiting(self) -> int:
        return len(self.entries) - self.head
