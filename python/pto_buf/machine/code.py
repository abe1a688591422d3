"""A kernel as flat code over numbered registers, and the loop that runs it. No IR."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pto_buf.errors import DiagnosticError, Place
from pto_buf.machine.scalar import ScalarError
from pto_buf.machine.steps import Step, Trips

Registers: TypeAlias = list[Any]


@dataclass(eq=False)
class Label:
    """A position in the code, known once it has been placed."""

    position: int = -1


@dataclass(frozen=True)
class Let:
    """`out` becomes `fn` of the arguments."""

    out: int
    fn: Callable[..., Any]
    args: tuple[int, ...]
    place: Place | None


@dataclass(frozen=True)
class Copy:
    """All at once, so that a loop may swap its carried values."""

    outs: tuple[int, ...]
    args: tuple[int, ...]


@dataclass(frozen=True)
class Goto:
    target: Label


@dataclass(frozen=True)
class Unless:
    """Goes on at `target` if the register holds 0."""

    condition: int
    target: Label


@dataclass(frozen=True)
class Enter:
    """A loop begins, its trip number 0."""

    place: Place | None


@dataclass(frozen=True)
class NextTrip:
    pass


@dataclass(frozen=True)
class Leave:
    pass


@dataclass(frozen=True)
class Emit:
    """A step for the pipes. `out` is the register that takes what the step reads from memory for the scalar unit."""

    make: Callable[[Registers, Trips], Step]
    place: Place | None
    out: int | None = None


Instruction: TypeAlias = Let | Copy | Goto | Unless | Enter | NextTrip | Leave | Emit


@dataclass
class Code:
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    registers: int = 0

    def register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def place(self, label: Label) -> None:
        label.position = len(self.instructions)

    def add(self, instruction: Instruction) -> None:
        self.instructions.append(instruction)


@dataclass
class Meter:
    """What the scalar unit has done so far, the steps for the pipes left out."""

    instructions: int = 0
    branches: int = 0


def run(
    code: Code, inputs: Sequence[Any], limit: int, where: Place | None, meter: Meter | None = None
) -> Generator[Step, Any, None]:
    """Run the code, yielding each step for the pipes in the order of issue.

    `inputs` fill the first registers. What the driver sends back for a step with a result is that result. `meter`
    counts along.
    Raises DiagnosticError: for an operation without a result; `incomplete` when more than `limit` instructions run.
    """
    registers: Registers = [*inputs, *[None] * (code.registers - len(inputs))]
    instructions = code.instructions
    loops: list[tuple[Place | None, int]] = []
    trips: Trips = ()
    meter = meter or Meter()
    position = count = 0
    while position < len(instructions):
        instruction = instructions[position]
        position += 1
        count += 1
        if count > limit:
            raise DiagnosticError.at(
                _around(trips, where),
                f"incomplete: stopped after {limit} instructions of the scalar unit",
                help="give smaller trip counts or a larger limit",
                kind="incomplete",
            )
        match instruction:
            case Let(out, fn, args, place):
                meter.instructions += bool(args)
                try:
                    registers[out] = fn(*[registers[arg] for arg in args])
                except ScalarError as error:
                    raise DiagnosticError.at(place, str(error), kind="no-result") from None
            case Emit(make, place, out):
                try:
                    step = make(registers, trips)
                except ScalarError as error:
                    raise DiagnosticError.at(place, str(error), kind="no-result") from None
                result = yield step
                if out is not None:
                    if result is None:
                        raise DiagnosticError.at(
                            place,
                            "the scalar unit reads a value from memory here, and values are not computed",
                            kind="incomplete",
                        )
                    registers[out] = result
            case Copy(outs, args):
                for out, value in zip(outs, [registers[arg] for arg in args], strict=True):
                    registers[out] = value
            case Goto(target):
                meter.branches += 1
                position = target.position
            case Unless(condition, target):
                meter.branches += 1
                if not registers[condition]:
                    position = target.position
            case Enter(place):
                loops.append((place, 0))
                trips = tuple(loops)
            case NextTrip():
                place, trip = loops[-1]
                loops[-1] = (place, trip + 1)
                trips = tuple(loops)
            case Leave():
                loops.pop()
                trips = tuple(loops)


def _around(trips: Trips, where: Place | None) -> Place | None:
    return next((place for place, _ in reversed(trips) if place is not None), where)
