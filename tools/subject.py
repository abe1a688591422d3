"""What a command is about: a kernel out of a file of any kind, and the numbers that its run needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pto_buf.errors import UsageError
from pto_buf.kernel import Kernel, compile
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.machine.exec import scalar_arguments
from pto_buf.run import case_arguments
from pto_buf.sim.launch import extents_of, split_arguments
from pto_buf.tools.names import split_kernel


@dataclass(frozen=True)
class Subject:
    """A kernel, and arguments by name. `from_cases`: some are those of the file's first case."""

    kernel: Kernel
    arguments: Mapping[str, Any]
    from_cases: bool = False

    @property
    def numbers(self) -> dict[str, int | float]:
        """The arguments that are numbers, extents of the arrays too. Raises UsageError for one that is missing."""
        arrays, given = split_arguments(self.arguments)
        known: dict[str, int | float] = {**extents_of(self.kernel.function, arrays), **given}
        names = [name for _, name, _ in scalar_arguments(self.kernel.function)]
        for name in names:
            if name not in known:
                raise UsageError(f"argument '{name}' of '{self.kernel.name}' needs a number", f"--arg {name}=8")
        for name in given:
            if name not in names:
                offer = f"there is: {', '.join(names)}" if names else "it takes none"
                raise UsageError(f"'{self.kernel.name}' has no number '{name}'", offer)
        return {name: known[name] for name in names}


def subject(text: str, numbers: Sequence[str], *, target: str | None, options: PipelineOptions) -> Subject:
    """Compile `FILE[:KERNEL]`, and find its arguments: first those given as `NAME=NUMBER`, then those of its CASES.

    Raises DiagnosticError for mistakes in the file, UsageError for a wrong number or several kernels without a name.
    """
    path, entry = split_kernel(text)
    kernel = compile(
        Path(path),
        entry,
        target=target,
        interleave=options.interleave,
        check=options.check,
        allow_unproven=options.allow_unproven,
        gm_raw=options.gm_raw,
        fail_on_lost_overlap=options.fail_on_lost_overlap,
    )
    given = dict(_number(one) for one in numbers)
    missing = [name for _, name, _ in scalar_arguments(kernel.function) if name not in given]
    if not missing or not path.endswith(".py"):
        return Subject(kernel, given)
    case = case_arguments(path, entry or kernel.name)
    return Subject(kernel, given) if case is None else Subject(kernel, {**case, **given}, from_cases=True)


def _number(text: str) -> tuple[str, int | float]:
    name, equals, number = text.partition("=")
    for kind in (int, float):
        try:
            return name.strip().removeprefix("%"), kind(number)
        except ValueError:
            continue
    words = f"'{text}' gives no argument a number" if equals else f"'{text}' is no NAME=NUMBER"
    raise UsageError(words, "for example --arg n=7")
