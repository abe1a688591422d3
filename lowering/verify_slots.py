"""`ptobuf-verify-slots`: checks the slot protocol on every path of every kernel, for all trip counts."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from pto_buf.errors import Diagnostic, DiagnosticError
from pto_buf.kept import Keeps, kept
from pto_buf.lowering.plan_memory import functions
from pto_buf.slots.build import build
from pto_buf.slots.leases import Verdict, analyse


@dataclass(frozen=True)
class VerifySlotsPass(ModulePass, Keeps):
    """Index ranges and the typestate of leases: reads before writes, clobbers, releases. Changes nothing.

    Raises DiagnosticError with all that is wrong in the module.
    """

    name = "ptobuf-verify-slots"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wrong: list[Diagnostic] = []
        for function in functions(op):
            try:
                wrong += kept(function, verdict_of).errors
            except DiagnosticError as err:
                wrong += err.diagnostics
        if wrong:
            raise DiagnosticError(*wrong)


def verdict_of(function: FuncOp) -> Verdict:
    """What is wrong with a function's slots, and how leases flow. Raises DiagnosticError as `build`."""
    return analyse(kept(function, build).program)
