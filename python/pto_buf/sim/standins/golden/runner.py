"""`run_jit` on the simulator: compile the kernel, run it on the spec's tensors, compare with the golden function."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pto_buf.errors import DiagnosticError, UsageError
from pto_buf.frontend import blocks
from pto_buf.hw import TARGETS
from pto_buf.sim.launch import launch_with
from pto_buf.sim.simulate import simulate
from pto_buf.sim.standins.golden.compare import Compare, validate_golden
from pto_buf.sim.standins.golden.spec import ScalarSpec, TensorSpec
from pto_buf.sim.standins.golden.tensors import put, to_numpy, torch
from pto_buf.sim.standins.session import current

_USED = ("dump_passes", "save_kernels", "save_kernels_dir", "platform", "device_id")
"""Settings that mean something here; a device is the simulator whatever its number."""


@dataclass
class RunResult:
    """How a run ended. `bench` is None: the simulator has no device times."""

    passed: bool
    error: str | None = None
    execution_time: float | None = None
    work_dir: Path | None = None
    bench: Any = None

    def __str__(self) -> str:
        after = "" if self.execution_time is None else f" ({self.execution_time:.2f}s)"
        return f"PASS{after}" if self.passed else f"FAIL{': ' + self.error if self.error else ''}{after}"


@contextmanager
def _stage(name: str) -> Any:
    start = time.perf_counter()
    print(f"[RUN] {name} ...", flush=True)
    yield
    print(f"[RUN] {name} done ({time.perf_counter() - start:.2f}s)", flush=True)


def run_jit(
    fn: Any,
    specs: Sequence[TensorSpec | ScalarSpec],
    golden_fn: Callable[[dict[str, Any]], Any] | None = None,
    golden_data: str | None = None,
    compile_cfg: Mapping[str, Any] | None = None,
    runtime_cfg: Mapping[str, Any] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    compare_fn: Mapping[str, Compare] | None = None,
    compile_only: bool = False,
    runtime_dir: str | None = None,
    save_data: bool = False,
) -> RunResult:
    """Compile `fn`, run it on the simulator, compare its outputs with those of `golden_fn`.

    A wrong result is in the RunResult. A kernel that does not compile raises DiagnosticError, at its line.
    """
    start = time.perf_counter()
    config = {**(compile_cfg or {}), **(runtime_cfg or {})}
    for name, given in (("golden_data", golden_data), ("runtime_dir", runtime_dir)):
        if given is not None:
            raise UsageError(f"{name} is not among what stands in for golden here", "install pypto and golden")
    unused = [name for name in config if name not in _USED]
    if unused:
        print(f"[RUN] without effect on the simulator: {', '.join(unused)}", flush=True)
    if os.environ.get("PYPTO_BENCH") == "1":
        print("[RUN] benchmark skipped: the simulator has no device times", flush=True)
    work_dir = work_dir_for(fn.entry, config)
    error: str | None = None
    with _stage(f"compile {fn.entry} for {target_of(config)}"):
        module = current().compile(fn.file, fn.entry, target_of(config), work_dir)
    if not compile_only:
        kept = work_dir / "data" if save_data else None
        count = blocks(fn.file, fn.entry)
        error = _run(module, count, specs, golden_fn, (rtol, atol), compare_fn, kept)
    print(f"[RUN] passed={error is None} work_dir={work_dir}", flush=True)
    return RunResult(error is None, error, time.perf_counter() - start, work_dir)


run = run_jit


def target_of(config: Mapping[str, Any]) -> str:
    """The chip that a configuration names. Raises UsageError."""
    platform = str(config.get("platform") or "a2a3").removesuffix("sim")
    if platform not in TARGETS:
        raise UsageError(f"there is no platform '{platform}'", f"there is: {', '.join(TARGETS)}")
    return platform


def work_dir_for(name: str, config: Mapping[str, Any]) -> Path:
    """A folder for the results of a run, as the configuration has it or a new one. Raises UsageError."""
    asked = config.get("save_kernels_dir")
    if asked is not None:
        path = Path(asked)
        path.mkdir(parents=True, exist_ok=True)
        return path
    stem = f"{name.replace('.', '_')}_{time.strftime('%Y%m%d_%H%M%S')}"
    for number in range(1000):
        path = current().root / (f"{stem}_{number}" if number else stem)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise UsageError(f"{current().root} has no name left for the results of '{name}'", "remove old results")


def _run(
    module: Any,
    count: int,
    specs: Sequence[TensorSpec | ScalarSpec],
    golden_fn: Callable[[dict[str, Any]], Any] | None,
    tolerances: tuple[float, float],
    compare_fn: Mapping[str, Compare] | None,
    data_dir: Path | None,
) -> str | None:
    """What was wrong, None if nothing."""
    with _stage("make inputs"):
        values: dict[str, Any] = {
            spec.name: spec.create_tensor() if isinstance(spec, TensorSpec) else spec.value for spec in specs
        }
        before = {name: value.clone() for name, value in values.items()}
    tensors = [spec for spec in specs if isinstance(spec, TensorSpec)]
    launch = launch_with(
        module,
        {spec.name: to_numpy(values[spec.name]) for spec in tensors},
        {spec.name: spec.value.item() for spec in specs if isinstance(spec, ScalarSpec)},
        blocks=count,
    )
    with _stage("simulate"):
        result = simulate(launch, current().order)
    if result.faults:
        return str(DiagnosticError(*(fault.diagnostic for fault in result.faults)))
    for spec in tensors:
        put(values[spec.name], result.arrays[spec.name])
    expected: dict[str, Any] | None = None
    if golden_fn is not None:
        with _stage("golden"):
            expected = {
                spec.name: before[spec.name] if isinstance(spec, TensorSpec) else spec.value.item() for spec in specs
            }
            golden_fn(expected)
    outputs = [spec.name for spec in tensors if _is_output(spec, result.arrays[spec.name], launch.arrays[spec.name])]
    if data_dir is not None:
        _save(data_dir, {"in": before, "out": {name: (expected or values)[name] for name in outputs}})
    if expected is None:
        print("[RUN] nothing to compare with: no golden_fn", flush=True)
        return None
    return _differences(values, expected, outputs, tolerances, compare_fn, result.displaced)


def _is_output(spec: TensorSpec, after: Any, before: Any) -> bool:
    """As the spec says; where it does not, whatever the kernel changed."""
    return bool((after != before).any()) if spec.is_output is None else spec.is_output


def _differences(
    values: Mapping[str, Any],
    expected: Mapping[str, Any],
    outputs: Iterable[str],
    tolerances: tuple[float, float],
    compare_fn: Mapping[str, Compare] | None,
    displaced: Sequence[object],
) -> str | None:
    with _stage("compare"):
        try:
            validate_golden(
                {name: values[name] for name in outputs}, expected, *tolerances, compare_fn=compare_fn, inputs=values
            )
        except AssertionError as error:
            seen = [f"  {one}" for one in displaced[:3]]
            return "\n".join([str(error), *seen])
    return None


def _save(folder: Path, groups: Mapping[str, Mapping[str, Any]]) -> None:
    for group, tensors in groups.items():
        (folder / group).mkdir(parents=True, exist_ok=True)
        for name, tensor in tensors.items():
            torch().save(tensor, folder / group / f"{name}.pt")
