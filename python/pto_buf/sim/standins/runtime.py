"""Stands in for `pypto.runtime`: kernels that a script calls with tensors run on the simulator."""

import inspect
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pto_buf.errors import DiagnosticError, UsageError
from pto_buf.frontend import blocks, outputs
from pto_buf.language.decorators import LAUNCH, KernelSource
from pto_buf.sim.launch import launch_with
from pto_buf.sim.simulate import simulate
from pto_buf.sim.standins.golden.runner import target_of, work_dir_for
from pto_buf.sim.standins.golden.tensors import put, to_numpy
from pto_buf.sim.standins.missing import Missing
from pto_buf.sim.standins.session import current


class RunConfig:
    """Settings of a run by their names; `platform`, `dump_passes` and `save_kernels_dir` mean something here."""

    def __init__(self, **settings: Any):
        self.settings = settings
        self.__dict__.update(settings)


@contextmanager
def launching() -> Generator[None]:
    """Within, a script that calls a kernel with tensors runs it."""
    token = LAUNCH.set(launch)
    try:
        yield
    finally:
        LAUNCH.reset(token)


def launch(kernel: KernelSource, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run a kernel on tensors and numbers; tensors that it writes are changed in place, and returned.

    Raises DiagnosticError for a kernel that does not compile or whose run has a fault, UsageError for wrong arguments.
    """
    given = dict(kwargs)
    config = given.pop("config", None) or RunConfig()
    if not isinstance(config, RunConfig):
        raise UsageError(f"config of '{kernel.entry}' is a {type(config).__name__}, not a RunConfig")
    try:
        bound = inspect.signature(kernel.function).bind(*args, **given).arguments
    except TypeError as err:
        raise UsageError(f"'{kernel.entry}' is not called like this: {err}") from None
    module = current().compile(kernel.file, kernel.entry, target_of(config.settings), _work_dir(kernel, config))
    tensors = {name: value for name, value in bound.items() if hasattr(value, "shape")}
    numbers = {name: value for name, value in bound.items() if name not in tensors}
    arrays = {name: to_numpy(value) for name, value in tensors.items()}
    run = simulate(launch_with(module, arrays, numbers, blocks=blocks(kernel.file, kernel.entry)), current().order)
    if run.faults:
        raise DiagnosticError(*(fault.diagnostic for fault in run.faults))
    written = [name for name in outputs(kernel.file, kernel.entry) if name in tensors]
    for name in written:
        put(tensors[name], run.arrays[name])
    results = [tensors[name] for name in written]
    return results[0] if len(results) == 1 else tuple(results)


def _work_dir(kernel: KernelSource, config: RunConfig) -> Path | None:
    wanted = "save_kernels_dir" in config.settings or config.settings.get("dump_passes") is True
    return work_dir_for(kernel.entry, config.settings) if wanted else None


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise Missing("pypto", f"pypto.runtime.{name}")
