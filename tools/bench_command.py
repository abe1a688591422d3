"""`pto-buf bench`: how long reading, checking and lowering take, as JSON. Figures are of this machine, this moment.

Seconds are of the processor, so that a busy machine tells about the same as an idle one. Each measurement has a process
of its own, whose largest size in memory is given too.
"""

import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pto_buf.tools import bench_programs

TEXT_SIZES = (1_000, 10_000, 100_000)
STRAIGHT_SIZES = (1_200, 12_000)
MATRIX = 512
SLOTS = 16
FILE_LINES = 2_000


def run(files: Sequence[str] = (), sizes: Sequence[int] = TEXT_SIZES, straight: Sequence[int] = STRAIGHT_SIZES) -> int:
    """Print what `make bench` is about: each of the measurements, and compiling and checking the kernels of `files`."""
    found = {
        "start": start(),
        "toy": [apart(toy, size) for size in sizes],
        "text": [apart(text, size) for size in sizes],
        "straight": [apart(straight_line, size) for size in straight],
        "read": apart(reading, FILE_LINES),
        "rotation": apart(rotation, SLOTS),
        "product": apart(product, MATRIX),
        "files": {file: apart(kernel_file, file) for file in files},
    }
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0


def apart(measure: Callable[[Any], dict[str, Any]], size: int | str) -> dict[str, Any]:
    """What `measure` finds in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, measure.__name__, str(size)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main(name: str, size: str) -> None:
    """One measurement, in a process of its own."""
    gc.disable()  # as the tools do
    found = _measure(name)(int(size) if size.isdigit() else size)
    sys.stdout.write(json.dumps(found))


def _measure(name: str) -> Callable[[Any], dict[str, Any]]:
    every = (toy, text, straight_line, reading, rotation, product, kernel_file)
    return next(one for one in every if one.__name__ == name)


def start() -> dict[str, Any]:
    """Seconds of the tools on as good as nothing: what every use of them costs."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "small.pto")
        small.write_text(bench_programs.pto_text(1))
        kernel = Path(folder, "kernel.py")
        kernel.write_text(bench_programs.rotation_text(2))
        return {
            "python_s": seconds_of(["-c", "pass"]),
            "opt_s": seconds_of(["-m", "pto_buf.tools.opt", str(small), "-o", str(Path(folder, "out"))]),
            "check_s": seconds_of(["-m", "pto_buf.tools.cli", "check", str(small)]),
            "compile_s": seconds_of(["-m", "pto_buf.tools.cli", "compile", str(kernel), "-q"]),
        }


def seconds_of(arguments: Sequence[str]) -> float:
    """Seconds that Python takes with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3)


def toy(ops: int) -> dict[str, Any]:
    """Microseconds an op for xDSL itself to read, verify and print the plainest of ops."""
    from io import StringIO

    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.parser import Parser
    from xdsl.printer import Printer

    from pto_buf.tools.bench_toy import TOY

    ctx = Context()
    for dialect in (Builtin, Func, TOY):
        ctx.load_dialect(dialect)
    Parser(ctx, bench_programs.toy_text(1)).parse_module()
    written = bench_programs.toy_text(ops)
    parse, module = _timed(lambda: Parser(ctx, written).parse_module())
    verify, _ = _timed(module.verify)
    show, _ = _timed(lambda: Printer(StringIO()).print_op(module))
    return {"ops": ops, **_each(ops, parse=parse, verify=verify, print=show), "peak_mb": _peak()}


def text(ops: int) -> dict[str, Any]:
    """Microseconds an op with three long tile types to read, verify and print."""
    from pto_buf.printing import text_of
    from pto_buf.source import parse_text
    from pto_buf.universe import make_context
    from pto_buf.verification import verify_module

    parse_text(make_context(), bench_programs.pto_text(1), "warm.pto")
    written = bench_programs.pto_text(ops)
    parse, module = _timed(lambda: parse_text(make_context(), written, "bench.pto"))
    verify, _ = _timed(lambda: verify_module(module))
    show, _ = _timed(lambda: text_of(module))
    return {"ops": ops, **_each(ops, parse=parse, verify=verify, print=show), "peak_mb": _peak()}


def straight_line(ops: int) -> dict[str, Any]:
    """Seconds from `ptobuf` text to `.pto` text, then of check-sync and of the simulation in time."""
    from xdsl.dialects.func import FuncOp

    from pto_buf.check.checker import check
    from pto_buf.lowering.pipeline import PipelineOptions, pipeline
    from pto_buf.passes import PassRun, available_passes, parse_passes, run_passes
    from pto_buf.printing import text_of
    from pto_buf.sim.launch import launch_with
    from pto_buf.sim.profile import profile
    from pto_buf.source import parse_text
    from pto_buf.universe import make_context
    from pto_buf.verification import verify_module

    ctx = make_context()
    passes = {"since": 0.0}

    def after(_: object, one: PassRun) -> None:
        taken, passes["since"] = time.process_time() - passes["since"], time.process_time()
        passes[one.name] = round(passes.get(one.name, 0.0) + taken, 3)

    chosen = parse_passes(pipeline(PipelineOptions(check=False)), available_passes())
    written = bench_programs.straight_text(ops)
    parse, module = _timed(lambda: parse_text(ctx, written, "bench.mlir"))
    verify, _ = _timed(lambda: verify_module(module))
    passes["since"] = time.process_time()
    lower, _ = _timed(lambda: run_passes(ctx, module, chosen, verify_each=False, after=after))
    show, _ = _timed(lambda: text_of(module))
    peak = _peak()
    kernel = next(op for op in module.walk() if isinstance(op, FuncOp))
    proof, verdict = _timed(lambda: check(kernel))
    timing, _ = _timed(lambda: profile(launch_with(module, {}, {}, limit=100 * ops)))
    return {
        "ops": ops,
        "total_s": round(parse + verify + lower + show, 3),
        "peak_mb": peak,
        **_seconds(parse=parse, verify=verify, lower=lower, print=show),
        "passes_s": {name: taken for name, taken in passes.items() if name != "since"},
        **_seconds(check_sync=proof, simulate_time=timing),
        "check_sync": str(verdict.status),
        "peak_with_check_mb": _peak(),
    }


def reading(lines: int) -> dict[str, Any]:
    """Seconds to read a generated kernel file of so many lines."""
    from pto_buf.frontend import read
    from pto_buf.hw import A2A3

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "generated.py")
        file.write_text(bench_programs.python_text(lines))
        taken, _ = _timed(lambda: read(str(file), None, A2A3))
    return {"lines": lines, **_seconds(read=taken), "peak_mb": _peak()}


def rotation(slots: int) -> dict[str, Any]:
    """Seconds to compile, and to prove, a loop over sets of so many slots."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rotation.py")
        file.write_text(bench_programs.rotation_text(slots))
        return {"slots": slots, **kernel_file(str(file))["rotation"], "peak_mb": _peak()}


def product(size: int) -> dict[str, Any]:
    """Seconds to simulate the values of a bf16 matrix product of so many rows, columns and depth."""
    import numpy as np

    from pto_buf.compiler import compile_file
    from pto_buf.run import run_pto
    from pto_buf.sim.launch import narrowed

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "product.py")
        file.write_text(bench_programs.product_text(size))
        compiled = compile_file(file)
    rng = np.random.default_rng(0)
    matrices = {name: rng.standard_normal((size, size)).astype(np.float32) for name in "abc"}
    given = narrowed(compiled.module, matrices)
    taken, _ = _timed(lambda: run_pto(compiled.module, given))
    return {"size": size, **_seconds(simulate_values=taken), "peak_mb": _peak()}


def kernel_file(path: str) -> dict[str, Any]:
    """For each kernel of a file, seconds to compile it without proof, and to prove it."""
    from xdsl.dialects.func import FuncOp

    from pto_buf.check.checker import check
    from pto_buf.compiler import compile_file
    from pto_buf.frontend import kernels
    from pto_buf.lowering.pipeline import PipelineOptions

    found: dict[str, Any] = {}
    for name in kernels(path):
        taken, compiled = _timed(lambda name=name: compile_file(path, name, options=PipelineOptions(check=False)))
        kernel = next(op for op in compiled.module.walk() if isinstance(op, FuncOp))
        proof, verdict = _timed(lambda kernel=kernel: check(kernel))
        found[name] = {**_seconds(compile=taken, check_sync=proof), "check_sync": str(verdict.status)}
    return found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _each(ops: int, **seconds: float) -> Mapping[str, float]:
    return {f"{name}_us_per_op": round(1e6 * taken / ops, 1) for name, taken in seconds.items()}


def _seconds(**seconds: float) -> Mapping[str, float]:
    return {f"{name}_s": round(taken, 3) for name, taken in seconds.items()}


def _peak() -> int:
    """The most memory that this process had, in megabytes."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    return kilobytes * 1024 // 1_000_000


if __name__ == "__main__":
    main(*sys.argv[1:])
