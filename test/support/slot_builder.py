"""Builds vector kernels of the `ptobuf` dialect op by op, for tests that need many shapes of one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from pto_buf.check.checker import check
from pto_buf.check.findings import Finding, Status
from pto_buf.errors import Diagnostic, collecting_warnings
from pto_buf.kept import Keeps, keeping
from pto_buf.lowering.allocate_events import AllocateEventsPass
from pto_buf.lowering.convert_to_pto import ConvertToPtoPass
from pto_buf.lowering.insert_fences import InsertFencesPass
from pto_buf.lowering.make_portable import MakePortablePass
from pto_buf.lowering.plan_memory import PlanMemoryPass
from pto_buf.lowering.reduce_fences import ReduceFencesPass
from pto_buf.source import parse_text
from pto_buf.universe import make_context

_TILE = "vec, 16x64xf32, blayout=row_major, slayout=none_box"
_VIEW = "!pto.partition_tensor_view<16x64xf32>"
_NUMBERS = (*range(18), 64, 65536)

FENCING = (PlanMemoryPass, InsertFencesPass, ReduceFencesPass)
PASSES = (*FENCING, AllocateEventsPass, ConvertToPtoPass, MakePortablePass)


class HasModule(Protocol):
    """Anything that makes a kernel of the `ptobuf` dialect."""

    def module(self) -> ModuleOp: ...


class SlotKernel:
    """A kernel over tiles of 16 rows: row block `row` of %x is loaded, row block `row` of %y is stored.

    Operands are SSA names; `%c0` to `%c17` are constants, `%n` and `%m` arguments.
    """

    def __init__(self, **sets: int):
        self.sets = sets
        self._lines: list[str] = []
        self._names = 0

    def name(self) -> str:
        self._names += 1
        return f"%t{self._names}"

    def emit(self, line: str) -> None:
        self._lines.append(line)

    def number(self, op: str, left: str, right: str) -> str:
        result = self.name()
        self.emit(f"{result} = arith.{op} {left}, {right} : index")
        return result

    def slot(self, ring: str, index: str = "%c0") -> str:
        result = self.name()
        self.emit(f"{result} = ptobuf.slot_select %{ring}[{index}] : !ptobuf.slots<{self.sets[ring]}, {_TILE}>")
        return result

    def load(self, slot: str, row: str = "%c0") -> None:
        view = self._view("%vx", row)
        self.emit(
            f"{self.name()} = ptobuf.load_into ins({view} : {_VIEW}) outs({slot} : !ptobuf.slot<{_TILE}>) "
            f"-> !pto.tile_buf<{_TILE}>"
        )

    def adds(self, source: str, slot: str) -> None:
        """`slot` = `source` + 1, on V."""
        self.emit(
            f"{self.name()} = ptobuf.adds_into ins({source}, %one : !ptobuf.slot<{_TILE}>, f32) "
            f"outs({slot} : !ptobuf.slot<{_TILE}>) -> !pto.tile_buf<{_TILE}>"
        )

    def store(self, slot: str, row: str = "%c0") -> None:
        view = self._view("%vy", row)
        self.emit(f"ptobuf.store ins({slot} : !ptobuf.slot<{_TILE}>) outs({view} : {_VIEW})")

    def _view(self, tensor: str, row: str) -> str:
        first, view = self.number("muli", row, "%c16"), self.name()
        self.emit(
            f"{view} = pto.partition_view {tensor}, offsets = [{first}, %c0], sizes = [%c16, %c64] : "
            f"!pto.tensor_view<65536x64xf32> -> {_VIEW}"
        )
        return view

    @contextmanager
    def loop(self, upper: str, lower: str = "%c0", step: str = "%c1") -> Iterator[str]:
        counter = self.name()
        self.emit(f"scf.for {counter} = {lower} to {upper} step {step} {{")
        yield counter
        self.emit("}")

    @contextmanager
    def branch(self, predicate: str, left: str, right: str) -> Iterator[None]:
        condition = self.name()
        self.emit(f"{condition} = arith.cmpi {predicate}, {left}, {right} : index")
        self.emit(f"scf.if {condition} {{")
        yield
        self.emit("}")

    def otherwise(self) -> None:
        """Between the two arms of the branch that was opened last."""
        self.emit("} else {")

    def text(self) -> str:
        constants = [f"%c{number} = arith.constant {number} : index" for number in _NUMBERS]
        views = [
            f"%v{name} = pto.make_tensor_view %{name}, shape = [%c65536, %c64], strides = [%c64, %c1] : "
            "!pto.tensor_view<65536x64xf32>"
            for name in "xy"
        ]
        sets = [
            f'%{name} = ptobuf.alloc_slots "{name}" : !ptobuf.slots<{count}, {_TILE}>'
            for name, count in self.sets.items()
        ]
        arguments = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index, %m: index"
        attributes = "pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>"
        return "\n".join(
            [
                'module attributes {pto.target_arch = "a3"} {',
                f"func.func @kernel({arguments}) attributes {{{attributes}}} {{",
                "%one = arith.constant 1.0 : f32",
                *constants,
                *views,
                *sets,
                *self._lines,
                "return",
                "}",
                "}",
            ]
        )

    def module(self) -> ModuleOp:
        module = parse_text(make_context(), self.text(), "kernel.mlir")
        module.verify()
        return module


def lowered(kernel: HasModule, passes: Sequence[type[ModulePass]] = PASSES) -> tuple[ModuleOp, list[Diagnostic]]:
    """The kernel as `pto`, or behind the last of `passes`, and what the passes warned of."""
    module = kernel.module()
    with collecting_warnings() as warnings, keeping() as forget:
        for made in passes:
            made().apply(make_context(), module)
            if not issubclass(made, Keeps):
                forget()
    module.verify()
    return module, warnings


def findings(module: ModuleOp, numbers: Mapping[str, int]) -> list[Finding]:
    """What the checker finds in one run."""
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    verdict = check(function, scalars={"n": 0, "m": 0, **numbers})
    assert verdict.status is not Status.INCOMPLETE, verdict.reason
    return list(verdict.findings)


def count(module: ModuleOp, *names: str) -> int:
    """How many ops of these names the module holds."""
    return sum(op.name in names for op in module.walk())
