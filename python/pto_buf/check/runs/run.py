"""Walks one concrete run of a kernel: given its arguments, what the scalar unit issues, in order. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pto_buf.check.program import (
    Assign,
    Await,
    Barrier,
    Branch,
    End,
    Enter,
    Fresh,
    Instruction,
    Jump,
    Leave,
    Local,
    Lock,
    Meet,
    Next,
    Program,
    Run,
    SetFlag,
    Signal,
    Touch,
    WaitFlag,
    Window,
    Within,
)
from pto_buf.check.runs.steps import (
    Access,
    Awaited,
    Box,
    Bytes,
    Did,
    Done,
    Fence,
    Locked,
    Outside,
    Set,
    Signalled,
    Step,
    Stream,
    Trips,
    Wait,
)
from pto_buf.check.terms import DivisionError, Env, Term, Var, evaluate
from pto_buf.hw import Core, Space

Outcome = Callable[[Var, int], int]
"""What a data-dependent variable becomes when it is made for the k-th time, k from 0."""

VECTOR_CORES = 2
"""Vector cores of a block."""

MAX_STEPS = 2_000_000
"""Instructions that one run may take."""


class RunError(Exception):
    """This run has no end in sight, or divides by zero: nothing follows from it."""


def always_zero(var: Var, occurrence: int) -> int:
    """Every loaded number 0, every data-dependent condition false."""
    return 0


Index = tuple[int, tuple[int, ...]]
"""The number of a table, and where in it."""


@dataclass(frozen=True)
class Choice:
    """One run: arguments by variable key, and how data-dependent values come out.

    `elements` are those of tables, by number and index; others come out too, when first looked up.
    """

    arguments: Mapping[int, int]
    outcome: Outcome = always_zero
    elements: Mapping[Index, int] = field(default_factory=dict["Index", int])
    outcome_values: tuple[tuple[str, int], ...] = ()
    """The same, for people."""


def streams_of(program: Program, choice: Choice, limit: int = MAX_STEPS) -> list[Stream]:
    """What each core of a block does in one run: the cube core, and the vector cores.

    `choice` gives a value to each argument variable. There are two vector cores if the program asks which one it runs
    on or how many there are, else one. Raises RunError.
    """
    vectors = VECTOR_CORES if program.counts_vector_cores else 1
    cores = [
        (code, number)
        for code in program.codes
        for number in range(vectors if code.core is Core.VECTOR and len(program.codes) > 1 else 1)
    ]
    kinds = [code.core for code, _ in cores]
    loads = _Loads(choice)
    found: list[Stream] = []
    for place, (code, number) in enumerate(cores):
        given = dict(choice.arguments)
        if len(program.codes) > 1:
            given.update({var.key: value for var, value in _block(program, number, vectors)})
        walker = _Walker(program, given, loads, limit, kinds, place)
        steps = tuple(walker.steps(code.instructions))
        found.append(Stream(code.core if len(cores) > 1 else None, number, steps))
    return found


def _block(program: Program, number: int, vectors: int) -> Iterator[tuple[Var, int]]:
    if program.subblock is not None:
        yield program.subblock, number
    if program.subblocks is not None:
        yield program.subblocks, vectors


class _Loads:
    """How data-dependent values come out in a run: elements the same for all cores."""

    def __init__(self, choice: Choice):
        self.outcome = choice.outcome
        self._elements = dict(choice.elements)

    def element(self, var: Var, index: Index) -> int:
        """An element that a variable takes; a new one comes out by how many are known."""
        if index not in self._elements:
            self._elements[index] = self.outcome(var, len(self._elements))
        return self._elements[index]


class _Walker:
    def __init__(
        self,
        program: Program,
        arguments: Mapping[int, int],
        loads: _Loads,
        limit: int,
        kinds: Sequence[Core | None],
        place: int,
    ):
        self._program = program
        self._env = dict(arguments)
        self._loads = loads
        self._limit = limit
        self._kinds = kinds
        self._place = place
        self._made: dict[int, int] = {}
        self._trips: Trips = ()

    def steps(self, instructions: tuple[Instruction, ...]) -> Iterator[Step]:
        """Jumps are taken here, everything that reaches a pipe is yielded."""
        at, taken = 0, 0
        env = self._env
        while True:
            taken += 1
            if taken > self._limit:
                raise RunError(f"more than {self._limit} instructions")
            one = instructions[at]
            at += 1
            match one:
                case Run():
                    accesses = tuple(access for touch in one.touches for access in self._accesses(touch))
                    yield Did(one.site, one.pipes, accesses, self._trips, one.raises)
                case SetFlag():
                    yield Set(one.site, one.src, one.dst, self._value(one.lane), self._trips)
                case WaitFlag():
                    yield Wait(one.site, one.src, one.dst, self._value(one.lane), self._trips)
                case Barrier():
                    yield Fence(one.site, one.pipe, self._trips, one.memory)
                case Lock():
                    yield Locked(one.site, one.pipe, self._value(one.lane), one.take, self._trips)
                case Signal():
                    yield Signalled(one.site, one.pipe, self._value(one.lane), self._trips, one.single)
                case Await():
                    yield Awaited(one.site, one.pipe, self._value(one.lane), self._trips)
                case Within():
                    number = self._value(one.lane)
                    if not 0 <= number < one.count:
                        yield Outside(one.site, one.what, number, one.count, self._trips)
                        return
                case Assign():
                    env.update([(var.key, self._value(term)) for var, term in one.pairs])
                case Fresh():
                    value = self._fresh(one)
                    env[one.var.key] = value & 1 if self._program.variables[one.var.key].boolean else value
                case Branch():
                    if not self._value(one.condition):
                        at = one.otherwise
                case Jump():
                    at = one.target
                case Enter():
                    if one.loop.step is not None and self._value(one.loop.step) <= 0:
                        raise RunError("a loop whose step is not positive")
                    self._trips = (*self._trips, (one.loop, 0))
                case Next():
                    loop, trip = self._trips[-1]
                    self._trips = (*self._trips[:-1], (loop, trip + 1))
                case Leave():
                    self._trips = self._trips[:-1]
                case Meet():
                    pass
                case End():
                    yield Done(one.site, self._trips)
                    return

    def _fresh(self, one: Fresh) -> int:
        if one.element is not None:
            return self._loads.element(one.var, (one.element.table, tuple(map(self._value, one.element.at))))
        occurrence = self._made.get(one.var.key, 0)
        self._made[one.var.key] = occurrence + 1
        return self._loads.outcome(one.var, occurrence)

    def _value(self, term: Term) -> int:
        try:
            return evaluate(term, self._env)
        except DivisionError:
            raise RunError("a division by zero") from None

    def _accesses(self, touch: Touch) -> Iterator[Access]:
        where = touch.where
        try:
            if not isinstance(where, Local):
                yield Access(global_box(where, self._env), touch.reads, touch.writes)
                return
            for owner in owners(self._kinds, self._place, where):
                yield Access(local_bytes(where, self._env, owner), touch.reads, touch.writes)
        except DivisionError:
            raise RunError("a division by zero") from None


def owners(kinds: Sequence[Core | None], core: int, where: Local) -> Sequence[int]:
    """The cores, among those of these kinds, whose buffers core number `core` reaches."""
    theirs = Core.VECTOR if where.space is Space.VEC else Core.CUBE
    if len(kinds) == 1 or kinds[core] is theirs:
        return (core,)
    others = [number for number, kind in enumerate(kinds) if kind is theirs]
    return others if theirs is Core.CUBE else [others[number] for number in where.vectors if number < len(others)]


def local_bytes(where: Local, env: Env, core: int = 0) -> Bytes:
    """The bytes under `env`. Raises DivisionError."""
    address = evaluate(where.address, env)
    return Bytes(where.space, tuple((address + start, address + end) for start, end in where.runs), core)


def global_box(where: Window, env: Env) -> Box:
    """The window under `env`. Raises DivisionError."""

    def values(terms: tuple[Term, ...]) -> tuple[int, ...]:
        return tuple(evaluate(term, env) for term in terms)

    return Box(
        where.argument,
        where.name,
        evaluate(where.base, env),
        values(where.shape),
        values(where.strides),
        values(where.offsets),
        values(where.extents),
        where.size,
    )
