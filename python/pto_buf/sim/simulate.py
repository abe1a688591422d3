"""Runs a `pto` function on arrays, in a legal order of the pipes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import func

from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import DiagnosticError, UsageError
from pto_buf.hw import Core, Space
from pto_buf.machine.code import Code, Meter
from pto_buf.machine.dtypes import NUMPY_DTYPES
from pto_buf.machine.exec import (
    DEFAULT_LIMIT,
    Scalars,
    Steps,
    asks_for_subblock,
    cores_of,
    execute,
    pointer_arguments,
)
from pto_buf.machine.steps import CoreId
from pto_buf.sim.engine import Engine
from pto_buf.sim.faults import Fault, SimulationFault
from pto_buf.sim.history import Displaced
from pto_buf.sim.memory import Array, Global
from pto_buf.sim.orders import Order, Policy
from pto_buf.sim.tokens import Roles
from pto_buf.sim.values import Values


@dataclass(frozen=True)
class Run:
    """What a run left: the arrays behind the pointer arguments by name, and what went wrong on the way.

    `displaced` names reads that saw another value than the order of issue gives: the sign of a missing fence.
    """

    order: Order
    arrays: Mapping[str, Array]
    faults: tuple[Fault, ...]
    displaced: tuple[Displaced, ...]

    def checked(self) -> "Run":
        """This run. Raises DiagnosticError with every fault."""
        if self.faults:
            raise DiagnosticError(*(fault.diagnostic for fault in self.faults))
        return self


@dataclass(frozen=True)
class Launch:
    """A kernel with its arguments: arrays and numbers by name or position of the argument.

    The function is translated for its first run, and must not change between runs.
    """

    function: func.FuncOp
    arrays: Mapping[Any, Array]
    scalars: Scalars
    blocks: int = 1
    limit: int = DEFAULT_LIMIT
    """Instructions of one scalar unit."""
    subblocks: int | None = None
    """Vector cores of a block that has both kinds; None: as many as the kernel is written for."""
    _built: dict[CoreId, Code] = field(default_factory=dict[CoreId, Code], init=False, repr=False, compare=False)

    def steps(self, core: CoreId, meter: Meter | None = None) -> Steps:
        """What the scalar unit of one core issues. Raises as `execute`."""
        return execute(self.function, self.scalars, limit=self.limit, core=core, meter=meter, built=self._built)


def simulate(launch: Launch, order: Order, source: Callable[[CoreId], Steps] | None = None) -> Run:
    """Run every block of the kernel, one after another, on copies of the arrays.

    The cores of a block run together. `source` gives the steps of each core, in place of the launch's own.
    Faults end the run of their block and are in the result. Raises UsageError for missing or ill-typed arguments,
    DiagnosticError for what cannot be simulated.
    """
    function, arrays = launch.function, launch.arrays
    target = target_of(function)
    names = {number: name for number, name, _ in pointer_arguments(function)}
    memory = Global(_arrays(function, arrays), names)
    faults: list[Fault] = []
    displaced: list[Displaced] = []
    for block in range(launch.blocks):
        cores = cores_of_block(launch, block)
        values = Values(target, memory, _homes(cores), order.rush[0] if order.policy is Policy.LATE else None)
        steps = [(source or launch.steps)(core) for core in cores]
        engine = Engine(steps, values, order, roles_of(cores), target.name == "a2a3")
        try:
            engine.run()
        except SimulationFault as error:
            faults.append(error.fault)
        faults += engine.faults
        displaced += values.displaced
    shaped = {name: memory.arrays[number].reshape(_given(arrays, number, name).shape) for number, name in names.items()}
    return Run(order, shaped, tuple(faults), tuple(displaced))


def cores_of_block(launch: Launch, block: int) -> tuple[CoreId, ...]:
    """The cores that run the kernel in one block: one, or those that its sections are for.

    There are two vector cores if the kernel asks which one it is, else one.
    """
    kinds = cores_of(launch.function)
    if not kinds:
        return (CoreId(block, launch.blocks),)
    count = launch.subblocks or (2 if asks_for_subblock(launch.function) else 1)
    cube = [CoreId(block, launch.blocks, Core.CUBE, 0, count)] if Core.CUBE in kinds else []
    vectors = [CoreId(block, launch.blocks, Core.VECTOR, number, count) for number in range(count)]
    return (*cube, *(vectors if Core.VECTOR in kinds else ()))


def roles_of(cores: Sequence[CoreId]) -> Roles:
    """Which of the cores that run together is of which kind, by their positions."""
    cube = next((number for number, core in enumerate(cores) if core.core is Core.CUBE), None)
    return Roles(cube, tuple(number for number, core in enumerate(cores) if core.core is Core.VECTOR))


def _homes(cores: Sequence[CoreId]) -> tuple[Mapping[Space, int], ...]:
    """Whose memory each space is: a cube core sees the first vector core's UB, a vector core its cube core's L1."""
    roles = roles_of(cores)
    homes: list[Mapping[Space, int]] = []
    for number, core in enumerate(cores):
        own = dict.fromkeys(Space, number)
        if core.core is Core.CUBE and roles.vectors:
            own[Space.VEC] = roles.vectors[0]
        if core.core is Core.VECTOR and roles.cube is not None:
            own[Space.MAT] = roles.cube
        homes.append(own)
    return tuple(homes)


def _given(arrays: Mapping[Any, Array], number: int, name: str) -> Array:
    return arrays[name] if name in arrays else arrays[number]


def _arrays(function: func.FuncOp, arrays: Mapping[Any, Array]) -> dict[int, Array]:
    wanted = {name: number for number, name, _ in pointer_arguments(function)}
    unknown = [key for key in arrays if key not in wanted and key not in wanted.values()]
    if unknown:
        raise UsageError(f"no pointer argument {unknown[0]!r}", f"there is: {', '.join(wanted)}")
    found: dict[int, Array] = {}
    for number, name, dtype in pointer_arguments(function):
        if name not in arrays and number not in arrays:
            raise UsageError(f"argument '{name}' needs an array", f"give {name}=...")
        array = _given(arrays, number, name)
        if dtype not in NUMPY_DTYPES:
            raise UsageError(f"argument '{name}' holds {dtype}, which numpy does not have: it cannot be simulated")
        if array.dtype != NUMPY_DTYPES[dtype]:
            raise UsageError(f"argument '{name}' holds {dtype}, found an array of {array.dtype}")
        found[number] = array
    return found
