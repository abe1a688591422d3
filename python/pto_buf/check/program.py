"""A kernel as the checker sees it: straight code with jumps, every number a term. Pure.

One `Code` for each kind of core that runs the kernel. Instructions are in the order of the text; a core's scalar unit
walks them and hands each one to its pipe.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from pto_buf.check.terms import Term, Var
from pto_buf.errors import Place
from pto_buf.hw import Core, Pipe, Space


class Kind(StrEnum):
    """What is known of a variable."""

    ARGUMENT = "argument"
    """Fixed for the whole run and taken to be >= 0 (arguments, block index, dynamic extents)."""
    FIXED = "fixed"
    """Fixed for the whole run, and nothing else is known (a comparison of two float arguments)."""
    COUNTER = "counter"
    CARRIED = "carried"
    """Assigned at the end of each trip, or at the end of each arm of a branch."""
    UNKNOWN = "unknown"
    """Data dependent: whatever a `Fresh` makes it."""


@dataclass(frozen=True)
class Element:
    """What a table holds at some numbers: always the same, which is not known.

    A table is the global array behind an argument, which is its number; or an operation of which nothing is known but
    what it is made of, with a number below 0. A `boolean` element is 0 or 1.
    """

    table: int
    name: str
    at: tuple[Term, ...]
    boolean: bool = False


@dataclass(frozen=True)
class VarInfo:
    """`boolean` variables are 0 or 1. `place` is where the value is made, or None for an argument.

    A variable with an `element` always holds that one, in terms of what its index variables hold.
    """

    var: Var
    kind: Kind
    boolean: bool = False
    place: Place | None = None
    element: Element | None = None


@dataclass(frozen=True)
class Site:
    """One op of the text; `key` numbers them in order of the text."""

    key: int
    name: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class Local:
    """On-chip bytes: [address + start, address + end) for each of `runs`.

    `vectors` are the vector cores whose buffer it is, where the cube core reaches into it.
    """

    space: Space
    address: Term
    runs: tuple[tuple[int, int], ...]
    vectors: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Window:
    """A window of the global array behind an argument. Extents and strides are elements of `size` bytes."""

    argument: int
    name: str
    base: Term
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]
    offsets: tuple[Term, ...]
    extents: tuple[Term, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Touch:
    """One operand in memory. Whether it is read, written, or both; `hidden` if the op does not name it."""

    where: Local | Window
    reads: bool
    writes: bool
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A tile op. With several pipes it counts on each, since sources disagree on which runs it.

    `raises` are flags (source, destination, id) that it uses inside itself: none may be set around it.
    """

    site: Site
    pipes: tuple[Pipe, ...]
    touches: tuple[Touch, ...]
    raises: tuple[tuple[Pipe, Pipe, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SetFlag:
    site: Site
    src: Pipe
    dst: Pipe
    lane: Term


@dataclass(frozen=True, slots=True)
class WaitFlag:
    site: Site
    src: Pipe
    dst: Pipe
    lane: Term


@dataclass(frozen=True, slots=True)
class Barrier:
    """With `memory`, what was stored to global memory before can be loaded after."""

    site: Site
    pipe: Pipe
    memory: bool = False


@dataclass(frozen=True, slots=True)
class Lock:
    """A pipe takes a buffer lock, or gives it back when its earlier work is complete. Takers come in program order."""

    site: Site
    pipe: Pipe
    lane: Term
    take: bool


@dataclass(frozen=True, slots=True)
class Signal:
    """To the other kind of core in the block, when the earlier work of the pipe is complete.

    `single`: to one vector core, where other signals of the cube's FIX go to both.
    """

    site: Site
    pipe: Pipe
    lane: Term
    single: bool = False


@dataclass(frozen=True, slots=True)
class Await:
    """Of a signal from the other kind of core."""

    site: Site
    pipe: Pipe
    lane: Term


@dataclass(frozen=True, slots=True)
class Within:
    """The number of something that the next instruction names: a run in which it is none of 0..count-1 stops."""

    site: Site
    what: str
    lane: Term
    count: int


@dataclass(frozen=True, slots=True)
class Assign:
    """All at once."""

    pairs: tuple[tuple[Var, Term], ...]


@dataclass(frozen=True, slots=True)
class Fresh:
    """The variable takes a value that nothing is known about, but that an `element` is the same each time."""

    site: Site
    var: Var
    element: Element | None = None

    @property
    def loads(self) -> bool:
        """Whether it is an element of an array."""
        return self.element is not None and self.element.table >= 0


@dataclass(frozen=True, slots=True)
class Branch:
    """Goes on behind itself if the condition holds, else at `otherwise`."""

    site: Site
    condition: Term
    otherwise: int
    loop: "Loop | None" = None
    """The loop whose next trip this decides."""


@dataclass(frozen=True, slots=True)
class Jump:
    target: int


@dataclass(frozen=True)
class Loop:
    """`counter` runs from `lower` in steps of `step` (positive) while below `upper`; all None for a while loop.

    What a loop carries is assigned directly before its `Enter` and its `Next`; a while loop also passes numbers on
    directly before the branch that decides the next trip.
    """

    key: int
    site: Site
    counter: Var | None = None
    lower: Term | None = None
    upper: Term | None = None
    step: Term | None = None


@dataclass(frozen=True, slots=True)
class Enter:
    loop: Loop


@dataclass(frozen=True, slots=True)
class Next:
    """A trip ends, another one may begin."""

    loop: Loop


@dataclass(frozen=True, slots=True)
class Leave:
    loop: Loop


@dataclass(frozen=True, slots=True)
class Meet:
    """Of the checker's own making, where cores are followed in step: each of `cores` waits here for the others."""

    number: int
    cores: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The function returns. Every path gets here; it is the last instruction."""

    site: Site


Order: TypeAlias = SetFlag | WaitFlag | Barrier | Lock | Signal | Await
"""What orders pipes and cores."""

Instruction: TypeAlias = Run | Order | Within | Assign | Fresh | Branch | Jump | Enter | Next | Leave | Meet | End


def defined(one: Instruction) -> tuple[Var, ...]:
    """The variables that an instruction gives a value."""
    if isinstance(one, Assign):
        return tuple(var for var, _ in one.pairs)
    return (one.var,) if isinstance(one, Fresh) else ()


@dataclass(frozen=True)
class Code:
    """What one kind of core does."""

    core: Core | None
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Program:
    """`arguments` are the integer arguments of the function by position; `entry` says that it is a kernel."""

    name: str
    place: Place | None
    entry: bool
    arguments: tuple[tuple[int, Var], ...]
    variables: tuple[VarInfo, ...]
    """By key."""
    codes: tuple[Code, ...]
    subblock: Var | None = None
    """Which of the vector cores of its block a core is; None if the program never asks."""
    subblocks: Var | None = None
    """How many there are; None if the program never asks."""

    @property
    def counts_vector_cores(self) -> bool:
        """Whether it asks for either: if not, the first vector core does the work."""
        return self.subblock is not None or self.subblocks is not None
