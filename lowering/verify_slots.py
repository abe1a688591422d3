"""`ptobuf-verify-slots`: checks the slot protocol on every path of every kernel, for all trip counts.

Also that windows of global memory lie inside of it, as far as constants say. Where that depends on how far a loop gets
whose end is an argument, it is a warning.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from pto_buf.errors import Diagnostic, DiagnosticError, warn
from pto_buf.kept import Keeps, kept
from pto_buf.lowering.global_windows import windows_of
from pto_buf.slots.build import build
from pto_buf.slots.leases import Verdict, analyse
from pto_buf.slots.strays import strays
from pto_buf.walking import functions


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
                wrong += _strays(function)
            except DiagnosticError as err:
                wrong += err.diagnostics
        if wrong:
            raise DiagnosticError(*wrong)


def _strays(function: FuncOp) -> list[Diagnostic]:
    """The windows that leave their array in every run. Warns of those that do so if loops get that far."""
    wrong: list[Diagnostic] = []
    for found in strays(kept(function, build).program, kept(function, windows_of)):
        if found.sure:
            wrong.append(Diagnostic(str(found), found.op.place, kind="shape-or-dtype"))
        else:
            warn(found.op.place, str(found), help="use a number that stays inside", kind="shape-or-dtype")
    return wrong


def verdict_of(function: FuncOp) -> Verdict:
    """What is wrong with a function's slots, and how leases flow. Raises DiagnosticError as `build`."""
    return analyse(kept(function, build).program)
