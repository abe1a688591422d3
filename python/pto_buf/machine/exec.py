"""Running a `pto` function concretely: from numbers for its arguments to the stream of steps for the pipes."""

from collections.abc import Generator, Iterator, Mapping, MutableMapping
from typing import Any, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from pto_buf.called import with_calls_written_out
from pto_buf.dialect.cross_core import SetFftsOp
from pto_buf.dialect.types import PtrType
from pto_buf.errors import DiagnosticError, UsageError
from pto_buf.hw import Core
from pto_buf.machine.build import build
from pto_buf.machine.code import Code, Meter, run
from pto_buf.machine.dtypes import NUMPY_DTYPES
from pto_buf.machine.scalar import to_float, wrap
from pto_buf.machine.scalar_ops import bits_of
from pto_buf.machine.steps import CoreId, Step
from pto_buf.machine.values import Pointer
from pto_buf.sections import sections_of
from pto_buf.source import place_of

DEFAULT_LIMIT = 10_000_000
"""Instructions of the scalar unit before a run is given up: half a minute."""

Scalars: TypeAlias = Mapping[Any, int | float]
"""Numbers by the argument's name or position."""

Steps: TypeAlias = Generator[Step, Any, None]
"""Steps in issue order. A driver that computes values sends back what an op reads for the scalar unit."""


def kernels(module: ModuleOp) -> tuple[func.FuncOp, ...]:
    """The functions of the module that are kernels, without calls: those marked `pto.entry`, or all if none is.

    Raises DiagnosticError for a call that cannot be followed.
    """
    found = tuple(op for op in module.body.block.ops if isinstance(op, func.FuncOp) and not op.is_declaration)
    marked = tuple(op for op in found if "pto.entry" in op.attributes)
    return tuple(with_calls_written_out(op) for op in marked or found)


def kernel_named(module: ModuleOp, name: str | None) -> func.FuncOp:
    """The kernel of that name; the only one for None. Raises UsageError."""
    found = kernels(module)
    names = ", ".join(op.sym_name.data for op in found) or "none"
    if name is None:
        if len(found) != 1:
            raise UsageError(f"the module has {len(found)} kernels ({names}); say which one")
        return found[0]
    for op in found:
        if op.sym_name.data == name:
            return op
    raise UsageError(f"there is no kernel '{name}'", f"there is: {names}")


def cores_of(function: func.FuncOp) -> tuple[Core, ...]:
    """The kinds of core that sections of the function name; empty if it has no sections.

    Raises DiagnosticError for sections that cannot be followed.
    """
    found = [op.name for op in sections_of(function)]
    return tuple(core for core in Core if f"pto.section.{core}" in found)


def asks_for_subblock(function: func.FuncOp) -> bool:
    """Whether the kernel asks which of the vector cores of its block it runs on."""
    return any(op.name in ("pto.get_subblock_idx", "pto.get_subblock_num") for op in function.walk())


def argument_names(function: func.FuncOp) -> tuple[str, ...]:
    """The names that the text gives the arguments; their number where it gives none."""
    return tuple(arg.name_hint or str(number) for number, arg in enumerate(function.body.block.args))


def execute(
    function: func.FuncOp,
    scalars: Scalars,
    *,
    limit: int = DEFAULT_LIMIT,
    core: CoreId | None = None,
    meter: Meter | None = None,
    built: MutableMapping[CoreId, Code] | None = None,
) -> Steps:
    """The steps of `function`, in the order in which the scalar unit issues them.

    `scalars` gives the value of each argument that is a number, by name or position; pointers need none.
    A kernel with sections needs `core.core`. `limit` bounds the instructions of the scalar unit; `meter` counts them.
    `built` keeps the code of each core from run to run, as long as the function stays as it is.
    Raises UsageError for a missing or unknown argument, DiagnosticError for an op that cannot be executed and
    (kind `incomplete`) when the limit is reached.
    """
    core = core or CoreId()
    if core.core is None and cores_of(function):
        raise DiagnosticError.at(
            place_of(function), "the kernel has sections for two kinds of core, and none was chosen", kind="mixed"
        )
    inputs = _inputs(function, scalars)
    built = {} if built is None else built
    if core not in built:
        built[core] = build(function, core)
    return run(built[core], inputs, limit, place_of(function), meter)


def _inputs(function: func.FuncOp, scalars: Scalars) -> list[Any]:
    names = argument_names(function)
    unknown = [key for key in scalars if key not in names and not (isinstance(key, int) and 0 <= key < len(names))]
    if unknown:
        raise UsageError(f"'{function.sym_name.data}' has no argument {unknown[0]!r}", f"there is: {', '.join(names)}")
    return [
        _input(number, name, argument.type, scalars)
        for number, (name, argument) in enumerate(zip(names, function.body.block.args, strict=True))
    ]


def _input(number: int, name: str, type: Attribute, scalars: Scalars) -> Any:
    if isinstance(type, PtrType):
        return Pointer(number, 0, type.data.dtype)
    bits = bits_of(type)
    if bits is None and str(type) not in NUMPY_DTYPES:
        return None  # the address of the signals: only passed on
    value = scalars.get(name, scalars.get(number))
    if value is None:
        raise UsageError(f"argument '{name}' needs a number", f"give {name}=...")
    if bits is None:
        return to_float(value, str(type))
    if isinstance(value, float):
        raise UsageError(f"argument '{name}' is {type}, found {value}")
    return wrap(int(value), bits)


def scalar_arguments(function: func.FuncOp) -> Iterator[tuple[int, str, Attribute]]:
    """Position, name and type of each argument that is a number."""
    for number, (name, argument) in enumerate(zip(argument_names(function), function.body.block.args, strict=True)):
        if bits_of(argument.type) is not None or str(argument.type) in NUMPY_DTYPES:
            yield number, name, argument.type


def pointer_arguments(function: func.FuncOp) -> Iterator[tuple[int, str, str]]:
    """Position, name and element type of each argument that points to an array.

    The base of the signals between cores, which `set_ffts` takes, points to none.
    """
    for number, (name, argument) in enumerate(zip(argument_names(function), function.body.block.args, strict=True)):
        if isinstance(argument.type, PtrType) and not _only_signals(argument):
            yield number, name, argument.type.data.dtype


def _only_signals(argument: SSAValue) -> bool:
    uses = [use.operation for use in argument.uses]
    return bool(uses) and all(isinstance(op, SetFftsOp) for op in uses)
