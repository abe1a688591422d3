"""The report of a compilation: memory, order, fences, verdict."""

from xdsl.dialects.func import FuncOp

from pto_buf.compiler import Compiled
from pto_buf.dialect.tile_op import target_of
from pto_buf.lowering.plan_memory import functions
from pto_buf.report.allocation import allocation_text
from pto_buf.report.collect import barriers, dropped, events, executed, lost, order, residents
from pto_buf.report.collect_map import plan_notes
from pto_buf.report.fences import fences_text
from pto_buf.report.order import order_text


def report(compiled: Compiled, *, checked: bool) -> str:
    """One part for each kernel."""
    finished = {function.sym_name.data: function for function in functions(compiled.module)}
    return "\n".join(
        kernel_report(function, finished[function.sym_name.data], checked=checked)
        for function in functions(compiled.fenced)
    )


def kernel_report(fenced: FuncOp, finished: FuncOp, *, checked: bool) -> str:
    """The part of one kernel: as it was before its last step, and as it is."""
    target = target_of(fenced)
    verdict = "proven: no race, no deadlock, no flag set twice or left over" if checked else "not checked"
    fences = fences_text(events(fenced), barriers(fenced), executed(finished), dropped(fenced), lost(fenced))
    return (
        f"kernel {fenced.sym_name.data} for {target.name}\n"
        f"memory\n{allocation_text(residents(fenced, target), target)}\n"
        f"{''.join(f'  {note}{chr(10)}' for note in plan_notes(fenced))}"
        f"order\n{order_text(order(fenced, target))}\n"
        f"fences\n{fences}\n"
        f"  {verdict}\n"
    )
