"""A kernel as slot reasoning sees it: structured control flow around accesses to slots. No IR.

Built from the `ptobuf` dialect by `pto_buf.slots.build`; `key` fields number the IR ops that it is built of in program
order, so that a pass can find its way back.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from pto_buf.dialect.table.row import Role
from pto_buf.errors import Place
from pto_buf.hw import Pipe
from pto_buf.slots.terms import Term, Var
from pto_buf.tile import TileSpec


@dataclass(frozen=True)
class SlotSet:
    """A slot set: `key` counts sets in program order."""

    key: int
    name: str
    count: int
    tile: TileSpec
    owned: bool
    """Made by the compiler for a plain tile."""
    place: Place | None


@dataclass(frozen=True)
class Access:
    """One operand of an op that lies in a slot."""

    slots: SlotSet
    term: Term
    """The slot index."""
    role: Role
    operand: str
    """Its name in the op's row."""
    lease: int | None
    """The key of the op whose value is named, where the operand is a lease's value rather than the slot itself."""
    start: int = 0
    """First byte within the slot."""
    end: int | None = None
    """Behind the last byte; None for the whole slot."""
    place: Place | None = field(default=None, compare=False)
    """Where the slot is chosen. Accesses that differ in it alone are equal: one of equal choices is as good."""
    written: int | None = None
    """Of the op named by `lease`, the access that left the value; None if it left one only."""
    held: int | None = None
    """The key of the op that took up what the slot held there, where that is what is read."""

    @property
    def is_partial(self) -> bool:
        """Whether it touches a part of the slot only."""
        return self.start > 0 or self.end is not None


@dataclass(frozen=True)
class Op:
    """A tile op. Several pipes: sources disagree on which runs it, so it counts as running on each."""

    key: int
    name: str
    pipes: tuple[Pipe, ...]
    accesses: tuple[Access, ...]
    place: Place | None
    in_place: frozenset[str] = frozenset()
    """Names of the operands whose slot the op may write while it reads them."""
    takes_up: Access | None = None
    """The slot whose content is taken up here, to be read later; such an op has no accesses and no pipes."""


@dataclass(frozen=True)
class Release:
    key: int
    slots: SlotSet
    term: Term
    lease: int | None
    place: Place | None
    chosen: Place | None = field(default=None, compare=False)
    """Where the slot is chosen, as of an access."""
    written: int | None = None
    """Of the op named by `lease`, the access that left the value; None if it left one only."""


@dataclass(frozen=True)
class Carried:
    """A number that a loop hands from trip to trip: `init` at its entry, `next` as worked out at the end of a trip.

    Behind the loop `var` is the last value.
    """

    var: Var
    init: Term
    next: Term


@dataclass(frozen=True)
class Loop:
    """`for var in [lower, upper) step step`; step is positive. `stage` is the number of trips in flight asked for.

    `carried` holds only what has no closed form in the counter.
    """

    key: int
    var: Var
    lower: Term
    upper: Term
    step: Term
    body: "Block"
    stage: int
    place: Place | None
    carried: tuple[Carried, ...] = ()


@dataclass(frozen=True)
class Branch:
    key: int
    condition: Term
    then: "Block"
    otherwise: "Block"
    place: Place | None


@dataclass(frozen=True)
class While:
    """`before` runs, then `after` and `before` again for as long as the condition, looked at behind `before`, holds.

    `var` counts the runs of `after` that are done; behind the loop it keeps its last value.
    """

    key: int
    var: Var
    condition: Term
    before: "Block"
    after: "Block"
    place: Place | None
    carried: tuple[Carried, ...] = ()


Node: TypeAlias = Op | Release | Loop | Branch | While
Block: TypeAlias = tuple[Node, ...]


@dataclass(frozen=True)
class Program:
    name: str
    sets: tuple[SlotSet, ...]
    body: Block
    checked: Block | None = None
    """The body with the ops in it that only take up what a slot holds; None where it has none."""
