"""Kernels as objects: compile one, look at it, run it on arrays, time it, ask why its fences are there."""

import linecache
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pto_buf import frontend
from pto_buf.compiler import (
    DEFAULT_TARGET,
    Loaded,
    compile_file,
    compile_module,
    load,
    load_module,
    load_text,
    target_named,
)
from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import Diagnostic, UsageError
from pto_buf.fences.lanes import Lanes
from pto_buf.hw import Target
from pto_buf.language.decorators import KernelSource
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.machine.exec import kernel_named
from pto_buf.printing import text_of
from pto_buf.report.collect import kernel_of, slot_ranges
from pto_buf.report.collect_fences import cost_of, explanations
from pto_buf.report.collect_map import memory_map_of
from pto_buf.report.explain import Explanation, chosen_of
from pto_buf.report.memory_html import memory_map_html
from pto_buf.report.memory_map import memory_map_text
from pto_buf.report.whole import kernel_report
from pto_buf.sim.costs import Costs
from pto_buf.sim.launch import launch_with, split_arguments
from pto_buf.sim.naming import Names, names_of
from pto_buf.sim.orders import Order, order_named
from pto_buf.sim.profile import Profile, profile
from pto_buf.sim.simulate import Launch, Run, simulate
from pto_buf.source import Source, parse_text
from pto_buf.universe import make_context
from pto_buf.walking import functions
from pto_buf.watching import done

_UNNAMED = "<source>"
_IR = re.compile(r"\bfunc\.func\b")
"""What every MLIR text with a kernel has, and no Python."""

Arguments = Mapping[str, Any]
"""Arrays and numbers by the names of the kernel's arguments. Extents that arrays have may be left out."""


class Kernel:
    """One kernel as `pto`, proven right unless it was compiled without the proof. Made by `compile`; can be pickled.

    `name` is the kernel's, `target` the chip's, `warnings` what was worth saying. `checked`: its fences were proven.
    """

    def __init__(
        self,
        module: ModuleOp,
        name: str,
        fenced: ModuleOp | None = None,
        warnings: tuple[Diagnostic, ...] = (),
        *,
        checked: bool,
    ):
        self.name = name
        self.warnings = warnings
        self.checked = checked
        self._module = module
        self._fenced = fenced

    def __repr__(self) -> str:
        return f"<Kernel {self.name} for {self.target.name}>"

    def __getstate__(self) -> dict[str, Any]:
        fenced = None if self._fenced is None else text_of(self._fenced, debuginfo=True)
        return {**self.__dict__, "_module": text_of(self._module, debuginfo=True), "_fenced": fenced}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._module = parse_text(make_context(), state["_module"], f"{self.name}.pto")
        if state["_fenced"] is not None:
            self._fenced = parse_text(make_context(), state["_fenced"], f"{self.name}.mlir")

    @property
    def function(self) -> FuncOp:
        """The `pto` function."""
        return kernel_named(self._module, self.name)

    @property
    def parts(self) -> tuple[FuncOp, ...]:
        """The kernel before its last step: slots with addresses, events with ids and reasons.

        One function, or two for a kernel with work for both kinds of core; none for given `pto`.
        """
        if self._fenced is None:
            return ()
        return tuple(one for one in functions(self._fenced) if kernel_of(one) == self.name)

    @property
    def target(self) -> Target:
        return target_of(self._module)

    @property
    def pto(self) -> str:
        """The level-3 text that `ptoas` assembles."""
        return text_of(self._module)

    @property
    def report(self) -> str:
        """Memory, order of issue, fences and verdict, as `pto-buf compile` prints them. Raises UsageError for `pto`."""
        return kernel_report(self._compiled(), self.function, checked=self.checked)

    def memory_map(self, *, html: bool = False) -> str:
        """Where each slot lies and when it is needed, as text or as a page. Raises UsageError for `pto`."""
        found = [memory_map_of(part) for part in self._compiled()]
        return memory_map_html(found) if html else "\n".join(memory_map_text(one) for one in found)

    def run(
        self, arguments: Arguments | None = None, /, *, order: str | Order = "late", blocks: int = 1, **more: Any
    ) -> Run:
        """Run it on the simulator; arguments by name, in a mapping where a name is taken (`order`, `blocks`).

        `order`: `late`, `early` or `random:SEED`, when each pipe does what it may. The given arrays are not changed:
        the result holds those that the kernel leaves.
        Raises DiagnosticError for a fault (deadlock, access out of bounds, a flag set twice or left over), UsageError
        for arguments that do not fit.
        """
        launch = self.launch({**(arguments or {}), **more}, blocks)
        return simulate(launch, order_named(order) if isinstance(order, str) else order).checked()

    def profile(
        self, arguments: Arguments | None = None, /, *, blocks: int = 1, costs: Costs | None = None, **more: Any
    ) -> Profile:
        """Time it; only numbers and extents matter of the arguments. Raises as `run`."""
        return profile(self.launch({**(arguments or {}), **more}, blocks), costs)

    def names(self, timed: Profile) -> Names:
        """What the slots are called that a timed run touches."""
        sets = [one for part in self.parts for one in slot_ranges(part, self.target)]
        return names_of(sets, (one for timeline in timed.timelines for one in timeline.slices))

    def explain(
        self,
        arguments: Arguments | None = None,
        /,
        *,
        line: int | None = None,
        fence: int | None = None,
        costs: Costs | None = None,
        **more: Any,
    ) -> tuple[Explanation, ...]:
        """Why fences are there and what each costs: those at a line of the source, one by its number, or all.

        Numbers are those of the report. Raises UsageError where there is no such fence, and as `run`.
        """
        launch = self.launch({**(arguments or {}), **more}, 1)
        timed = profile(launch, costs)
        every = explanations(launch, self.names(timed), self.parts)
        chosen = chosen_of(every, line, fence)
        found: list[Explanation] = []
        for one in chosen:
            found.append(replace(one, cost=cost_of(launch, timed, one)))
            done("timing without each fence", len(found), len(chosen))
        return tuple(found)

    def launch(self, arguments: Arguments, blocks: int = 1) -> Launch:
        """The kernel with its arguments. Raises UsageError for arguments that do not fit."""
        arrays, numbers = split_arguments(arguments)
        return launch_with(self._module, arrays, numbers, kernel=self.name, blocks=blocks)

    def _compiled(self) -> tuple[FuncOp, ...]:
        if not self.parts:
            raise UsageError(f"'{self.name}' was given as pto: of its slots and events nothing is known")
        return self.parts


def from_pypto(
    program: Any, kernel: str | None = None, *, target: str | None = None, samples: Sequence[Any] = ()
) -> ModuleOp:
    """The kernels of a pypto `Program`, or of a jit function that is lowered with `samples`, as a `ptobuf` module.

    Before or behind pypto's InitMemRef: buffers that it has named stay what they are. `kernel` names the one that is
    meant, `target` is `a2a3` (also if not given) or `a5`. Raises DiagnosticError at the place that an object's span
    names; UsageError for a target that there is not.
    """
    return frontend.from_pypto(program, kernel, target_named(target or DEFAULT_TARGET), samples=samples)


def compile(
    source: Any,
    kernel: str | None = None,
    *,
    target: str | None = None,
    interleave: int | None = None,
    check: bool = True,
    allow_unproven: bool = False,
    gm_raw: str = "refuse",
    fail_on_lost_overlap: bool = False,
    lanes: str = "auto",
    flags_by_source: bool = False,
) -> Kernel:
    """Compile a kernel and prove its fences right.

    `source` is a function under `@pl.jit` or `@pl.function`, a program of pypto, a `ptobuf` module (which is left as it
    is), the path of a Python file, of a `.mlir` file with `ptobuf` or a `.pto` file, or such a text itself. `kernel`
    names the one that is meant where there are several. `target` is `a2a3` (also if not given) or `a5`; IR names its
    own.
    `interleave` puts that many trips of the innermost loops side by side. `check=False` leaves out the proof,
    `allow_unproven` accepts an incomplete one; `gm_raw="flag"` accepts a flag as order between a store and a load of
    the same global bytes; `fail_on_lost_overlap` refuses a kernel whose fences give up overlap. `lanes` is `dynamic`
    for slots that are computed, `unroll` for loops unrolled so that they are constants, or `auto`; with
    `flags_by_source` an event id of a source serves one destination only.

    Raises DiagnosticError for mistakes in the kernel, at their places; UsageError for arguments that do not fit.
    """
    if gm_raw not in ("refuse", "flag"):
        raise UsageError(f"gm_raw is '{gm_raw}'", "there is: refuse, flag")
    if lanes not in tuple(Lanes):
        raise UsageError(f"lanes is '{lanes}'", f"there is: {', '.join(Lanes)}")
    options = PipelineOptions(interleave, check, allow_unproven, gm_raw, fail_on_lost_overlap, lanes, flags_by_source)
    loaded = _loaded(source, kernel, target, options)
    entry = None if loaded.python else kernel
    compiled = loaded.compiled
    return Kernel(
        loaded.module,
        kernel_named(loaded.module, entry).sym_name.data,
        None if compiled is None else compiled.fenced,
        () if compiled is None else compiled.warnings,
        checked=check and compiled is not None and not compiled.unproven,
    )


def _loaded(source: Any, kernel: str | None, target: str | None, options: PipelineOptions) -> Loaded:
    """Of Python only the kernel that is meant, if one is."""
    match source:
        case KernelSource():
            return _python(source.file, source.entry, target, options, _typed_in(source.file))
        case Path():
            return load(str(source), kernel, target=target, options=options)
        case str() if "\n" not in source:
            return load(source, kernel, target=target, options=options)
        case str() if _IR.search(source):
            return load_text(Source(_UNNAMED, source), target=target, options=options)
        case str():
            return _python(_UNNAMED, kernel, target, options, source)
        case _ if hasattr(source, "functions") or hasattr(source, "lower"):
            module = from_pypto(source, kernel, target=target)
            return Loaded.of(compile_module(module, options), python=True)
        case ModuleOp():
            return load_module(source.clone(), "the module", target=target, options=options)
        case _:
            offer = "give a function under @pl.jit, a program of pypto, a path, or the text of a Python or MLIR file"
            raise UsageError(f"{source!r} is no kernel", offer)


def _python(file: str, entry: str | None, target: str | None, options: PipelineOptions, text: str | None) -> Loaded:
    compiled = compile_file(file, entry, target=target or DEFAULT_TARGET, options=options, source=text)
    return Loaded.of(compiled, python=True)


def _typed_in(file: str) -> str | None:
    """The text of a function that was typed into a notebook; None where there is a file."""
    return None if Path(file).is_file() else "".join(linecache.getlines(file)) or None
