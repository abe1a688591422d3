"""Walks one concrete run of a kernel: given its arguments, what the scalar unit issues, in order. Pure."""

from collections.abc import Callable, Iterator, Mapping

from pto_buf.check.program import (
    Assign,
    Barrier,
    Branch,
    Code,
    End,
    Enter,
    Fresh,
    Instruction,
    Jump,
    Leave,
    Local,
    Next,
    Program,
    Run,
    SetFlag,
    Touch,
    WaitFlag,
    Window,
)
from pto_buf.check.steps import Access, Box, Bytes, Did, Done, Fence, Set, Step, Trips, Wait
from pto_buf.check.terms import DivisionError, Env, Term, Var, evaluate

Outcome = Callable[[Var, int], int]
"""What a data-dependent variable becomes when it is made for the k-th time, k from 0."""

MAX_STEPS = 2_000_000
"""Instructions that one run may take."""


class RunError(Exception):
    """This run has no end in sight, or divides by zero: nothing follows from it."""


def always_zero(var: Var, occurrence: int) -> int:
    """Every loaded number 0, every data-dependent condition false."""
    return 0


def walk(
    program: Program, code: Code, arguments: Mapping[int, int], outcome: Outcome = always_zero, limit: int = MAX_STEPS
) -> Iterator[Step]:
    """The steps of one run. `arguments` gives a value to each argument variable, by key. Raises RunError."""
    return _Walker(program, arguments, outcome, limit).steps(code.instructions)


class _Walker:
    def __init__(self, program: Program, arguments: Mapping[int, int], outcome: Outcome, limit: int):
        self._program = program
        self._env = dict(arguments)
        self._outcome = outcome
        self._limit = limit
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
                    accesses = tuple(self._access(touch) for touch in one.touches)
                    yield Did(one.site, one.pipes, accesses, self._trips, one.raises)
                case SetFlag():
                    yield Set(one.site, one.src, one.dst, self._value(one.lane), self._trips)
                case WaitFlag():
                    yield Wait(one.site, one.src, one.dst, self._value(one.lane), self._trips)
                case Barrier():
                    yield Fence(one.site, one.pipe, self._trips)
                case Assign():
                    env.update([(var.key, self._value(term)) for var, term in one.pairs])
                case Fresh():
                    occurrence = self._made.get(one.var.key, 0)
                    self._made[one.var.key] = occurrence + 1
                    value = self._outcome(one.var, occurrence)
                    env[one.var.key] = value & 1 if self._program.variables[one.var.key].boolean else value
                case Branch():
                    if not self._value(one.condition):
                        at = one.otherwise
                case Jump():
                    at = one.target
                case Enter():
                    self._trips = (*self._trips, (one.loop, 0))
                case Next():
                    loop, trip = self._trips[-1]
                    self._trips = (*self._trips[:-1], (loop, trip + 1))
                case Leave():
                    self._trips = self._trips[:-1]
                case End():
                    yield Done(one.site, self._trips)
                    return

    def _value(self, term: Term) -> int:
        try:
            return evaluate(term, self._env)
        except DivisionError:
            raise RunError("a division by zero") from None

    def _access(self, touch: Touch) -> Access:
        where = touch.where
        try:
            found = local_bytes(where, self._env) if isinstance(where, Local) else global_box(where, self._env)
        except DivisionError:
            raise RunError("a division by zero") from None
        return Access(found, touch.reads, touch.writes)


def local_bytes(where: Local, env: Env) -> Bytes:
    """The bytes under `env`. Raises DivisionError."""
    address = evaluate(where.address, env)
    return Bytes(where.space, tuple((address + start, address + end) for start, end in where.runs))


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
